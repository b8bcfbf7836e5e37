//! The critical chain of a rank, lost time per iteration and per interval: closed cases, and comparison with the total
//! lost time.

use super::lost_time::{BYTES, LATER, beside_in, end, lost};
use super::*;
use crate::observe::lost::path::{Parts, PathRecord};
use odonata_blame::lost::{Kind, Loss, LostAt, Origin, Stamp, without_places};
use odonata_engine::RollbackCheck;
use std::collections::BTreeMap;

fn setup(keep: u32) -> Setup {
    let mut setup = Setup::new();
    setup.params.lost_time = true;
    setup.params.lost_time_path = keep;
    setup.params.lost_time_interval = Some(Time::from_ns(1_000));
    setup
}

fn measured(machine: &TestMachine) -> HostMeasured {
    HostMeasured::join([machine.hosts.measured(Time::ZERO)]).unwrap()
}

/// The record of this origin, if kept.
fn find(all: &HostMeasured, at: Origin) -> Option<PathRecord> {
    all.lost_path.iter().find(|record| record.at == at).copied()
}

/// The record of the end of `rank`.
fn last(all: &HostMeasured, rank: u32) -> PathRecord {
    let ends = all
        .lost_path
        .iter()
        .filter(|record| record.call == crate::PathCall::End);
    ends.copied().find(|record| record.at.rank == rank).unwrap()
}

/// The chain of records that ends `rank`, backwards from its end while records inherit a loss and are kept.
fn chain(all: &HostMeasured, rank: u32) -> Vec<PathRecord> {
    let mut chain = vec![last(all, rank)];
    while let Some(from) = chain.last().filter(|record| record.inherited != Parts::default()) {
        match find(all, from.from) {
            Some(before) => chain.push(before),
            None => break,
        }
    }
    chain
}

/// A ring of messages with unequal work, beside jobs that send to its nodes.
fn ring(setup: Setup) -> Setup {
    let ranks: Vec<Vec<Op>> = (0..6)
        .map(|rank: u32| {
            let (right, left) = ((rank + 1) % 6, (rank + 5) % 6);
            let round = |iteration: u32| {
                [
                    irecv(left, 0, 3 * PACKET, 2 * iteration),
                    isend(right, 0, 3 * PACKET, 2 * iteration + 1),
                    compute(200 * u64::from(rank)),
                    OpKind::WaitAll {
                        first: Request(2 * iteration),
                        count: 2,
                    },
                    OpKind::Mark { iteration },
                ]
            };
            sequence([round(0), round(1), round(2)].concat())
        })
        .collect();
    beside_in(
        setup,
        &ranks,
        &[0, 9, 18, 27, 36, 45],
        &[(0, 1, 9), (100, 2, 9), (2_000, 3, 18)],
    )
}

#[test]
fn a_wait_record_contains_the_culprit_and_the_link() {
    let ranks = [
        sequence([compute(LATER), send(1, 0, BYTES)]),
        sequence([recv(0, 0, BYTES)]),
    ];
    let run = |others: &[(u64, u32, u32)]| beside_in(setup(5), &ranks, &[1, 8], others).complete();
    let (alone, both) = (run(&[]), run(&[(0, 0, 8)]));
    let delay = end(&both, 1) - end(&alone, 1);
    let all = measured(&both);
    let chain = chain(&all, 1);
    let [at_end, wait] = chain[..] else { panic!("{chain:?}") };
    assert_eq!((at_end.at.number, at_end.from), (2, wait.at));
    assert_eq!((at_end.inherited.others, at_end.losses().count()), (delay, 0));
    assert_eq!(wait.from, Origin { rank: 0, number: 0 });
    assert_eq!((wait.inherited, wait.end), (Parts::default(), end(&both, 1)));
    // The only link whose ledger charges job 0 has the same place and time.
    let book = both.fabric.blame();
    let of_job: Vec<_> = book.iter().filter(|charge| charge.victim == 0).collect();
    let [charge] = of_job[..] else { panic!("{of_job:?}") };
    let losses: Vec<_> = wait.losses().collect();
    assert_eq!(losses, [(2, Kind::Link, LostAt::link(charge.link), delay)]);
    assert_eq!(charge.time, delay);
    // A rank without losses has only the record of its end.
    assert_eq!(last(&all, 0).at.number, 1);
    assert_eq!(last(&all, 0).inherited, Parts::default());
}

#[test]
fn a_chain_contains_all_ranks_that_a_delay_has_passed() {
    let ranks = [
        sequence([compute(LATER), send(1, 0, BYTES)]),
        sequence([recv(0, 0, BYTES), compute(500), send(2, 0, BYTES)]),
        sequence([recv(1, 0, BYTES), compute(700), send(3, 0, BYTES)]),
        sequence([recv(2, 0, BYTES)]),
    ];
    let run = |others: &[(u64, u32, u32)]| beside_in(setup(5), &ranks, &[1, 8, 24, 40], others).complete();
    let (alone, both) = (run(&[]), run(&[(0, 0, 8)]));
    let delay = end(&both, 3) - end(&alone, 3);
    assert!(delay > Time::ZERO);
    let all = measured(&both);
    let chain = chain(&all, 3);
    let ranks: Vec<u32> = chain.iter().map(|record| record.at.rank).collect();
    assert_eq!(
        ranks,
        [3, 3, 2, 1],
        "the first one's message was held up, it has lost nothing itself"
    );
    let lost_at: Vec<Time> = chain
        .iter()
        .map(|record| record.losses().map(|loss| loss.3).fold(Time::ZERO, |a, b| a + b))
        .collect();
    assert_eq!(lost_at, [Time::ZERO, Time::ZERO, Time::ZERO, delay]);
    assert!(chain.windows(2).all(|pair| pair[0].end >= pair[1].end));
}

#[test]
fn every_chain_adds_up_to_the_loss_of_its_rank_and_places_change_no_sum() {
    let (with, without) = (ring(setup(100)).complete(), ring(setup(0)).complete());
    assert!(measured(&without).lost_path.is_empty());
    let all = measured(&with);
    let mut shared = 0;
    for rank in 0..6 {
        let (mut stamp, plain) = (lost(&with, 0, rank), lost(&without, 0, rank));
        without_places(&mut stamp.losses);
        assert_eq!(
            (stamp.at, stamp.undisturbed, &stamp.losses),
            (plain.at, plain.undisturbed, &plain.losses)
        );
        // The loss to others at each wait, minus the slack since.
        let (mut share, mut sum) = (1.0, 0.0);
        let to_others = |record: &PathRecord| {
            let of_others = record.losses().filter(|loss| loss.0 / 2 != 0);
            of_others.map(|loss| loss.3.0).sum::<u64>() + record.rest.others.0
        };
        let chain = chain(&all, rank);
        for (record, before) in chain.iter().zip(chain[1..].iter().map(Some).chain([None])) {
            sum += share * to_others(record) as f64;
            if let Some(before) = before {
                let there = to_others(before) + before.inherited.others.0;
                assert!(record.inherited.others.0 <= there, "{record:?} {before:?}");
                share *= record.inherited.others.0 as f64 / (there as f64).max(1.0);
            }
            shared += u32::from(record.at.rank != record.from.rank);
        }
        assert_eq!(chain.last().unwrap().inherited.others, Time::ZERO, "nothing is missing");
        let expected = stamp.to_others().0 as f64;
        assert!((sum - expected).abs() <= 4.0 * chain.len() as f64, "{sum} {expected}");
    }
    assert!(shared > 0, "some waited for others");
}

#[test]
fn the_kept_last_waits_have_the_same_numbers() {
    let (all, few) = (
        measured(&ring(setup(100)).complete()),
        measured(&ring(setup(2)).complete()),
    );
    for rank in 0..6 {
        let of = |measured: &HostMeasured| -> Vec<PathRecord> {
            (measured.lost_path.iter().copied())
                .filter(|record| record.at.rank == rank)
                .collect()
        };
        let (all, few) = (of(&all), of(&few));
        assert!(all.len() > 3 && few.len() == 3, "{} {}", all.len(), few.len());
        assert_eq!(all[all.len() - 3..], few);
    }
}

#[test]
fn the_last_iteration_has_the_loss_of_the_job_and_intervals_add_up_to_it() {
    let machine = ring(setup(0)).complete();
    let all = measured(&machine);
    let numbers: Vec<(u16, u32)> = all.lost_iterations.keys().copied().collect();
    assert_eq!(numbers, [(0, 0), (0, 1), (0, 2)]);
    // The program ends with the mark of its last iteration.
    let (at_end, rank) = all.lost_iterations[&(0, 2)].joined();
    let ends: Vec<Stamp> = (0..6).map(|rank| lost(&machine, 0, rank)).collect();
    assert_eq!(at_end.at, ends.iter().map(|stamp| stamp.at).max().unwrap());
    assert_eq!(
        at_end.undisturbed,
        ends.iter().map(|stamp| stamp.undisturbed).max().unwrap()
    );
    assert_eq!(ends[rank as usize].at, at_end.at);
    at_end.audit().unwrap();
    let mut sums: BTreeMap<(u16, Kind), i64> = BTreeMap::new();
    for interval in all.lost_intervals.iter().filter(|interval| interval.job == 0) {
        *sums.entry((interval.culprit, interval.kind)).or_default() += interval.time;
    }
    sums.retain(|_, sum| *sum != 0);
    let mut expected: BTreeMap<(u16, Kind), i64> = BTreeMap::new();
    for Loss {
        culprit, kind, time, ..
    } in ends.iter().flat_map(|stamp| &stamp.losses)
    {
        *expected.entry((*culprit, *kind)).or_default() += time.0 as i64;
    }
    assert_eq!(sums, expected);
    assert!(!expected.is_empty());
    let intervals: std::collections::BTreeSet<u64> = all.lost_intervals.iter().map(|of| of.interval).collect();
    assert!(intervals.len() > 1, "{intervals:?}");
}

/// The place of a wait at a storage server contains the number of the server.
#[test]
fn a_wait_at_a_storage_server_contains_its_number() {
    let write = OpKind::Write {
        file: 5,
        offset: 0,
        bytes: 900,
    };
    let machine = setup(5)
        .server(40, 1 << 40)
        .script(vec![sequence([compute(300), write])], &[0])
        .script(vec![sequence([write])], &[2])
        .complete();
    let all = measured(&machine);
    let chain = chain(&all, 0);
    let at_server = |loss: &(u16, Kind, LostAt, Time)| (loss.0, loss.1, loss.2) == (3, Kind::Device, LostAt::server(0));
    assert!(
        chain.iter().any(|record| record.losses().any(|loss| at_server(&loss))),
        "{chain:?}"
    );
    assert!(
        chain.iter().all(|record| record.at.rank == 0),
        "it has waited for no other rank"
    );
}

#[test]
fn waits_iterations_and_intervals_are_journalled() {
    let kept = |measured: HostMeasured| {
        (
            measured.lost,
            measured.lost_path,
            measured.lost_iterations,
            measured.lost_intervals,
        )
    };
    let expected = kept(measured(&ring(setup(2)).complete()));
    let mut check = RollbackCheck::new(ring(setup(2)).build());
    check.run(u64::MAX).unwrap();
    let again = HostMeasured::join([check.model().hosts.measured(Time::ZERO)]).unwrap();
    assert_eq!(kept(again), expected);
}
