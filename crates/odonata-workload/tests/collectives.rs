//! Collectives: who sends what to whom, and that the data arrive.

use odonata_workload::collective::{Algorithm, Rules, Step, choose, step};
use odonata_workload::{Collective, Comm};

const ALL: [Algorithm; 6] = [
    Algorithm::Dissemination,
    Algorithm::RecursiveDoubling,
    Algorithm::ReduceScatterAllgather,
    Algorithm::Binomial,
    Algorithm::ScatterRecursiveDoubling,
    Algorithm::ScatterRing,
];

fn barrier() -> Collective {
    Collective::Barrier { comm: Comm::WORLD }
}

fn allreduce(bytes: u64, count: u64) -> Collective {
    Collective::Allreduce {
        comm: Comm::WORLD,
        bytes,
        count,
    }
}

fn broadcast(root: u32, bytes: u64) -> Collective {
    Collective::Broadcast {
        comm: Comm::WORLD,
        root,
        bytes,
    }
}

/// Every collective worth trying on `ranks` ranks: with sizes that divide, do not divide, and vanish.
fn collectives(ranks: u32) -> Vec<Collective> {
    let mut list = vec![barrier()];
    list.extend([(0, 0), (8, 1), (4_000, 1_000), (4 * 1_021, 1_021)].map(|(bytes, count)| allreduce(bytes, count)));
    for root in [0, ranks / 3, ranks - 1] {
        list.extend([0, 1, 10, 4_096, 9_973].map(|bytes| broadcast(root, bytes)));
    }
    list
}

fn steps(collective: &Collective, algorithm: Algorithm, rank: u32, ranks: u32) -> impl Iterator<Item = Step> {
    (0..).map_while(move |index| step(collective, algorithm, rank, ranks, index))
}

/// Messages and bytes of all ranks together, by the default rules.
fn totals(collective: &Collective, ranks: u32) -> (u64, u64) {
    let algorithm = choose(collective, ranks, &Rules::default());
    let sends = (0..ranks)
        .flat_map(|rank| steps(collective, algorithm, rank, ranks))
        .filter_map(|step| step.send);
    sends.fold((0, 0), |(messages, bytes), send| (messages + 1, bytes + send.bytes))
}

fn for_all(mut check: impl FnMut(&Collective, Algorithm, u32)) {
    for ranks in (1..=33).chain([64, 300]) {
        for collective in collectives(ranks) {
            for algorithm in ALL.into_iter().filter(|a| a.supports(&collective, ranks)) {
                check(&collective, algorithm, ranks);
            }
        }
    }
}

#[test]
fn every_send_meets_a_receive_of_the_same_size_in_the_same_order() {
    for_all(|collective, algorithm, ranks| {
        let cell = |a: u32, b: u32| (a * ranks + b) as usize;
        let mut sends = vec![Vec::new(); (ranks * ranks) as usize];
        let mut receives = sends.clone();
        for rank in 0..ranks {
            for step in steps(collective, algorithm, rank, ranks) {
                assert!(step.send.is_some() || step.recv.is_some());
                if let Some(send) = step.send {
                    assert!(send.peer != rank);
                    sends[cell(rank, send.peer)].push(send.bytes);
                }
                if let Some(recv) = step.recv {
                    receives[cell(recv.peer, rank)].push(recv.bytes);
                }
            }
        }
        assert!(sends == receives, "{collective:?} by {algorithm:?} on {ranks} ranks");
    });
}

#[test]
fn a_finished_rank_stays_finished_and_nonsense_has_no_steps() {
    for_all(|collective, algorithm, ranks| {
        let end = steps(collective, algorithm, ranks - 1, ranks).count() as u32;
        for index in [end, end + 1, end + 1_000, u32::MAX] {
            assert_eq!(step(collective, algorithm, ranks - 1, ranks, index), None);
        }
        assert_eq!(step(collective, algorithm, ranks, ranks, 0), None);
    });
    assert_eq!(step(&barrier(), Algorithm::ScatterRing, 0, 4, 0), None);
    assert_eq!(step(&broadcast(9, 1), Algorithm::Binomial, 0, 4, 0), None);
    assert_eq!(
        step(&broadcast(0, 1), Algorithm::ScatterRecursiveDoubling, 0, 6, 0),
        None
    );
    assert_eq!(step(&barrier(), Algorithm::Dissemination, 0, 0, 0), None);
}

#[test]
fn the_largest_communicators_do_not_overflow() {
    for ranks in [u32::MAX, 1 << 31, (1 << 31) + 1] {
        for rank in [0, 1, ranks / 2, ranks - 2, ranks - 1] {
            for collective in [barrier(), allreduce(1 << 50, 1 << 48), broadcast(ranks - 1, u64::MAX)] {
                for algorithm in ALL {
                    for index in (0..70).chain([ranks - 2, ranks - 1, u32::MAX]) {
                        if let Some(step) = step(&collective, algorithm, rank, ranks, index) {
                            assert!([step.send, step.recv].into_iter().flatten().all(|t| t.peer < ranks));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn totals_on_300_ranks_are_those_of_codes() {
    // p = 256, r = 44: 2 r messages to fold and unfold, and log2 p = 8 rounds of p messages.
    assert_eq!(
        totals(&allreduce(8, 1), 300),
        (2 * 44 + 256 * 8, (2 * 44 + 256 * 8) * 8)
    );
    // Halving and doubling send all but the own block, 255 / 256 of the vector, per rank and phase.
    let bytes = 29_516_800;
    assert_eq!(
        totals(&allreduce(bytes, bytes / 4), 300),
        (2 * 44 + 256 * 16, (2 * 44 + 2 * 255) * bytes)
    );
    // ceil(log2 300) = 9.
    assert_eq!(totals(&barrier(), 300), (2_700, 0));
    assert_eq!(totals(&broadcast(7, 8), 300), (299, 299 * 8));
}

#[test]
fn scattered_broadcasts_send_what_their_blocks_add_up_to() {
    // 64 ranks, 65,536 B: blocks of 1,024 B. Scatter: 64 / 2 blocks to each of 1 + 2 + ... per level,
    // log2 64 levels of 32 blocks. All-gather by doubling: each rank gets the other 63 blocks.
    let levels = 6 * 32 * 1_024;
    assert_eq!(
        totals(&broadcast(0, 65_536), 64),
        (63 + 64 * 6, levels + 64 * 63 * 1_024)
    );
    // From 524,288 B on around the ring: as many bytes, in n (n - 1) messages.
    let levels = 6 * 32 * 8_192;
    assert_eq!(
        totals(&broadcast(0, 524_288), 64),
        (63 + 64 * 63, levels + 64 * 63 * 8_192)
    );
}

#[test]
fn thresholds_are_those_of_mpich() {
    let by_rule = |collective, ranks| choose(&collective, ranks, &Rules::default());
    assert_eq!(by_rule(allreduce(81_920, 20_480), 300), Algorithm::RecursiveDoubling);
    assert_eq!(
        by_rule(allreduce(81_924, 20_481), 300),
        Algorithm::ReduceScatterAllgather
    );
    assert_eq!(by_rule(allreduce(1 << 20, 255), 300), Algorithm::RecursiveDoubling);
    assert_eq!(by_rule(allreduce(1 << 20, 256), 300), Algorithm::ReduceScatterAllgather);
    assert_eq!(by_rule(broadcast(0, 12_287), 64), Algorithm::Binomial);
    assert_eq!(by_rule(broadcast(0, 12_288), 64), Algorithm::ScatterRecursiveDoubling);
    assert_eq!(by_rule(broadcast(0, 12_288), 7), Algorithm::Binomial);
    assert_eq!(by_rule(broadcast(0, 12_288), 9), Algorithm::ScatterRing);
    assert_eq!(by_rule(broadcast(0, 524_288), 64), Algorithm::ScatterRing);
    assert_eq!(by_rule(barrier(), 64), Algorithm::Dissemination);
}

#[test]
fn a_forced_algorithm_is_taken_where_it_can_run() {
    let rules = Rules {
        allreduce: Some(Algorithm::ReduceScatterAllgather),
        broadcast: Some(Algorithm::ScatterRecursiveDoubling),
        ..Rules::default()
    };
    assert_eq!(rules.check(), Ok(()));
    assert_eq!(choose(&allreduce(8, 1), 4, &rules), Algorithm::ReduceScatterAllgather);
    assert_eq!(choose(&broadcast(0, 8), 4, &rules), Algorithm::ScatterRecursiveDoubling);
    assert_eq!(choose(&broadcast(0, 8), 6, &rules), Algorithm::Binomial);
    assert!(
        Rules {
            allreduce: Some(Algorithm::Binomial),
            ..rules
        }
        .check()
        .is_err()
    );
    assert!(
        Rules {
            broadcast: Some(Algorithm::Dissemination),
            ..rules
        }
        .check()
        .is_err()
    );
}
