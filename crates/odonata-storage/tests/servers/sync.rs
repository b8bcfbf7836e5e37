//! Synchronisation of files: closed forms of what it waits for.

use crate::rig::{MB, Network, Rig, delay, ms, pipelined, plain_device, transfer};
use odonata_device::{Device, DeviceModel, Hdd, HddState};
use odonata_engine::{Plain, Stream, random::Purpose};
use odonata_storage::settings::{Acknowledge, DrainPolicy, Policy, WritePolicy};
use odonata_storage::{Place, ServerParams};
use odonata_units::Time;

/// A network that takes no time, and a tier below that takes so long.
fn below(time: Time) -> Network {
    Box::new(move |now, _, client, _| if client == u32::MAX { now + time } else { now })
}

fn early(mut params: ServerParams) -> ServerParams {
    params.manager.acknowledge = Acknowledge::Memory;
    params
}

/// When each token was answered, in the order of tokens.
fn answers(rig: &mut Rig) -> Vec<Time> {
    rig.run::<Plain>();
    rig.servers.audit().unwrap();
    let mut answers = rig.answers.clone();
    answers.sort_by_key(|&(_, token, _)| token);
    answers.into_iter().map(|(at, ..)| at).collect()
}

/// 4 MB of file 1, then 4 MB of file 2, 1 ms per MB on the device: acknowledged at once in memory, committed at 4 and at 8 ms.
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
    // Acknowledged on the device: nothing is under way that somebody could rely on.
    let mut rig = Rig::new(vec![plain_device(100 * MB, 100 * MB)], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 4 * MB));
    rig.sync(ms(1), 0, (11, 1), false);
    assert_eq!(answers(&mut rig), [ms(4), ms(1)]);
    // In memory, a write that comes behind it.
    let mut rig = Rig::new(vec![early(plain_device(100 * MB, 100 * MB))], delay(Time::ZERO));
    rig.request(Time::ZERO, 0, transfer(true, 1, 2 * MB));
    rig.sync(ms(1), 0, (11, 1), false);
    let behind = odonata_storage::NewRequest {
        file: 1,
        offset: 50 * MB,
        ..transfer(true, 2, 5 * MB)
    };
    rig.request(ms(1), 0, behind);
    assert_eq!(answers(&mut rig), [Time::ZERO, ms(1), ms(2)]);
}

/// A disk that says at once that it has a write, which is in its cache: the sync ends when the device's own flush does.
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
    // The same by hand: the disk with its own stream.
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

/// 8 MB on the device at 8 ms, which would stay there until the job ends. Down to the last tier, two blocks at once: the first is
/// read in 1 ms and takes 9 ms, as does each later one, and the tier below takes 9 ms for its own sync.
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
        let mut rig = Rig::new(vec![params.clone()], below(ms(9)));
        rig.request(Time::ZERO, 0, transfer(true, 1, 8 * MB));
        rig.request(Time::ZERO, 0, transfer(true, 2, 2 * MB));
        rig.sync(ms(50), 0, (11, 1), deep);
        let ends = answers(&mut rig);
        // As a drain: (8 / 2) rounds of 10 ms, and one block behind the first; file 2 stays where it is.
        let drained = ms(50 + 4 * 10 + 1);
        assert_eq!(ends[2], if deep { drained + ms(9) } else { ms(50) });
        assert_eq!(rig.servers.used(0), if deep { 2 * MB } else { 10 * MB });
        let below = rig
            .servers
            .contents(0)
            .filter(|(_, extent)| extent.place == Place::Below);
        let files: Vec<u64> = below.map(|(file, _)| file).collect();
        assert_eq!(files, if deep { vec![1] } else { vec![] });
    }
}

/// Of what passes the devices by, the tier below is asked in any case.
#[test]
fn a_sync_of_servers_that_pass_on_is_one_of_the_tier_below() {
    let mut params = early(pipelined(1, plain_device(0, 10 * MB)));
    params.next = Some(Policy {
        write: WritePolicy::Around,
        ..Policy::default()
    });
    for (deep, at) in [(false, 27), (true, 27), (false, 100)] {
        let mut rig = Rig::new(vec![params.clone()], below(ms(9)));
        rig.request(Time::ZERO, 0, transfer(true, 1, 2 * MB));
        let comes = if at == 100 { ms(91) } else { ms(10) };
        rig.sync(comes, 0, (11, 1), deep);
        // Its two pieces are below at 9 ms each, memory for one at once or not; then 9 ms for the tier below.
        let ends = answers(&mut rig);
        let written = rig.below.iter().map(|&(when, ..)| when + ms(9)).max().unwrap();
        assert_eq!(ends[1], comes.max(written) + ms(9));
    }
}

/// A writer that goes on for ever in front of the line does not hold a sync up, and overwriting what it waits for ends the wait.
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
    let mut rig = Rig::new(vec![params], below(ms(9)));
    for part in 0..60 {
        let what = odonata_storage::NewRequest {
            file: 7,
            offset: part % 4 * MB,
            ..transfer(true, part, MB)
        };
        rig.request(ms(10 * part), 0, what);
    }
    rig.sync(ms(35), 0, (100, 7), true);
    let ends = answers(&mut rig);
    // 4 MB, one after the other, read in 1 ms and handed down in 9 ms, and behind one write of 1 ms each at most.
    assert!(ends[60] > ms(35 + 40) && ends[60] < ms(35 + 4 * 12 + 9), "{}", ends[60]);
}
