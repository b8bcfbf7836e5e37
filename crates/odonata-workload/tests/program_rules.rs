//! What every program owes the engine and the MPI layer, whatever its layout.

use std::sync::Arc;

use odonata_workload::skeletons::*;
use odonata_workload::{Cursor, OpKind, Phases, Program, Request, Source, Tag, operations};

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
                let layout = StencilLayout::Balanced(dimensions);
                let params = StencilParams {
                    layout,
                    wrap: option,
                    iterations: 2,
                    ..Default::default()
                };
                list.push(Box::new(Stencil::new(ranks, params).unwrap()));
            }
        }
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
                    } => sends.push((rank, to, comm, tag, bytes)),
                    OpKind::Irecv {
                        from: Source::Rank(from),
                        tag: Tag::Is(tag),
                        bytes,
                        comm,
                        ..
                    } => {
                        receives.push((from, rank, comm, tag, bytes));
                    }
                    _ => {}
                }
            }
        }
        // A stable sort by all but the size leaves the messages of one channel in their order.
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
fn all_ranks_call_the_same_collectives() {
    for program in programs() {
        let of = |rank| {
            let collective = |op: odonata_workload::Op| match op.kind {
                OpKind::Collective(collective) => Some(collective),
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
