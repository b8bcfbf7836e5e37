//! Removal of files: closed forms for the release of space, data in flight, and comparison with a map of bytes.

use std::collections::BTreeMap;

use crate::rig::{
    MB, Rig, answers, contents, delay, for_job, header, ms, pipelined, plain_device, range, removal, slow_lower_tier,
    transfer,
};
use odonata_engine::{Plain, Stream, random::Purpose};
use odonata_storage::settings::{Acknowledge, DrainPolicy, Policy, ReadPolicy, Unwritten, WritePolicy};
use odonata_storage::{Action, Place, ServerParams, StorageRequest};
use odonata_units::Time;

/// A server of `megabytes` with a device of 1 ms per MB, one piece in flight.
fn indexed(megabytes: u64) -> ServerParams {
    let mut params = pipelined(1, plain_device(megabytes * MB, 100 * MB));
    params.manager.extents = true;
    params
}

fn above(megabytes: u64, policy: Policy) -> ServerParams {
    ServerParams {
        next: Some(policy),
        ..indexed(megabytes)
    }
}

fn removed(rig: &Rig) -> u64 {
    rig.servers.measured().removed().map(|(.., bytes)| bytes).sum()
}

/// 8 MB fill the device. From 10 ms on, a write of another MB waits until the file is removed at 20 ms; a later one
/// does not wait.
#[test]
fn the_space_of_a_removed_file_is_free_at_once() {
    let mut rig = Rig::new(vec![indexed(8)], delay(Time::ZERO));
    rig.request(ms(0), 0, range(true, 1, 1, (0, 8 * MB)));
    rig.request(ms(10), 0, range(true, 2, 2, (0, MB)));
    rig.remove(ms(20), 0, (0, 1));
    rig.request(ms(30), 0, range(true, 3, 3, (0, 7 * MB)));
    assert_eq!(answers(&mut rig), [ms(8), ms(21), ms(37)]);
    assert_eq!(rig.removals, [(ms(20), 0)]);
    assert_eq!(rig.servers.measured().metrics(0).space_wait_ps, u128::from(ms(10).0));
    assert_eq!((rig.servers.measured().used(0), removed(&rig)), (8 * MB, 8 * MB));
    assert_eq!(
        contents(&rig),
        [(2, 0, MB, Place::Device(0)), (3, 0, 7 * MB, Place::Device(0))]
    );
}

#[test]
fn a_server_without_an_index_frees_nothing_and_answers() {
    let mut params = indexed(8);
    params.manager.extents = false;
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(ms(0), 0, range(true, 1, 1, (0, 8 * MB)));
    rig.remove(ms(20), 0, (0, 1));
    assert_eq!(answers(&mut rig), [ms(8)]);
    assert_eq!(
        (rig.removals.len(), rig.servers.measured().used(0), removed(&rig)),
        (1, 8 * MB, 0)
    );
}

/// 4 MB, of which 2 are on the device at 2.5 ms: the write is answered at 4 ms as without the removal, and none of its
/// data stay.
#[test]
fn a_write_under_way_is_answered_and_what_it_brings_is_removed() {
    for acknowledge in [Acknowledge::Device, Acknowledge::Memory] {
        let mut params = indexed(8);
        params.manager.acknowledge = acknowledge;
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        rig.request(ms(0), 0, range(true, 1, 1, (0, 4 * MB)));
        rig.remove(Time::from_ns(2_500_000), 0, (0, 1));
        // Rewritten before the old pieces have reached the device: 8 MB have space immediately.
        rig.request(Time::from_ns(3_500_000), 0, range(true, 2, 1, (0, 8 * MB)));
        let ends = answers(&mut rig);
        assert_eq!(ends[0] == ms(4), acknowledge == Acknowledge::Device);
        assert_eq!(rig.servers.measured().metrics(0).space_wait_ps, 0);
        assert_eq!(
            (removed(&rig), rig.servers.measured().metrics(0).bytes_written),
            (4 * MB, 12 * MB)
        );
        assert_eq!(contents(&rig), [(1, 0, 8 * MB, Place::Device(0))]);
    }
}

#[test]
fn a_write_that_waits_for_space_comes_behind_the_removal_of_its_file() {
    let mut rig = Rig::new(vec![indexed(4)], delay(Time::ZERO));
    rig.request(ms(0), 0, range(true, 1, 1, (0, 4 * MB)));
    rig.request(ms(5), 0, range(true, 2, 1, (4 * MB, 2 * MB)));
    rig.remove(ms(10), 0, (0, 1));
    assert_eq!(answers(&mut rig), [ms(4), ms(12)]);
    assert_eq!(removed(&rig), 4 * MB);
    assert_eq!(contents(&rig), [(1, 4 * MB, 6 * MB, Place::Device(0))]);
}

#[test]
fn a_read_of_removed_data_is_a_read_of_unwritten_data() {
    for (unwritten, refused) in [(Unwritten::ExistsBelow, 0), (Unwritten::Error, 1)] {
        let mut params = indexed(8);
        params.manager.unwritten = unwritten;
        let mut rig = Rig::new(vec![params], delay(Time::ZERO));
        rig.request(ms(0), 0, range(true, 1, 1, (0, MB)));
        rig.remove(ms(10), 0, (0, 1));
        rig.request(ms(20), 0, transfer(false, 1, MB));
        answers(&mut rig);
        assert_eq!(rig.unwritten.len(), refused, "{unwritten:?}");
    }
}

/// 8 blocks on the device, drained from 50 ms on: 1 ms to read, 20 ms in flight. Blocks that have not left at the
/// removal stay here. A block in flight arrives, and the lower tier gets a second removal after it.
#[test]
fn what_has_not_left_does_not_leave_any_more() {
    let policy = Policy {
        drain: DrainPolicy::JobEnd,
        blocks_in_flight: 1,
        ..Policy::default()
    };
    for (at, sent, answered) in [(50_500_000, 0, 70_500_000), (60_000_000, MB, 91_000_000)] {
        let mut rig = Rig::new(vec![above(100, policy)], slow_lower_tier(ms(20)));
        rig.request(ms(0), 0, range(true, 1, 1, (0, 8 * MB)));
        rig.job_ends(ms(50), 0, 0);
        rig.remove(Time::from_ns(at), 0, (0, 1));
        answers(&mut rig);
        let handed: u64 = rig.servers.measured().tier_metrics().map(|(.., m)| m.sent).sum();
        assert_eq!(handed, sent);
        assert_eq!(rig.removals, [(Time::from_ns(answered), 0)]);
        assert_eq!((rig.servers.measured().used(0), removed(&rig)), (0, 8 * MB));
        assert_eq!(contents(&rig), []);
    }
}

/// The same for an own drain to an external file system.
#[test]
fn a_block_that_was_read_for_the_drain_is_not_sent() {
    let mut params = indexed(100);
    params.drain = Some(crate::rig::drain(ms(20), 0));
    let mut rig = Rig::new(vec![params], delay(Time::ZERO));
    rig.request(ms(0), 0, range(true, 1, 1, (0, 3 * MB)));
    // The first block is on the link from 2 ms to 22 ms; the second waits for it.
    rig.remove(ms(10), 0, (0, 1));
    rig.request(ms(30), 0, range(true, 2, 2, (0, MB)));
    answers(&mut rig);
    assert_eq!(rig.servers.measured().metrics(0).bytes_drained, 3 * MB);
    assert_eq!((removed(&rig), rig.servers.measured().used(0)), (3 * MB, 0));
    assert_eq!(contents(&rig), [(2, 0, MB, Place::LowerTier)]);
}

/// Under every policy, a removed file is in no place: devices, clean copies, kept inputs, lower tier.
#[test]
fn a_removed_file_is_nowhere() {
    for (write_policy, keep) in [
        (WritePolicy::Back, false),
        (WritePolicy::Back, true),
        (WritePolicy::Through, true),
        (WritePolicy::Around, false),
    ] {
        let policy = Policy {
            write: write_policy,
            keep,
            read: ReadPolicy::Cache,
            ..Policy::default()
        };
        // During the drain, and long after it.
        for at in [ms(7), ms(500)] {
            let mut rig = Rig::new(vec![above(100, policy)], slow_lower_tier(ms(4)));
            rig.request(ms(0), 0, range(true, 1, 1, (0, 4 * MB)));
            rig.request(
                ms(300),
                0,
                StorageRequest {
                    offset: 2 * MB,
                    ..transfer(false, 1, 4 * MB)
                },
            );
            rig.remove(at, 0, (0, 1));
            answers(&mut rig);
            let (m, inputs) = (rig.servers.measured().tier_metrics().next().unwrap().2, at == ms(500));
            assert!(m.inputs > 0, "the read has kept an input");
            let expected = if inputs { m.received + m.inputs } else { m.received };
            assert_eq!(removed(&rig), expected, "{write_policy:?} at {at:?}");
            if inputs {
                assert_eq!((contents(&rig), rig.servers.measured().used(0)), (vec![], 0));
            }
        }
    }
}

/// A full lower tier accepts a block in flight only after a removal of its part of the file. It gets a removal
/// immediately, and a second one after the block.
#[test]
fn the_tier_below_is_asked_at_once_and_again_behind_blocks_on_their_way() {
    let policy = Policy {
        write: WritePolicy::Through,
        ..Policy::default()
    };
    let mut rig = Rig::new(vec![above(100, policy)], slow_lower_tier(ms(20)));
    rig.request(ms(0), 0, range(true, 1, 1, (0, MB)));
    rig.remove(ms(5), 0, (0, 1));
    rig.remove(ms(6), 0, (1, 2));
    answers(&mut rig);
    // The block reaches the lower tier at 20 ms, and the second removal is answered 20 ms later; the other file waits
    // for nothing.
    assert_eq!(rig.removals, [(ms(26), 1), (ms(40), 0)]);
    let mut actions = Vec::new();
    let what = removal(header(1, 0), 9);
    rig.servers.request::<Plain>(ms(100), 0, (what, None), &mut actions);
    let asks = |action: &Action| matches!(action, Action::AskLowerTier { server: 0, operation, .. } if *operation == what.operation);
    assert!(actions.len() == 1 && asks(&actions[0]), "{actions:?}");
}

/// The owner of each half MB, by server, file and position.
type Map = BTreeMap<(u32, u64, u64), u16>;

/// 400 writes and removals, one after the other, compared with a map of bytes.
#[test]
fn the_sums_are_those_of_a_map_of_bytes() {
    const HALF: u64 = MB / 2;
    for seed in 0..20 {
        let mut random = Stream::new(seed, 3, Purpose::Arrival);
        let mut params = indexed(100_000);
        params.manager.acknowledge = [Acknowledge::Device, Acknowledge::Memory][random.below(2) as usize];
        let mut rig = Rig::new(vec![params; 3], delay(Time::ZERO));
        let (mut map, mut removed) = (Map::new(), BTreeMap::<(u32, u16), u64>::new());
        for step in 0..400 {
            let (server, file) = (random.below(3), u64::from(random.below(4)));
            let at = ms(100 * step);
            if random.below(4) == 0 {
                rig.remove(at, server, (step, file));
                map.retain(|&(s, f, _), &mut owner| {
                    let stays = (s, f) != (server, file);
                    if !stays {
                        *removed.entry((s, owner)).or_default() += HALF;
                    }
                    stays
                });
            } else {
                let (first, count) = (u64::from(random.below(20)), 1 + u64::from(random.below(8)));
                let owner = random.below(3) as u16;
                let what = for_job(owner, range(true, step, file, (first * HALF, count * HALF)));
                rig.request(at, server, what);
                map.extend((first..first + count).map(|half| ((server, file, half), owner)));
            }
            rig.run::<Plain>();
            rig.servers.measured().audit().unwrap();
            let mut found = Map::new();
            for server in 0..3 {
                for (file, extent) in rig.servers.measured().contents(server) {
                    assert_eq!(extent.place, Place::Device(0), "seed {seed}, step {step}");
                    let halves = extent.start / HALF..extent.end / HALF;
                    found.extend(halves.map(|half| ((server, file, half), extent.owner)));
                }
                let used = map.keys().filter(|key| key.0 == server).count() as u64 * HALF;
                assert_eq!(rig.servers.measured().used(server), used, "seed {seed}, step {step}");
            }
            assert_eq!(found, map, "seed {seed}, step {step}");
            let counted: BTreeMap<_, _> = (rig.servers.measured().removed())
                .map(|(server, owner, bytes)| ((server, owner), bytes))
                .collect();
            assert_eq!(counted, removed, "seed {seed}, step {step}");
        }
    }
}
