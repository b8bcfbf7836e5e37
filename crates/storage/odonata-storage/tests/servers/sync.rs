//! Synchronization of files: closed forms of its waits.

use crate::rig::{MB, Rig, answers, delay, for_job, ms, pipelined, plain_device, slow_lower_tier, transfer};
use odonata_device::{Device, DeviceModel, Hdd, HddState};
use odonata_engine::{Plain, Stream, random::Purpose};
use odonata_storage::settings::{Acknowledge, DrainPolicy, Policy, WritePolicy};
use odonata_storage::{Place, SERVER_RESOURCES, ServerParams, StorageRequest};
use odonata_units::Time;

fn early(mut params: ServerParams) -> ServerParams {
    params.manager.acknowledge = Acknowledge::Memory;
    params
}

/// 4 MB of file 1, then 4 MB of file 2, 1 ms per MB on the device: acknowledged in memory immediately, committed at 4
/// and at 8 ms.
#[test]
fn a_sync_waits_until_what_was_acknowledged_of_the_file_is_on_the_device() {
    let mut rig = Rig::new(vec![early(plain_device(100 * MB, 100 * MB))], delay(Time::ZERO));
    for file in [1, 2] {
        rig.request(Time::ZERO, 0, transfer(true, file, 4 * MB));
    }
    rig.sync(ms(1), 0, (11, 1), false);
    rig.sync(ms(1), 0, (12, 2), false);
    rig.sync(ms(1), 0, (13, 3), false);
    rig.sync(ms(20), 0, (14, 1), false);
    assert_eq!(answers(&mut rig), [Time::ZERO, Time::ZERO, ms(4), ms(8), ms(1), ms(20)]);
}

#[test]
fn a_sync_does_not_wait_for_what_was_not_acknowledged_when_it_came() {
    // Acknowledged on the device: there are no acknowledged data that are not on the device.
    let mut rig = Rig::new(vec![plain_device(100 * MB, 100 * MB)], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 4 * MB));
    rig.sync(ms(1), 0, (11, 1), false);
    assert_eq!(answers(&mut rig), [ms(4), ms(1)]);
    // Acknowledged in memory, with a write that arrives after the sync.
    let mut rig = Rig::new(vec![early(plain_device(100 * MB, 100 * MB))], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 2 * MB));
    rig.sync(ms(1), 0, (11, 1), false);
    let behind = StorageRequest {
        object: 1,
        offset: 50 * MB,
        ..transfer(true, 2, 5 * MB)
    };
    rig.request(ms(1), 0, behind);
    assert_eq!(answers(&mut rig), [Time::ZERO, ms(1), ms(2)]);
}

/// A disk that acknowledges a write from its cache: the sync ends with the flush of the device.
#[test]
fn a_sync_writes_out_the_volatile_caches_of_devices() {
    let disk = Hdd::default();
    let params = ServerParams::new(DeviceModel::Hdd(disk), 1_000 * MB, 100 * MB);
    let mut rig = Rig::new(vec![params.clone()], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, MB));
    let written = answers(&mut rig)[0];
    let mut rig = Rig::new(vec![params.clone()], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, MB));
    rig.sync(written, 0, (11, 1), false);
    let synced = answers(&mut rig)[1];
    // The same computed by hand: the disk with its own random stream.
    let (mut state, mut random) = (
        HddState::default(),
        Stream::new(params.random.0, params.random.1 << 8, Purpose::Device),
    );
    let access = odonata_device::Access {
        write: true,
        object: 1,
        offset: 0,
        bytes: MB,
    };
    assert_eq!(disk.start(&mut state, Time::ZERO, access, &mut random), written);
    let expected = disk.flush(&mut state, written, &mut random);
    assert!(expected > written, "the cache has something to write");
    assert_eq!(synced, expected);
}

/// 8 MB are on the device at 8 ms and would stay there until the job ends. A sync to the last tier drains them, two
/// blocks at a time: the first is read in 1 ms and takes 9 ms, as does each later one, and the lower tier takes 9 ms
/// for its own sync.
#[test]
fn a_sync_to_the_last_tier_drains_the_file_whatever_the_policy_says() {
    let policy = Policy {
        drain: DrainPolicy::JobEnd,
        blocks_in_flight: 2,
        ..Policy::default()
    };
    let mut params = plain_device(100 * MB, 100 * MB);
    params.manager.extents = true;
    params.next = Some(policy);
    for deep in [false, true] {
        let mut rig = Rig::new(vec![params.clone()], slow_lower_tier(ms(9)));
        rig.request(Time::ZERO, 0, transfer(true, 1, 8 * MB));
        rig.request(Time::ZERO, 0, transfer(true, 2, 2 * MB));
        rig.sync(ms(50), 0, (11, 1), deep);
        let ends = answers(&mut rig);
        // Like a drain: (8 / 2) rounds of 10 ms, and one block after the first; file 2 stays in place.
        let drained = ms(50 + 4 * 10 + 1);
        assert_eq!(ends[2], if deep { drained + ms(9) } else { ms(50) });
        assert_eq!(rig.servers.measured().used(0), if deep { 2 * MB } else { 10 * MB });
        let below = rig
            .servers
            .measured()
            .contents(0)
            .filter(|(_, extent)| extent.place == Place::LowerTier);
        let files: Vec<u64> = below.map(|(file, _)| file).collect();
        assert_eq!(files, if deep { vec![1] } else { vec![] });
    }
}

/// For data that bypass the devices, the lower tier always gets a sync.
#[test]
fn a_sync_of_servers_that_pass_on_is_one_of_the_tier_below() {
    let mut params = early(pipelined(1, plain_device(0, 10 * MB)));
    params.next = Some(Policy {
        write: WritePolicy::Around,
        ..Policy::default()
    });
    for (deep, at) in [(false, 27), (true, 27), (false, 100)] {
        let mut rig = Rig::new(vec![params.clone()], slow_lower_tier(ms(9)));
        rig.request(Time::ZERO, 0, transfer(true, 1, 2 * MB));
        let comes = if at == 100 { ms(91) } else { ms(10) };
        rig.sync(comes, 0, (11, 1), deep);
        // Its two pieces reach the lower tier in 9 ms each, with or without memory for both; the lower tier then takes
        // 9 ms.
        let ends = answers(&mut rig);
        let written = rig.lower_tier.iter().map(|&(when, ..)| when + ms(9)).max().unwrap();
        assert_eq!(ends[1], comes.max(written) + ms(9));
    }
}

/// A writer that continues forever does not delay a sync, and overwriting data that a sync waits for ends the wait.
#[test]
fn a_sync_ends_though_the_file_is_written_on() {
    let policy = Policy {
        drain: DrainPolicy::JobEnd,
        blocks_in_flight: 1,
        ..Policy::default()
    };
    let mut params = plain_device(1_000 * MB, 100 * MB);
    params.manager.extents = true;
    params.next = Some(policy);
    let mut rig = Rig::new(vec![params], slow_lower_tier(ms(9)));
    for part in 0..60 {
        let what = StorageRequest {
            object: 7,
            offset: part % 4 * MB,
            ..transfer(true, part, MB)
        };
        rig.request(ms(10 * part), 0, what);
    }
    rig.sync(ms(35), 0, (100, 7), true);
    let ends = answers(&mut rig);
    // 4 MB in sequence, read in 1 ms and sent down in 9 ms, and after at most one write of 1 ms each.
    assert!(ends[60] > ms(35 + 40) && ends[60] < ms(35 + 4 * 12 + 9), "{}", ends[60]);
}

/// Waits of synchronizations: (resource, victim, culprit, microseconds).
fn waits(rig: &Rig) -> Vec<(&'static str, u16, u16, u64)> {
    let charges = rig.servers.measured().blame().map(|charge| {
        (
            SERVER_RESOURCES[usize::from(charge.resource)],
            charge.victim,
            charge.culprit.expect("nothing is left open"),
            charge.time.0 / 1_000_000,
        )
    });
    charges.collect()
}

/// A write of job `owner` to file `token`, 1 ms per MB.
fn of(owner: u16, token: u64, bytes: u64) -> StorageRequest {
    for_job(owner, transfer(true, token, bytes))
}

/// Jobs 1 and 2 write 4 MB each, acknowledged in memory immediately. The device serves job 1 first: a sync of job 2's
/// file at 1 ms waits 3 ms for job 1, and does not wait for others while its own data are written.
#[test]
fn a_sync_waits_for_the_job_whose_writes_the_device_serves_first() {
    let mut rig = Rig::new(vec![early(plain_device(100 * MB, 100 * MB))], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, of(1, 1, 4 * MB));
    rig.request(Time::ZERO, 0, of(2, 2, 4 * MB));
    rig.sync_of(2, ms(1), 0, (12, 2), false);
    assert_eq!(answers(&mut rig)[2], ms(8));
    assert_eq!(waits(&rig), [("device", 2, 1, 3_000)]);
    // Job 1 synchronizes its own file, whose data are in service at that time.
    let mut rig = Rig::new(vec![early(plain_device(100 * MB, 100 * MB))], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, of(1, 1, 4 * MB));
    rig.request(Time::ZERO, 0, of(2, 2, 4 * MB));
    rig.sync_of(1, ms(1), 0, (11, 1), false);
    assert_eq!(answers(&mut rig)[2], ms(4));
    assert_eq!(waits(&rig), []);
}

/// Two writes to one file with a write of another job in between: the sync waits for that write, between the service of
/// its own two.
#[test]
fn a_sync_follows_one_write_after_the_other() {
    let mut rig = Rig::new(vec![early(plain_device(100 * MB, 100 * MB))], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, of(2, 1, 2 * MB));
    rig.request(Time::ZERO, 0, of(1, 2, 3 * MB));
    let more = StorageRequest {
        object: 1,
        offset: 10 * MB,
        ..of(2, 3, MB)
    };
    rig.request(Time::ZERO, 0, more);
    rig.sync_of(2, ms(1), 0, (11, 1), false);
    // On the device: 2 2 1 1 1 2, from 0 to 6 ms.
    assert_eq!(answers(&mut rig)[3], ms(6));
    assert_eq!(waits(&rig), [("device", 2, 1, 3_000)]);
}

/// A disk holds the write of job 1 in its cache; job 2, which has written nothing, synchronizes: all of its wait is for
/// job 1.
#[test]
fn a_sync_waits_for_the_job_whose_data_a_cache_writes_out() {
    let params = ServerParams::new(DeviceModel::Hdd(Hdd::default()), 1_000 * MB, 100 * MB);
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, of(1, 1, MB));
    rig.sync_of(2, ms(500), 0, (11, 2), false);
    let idle = answers(&mut rig)[1];
    assert_eq!(idle, ms(500), "a disk that is idle has long written its cache out");
    let params = ServerParams::new(DeviceModel::Hdd(Hdd::default()), 1_000 * MB, 100 * MB);
    let mut rig = Rig::new(vec![params.clone()], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, of(1, 1, MB));
    let written = answers(&mut rig)[0];
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, of(1, 1, MB));
    rig.sync_of(2, written, 0, (11, 2), false);
    let waited = answers(&mut rig)[1] - written;
    assert!(waited > Time::ZERO);
    let charges: Vec<_> = rig
        .servers
        .measured()
        .blame()
        .map(|c| (c.resource, c.victim, c.culprit, c.time))
        .collect();
    assert_eq!(charges, [(2, 2, Some(1), waited)]);
}

/// One block at a time is sent down, 1 ms from the device and 9 ms to the lower tier. The block of job 1 is in flight
/// from 3 ms (after its writes) to 13 ms. Job 2 synchronizes its file from 7 ms on, and waits 6 ms for the block of the
/// reserve. Its own block is then behind a write of job 3, of which 1.5 ms remain at the device; the lower tier takes
/// the rest of the time.
#[test]
fn a_sync_to_the_last_tier_waits_for_blocks_of_others_on_their_way_down() {
    let mut params = plain_device(1_000 * MB, 100 * MB);
    params.manager.extents = true;
    params.next = Some(Policy {
        drain: DrainPolicy::Immediately,
        blocks_in_flight: 1,
        ..Policy::default()
    });
    let mut rig = Rig::new(vec![params], slow_lower_tier(ms(9)));
    rig.request(Time::ZERO, 0, of(1, 1, 3 * MB));
    rig.request(ms(5), 0, of(2, 2, MB));
    rig.sync_of(2, ms(7), 0, (12, 2), true);
    rig.request(Time::from_ns(12_500_000), 0, of(3, 3, 2 * MB));
    let ends = answers(&mut rig);
    // 14.5 ms: read; 15.5 ms: sent; 24.5 ms: in the lower tier, where the sync takes 9 ms.
    assert_eq!(ends[3], Time::from_ns(33_500_000));
    assert_eq!(waits(&rig), [("device", 2, 3, 1_500), ("reserve", 2, 1, 6_000)]);
}

/// A run that ends during a wait has charged it until then.
#[test]
fn what_a_sync_has_waited_when_the_run_ends_is_charged() {
    let mut rig = Rig::new(vec![early(plain_device(100 * MB, 100 * MB))], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, of(1, 1, 4 * MB));
    rig.request(Time::ZERO, 0, of(2, 2, 4 * MB));
    rig.sync_of(2, ms(1), 0, (12, 2), false);
    while rig.now < ms(3) {
        assert!(rig.step::<Plain>());
    }
    rig.servers.charge_open_waits(ms(3));
    assert_eq!(waits(&rig), [("device", 2, 1, 2_000)]);
}
