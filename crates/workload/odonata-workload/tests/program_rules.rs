//! Invariants of every program for the engine and the MPI layer, in any layout.

use std::sync::Arc;

use odonata_workload::skeletons::*;
use odonata_workload::{Cursor, OpKind, Phases, Program, Request, Source, Tag, operations};

/// Skeletons and single collectives, with few repetitions.
fn skeletons(ranks: u32) -> impl Iterator<Item = Skeleton> {
    let multigrid = |periodic| {
        Skeleton::Multigrid(MultigridParams {
            periodic,
            exchanges: vec![3, 2, 1],
            cycles: 2,
            ..Default::default()
        })
    };
    let fill_boundary = |periodic| {
        Skeleton::FillBoundary(FillBoundaryParams {
            periodic,
            repetitions: 2,
            compute: odonata_units::Time(1),
            ..Default::default()
        })
    };
    let router = |header| {
        Skeleton::CrystalRouter(CrystalRouterParams {
            rounds: 3,
            header: odonata_units::Bytes(header),
            ..Default::default()
        })
    };
    let ping_pong = |pairs| {
        Skeleton::PingPong(PingPongParams {
            pairs,
            iterations: 3,
            ..Default::default()
        })
    };
    let allreduce = |overlap| {
        Skeleton::Allreduce(AllreduceParams {
            bytes: odonata_units::Bytes(4_000).into(),
            overlap,
            compute: odonata_units::Time(u64::from(ranks % 2)),
            ..Default::default()
        })
    };
    let nccl = |collective, algorithm| {
        Skeleton::Nccl(NcclParams {
            collective,
            algorithm,
            bytes: odonata_units::Bytes(200_000).into(),
            gpus_per_host: if ranks.is_multiple_of(6) { 6 } else { ranks },
            iterations: 2,
            ..Default::default()
        })
    };
    let training = |gradients| {
        Skeleton::Training(TrainingParams {
            layers: 2.into(),
            hidden: 64.into(),
            gradients,
            experts: ranks.into(),
            expert: ranks,
            micro_batches: 2,
            iterations: 2,
            ..Default::default()
        })
    };
    [
        training(training::Gradients::AllReduce),
        training(training::Gradients::Sharded),
        Skeleton::Training(TrainingParams {
            layers: (2 * ranks).into(),
            hidden: 64.into(),
            pipeline: ranks,
            interleave: if ranks > 1 { 2 } else { 1 },
            micro_batches: ranks,
            iterations: 2,
            ..Default::default()
        }),
        Skeleton::Training(TrainingParams {
            layers: 2.into(),
            hidden: 64.into(),
            gradients: training::Gradients::Sharded,
            nccl: Some(Box::new(NcclParams {
                algorithm: NcclAlgorithm::Tree,
                gpus_per_host: ranks.max(1),
                ..Default::default()
            })),
            iterations: 2,
            ..Default::default()
        }),
        nccl(NcclCollective::AllReduce, NcclAlgorithm::Ring),
        nccl(NcclCollective::AllReduce, NcclAlgorithm::Tree),
        nccl(NcclCollective::AllReduce, NcclAlgorithm::Nvls),
        nccl(NcclCollective::AllReduce, NcclAlgorithm::Collnet),
        nccl(NcclCollective::AllGather, NcclAlgorithm::Ring),
        nccl(NcclCollective::Broadcast, NcclAlgorithm::Ring),
        Skeleton::Amg(AmgParams::default()),
        Skeleton::Amg(AmgParams {
            levels: 2,
            dims: Some([ranks, 1, 1]),
            ..Default::default()
        }),
        multigrid(true),
        multigrid(false),
        fill_boundary(true),
        fill_boundary(false),
        router(0),
        router(8),
        ping_pong(Pairs::First),
        ping_pong(Pairs::Neighbors),
        ping_pong(Pairs::Halves),
        allreduce(false),
        allreduce(true),
        Skeleton::Mdtest(Mdtest(MdtestParams {
            items: Some(20),
            depth: 2,
            branch: 2,
            unique_directories: ranks.is_multiple_of(2),
            stride: 1,
            write_bytes: odonata_units::Bytes(10),
            sync: true,
            iterations: 2,
            ..Default::default()
        })),
        Skeleton::Barrier(BarrierParams::default()),
        Skeleton::Compute(ComputeParams::default()),
    ]
    .into_iter()
}

/// Programs of every kind in odd layouts: borders, extents of 1 and 2, a single rank.
fn programs() -> Vec<Box<dyn Program>> {
    let mut list: Vec<Box<dyn Program>> = Vec::new();
    for ranks in [1, 2, 7, 16, 30] {
        list.push(Box::new(
            Milc::new(
                ranks,
                MilcParams {
                    iterations: 2,
                    ..Default::default()
                },
            )
            .unwrap(),
        ));
        let params = NekboneParams {
            cg_iterations: 2,
            ..Default::default()
        };
        list.push(Box::new(Nekbone::new(ranks, params).unwrap()));
        for option in [false, true] {
            let params = CheckpointParams {
                coordinated: option,
                iterations: 3,
                ..Default::default()
            };
            list.push(Box::new(Checkpoint::new(ranks, params).unwrap()));
            let params = CosmoFlowParams {
                pipelined: option,
                ..Default::default()
            };
            list.push(Box::new(CosmoFlow::new(ranks, params).unwrap()));
            for dimensions in 1..=4 {
                let params = StencilParams {
                    dimensions,
                    wrap: option,
                    iterations: 2,
                    ..Default::default()
                };
                list.push(Box::new(Stencil::new(ranks, params).unwrap()));
            }
        }
    }
    for ranks in [2, 7, 12, 27, 30] {
        list.extend(skeletons(ranks).map(|mut skeleton| {
            let at = skeleton.name();
            skeleton.parameters_mut().resolve(at, ranks).unwrap();
            skeleton.parameters().program(ranks).unwrap()
        }));
    }
    let phases = |ranks, repeat| {
        let stencil = StencilParams {
            iterations: 2,
            wrap: false,
            ..Default::default()
        };
        let checkpoint = CheckpointParams {
            iterations: 2,
            ..Default::default()
        };
        let list: Vec<Arc<dyn Program>> = vec![
            Arc::new(Stencil::new(ranks, stencil).unwrap()),
            Arc::new(Checkpoint::new(ranks, checkpoint).unwrap()),
            Arc::new(CosmoFlow::new(ranks, CosmoFlowParams::default()).unwrap()),
        ];
        Phases::new(list, repeat).unwrap()
    };
    for (ranks, repeat) in [(1, 3), (7, 1), (16, 3)] {
        list.push(Box::new(phases(ranks, repeat)));
    }
    list
}

#[test]
fn every_message_is_received_with_its_tag_and_size_in_order() {
    for program in programs() {
        let mut sends = Vec::new();
        let mut receives = Vec::new();
        for rank in 0..program.ranks() {
            for op in operations(&*program, rank) {
                match op.kind {
                    OpKind::Isend {
                        to, tag, bytes, comm, ..
                    }
                    | OpKind::Send { to, tag, bytes, comm } => sends.push((rank, to, comm, tag, bytes)),
                    OpKind::Irecv {
                        from: Source::Rank(from),
                        tag: Tag::Is(tag),
                        bytes,
                        comm,
                        ..
                    }
                    | OpKind::Recv {
                        from: Source::Rank(from),
                        tag: Tag::Is(tag),
                        bytes,
                        comm,
                    } => {
                        receives.push((from, rank, comm, tag, bytes));
                    }
                    _ => {}
                }
            }
        }
        // A stable sort by all fields except the size keeps the order of messages in a channel.
        sends.sort_by_key(|&(from, to, comm, tag, _)| (from, to, comm, tag));
        receives.sort_by_key(|&(from, to, comm, tag, _)| (from, to, comm, tag));
        assert!(sends == receives, "{}", program.describe());
    }
}

#[test]
fn every_request_is_waited_for_before_its_number_is_used_again() {
    for program in programs() {
        for rank in 0..program.ranks() {
            let mut open = std::collections::BTreeSet::new();
            for op in operations(&*program, rank) {
                match op.kind {
                    OpKind::Isend { request, .. }
                    | OpKind::Irecv { request, .. }
                    | OpKind::Iread { request, .. }
                    | OpKind::Iwrite { request, .. }
                    | OpKind::Icollective { request, .. }
                        if request != Request::DETACHED =>
                    {
                        assert!(open.insert(request.0), "{}", program.describe());
                    }
                    OpKind::Wait { request } => assert!(open.remove(&request.0)),
                    OpKind::WaitAll { first, count } => {
                        for request in first.0..first.0 + count {
                            assert!(open.remove(&request), "{}", program.describe());
                        }
                    }
                    _ => {}
                }
            }
            assert!(open.is_empty(), "{}: {open:?}", program.describe());
        }
    }
}

#[test]
fn programs_that_declare_one_stream_use_no_other() {
    let mut declared = 0;
    for program in programs().iter().filter(|program| program.has_one_stream()) {
        declared += 1;
        for rank in 0..program.ranks() {
            let other = operations(&**program, rank).find(|op| op.stream != 0);
            assert_eq!(other, None, "rank {rank} of {}", program.describe());
        }
    }
    assert!(declared > 50, "{declared}");
}

#[test]
fn iterations_are_as_many_as_each_rank_marks() {
    let mut known = 0;
    for program in programs() {
        let Some(iterations) = program.iterations() else {
            continue;
        };
        known += 1;
        for rank in 0..program.ranks() {
            let marks = operations(&*program, rank).filter(|op| matches!(op.kind, OpKind::Mark { .. }));
            assert_eq!(
                marks.count() as u32,
                iterations,
                "rank {rank} of {}",
                program.describe()
            );
        }
    }
    assert!(known > 10, "{known}");
}

#[test]
fn all_ranks_call_the_same_collectives() {
    for program in programs() {
        let of = |rank| {
            let collective = |op: odonata_workload::Op| match op.kind {
                OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => Some(collective),
                _ => None,
            };
            operations(&*program, rank).filter_map(collective).collect::<Vec<_>>()
        };
        let first = of(0);
        assert!(
            first
                .iter()
                .all(|collective| collective.check(program.ranks()) == Ok(()))
        );
        assert!(
            (1..program.ranks()).all(|rank| of(rank) == first),
            "{}",
            program.describe()
        );
    }
}

#[test]
fn a_restored_cursor_gives_the_same_operations_again() {
    for program in programs() {
        let rank = program.ranks() / 2;
        let mut cursor = Cursor::default();
        let mut count = 0;
        loop {
            let (mut once, mut again) = (cursor, cursor);
            let op = program.next(rank, &mut once);
            assert_eq!((program.next(rank, &mut again), again), (op, once));
            let Some(op) = op else { break };
            assert_eq!(op.id.0, count, "operations are numbered without gaps");
            count += 1;
            cursor = once;
        }
        let end = cursor;
        assert_eq!(
            (program.next(rank, &mut cursor), cursor),
            (None, end),
            "the end stays the end"
        );
        assert_eq!(program.next(program.ranks(), &mut Cursor::default()), None);
    }
}
