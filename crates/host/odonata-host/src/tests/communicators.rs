//! Communicators: members, cost of creation, errors.

use super::*;
use odonata_workload::Collective;

const ROW: Comm = Comm(1);
const FEW: Comm = Comm(2);

/// A grid of 2 rows of 3 ranks; the rows are numbered in reverse.
fn comms() -> Vec<(Comm, Vec<u32>)> {
    vec![(ROW, vec![2, 1, 0]), (ROW, vec![5, 4, 3]), (FEW, vec![4, 0])]
}

const NODES: [u32; 6] = [0, 11, 22, 33, 44, 55];

fn on(comm: Comm, kind: OpKind) -> OpKind {
    match kind {
        OpKind::Send { to, tag, bytes, .. } => OpKind::Send { to, tag, bytes, comm },
        OpKind::Recv { from, tag, bytes, .. } => OpKind::Recv { from, tag, bytes, comm },
        other => panic!("{other:?}"),
    }
}

#[test]
fn peers_are_ranks_of_the_communicator_and_messages_do_not_cross_communicators() {
    // Rank 0 of each row sends to rank 2 of its row: job rank 2 to 0, and 5 to 3. A message with the same tag on the
    // world must not match.
    let mut ranks = vec![Vec::new(); 6];
    for row in [0u32, 3] {
        ranks[row as usize + 2] = sequence([send(row, 9, 10), on(ROW, send(2, 9, 20))]);
        let any = OpKind::Recv {
            from: Source::Any,
            tag: Tag::Any,
            bytes: 20,
            comm: ROW,
        };
        ranks[row as usize] = sequence([any, recv(row + 2, 9, 10)]);
    }
    let machine = Setup::new().split(ranks, comms(), &NODES).complete();
    let record = |bytes| {
        machine
            .hosts
            .observers
            .records
            .messages()
            .iter()
            .filter(move |m| m.bytes == bytes)
    };
    let ends: Vec<(u32, u32)> = record(20).map(|m| (m.source, m.destination)).collect();
    assert!(
        ends.len() == 2 && ends.contains(&(2, 0)) && ends.contains(&(5, 3)),
        "{ends:?}"
    );
}

#[test]
fn collectives_of_disjoint_communicators_run_side_by_side() {
    let calls = [
        Collective::Broadcast {
            comm: ROW,
            root: 1,
            bytes: 700,
        },
        Collective::Allreduce {
            comm: ROW,
            bytes: 80,
            count: 10,
        },
        Collective::Barrier { comm: Comm::WORLD },
    ];
    let rank = |r: u32| {
        sequence(
            [compute(u64::from(r) * 900)]
                .into_iter()
                .chain(calls.map(OpKind::Collective)),
        )
    };
    let machine = Setup::new()
        .split((0..6).map(rank).collect(), comms(), &NODES)
        .complete();
    // The root, member 1 of its row, sends to the two others.
    let broadcast = machine
        .hosts
        .observers
        .records
        .messages()
        .iter()
        .filter(|m| m.bytes == 700);
    let mut ends: Vec<(u32, u32)> = broadcast.map(|m| (m.source, m.destination)).collect();
    ends.sort_unstable();
    assert_eq!(ends, [(1, 0), (1, 2), (4, 3), (4, 5)]);
}

#[test]
fn creating_a_communicator_costs_an_all_reduce_of_256_bytes_and_a_split_an_all_gather_before() {
    let n = 4u32;
    let nodes = &NODES[..4];
    let (comm, new) = (Comm::WORLD, Comm(7));
    let run = |kind: OpKind| {
        let rank = |_| sequence([kind, OpKind::CommFree { comm: new }]);
        let machine = Setup::new().script((0..n).map(rank).collect(), nodes).complete();
        let metrics = machine.hosts.metrics(0, 2);
        (metrics.sends, metrics.bytes_sent)
    };
    // Recursive doubling: log2 4 messages of the whole vector.
    assert_eq!(run(OpKind::CommDup { comm, new }), (2, 2 * 256));
    assert_eq!(run(OpKind::CommCreate { comm, new }), (2, 2 * 256));
    let (sends, bytes) = run(OpKind::CommSplit { comm, new });
    // All-gather by recursive doubling: 8 B, then 16 B.
    assert_eq!((sends, bytes), (2 + 2, 2 * 256 + 8 + 16));
}

#[test]
fn a_communicator_can_be_created_from_another() {
    let rank = |_| {
        sequence([
            OpKind::CommSplit {
                comm: Comm::WORLD,
                new: ROW,
            },
            OpKind::CommDup {
                comm: ROW,
                new: Comm(9),
            },
            OpKind::Collective(Collective::Barrier { comm: ROW }),
            OpKind::CommFree { comm: ROW },
        ])
    };
    Setup::new()
        .split((0..6).map(rank).collect(), comms(), &NODES)
        .complete();
}

#[test]
fn operations_on_unknown_communicators_or_members_are_reported() {
    let run = |kind: OpKind| {
        let mut ranks = vec![Vec::new(); 6];
        ranks[1] = sequence([kind]);
        let machine = Setup::new().split(ranks, comms(), &NODES).run();
        match machine.outcome() {
            HostOutcome::Failed {
                kind: FailureKind::InvalidOperation,
                text,
            } => text,
            other => panic!("{other:?}"),
        }
    };
    let nowhere = "the rank is not in communicator 2";
    let any = OpKind::Recv {
        from: Source::Any,
        tag: Tag::Any,
        bytes: 0,
        comm: FEW,
    };
    let barrier = Collective::Barrier { comm: FEW };
    for kind in [
        on(FEW, send(0, 0, 8)),
        on(FEW, recv(0, 0, 8)),
        any,
        OpKind::Collective(barrier),
        OpKind::Icollective {
            collective: barrier,
            request: Request(0),
        },
        OpKind::CommDup { comm: FEW, new: ROW },
        OpKind::CommFree { comm: FEW },
        OpKind::Probe {
            from: Source::Any,
            tag: Tag::Any,
            comm: FEW,
        },
    ] {
        let text = run(kind);
        assert!(
            text.contains("job \"job 0\" rank 1: ") && text.ends_with(nowhere),
            "{text}"
        );
    }
    let text = run(on(ROW, send(3, 0, 8)));
    let expected = "Send to 3 tag 0 (communicator 1) (operation 0): communicator 1 has ranks 0 to 2 of this job";
    assert!(text.ends_with(expected), "{text}");
    let text = run(on(Comm(1 << 31), send(0, 0, 8)));
    assert!(text.ends_with("the rank is not in communicator 2147483648"), "{text}");
    let text = run(OpKind::Collective(Collective::Broadcast {
        comm: ROW,
        root: 3,
        bytes: 8,
    }));
    assert!(
        text.contains("broadcast from rank 3, but the communicator has only 3 ranks"),
        "{text}"
    );
    let text = run(OpKind::CommFree { comm: Comm::WORLD });
    assert!(text.ends_with("the world communicator cannot be freed"), "{text}");
}
