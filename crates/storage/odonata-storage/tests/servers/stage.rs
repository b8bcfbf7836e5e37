//! Stage-in, read-ahead and stage-out: closed forms.

use crate::rig::{MB, Rig, answers, for_job, ms, pipelined, plain_device, range, slow_lower_tier, transfer};
use odonata_storage::settings::{DrainPolicy, Policy, ReadPolicy};
use odonata_storage::{Place, ServerParams, StageMetrics, StorageRequest};
use odonata_units::{Bytes, Time};

/// A server of `megabytes` whose device takes 1 ms per MB, above another tier.
fn above(megabytes: u64, pieces: u32, policy: Policy) -> ServerParams {
    let mut params = pipelined(pieces, plain_device(megabytes * MB, 100 * MB));
    params.manager.extents = true;
    params.next = Some(policy);
    params
}

fn staged(rig: &Rig, job: u16) -> StageMetrics {
    let of_job = rig
        .servers
        .measured()
        .stage_metrics()
        .find(|&(number, _)| number == job);
    of_job.expect("the job is counted").1
}

/// n blocks, k in flight: each takes 9 ms from the lower tier and 1 ms to the device, a drain in reverse. A read finds
/// all data on the device.
#[test]
fn a_stage_in_takes_its_blocks_through_the_pipeline_and_reads_find_them() {
    for (pieces, rounds) in [(1, 8), (4, 2)] {
        let mut rig = Rig::new(vec![above(100, pieces, Policy::default())], slow_lower_tier(ms(9)));
        rig.stage_in(Time::ZERO, 0, range(false, 1, 7, (0, 8 * MB)));
        rig.request(ms(100), 0, range(false, 2, 7, (0, 8 * MB)));
        rig.stage_in(ms(200), 0, range(false, 3, 7, (0, 8 * MB)));
        let ends = answers(&mut rig);
        assert_eq!(ends, [ms(rounds * 10 + u64::from(pieces) - 1), ms(108), ms(200)]);
        assert_eq!(rig.lower_tier.len(), 8, "each block was fetched once");
        let extents: Vec<_> = rig
            .servers
            .measured()
            .contents(0)
            .map(|(_, extent)| (extent.bytes(), extent.place))
            .collect();
        assert_eq!(extents, [(8 * MB, Place::Used(0))]);
        let found = staged(&rig, 0);
        assert_eq!((found.brought, found.found, found.left), (8 * MB, 8 * MB, 0));
    }
}

/// A file of 8 MB for a buffer of 5 MB: its first part is staged in, and the job starts although the rest stays in the
/// lower tier.
#[test]
fn what_has_no_room_stays_below() {
    let mut rig = Rig::new(vec![above(5, 1, Policy::default())], slow_lower_tier(ms(9)));
    rig.stage_in(Time::ZERO, 0, range(false, 1, 7, (0, 8 * MB)));
    let ends = answers(&mut rig);
    assert_eq!(ends, [ms(5 * 10 + 3 * 9)]);
    let found = staged(&rig, 0);
    assert_eq!((found.brought, found.left), (5 * MB, 3 * MB));
    assert_eq!(rig.servers.measured().used(0), 5 * MB);
}

/// The first read waits 9 ms, and the read-ahead window arrives with it: a sequential reader finds the data, or waits
/// for data in flight.
#[test]
fn a_sequential_reader_finds_what_was_read_ahead() {
    let ends = |window: u64| {
        let policy = Policy {
            read: ReadPolicy::Cache,
            read_ahead: Bytes(window * MB),
            ..Policy::default()
        };
        let mut rig = Rig::new(vec![above(100, 4, policy)], slow_lower_tier(ms(9)));
        for (token, at) in [(0, 0), (1, 4), (2, 20), (3, 30), (4, 40)] {
            rig.request(ms(at), 0, range(false, token, 7, (token * MB, MB)));
        }
        let ends = answers(&mut rig);
        (ends, staged(&rig, 0).read_ahead, rig.lower_tier.len())
    };
    let (without, ahead, _) = ends(0);
    assert_eq!(without, [ms(9), ms(13), ms(29), ms(39), ms(49)]);
    assert_eq!(ahead, 0);
    let (with, ahead, fetched) = ends(4);
    // The second read waits for the block in flight, which arrives with the first; the others are on the device. At 30
    // ms, less than half of the window is left: three blocks are fetched, and the last read waits until the device has
    // written them, at 42 ms.
    assert_eq!(with, [ms(9), ms(9), ms(21), ms(31), ms(43)]);
    assert_eq!(fetched as u64 * MB, MB + ahead, "nothing was fetched twice");
}

/// 8 MB that were drained, with a window of 4 MB: seven MB are read ahead of the first, and none after the last. An
/// input follows the end; its length is unknown, so its reader gets the window.
#[test]
fn nothing_is_read_ahead_behind_the_end_of_a_file() {
    let policy = Policy {
        read: ReadPolicy::Cache,
        read_ahead: Bytes(4 * MB),
        ..Policy::default()
    };
    let mut rig = Rig::new(vec![above(100, 4, policy)], slow_lower_tier(ms(9)));
    rig.request(
        ms(0),
        0,
        StorageRequest {
            object: 7,
            ..transfer(true, 100, 8 * MB)
        },
    );
    for token in 0..8 {
        rig.request(ms(200 + 20 * token), 0, range(false, token, 7, (token * MB, MB)));
    }
    answers(&mut rig);
    assert_eq!(staged(&rig, 0).read_ahead, 7 * MB);
    let fetched = |rig: &Rig| {
        rig.lower_tier
            .iter()
            .filter(|asked| !asked.1)
            .map(|asked| asked.4)
            .sum::<u64>()
    };
    assert_eq!(fetched(&rig), 8 * MB);
    rig.request(ms(500), 0, range(false, 8, 7, (8 * MB, MB)));
    answers(&mut rig);
    assert_eq!((staged(&rig, 0).read_ahead, fetched(&rig)), (11 * MB, 13 * MB));
}

/// A read during the stage-in of a file waits only for its own block.
#[test]
fn a_job_may_read_while_its_files_come() {
    let mut rig = Rig::new(vec![above(100, 1, Policy::default())], slow_lower_tier(ms(9)));
    rig.stage_in(Time::ZERO, 0, range(false, 1, 7, (0, 4 * MB)));
    // The third block arrives from 20 to 29 ms.
    rig.request(ms(22), 0, range(false, 2, 7, (2 * MB, MB)));
    assert_eq!(answers(&mut rig), [ms(40), ms(29)]);
    assert_eq!(rig.lower_tier.len(), 4);
}

/// Job 5 stages out, job 0 does not: the data of job 5 are drained after its end, one block after the other.
#[test]
fn what_a_job_stages_out_goes_down_at_its_end_whatever_the_policy_says() {
    let policy = Policy {
        drain: DrainPolicy::AboveWatermark,
        watermark: Bytes(100 * MB),
        blocks_in_flight: 1,
        ..Policy::default()
    };
    let mut rig = Rig::new(vec![above(100, 4, policy)], slow_lower_tier(ms(9)));
    for owner in [0, 5] {
        let what = for_job(owner, transfer(true, owner.into(), 4 * MB));
        rig.request(Time::ZERO, 0, what);
        rig.job_ends(ms(50), 0, owner);
    }
    answers(&mut rig);
    let out = staged(&rig, 5);
    assert_eq!((out.taken_out, out.out_until), (4 * MB, Some(ms(50 + 4 * 10))));
    assert_eq!(staged(&rig, 0), StageMetrics::default());
    assert_eq!(rig.servers.measured().used(0), 4 * MB);
}
