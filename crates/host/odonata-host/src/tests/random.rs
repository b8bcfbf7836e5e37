//! Random programs of `random_program`, compared with the executor of `reference`.
//!
//! Programs of the first kind cannot deadlock by construction: some order of all events of all ranks lets each event
//! end once the earlier ones have ended, and wildcards match messages that no other receive would take. They must end
//! under every protocol.
//!
//! The other programs may deadlock. The reference must then be stuck as well, and a reported cycle must consist of true
//! waits.

use super::random_program::ProgramGenerator;
use super::reference::{Reference, matches};
use super::rehearsal::hand_over;
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// A small machine with protocols and costs drawn from `seed`.
fn setup(seed: u64) -> Setup {
    let mut random = Stream::new(seed, 1, Purpose::Host);
    let mut pick = |n: u32| random.below(n);
    let mut setup = Setup::new();
    setup.shape = DragonflyShape {
        groups: 3,
        routers: 2,
        nodes: 2,
        global_ports: 1,
        cables: None,
    };
    setup.algorithm = [Algorithm::Minimal, Algorithm::Valiant, Algorithm::ProgressiveAdaptive][pick(3) as usize];
    let params = &mut setup.params;
    params.records.messages = 0;
    params.mpi.eager_threshold = Some(Bytes([u64::MAX, 1_000, 100, 0][pick(4) as usize]));
    params.mpi.progress = [Progress::Asynchronous, Progress::InCalls][pick(2) as usize];
    params.mpi.rendezvous_zero_copy = pick(2) == 0;
    if pick(2) == 0 {
        params.mpi.call_jitter = Some(Jitter {
            min: Time::ZERO,
            max: Time::from_ns(2_000),
        });
        params.nic.handoff = Some(Jitter {
            min: Time::ZERO,
            max: Time::from_ns(500),
        });
        (params.mpi.send_overhead, params.mpi.recv_overhead) = (Time::from_ns(100), Time::from_ns(200));
    }
    params.mpi.send_delay = Time::from_ns(u64::from(pick(3)) * 700);
    params.mpi.send_per_byte = PerByte(f64::from(pick(2)) * 500.0);
    setup
}

/// Runs `script` and compares its matches with the reference.
fn compare(seed: u64, script: Script) -> (TestMachine, Setup) {
    let n = script.ranks();
    let nodes: Vec<u32> = (0..n)
        .map(|rank| (rank * 7 + seed as u32) % 12 / (1 + seed as u32 % 2))
        .collect();
    let setup = setup(seed);
    let threshold = setup.params.mpi.eager_threshold;
    let program = Arc::new(script);
    let setup = setup.job(JobProgram::Program(program.clone()), &nodes);
    let machine = setup.run();
    let outcome = machine.outcome();
    let records = machine.hosts.observers.matches.records();

    // Messages of one sender on one communicator reach matching in the order of sending.
    let mut next: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
    for record in records {
        if let crate::MatchRecord::Offered {
            rank,
            source,
            context,
            sequence,
        } = *record
        {
            let expected = next.entry((rank, source, context)).or_default();
            assert_eq!(sequence, *expected, "seed {seed}");
            *expected += 1;
        }
    }

    let mut reference = Reference::new(&program, threshold.map_or(u64::MAX, |bytes| bytes.0), records);
    reference.run();
    assert_eq!(matches(records), reference.matched, "seed {seed}");
    let stuck: BTreeMap<u32, u32> = (0..n)
        .filter_map(|rank| Some((rank, reference.blocked(rank)?.id.0)))
        .collect();
    match outcome {
        HostOutcome::Completed => {
            assert!(stuck.is_empty(), "seed {seed}: the reference stops in {stuck:?}");
            assert_eq!(reference.unmatched(), 0, "seed {seed}");
        }
        HostOutcome::Failed {
            kind: FailureKind::LeftBehind,
            text,
        } => {
            assert!(stuck.is_empty(), "seed {seed}: the reference stops in {stuck:?}");
            assert_eq!(
                crate::diagnosis::PartState(&machine.hosts).unmatched(),
                reference.unmatched(),
                "seed {seed}"
            );
            assert!(
                text.contains("was never received") || reference.unmatched() == 0,
                "seed {seed}: {text}"
            );
        }
        HostOutcome::Stalled {
            blocked,
            unmatched,
            cycle,
            unfinished,
        } => {
            let ours: BTreeMap<u32, u32> = blocked.iter().map(|b| (b.rank, b.id.0)).collect();
            assert_eq!((ours, unfinished), (stuck.clone(), stuck.len() as u64), "seed {seed}");
            assert_eq!(unmatched, reference.unmatched(), "seed {seed}");
            for (i, wait) in cycle.iter().enumerate() {
                let target = cycle[(i + 1) % cycle.len()].rank;
                assert_eq!(stuck.get(&wait.rank), Some(&wait.id.0), "seed {seed}: {cycle:?}");
                let waits = reference.waits_for(wait.rank);
                assert!(
                    waits.contains(&target),
                    "seed {seed}: {wait:?} waits for {waits:?}, not {target}"
                );
            }
            assert_eq!(
                cycle.is_empty(),
                !has_cycle(&stuck, &reference),
                "seed {seed}: {cycle:?}"
            );
        }
        other => panic!("seed {seed}: {other:?}"),
    }
    (machine, setup)
}

/// Whether stuck ranks wait for each other in a cycle: whether any remain after repeatedly removing ranks that wait for
/// none of the remaining ones.
fn has_cycle(stuck: &BTreeMap<u32, u32>, reference: &Reference<'_>) -> bool {
    let mut left: BTreeSet<u32> = stuck.keys().copied().collect();
    loop {
        let before = left.len();
        let remains = left.clone();
        left.retain(|&rank| !reference.waits_for(rank).is_disjoint(&remains));
        if left.len() == before {
            return !left.is_empty();
        }
    }
}

#[test]
fn programs_that_cannot_deadlock_complete_with_the_matches_of_the_reference() {
    let mut matched = 0;
    for seed in 0..4_000 {
        let n = 2 + seed as u32 % 5;
        let (mut machine, _) = compare(seed, ProgramGenerator::new(seed, n).safe());
        assert!(
            matches!(machine.outcome(), HostOutcome::Completed),
            "seed {seed}: {:?}",
            machine.outcome()
        );
        machine
            .hosts
            .audit()
            .unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        machine
            .fabric
            .audit()
            .unwrap_or_else(|text| panic!("seed {seed}: {text}"));
        matched += matches(machine.hosts.observers.matches.records()).len();
    }
    assert!(matched > 60_000, "{matched}");
}

#[test]
fn programs_that_may_deadlock_stop_where_the_reference_stops_with_true_cycles() {
    let (mut completed, mut cycles, mut others) = (0, 0, 0);
    for seed in 10_000..16_000 {
        let author = ProgramGenerator::new(seed, 2 + seed as u32 % 3);
        let script = if seed % 2 == 0 {
            author.wild()
        } else {
            author.shuffled()
        };
        let (machine, _) = compare(seed, script);
        match machine.outcome() {
            HostOutcome::Completed | HostOutcome::Failed { .. } => completed += 1,
            HostOutcome::Stalled { cycle, .. } if cycle.is_empty() => others += 1,
            _ => cycles += 1,
        }
    }
    assert!(
        completed > 500 && cycles > 1_500 && others > 150,
        "{completed} {cycles} {others}"
    );
}

#[test]
fn every_event_of_random_programs_can_be_undone_and_redone() {
    for seed in 0..8 {
        let (machine, setup) = compare(seed, ProgramGenerator::new(seed, 3).safe());
        let redone = redo_every_event(&setup, seed);
        assert_eq!(redone, digest(&machine), "seed {seed}");
    }
}

#[test]
fn random_programs_resume_from_a_saved_state() {
    hand_over_programs(0..100);
}

#[test]
#[ignore = "takes long"]
fn more_random_programs_go_on_from_what_was_saved() {
    hand_over_programs(100..400);
}

/// Saves and resumes runs of programs, including those that may deadlock: they must stop in the same state.
fn hand_over_programs(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let author = ProgramGenerator::new(seed, 2 + seed as u32 % 4);
        let script = match seed % 3 {
            0 => author.safe(),
            1 => author.wild(),
            _ => author.shuffled(),
        };
        let (_, setup) = compare(seed, script);
        hand_over(&setup, 40);
    }
}
