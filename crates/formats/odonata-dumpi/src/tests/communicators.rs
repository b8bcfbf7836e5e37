//! Members of the communicators that programs create.

use odonata_workload::{OpKind, Program};

use super::super::trace::Trace;
use super::super::{TraceFiles, lint};
use super::writer::{V, Writer};
use super::{INT, open, ops, ranks};

/// The members of the communicator of the last collective of `rank`.
fn members(trace: &Trace, rank: u32) -> Vec<u32> {
    let last = ops(trace, rank).into_iter().rev().find_map(|kind| match kind {
        OpKind::Collective(collective) => Some(collective.comm()),
        _ => None,
    });
    let group = trace
        .group(rank, last.expect("there is a collective"))
        .expect("it is known");
    (0..group.len()).filter_map(|member| group.rank(member)).collect()
}

/// A communicator created by all ranks, given the calls of each and their handles.
fn made(count: usize, call: impl Fn(usize, &mut Writer) -> i16) -> Vec<Vec<u32>> {
    let mut writers = ranks(count);
    for (rank, writer) in writers.iter_mut().enumerate() {
        let handle = call(rank, writer);
        writer.call("Barrier", &[V::H(handle)]);
    }
    let (_folder, trace) = open(&writers);
    assert_eq!(trace.problems(), [""; 0]);
    (0..count as u32).map(|rank| members(&trace, rank)).collect()
}

#[test]
fn splits_order_by_key_then_rank_and_leave_out_ranks_without_color() {
    let seen = made(6, |rank, writer| {
        let new = if rank == 5 { 1 } else { 7 };
        let color = if rank == 5 { -32_766 } else { rank as i32 % 2 };
        writer.call(
            "Comm_split",
            &[V::H(2), V::I(color), V::I(-(rank as i32 / 4)), V::H(new)],
        );
        if rank == 5 { 3 } else { 7 }
    });
    assert_eq!(
        seen,
        [
            vec![4, 0, 2],
            vec![1, 3],
            vec![4, 0, 2],
            vec![1, 3],
            vec![4, 0, 2],
            vec![5]
        ]
    );
}

#[test]
fn groups_are_made_of_groups() {
    let seen = made(8, |rank, writer| {
        writer
            .call("Comm_group", &[V::H(2), V::H(3)])
            // 0 2 4 6 7
            .call(
                "Group_range_incl",
                &[V::H(3), V::I(2), V::Nested(vec![vec![0, 6, 2], vec![7, 7, 1]]), V::H(4)],
            )
            // 1 2 3 5 6 7
            .call("Group_excl", &[V::H(3), V::I(2), V::Is(vec![0, 4]), V::H(5)])
            // 2 6 7
            .call("Group_intersection", &[V::H(4), V::H(5), V::H(6)])
            // 0 4
            .call("Group_difference", &[V::H(4), V::H(5), V::H(7)])
            // 2 6 7 0 4
            .call("Group_union", &[V::H(6), V::H(7), V::H(8)])
            // 2 7 0 4
            .call(
                "Group_range_excl",
                &[V::H(8), V::I(1), V::Nested(vec![vec![1, 1, 1]]), V::H(9)],
            )
            // 4 0 7
            .call("Group_incl", &[V::H(9), V::I(3), V::Is(vec![3, 2, 1]), V::H(8)]);
        let within = [4, 0, 7].contains(&rank);
        writer.call("Comm_create", &[V::H(2), V::H(8), V::H(if within { 5 } else { 1 })]);
        if within { 5 } else { 3 }
    });
    for (rank, members) in seen.iter().enumerate() {
        let expected = if [4, 0, 7].contains(&rank) {
            vec![4, 0, 7]
        } else {
            vec![rank as u32]
        };
        assert_eq!(*members, expected);
    }
}

#[test]
fn rows_of_a_grid_are_those_of_the_standard() {
    // 2 x 3, the last dimension the fastest; 2 ranks are left over.
    let seen = made(8, |rank, writer| {
        let within = rank < 6;
        let new = V::H(if within { 4 } else { 1 });
        let (dims, periods) = (V::Is(vec![2, 3]), V::Is(vec![0, 0]));
        writer.call("Cart_create", &[V::H(2), V::I(2), dims, periods, V::I(0), new]);
        if !within {
            return 3;
        }
        writer.call("Cart_sub", &[V::I(2), V::H(4), V::Is(vec![1, 0]), V::H(5)]);
        5
    });
    let expected = [
        vec![0, 3],
        vec![1, 4],
        vec![2, 5],
        vec![0, 3],
        vec![1, 4],
        vec![2, 5],
        vec![6],
        vec![7],
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_reordered_grid_is_as_recorded_by_the_ranks() {
    let seen = made(4, |rank, writer| {
        let (dims, periods) = (V::Is(vec![4]), V::Is(vec![1]));
        writer.call("Cart_create", &[V::H(2), V::I(1), dims, periods, V::I(1), V::H(4)]);
        writer.call("Comm_rank", &[V::H(4), V::I([2, 3, 1, 0][rank])]);
        4
    });
    assert_eq!(seen, vec![vec![3, 2, 0, 1]; 4]);
}

#[test]
fn graphs_and_communicators_of_oneself() {
    let seen = made(3, |rank, writer| {
        let graph = [V::I(2), V::H(2), V::I(2), V::Is(vec![1, 2]), V::Is(vec![1, 0]), V::I(0)];
        let new = V::H(if rank < 2 { 4 } else { 1 });
        writer.call("Graph_create", &[&graph[..], &[new]].concat());
        writer.call("Comm_dup", &[V::H(3), V::H(5)]);
        if rank < 2 { 4 } else { 5 }
    });
    assert_eq!(seen, [vec![0, 1], vec![0, 1], vec![2]]);
}

#[test]
fn intercommunicators_name_the_remote_group_and_can_be_merged() {
    let mut writers = ranks(5);
    for (rank, writer) in writers.iter_mut().enumerate() {
        // 0 2 4 and 1 3; leaders 2 and 1.
        writer.call("Comm_split", &[V::H(2), V::I(rank as i32 % 2), V::I(0), V::H(4)]);
        let even = rank % 2 == 0;
        let (leader, remote) = if even { (1, 1) } else { (0, 2) };
        let call = [V::H(4), V::I(leader), V::H(2), V::I(remote), V::I(9), V::H(5)];
        writer.call("Intercomm_create", &call);
        if rank == 4 {
            writer.call("Send", &[V::I(1), INT, V::I(1), V::I(0), V::H(5)]);
        }
        if rank == 3 {
            writer.call("Recv", &[V::I(1), INT, V::I(2), V::I(0), V::H(5), V::Status(vec![])]);
        }
        writer.call("Intercomm_merge", &[V::H(5), V::I(i32::from(even)), V::H(6)]);
        writer.call("Barrier", &[V::H(6)]);
    }
    let (folder, trace) = open(&writers);
    assert_eq!(trace.problems(), [""; 0]);
    // The group with `high` false comes first.
    assert_eq!(members(&trace, 0), [1, 3, 0, 2, 4]);
    let to = ops(&trace, 4).into_iter().find_map(|kind| match kind {
        OpKind::Send { to, comm, .. } => trace.group(4, comm)?.rank(to),
        _ => None,
    });
    assert_eq!(to, Some(3));
    let files = TraceFiles::find(&folder.0).unwrap();
    assert_eq!(lint(&files).unwrap(), []);
}
