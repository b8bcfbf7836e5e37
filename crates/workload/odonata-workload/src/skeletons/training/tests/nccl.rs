//! Trainings whose collectives are NCCL's.

use super::*;
use crate::skeletons::{Nccl, NcclAlgorithm, NcclParams};

/// The operations between the reports that begin and end calls of NCCL for `parallelism`, by call.
fn calls_of_nccl(training: &Training, rank: u32, parallelism: Parallelism) -> Vec<Vec<Op>> {
    let (mut calls, mut current) = (Vec::new(), None);
    for op in operations(training, rank) {
        match op.kind {
            OpKind::Report {
                report, index: BEGIN, ..
            } if report == parallelism as u32 => current = Some(Vec::new()),
            OpKind::Report { report, index: END, .. } if report == parallelism as u32 => calls.extend(current.take()),
            _ => current.iter_mut().for_each(|call: &mut Vec<Op>| call.push(op)),
        }
    }
    calls
}

fn by_nccl(ranks: u32, algorithm: NcclAlgorithm, change: impl FnOnce(&mut TrainingParams)) -> Training {
    training(ranks, |params| {
        params.nccl = Some(Box::new(NcclParams {
            algorithm,
            chunk: Bytes(40_000).into(),
            ..NcclParams::default()
        }));
        change(params);
    })
}

/// A call is that of the workload `nccl` on as many ranks, with the members of the group on a host as its GPUs: the same
/// operations, streams and dependencies.
#[test]
fn a_call_of_nccl_is_the_workload_nccl_of_its_group() {
    // Groups on 32 ranks, hosts of 8: 4 of a tensor group; 8 of 4 x 8 data parallel ranks, 2 on a host.
    for algorithm in [
        NcclAlgorithm::Ring,
        NcclAlgorithm::Tree,
        NcclAlgorithm::Nvls,
        NcclAlgorithm::Collnet,
    ] {
        let training = by_nccl(32, algorithm, |params| params.tensor = 4);
        let gradients = (8 * 12 * 256 * 256 + 2 * 1_000 * 256) / 4 * 2;
        for (parallelism, comm, members, gpus, bytes, calls) in [
            (Parallelism::Tensor, TENSOR, 4, 4, 3 * 128 * 256 * 2, 4 * 4 * 8),
            (Parallelism::Data, DATA, 8, 2, gradients, 1),
        ] {
            let mut params = NcclParams {
                algorithm,
                chunk: Bytes(40_000).into(),
                bytes: Bytes(bytes).into(),
                gpus_per_host: gpus,
                ..NcclParams::default()
            };
            params.resolve("nccl", members).unwrap();
            let alone = Nccl::new(members, &params).unwrap();
            for rank in [0, 5, 31] {
                let member = training.group(rank, comm).unwrap().member(rank).unwrap();
                let expected: Vec<Op> = operations(&alone, member)
                    .filter(|op| !matches!(op.kind, OpKind::Mark { .. }))
                    .collect();
                let found = calls_of_nccl(&training, rank, parallelism);
                assert_eq!(found.len(), calls);
                for call in found {
                    assert_eq!(call.len(), expected.len(), "{algorithm:?} {parallelism:?}");
                    let first = call[0].id.0;
                    for (op, expected) in call.iter().zip(&expected) {
                        let after = |op: &Op, first: u32| op.after.iter().map(|id| id.0 - first).collect::<Vec<_>>();
                        assert_eq!((op.id.0 - first, op.stream), (expected.id.0, expected.stream));
                        assert_eq!(after(op, first), after(expected, 0));
                        let mut kind = op.kind;
                        if let Some(found) = kind.comm_mut() {
                            assert_eq!(*found, comm);
                            *found = Comm::WORLD;
                        }
                        assert_eq!(kind, expected.kind);
                    }
                }
            }
        }
    }
}

/// The rings of a group send 2 (D - 1) times its gradients, on as many streams as channels; pipeline and expert messages
/// stay as they are.
#[test]
fn gradients_by_nccl_go_around_a_ring_of_each_channel() {
    for gradients in [Gradients::AllReduce, Gradients::Sharded] {
        let change = |params: &mut TrainingParams| {
            (params.tensor, params.pipeline, params.expert, params.gradients) = (2, 2, 2, gradients);
            (params.experts, params.active) = (8.into(), 2.into());
        };
        let (found, plain) = (by_nccl(32, NcclAlgorithm::Ring, change), training(32, change));
        let others = |training: &Training| -> Vec<OpKind> {
            let kinds = operations(training, 9).map(|op| op.kind);
            let is_other = |kind: &OpKind| match kind {
                OpKind::Send { comm, .. } | OpKind::Recv { comm, .. } | OpKind::Sendrecv { comm, .. } => {
                    *comm == Comm::WORLD
                }
                OpKind::Collective(collective) => collective.comm() == EXPERT,
                OpKind::Mark { .. } => true,
                _ => false,
            };
            kinds.filter(is_other).collect()
        };
        assert_eq!(others(&found), others(&plain));
        let (shared, own) = plain.parameters(1);
        // A data group of 8 ranks is two groups of 4 with the same experts.
        let group = plain.group(25, DATA).unwrap();
        let rounds = if gradients == Gradients::Sharded { 2 } else { 1 };
        let mut sent = 0;
        let mut streams = std::collections::BTreeSet::new();
        for member in 0..8 {
            let calls = calls_of_nccl(&found, group.rank(member).unwrap(), Parallelism::Data);
            assert_eq!(calls.len(), 2 * rounds);
            for op in calls.iter().flatten() {
                if let OpKind::Sendrecv { send_bytes, .. } = op.kind {
                    sent += send_bytes;
                    streams.insert(op.stream);
                }
            }
        }
        assert_eq!((shared % 8, own % 4), (0, 0));
        assert_eq!(sent, 2 * (2 * 7 * shared + 2 * 2 * 3 * own));
        assert_eq!(streams.len(), 8);
    }
}

#[test]
fn settings_of_nccl_that_do_not_fit_are_refused() {
    let refused = |ranks: u32, change: &dyn Fn(&mut TrainingParams)| {
        let mut params = params(|params| params.nccl = Some(Box::default()));
        change(&mut params);
        let problem = params.resolve("training", ranks).unwrap_err();
        (problem.key, problem.problem)
    };
    let nccl = |params: &mut TrainingParams, change: &dyn Fn(&mut NcclParams)| {
        params.nccl.as_deref_mut().into_iter().for_each(change);
    };
    for (ranks, change, key, problem) in [
        (
            8,
            &(|params: &mut TrainingParams| nccl(params, &|nccl| nccl.bytes = Bytes(8).into())) as &dyn Fn(&mut _),
            "training.nccl.bytes",
            "follows from the training",
        ),
        (
            8,
            &|params| nccl(params, &|nccl| nccl.iterations = 2),
            "training.nccl.iterations",
            "follows from the training",
        ),
        (
            8,
            &|params| nccl(params, &|nccl| nccl.channels = 0),
            "training.nccl.channels",
            "0 is out of range",
        ),
        (
            8,
            &|params| nccl(params, &|nccl| nccl.gpus_per_host = 0),
            "training.nccl.gpus_per_host",
            "0 is out of range",
        ),
        (
            8,
            &|params| params.overlap_gradients = true,
            "training.overlap_gradients",
            "collectives of NCCL are not reduced beside computation",
        ),
        (
            24,
            &|params| params.tensor = 3,
            "training.nccl.gpus_per_host",
            "hosts of 8 GPUs have unequal parts of tensor groups of 3 of 24 ranks",
        ),
    ] {
        assert_eq!(refused(ranks, change), (key.into(), problem.into()));
    }
}
