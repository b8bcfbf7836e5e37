//! Collectives on data: with sends that wait for their receives (the strictest network), no rank deadlocks, and every
//! rank ends with the data that MPI specifies.
//!
//! The steps give sizes and peers, but no data. The ranks below keep their own account of the data, with the loops of
//! MPICH and Open MPI, and every step must agree with it: peers, sizes, order and concurrency.

mod bine;
#[path = "../common/mod.rs"]
mod common;
mod machine;
mod reductions;
mod transfers;

use common::{algorithms, collectives, known_to, listed};
use machine::{Case, run, union};
use odonata_workload::Collective;
use odonata_workload::collective::{Algorithm, step};

fn carry_out(collective: Collective, algorithm: Algorithm, ranks: u32) {
    let case = Case {
        collective,
        algorithm,
        ranks,
    };
    // Libraries return at once from a collective without data (except a broadcast or all-reduce, see `step`).
    let empty = match collective {
        Collective::Reduce { bytes, .. }
        | Collective::Gather { bytes, .. }
        | Collective::Scatter { bytes, .. }
        | Collective::Allgather { bytes, .. }
        | Collective::ReduceScatterBlock { bytes, .. }
        | Collective::Scan { bytes, .. }
        | Collective::Exscan { bytes, .. }
        | Collective::Alltoall { bytes, .. } => bytes == 0,
        _ => false,
    };
    let sizes = case.items();
    let mut programs = Vec::new();
    for rank in 0..ranks {
        let known = known_to(rank, collective);
        let steps = (0..).map_while(|index| step(&collective, algorithm, rank, ranks, index, &known));
        let steps: Vec<_> = steps.collect();
        if empty || ranks == 1 {
            assert!(steps.is_empty(), "{case:?}");
            continue;
        }
        let moves = case.moves(rank);
        let shapes: Vec<_> = moves.iter().map(|m| m.shape(&sizes)).collect();
        assert_eq!(steps, shapes, "rank {rank} of {case:?}");
        programs.push(moves);
    }
    if programs.is_empty() {
        return;
    }
    let start = |rank: u32| (0..sizes.len()).map(|item| case.at_start(rank, item)).collect();
    let ends = run(&case, programs, (0..ranks).map(start).collect());
    for (rank, items) in ends.iter().enumerate() {
        for (item, contributions) in items.iter().enumerate() {
            if let Some(expected) = case.at_end(rank as u32, item) {
                // Empty data needs no message, except in a barrier.
                let there = *contributions == expected
                    || (sizes[item] == 0 && !matches!(collective, Collective::Barrier { .. }));
                assert!(there, "rank {rank}, item {item}: {case:?}");
            }
        }
    }
}

fn on(ranks: u32, wanted: impl Fn(&Collective) -> bool) {
    for collective in collectives(ranks).into_iter().filter(wanted) {
        for algorithm in algorithms(&collective, ranks) {
            carry_out(collective, algorithm, ranks);
        }
    }
}

#[test]
fn no_rank_leaves_a_barrier_before_all_have_entered() {
    for ranks in (1..=33).chain([64, 300]) {
        on(ranks, |c| matches!(c, Collective::Barrier { .. }));
    }
}

#[test]
fn an_allreduce_brings_every_contribution_to_every_rank_once() {
    for ranks in (1..=33).chain([64, 300]) {
        on(ranks, |c| matches!(c, Collective::Allreduce { .. }));
    }
}

#[test]
fn a_broadcast_brings_the_whole_data_to_every_rank() {
    for ranks in (1..=33).chain([64]) {
        on(ranks, |c| matches!(c, Collective::Broadcast { .. }));
    }
}

#[test]
fn a_reduction_brings_every_contribution_to_the_root_once() {
    for ranks in (1..=33).chain([64]) {
        on(ranks, |c| matches!(c, Collective::Reduce { .. }));
    }
}

#[test]
fn gathers_and_scatters_move_every_block_between_its_rank_and_the_root() {
    for ranks in (1..=33).chain([64]) {
        on(ranks, |c| {
            matches!(
                c,
                Collective::Gather { .. }
                    | Collective::Gatherv { .. }
                    | Collective::Scatter { .. }
                    | Collective::Scatterv { .. }
            )
        });
    }
}

#[test]
fn an_allgather_brings_every_block_to_every_rank() {
    for ranks in (1..=33).chain([64]) {
        on(ranks, |c| {
            matches!(c, Collective::Allgather { .. } | Collective::Allgatherv { .. })
        });
    }
}

#[test]
fn a_reduce_scatter_brings_every_contribution_to_a_block_to_its_rank_once() {
    for ranks in (1..=33).chain([64]) {
        on(ranks, |c| {
            matches!(
                c,
                Collective::ReduceScatter { .. } | Collective::ReduceScatterBlock { .. }
            )
        });
    }
}

#[test]
fn a_scan_sums_up_the_ranks_before() {
    for ranks in (1..=33).chain([64, 300]) {
        on(ranks, |c| {
            matches!(c, Collective::Scan { .. } | Collective::Exscan { .. })
        });
    }
}

#[test]
fn an_all_to_all_moves_every_block_from_all_to_all() {
    for ranks in 1..=33 {
        on(ranks, |c| {
            matches!(c, Collective::Alltoall { .. } | Collective::Alltoallv { .. })
        });
    }
}
