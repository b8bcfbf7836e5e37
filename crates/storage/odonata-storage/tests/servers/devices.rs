//! Servers with device-internal queues: closed forms, the choice of devices, and the culprits of waits.

use crate::rig::{MB, Rig, delay, drain, for_job, ms, plain_device, transfer};
use odonata_device::{DeviceModel, Hdd, Nvme, Rules, Ssd};
use odonata_engine::Plain;
use odonata_storage::{DeviceParams, RESOURCES, ServerParams};
use odonata_units::{Bandwidth, Bytes, Time};

const MIB: u64 = 1 << 20;

/// A server with a device that accepts `queue_depth` concurrent accesses, and blocks of 1 MiB.
fn server(model: DeviceModel, queue_depth: u32) -> ServerParams {
    let mut params = plain_device(1_000_000 * MB, 100 * MIB);
    params.manager.block = Bytes(MIB);
    params.devices = vec![DeviceParams {
        name: model.kind().into(),
        model,
        capacity: Bytes(1_000_000 * MB),
        queue_depth,
    }];
    params
}

/// (resource, victim, culprit, time).
fn blame(rig: &Rig) -> Vec<(&'static str, u16, Option<u16>, Time)> {
    let charges = rig.servers.measured().blame();
    charges
        .map(|c| (RESOURCES[usize::from(c.resource)], c.victim, c.culprit, c.time))
        .collect()
}

/// The pages of all pieces are issued without a gap, whatever their division: equal to one access of all pages, by the
/// equation of the paper.
#[test]
fn pieces_on_flash_take_what_one_access_of_all_their_pages_takes() {
    let ssd = Ssd::default();
    for write in [true, false] {
        for depth in [2, 32] {
            let mut rig = Rig::new(vec![server(DeviceModel::Ssd(ssd), depth)], delay(Time::ZERO));
            rig.request(Time::ZERO, 0, transfer(write, 1, 20 * MIB));
            rig.run::<Plain>();
            let pages = 20 * MIB / ssd.page.0;
            assert_eq!(
                rig.answers[0].0,
                ssd.alone(write, pages),
                "write: {write}, depth {depth}"
            );
            rig.servers.measured().audit().unwrap();
        }
    }
}

/// Little's law: `q` outstanding accesses, limited by pieces in flight, queue depth or lanes, each taking latency +
/// transfer.
#[test]
fn a_card_serves_as_many_at_once_as_lanes_depth_and_pipelining_allow() {
    let ns = Time::from_ns;
    let bytes = 1_000;
    for (lanes, depth, pipelining) in [(4, 64, 8), (8, 4, 8), (8, 64, 4)] {
        let card = Nvme {
            read_latency: ns(20_000),
            write_latency: ns(20_000),
            read: Bandwidth(1e12), // 1 ns per access
            write: Bandwidth(1e12),
            lanes,
            queue_depth: 1_024,
        };
        let mut params = server(DeviceModel::Nvme(card), depth);
        params.manager.block = Bytes(bytes);
        params.manager.pieces_in_flight = pipelining;
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        rig.request(Time::ZERO, 0, transfer(true, 1, 40 * bytes));
        rig.run::<Plain>();
        let (rounds, q) = (10, 4);
        assert_eq!(
            rig.answers[0].0,
            ns(rounds * (20_000 + 1) + (q - 1)),
            "{lanes} {depth} {pipelining}"
        );
        // The device is busy all of the time, with four concurrent accesses except at the ends.
        let (_, m) = rig.servers.measured().device_metrics(0).next().unwrap();
        assert_eq!((m.busy, m.writes), (rig.now, 40));
        assert_eq!(m.service_ps, u128::from(ns(40 * 20_001).0));
    }
}

#[test]
fn the_first_rule_that_fits_says_which_device_takes_a_request() {
    let ssd = server(DeviceModel::Ssd(Ssd::default()), 32);
    let hdd = server(DeviceModel::Hdd(Hdd::default()), 32);
    let rules = Rules::by_size(Bytes(64_000), "ssd", "hdd");
    let params = ServerParams {
        devices: [ssd.devices, hdd.devices].concat(),
        rules: rules.resolve(&["ssd", "hdd"]).unwrap(),
        drain: Some(drain(ms(1), 0)),
        ..plain_device(1, 100 * MB)
    };
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    for (token, bytes) in [(1, 63_999), (2, 64_000), (3, 5 * MB)] {
        rig.request(Time::ZERO, 0, transfer(true, token, bytes));
    }
    rig.run::<Plain>();
    let written: Vec<_> = rig
        .servers
        .measured()
        .device_metrics(0)
        .map(|(device, m)| (device.name.as_str(), m.writes, m.bytes_written))
        .collect();
    assert_eq!(written, [("ssd", 1, 63_999), ("hdd", 6, 5 * MB + 64_000)]);
    // Both files are drained completely: neither blocks the other.
    assert_eq!(
        (
            rig.servers.measured().used(0),
            rig.servers.measured().metrics(0).bytes_drained
        ),
        (0, 5 * MB + 127_999)
    );
    rig.servers.measured().audit().unwrap();
}

/// A card with one lane serves accesses in sequence and knows their ends in advance: the charges are the same.
#[test]
fn a_wait_within_the_device_is_charged_to_the_access_that_ends_next() {
    let card = Nvme {
        write_latency: Time(1),
        write: Bandwidth(1e9),
        lanes: 1,
        ..Nvme::default()
    };
    let mut params = server(DeviceModel::Nvme(card), 1_024);
    params.manager.block = Bytes(MB);
    let mut rig = Rig::new(vec![params], delay(Time::from_ps(1)));
    for owner in [1, 2] {
        let request = transfer(true, u64::from(owner), 3 * MB);
        rig.request(ms(1), 0, for_job(owner, request));
    }
    rig.run::<Plain>();
    // Job 2 waits for the three pieces of job 1, 1 ms and 1 ps each.
    assert_eq!(blame(&rig), [("device", 2, Some(1), Time(3 * (ms(1).0 + 1)))]);
    rig.servers.measured().audit().unwrap();
}

/// The write of job 1 ended in the cache of the disk. The read of job 2 arrives while the disk writes the data to its
/// platters.
#[test]
fn a_wait_for_postponed_writes_of_a_disk_is_charged_to_the_job_with_the_last_turn() {
    let mut rig = Rig::new(vec![server(DeviceModel::Hdd(Hdd::default()), 32)], delay(Time::ZERO));
    let write = for_job(1, transfer(true, 1, 8 * MIB));
    let read = for_job(2, transfer(false, 2, MIB));
    rig.request(Time::ZERO, 0, write);
    rig.request(ms(60), 0, read);
    rig.run::<Plain>();
    let charges = blame(&rig);
    assert_eq!(charges.len(), 1, "{charges:?}");
    let (resource, victim, culprit, time) = charges[0];
    assert_eq!((resource, victim, culprit), ("device", 2, Some(1)));
    // At most one step of a flush: a seek, the rotational delay, a track.
    let disk = Hdd::default();
    let step = disk.write_seek.full_stroke + disk.rotation().times(2);
    assert!(time > Time::ZERO && time <= step, "{time:?}");
    rig.servers.measured().audit().unwrap();
}

#[test]
fn servers_draw_from_streams_of_their_own() {
    let run = |seed, number| {
        let mut params = server(DeviceModel::Hdd(Hdd::default()), 32);
        params.random = (seed, number);
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        rig.request(Time::ZERO, 0, transfer(false, 1, MIB));
        rig.run::<Plain>();
        rig.answers[0].0
    };
    assert_eq!(run(1, 7), run(1, 7));
    assert_ne!(run(1, 7), run(1, 8));
    assert_ne!(run(1, 7), run(2, 7));
}
