//! Random inputs: what must always hold, and that every input can be taken back.

use crate::rig::{MB, Network, Rig, drain, ms, plain_device, transfer};
use odonata_engine::saved::{from_bytes, to_bytes};
use odonata_engine::{Journalled, Moment, Plain, Speculative};
use odonata_engine::{Stream, random::Purpose};
use odonata_storage::{DeviceModel, NewRequest, RateDevice, ServerParams};
use odonata_units::{Bandwidth, Time};

/// A network that takes a different time for every piece, so that pieces overtake each other.
fn erratic(seed: u64) -> Network {
    let mut stream = Stream::new(seed, 1, Purpose::Host);
    Box::new(move |now, _, _, _| now + Time::from_ns(u64::from(stream.below(5_000_000))))
}

/// Servers of different sizes with little of everything, and requests that fight for it.
fn scene(seed: u64) -> Rig {
    let mut stream = Stream::new(seed, 0, Purpose::Arrival);
    let servers: u32 = 3;
    let params = (0..servers).map(|i| {
        let DeviceModel::Rate(device) = plain_device(0, 0).device;
        let device = RateDevice {
            write: Bandwidth(0.6e9),
            seek: Time::from_ns(300_000),
            seek_window: 512,
            ..device
        };
        ServerParams {
            device: DeviceModel::Rate(device),
            capacity: u64::from(8 + stream.below(20)) * MB,
            memory: u64::from(1 + stream.below(6)) * MB,
            pieces_in_flight: 1 + stream.below(5),
            drain: (i > 0).then(|| drain(ms(1 + u64::from(stream.below(4))), u64::from(stream.below(8)) * MB)),
            object_per_file: i < 2,
            ..plain_device(0, 0)
        }
    });
    let mut rig = Rig::new(params.collect(), erratic(seed));
    for token in 0..120 {
        let bytes = match stream.below(6) {
            0 => u64::from(stream.below(3)),
            1 => 9 * MB + u64::from(stream.below(12_000_000)),
            _ => u64::from(stream.below(6_000_000)),
        };
        let request = NewRequest {
            file: u64::from(stream.below(5)),
            offset: u64::from(stream.below(4)) * MB,
            owner: stream.below(3) as u16,
            ..transfer(stream.below(3) > 0, token, bytes)
        };
        rig.request(
            Time::from_ns(u64::from(stream.below(400_000_000))),
            stream.below(servers),
            request,
        );
    }
    rig
}

#[test]
fn every_request_is_answered_once_in_full_refused_or_named_as_stuck() {
    let mut full = 0;
    for seed in 0..60 {
        let mut rig = scene(seed);
        rig.run::<Plain>();
        let mut ends: Vec<u64> = rig.answers.iter().map(|&(_, token, _)| token).collect();
        ends.extend(&rig.impossible);
        let stuck: Vec<_> = rig.servers.stuck().collect();
        ends.extend(stuck.iter().map(|s| s.token));
        ends.sort_unstable();
        assert_eq!(ends, (0..120).collect::<Vec<_>>(), "seed {seed}");
        for &(_, token, bytes) in &rig.answers {
            assert_eq!(rig.moved.get(&token).copied().unwrap_or(0), bytes, "seed {seed}");
        }
        assert!(rig.outstanding.values().all(|&n| n == 0));
        // Server 0 has no drain and may fill up; where there is a drain, nobody waits for ever.
        assert!(stuck.iter().all(|s| s.server == 0), "seed {seed}");
        full += u32::from(!stuck.is_empty());
        assert_eq!(rig.servers.audit().is_ok(), stuck.is_empty(), "seed {seed}");
        for server in 0..3 {
            let m = rig.servers.metrics(server);
            assert_eq!(rig.servers.memory_in_use(server), 0);
            assert_eq!(
                m.bytes_written - m.bytes_drained,
                rig.servers.used(server),
                "seed {seed}"
            );
            assert!(m.device_busy <= rig.now && !rig.servers.is_draining(server));
        }
        let moved: u64 = rig.answers.iter().map(|a| a.2).sum();
        let by_servers: u64 = (0..3)
            .map(|s| rig.servers.metrics(s))
            .map(|m| m.bytes_written + m.bytes_read)
            .sum();
        assert_eq!(moved, by_servers, "seed {seed}");
    }
    assert!(full > 0, "no scene filled its server");
}

#[test]
fn every_input_can_be_undone_and_redone() {
    for seed in 0..6 {
        let mut rig = scene(seed);
        while rig.rehearse() {}
        assert_eq!(rig.results(), scene(seed).run::<Plain>().results());
    }
}

#[test]
fn many_inputs_at_once_can_be_taken_back() {
    for seed in 0..20 {
        let mut rig = scene(seed);
        for _ in 0..150 {
            rig.step::<Speculative>();
        }
        rig.servers.commit();
        let before = rig.fingerprint();
        for i in 0..500 {
            Moment(i).begin();
            rig.step::<Speculative>();
        }
        assert_ne!(rig.fingerprint(), before);
        rig.servers.undo(Moment(0));
        assert_eq!(rig.fingerprint(), before, "seed {seed}");
    }
}

#[test]
fn fresh_servers_go_on_from_what_was_saved() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, 2, Purpose::Host);
        let mut rig = scene(seed);
        let mut goes_on = true;
        while goes_on {
            for _ in 0..1 + random.below(60) {
                goes_on &= rig.step::<Plain>();
            }
            let (before, bytes) = (rig.fingerprint(), to_bytes(&rig.servers));
            rig.servers = scene(seed).servers;
            from_bytes(&mut rig.servers, &bytes).unwrap();
            assert_eq!(rig.fingerprint(), before, "seed {seed}");
            assert_eq!(to_bytes(&rig.servers), bytes, "seed {seed}");
        }
        assert_eq!(rig.results(), scene(seed).run::<Plain>().results(), "seed {seed}");
    }
}
