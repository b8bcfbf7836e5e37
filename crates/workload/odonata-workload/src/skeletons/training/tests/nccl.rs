//! Trainings whose collectives are NCCL's.

use super::*;
use crate::skeletons::{Nccl, NcclAlgorithm, NcclParams};
use odonata_units::Time;

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

/// Beside the passes, each layer's gradients are a call on streams of their own, after the last operation of the layer; the
/// calls follow each other, and the model waits for the last one. All move the bytes of the calls without overlap.
#[test]
fn overlapped_gradients_by_nccl_are_calls_on_their_own_streams() {
    for (algorithm, gradients) in [
        (NcclAlgorithm::Ring, Gradients::Sharded),
        (NcclAlgorithm::Tree, Gradients::AllReduce),
    ] {
        let with = |overlap: bool| {
            by_nccl(32, algorithm, |params| {
                (params.tensor, params.pipeline, params.expert) = (2, 2, 2);
                (params.experts, params.active, params.micro_batches) = (8.into(), 2.into(), 2);
                (params.gradients, params.overlap_gradients) = (gradients, overlap);
            })
        };
        let sent = |training: &Training| {
            let of_rank = |rank| {
                operations(training, rank).map(|op| match op.kind {
                    OpKind::Send { bytes, comm, .. } if comm == DATA || comm == SAME_EXPERTS => bytes,
                    OpKind::Sendrecv { send_bytes, comm, .. } if comm == DATA || comm == SAME_EXPERTS => send_bytes,
                    _ => 0,
                })
            };
            (0..32).flat_map(of_rank).sum::<u64>()
        };
        let (found, plain) = (with(true), with(false));
        assert_eq!(sent(&found), sent(&plain));
        assert!(found.look_ahead() > plain.look_ahead());
        let first = found.calls.streams();
        let ops: Vec<Op> = operations(&found, 5).collect();
        let launches = ops
            .iter()
            .filter(|op| op.stream == first && op.after.iter().next() == Some(OpId(op.id.0 - 1)));
        // Four layers, each with its experts. The pass of the layer comes before, or its other call.
        let is_launch = |op: &&Op| matches!(op.kind, OpKind::Compute { duration } if duration > Time::ZERO);
        let launches: Vec<&Op> = launches.filter(is_launch).collect();
        assert_eq!(launches.len(), 8);
        let before: Vec<u16> = launches.iter().map(|op| ops[op.id.0 as usize - 1].stream).collect();
        assert_eq!(before, [0, first, 0, first, 0, first, 0, first]);
        let wait = ops
            .iter()
            .position(|op| op.stream == 0 && op.after.iter().any(|id| ops[id.0 as usize].stream == first));
        let wait = wait.unwrap();
        assert!(ops[wait..].iter().all(|op| op.stream < first) && ops[wait - 1].stream == first);
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
            &|params| {
                params.overlap_gradients = true;
                nccl(params, &|nccl| {
                    (nccl.algorithm, nccl.channels) = (NcclAlgorithm::Tree, 33)
                });
            },
            "training.nccl.channels",
            "264 streams of a rank",
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
