//! Random inputs: what must always hold, and that every input can be taken back.

use crate::rig::{MB, Network, Rig, drain, for_job, ms, transfer};
use crate::{device_failure, failure, tiers};
use odonata_device::{DeviceModel, Hdd, Nvme, Rate, Rules, Ssd};
use odonata_engine::saved::{from_bytes, to_bytes};
use odonata_engine::{Journalled, Plain, Savepoint, Speculative};
use odonata_engine::{Stream, random::Purpose};
use odonata_storage::settings::{Acknowledge, Manager, Sharing, Unwritten};
use odonata_storage::{DeviceParams, ServerParams, StorageRequest};
use odonata_units::{Bandwidth, Bytes, Time};

const SERVERS: u32 = 5;
const TOKENS: u64 = 200;
const REMOVALS: u64 = 30;

/// A network that takes a different time for every piece, so that pieces overtake each other.
fn erratic(seed: u64) -> Network {
    let mut stream = Stream::new(seed, 1, Purpose::Host);
    Box::new(move |now, _, _, _| now + Time::from_ns(u64::from(stream.below(5_000_000))))
}

/// Servers of different sizes with little of everything, and requests that fight for it.
pub(crate) fn scene(seed: u64) -> Rig {
    let mut stream = Stream::new(seed, 0, Purpose::Arrival);
    let params = (0..SERVERS).map(|i| {
        let space = |stream: &mut Stream| Bytes(u64::from(8 + stream.below(20)) * MB);
        let device = |name: &str, model, capacity, queue_depth| DeviceParams {
            name: name.into(),
            model,
            capacity,
            queue_depth,
        };
        let rate = Rate {
            read: Bandwidth(1e9),
            write: Bandwidth(0.6e9),
            overhead: Time::ZERO,
            seek: Time::from_ns(300_000),
            seek_window: Bytes(512),
        };
        let capacity = space(&mut stream);
        let mut params = ServerParams {
            manager: Manager {
                memory: Bytes(u64::from(1 + stream.below(6)) * MB),
                pieces_in_flight: 1 + stream.below(5),
                object_per_file: i != 2,
                extents: i != 2 && stream.below(2) == 0,
                sharing: [Sharing::Fifo, Sharing::RoundRobin, Sharing::Weighted][stream.below(3) as usize],
                acknowledge: [Acknowledge::Device, Acknowledge::Memory][stream.below(2) as usize],
                ..Manager::default()
            },
            drain: (i > 0).then(|| drain(ms(1 + u64::from(stream.below(4))), u64::from(stream.below(8)) * MB)),
            random: (seed, u64::from(i)),
            ..ServerParams::new(DeviceModel::Rate(rate), capacity.0, 0)
        };
        if params.manager.extents && stream.below(4) == 0 {
            params.manager.unwritten = Unwritten::Error;
        }
        // Flash and a disk, which draws random numbers; a card with a short queue.
        match i {
            3 => {
                params.devices = vec![
                    device("ssd", DeviceModel::Ssd(Ssd::default()), capacity, 1 + stream.below(4)),
                    device("hdd", DeviceModel::Hdd(Hdd::default()), space(&mut stream), 32),
                ];
                let rules = Rules::by_size(Bytes(2 * MB), "ssd", "hdd");
                params.rules = rules.resolve(&["ssd", "hdd"]).unwrap();
            }
            4 => {
                let card = Nvme {
                    lanes: 1 + stream.below(3),
                    ..Nvme::default()
                };
                params.devices = vec![device("card", DeviceModel::Nvme(card), capacity, 1 + stream.below(9))];
            }
            _ => {}
        }
        params
    });
    let mut rig = Rig::new(params.collect(), erratic(seed));
    for token in 0..TOKENS {
        let bytes = match stream.below(6) {
            0 => u64::from(stream.below(3)),
            1 => 9 * MB + u64::from(stream.below(12_000_000)),
            _ => u64::from(stream.below(6_000_000)),
        };
        let object = u64::from(stream.below(5));
        // Some ranges that overlap, some that continue each other.
        let offset = u64::from(stream.below(8)) * MB / 2;
        let owner = stream.below(3) as u16;
        let request = StorageRequest {
            object,
            offset,
            ..for_job(owner, transfer(stream.below(3) > 0, token, bytes))
        };
        rig.request(
            Time::from_ns(u64::from(stream.below(400_000_000))),
            stream.below(SERVERS),
            request,
        );
    }
    for number in 0..REMOVALS {
        let at = Time::from_ns(u64::from(stream.below(500_000_000)));
        rig.remove(at, stream.below(SERVERS), (number, u64::from(stream.below(5))));
    }
    rig
}

#[test]
fn every_request_is_answered_once_in_full_refused_or_named_as_blocked() {
    let (mut full, mut errors, mut removed) = (0, 0, 0);
    for seed in 0..60 {
        let mut rig = scene(seed);
        rig.run::<Plain>();
        let mut ends: Vec<u64> = rig.answers.iter().map(|&(_, token, _)| token).collect();
        ends.extend(rig.impossible.iter().chain(&rig.unwritten));
        let blocked: Vec<_> = rig.servers.measured().blocked_writes().collect();
        ends.extend(blocked.iter().map(|write| u64::from(write.header.token)));
        ends.sort_unstable();
        assert_eq!(ends, (0..TOKENS).collect::<Vec<_>>(), "seed {seed}");
        for &(_, token, bytes) in &rig.answers {
            assert_eq!(rig.moved.get(&token).copied().unwrap_or(0), bytes, "seed {seed}");
        }
        assert_eq!(rig.removals.len() as u64, REMOVALS, "seed {seed}");
        removed += rig.servers.measured().removed().map(|(.., bytes)| bytes).sum::<u64>();
        assert!(rig.outstanding.values().all(|&n| n == 0));
        errors += rig.unwritten.len();
        // Server 0 has no drain and may fill up; where there is a drain, no request waits forever.
        assert!(blocked.iter().all(|s| s.server == 0), "seed {seed}");
        full += u32::from(!blocked.is_empty());
        assert_eq!(
            rig.servers.measured().audit().is_ok(),
            blocked.is_empty(),
            "seed {seed}"
        );
        for server in 0..SERVERS {
            let m = rig.servers.measured().metrics(server);
            assert_eq!(rig.servers.measured().memory_in_use(server), 0);
            let stays = if rig.servers.measured().params(server).manager.extents {
                let extents = rig.servers.measured().contents(server).map(|(_, extent)| extent);
                let here = extents.filter(|extent| extent.place.device().is_some());
                here.map(|extent| extent.bytes()).sum()
            } else {
                m.bytes_written - m.bytes_drained
            };
            assert_eq!(stays, rig.servers.measured().used(server), "seed {seed}");
            assert!(!rig.servers.measured().is_draining(server));
            for (params, device) in rig.servers.measured().device_metrics(server) {
                assert!(device.busy <= rig.now && device.peak_used <= params.capacity.0);
                // One at a time is busy for as long as it serves.
                let service = u128::from(device.busy.0);
                assert!(device.service_ps >= service, "seed {seed}");
                assert!(params.queue_depth > 1 || device.service_ps == service, "seed {seed}");
            }
        }
        let moved: u64 = rig.answers.iter().map(|a| a.2).sum();
        let by_servers: u64 = (0..SERVERS)
            .map(|s| rig.servers.measured().metrics(s))
            .map(|m| m.bytes_written + m.bytes_read)
            .sum();
        assert_eq!(moved, by_servers, "seed {seed}");
    }
    assert!(removed > 0, "no scene removed anything");
    assert!(full > 0, "no scene filled its server");
    assert!(errors > 0, "no scene read what nobody had written");
}

/// Servers with a way down of their own, and servers in tiers; the same with such as fail.
const SCENES: [fn(u64) -> Rig; 6] = [
    scene,
    tiers::scene,
    |seed| failure::scene(scene, seed),
    |seed| failure::scene(tiers::scene, seed),
    |seed| device_failure::scene(scene, seed),
    |seed| device_failure::scene(tiers::scene, seed),
];

#[test]
fn every_input_can_be_undone_and_redone() {
    for (scene, seed) in SCENES
        .into_iter()
        .flat_map(|scene| (0..6).map(move |seed| (scene, seed)))
    {
        let mut rig = scene(seed);
        while rig.rehearse() {}
        assert_eq!(rig.results(), scene(seed).run::<Plain>().results());
    }
}

#[test]
fn many_inputs_at_once_can_be_taken_back() {
    for (scene, seed) in SCENES
        .into_iter()
        .flat_map(|scene| (0..20).map(move |seed| (scene, seed)))
    {
        let mut rig = scene(seed);
        for _ in 0..150 {
            rig.step::<Speculative>();
        }
        rig.servers.commit();
        let before = rig.fingerprint();
        for i in 0..500 {
            Savepoint(i).begin();
            rig.step::<Speculative>();
        }
        assert_ne!(rig.fingerprint(), before);
        rig.servers.undo(Savepoint(0));
        assert_eq!(rig.fingerprint(), before, "seed {seed}");
    }
}

#[test]
fn fresh_servers_go_on_from_what_was_saved() {
    for (scene, seed) in SCENES
        .into_iter()
        .flat_map(|scene| (0..20).map(move |seed| (scene, seed)))
    {
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
