//! A stalled run reports a cycle of waits, if there is one.

use super::*;
use odonata_workload::Collective;

/// The description of the cycle of a stalled run.
fn cycle(setup: Setup, ranks: Vec<Vec<OpKind>>) -> String {
    let nodes: Vec<u32> = (0..ranks.len() as u32).map(|rank| rank * 9).collect();
    let machine = setup.script(ranks.into_iter().map(sequence).collect(), &nodes).run();
    match machine.outcome() {
        HostOutcome::Stalled { cycle, .. } => describe_cycle(&cycle, 10),
        other => panic!("{other:?}"),
    }
}

fn rendezvous() -> Setup {
    let mut setup = Setup::new();
    setup.params.mpi.eager_threshold = Some(Bytes(100));
    setup
}

const ANY: OpKind = OpKind::Recv {
    from: Source::Any,
    tag: Tag::Any,
    bytes: 8,
    comm: Comm::WORLD,
};

#[test]
fn two_ranks_that_receive_first_wait_for_each_other() {
    let ranks = vec![
        vec![recv(1, 7, 8), send(1, 7, 8)],
        vec![compute(10), recv(0, 7, 8), send(0, 7, 8)],
    ];
    let expected = "rank 0 waits in Recv from 1 tag 7 (world) -> rank 1 waits in Recv from 0 tag 7 (world) -> rank 0";
    assert_eq!(cycle(Setup::new(), ranks), expected);
}

#[test]
fn long_sends_to_each_other_are_a_cycle_and_short_ones_complete() {
    let head_to_head = |bytes| {
        vec![
            vec![send(1, 0, bytes), recv(1, 0, bytes)],
            vec![send(0, 0, bytes), recv(0, 0, bytes)],
        ]
    };
    let expected = "rank 0 waits in Send to 1 tag 0 (world) -> rank 1 waits in Send to 0 tag 0 (world) -> rank 0";
    assert_eq!(cycle(rendezvous(), head_to_head(101)), expected);
    let ranks = head_to_head(100).into_iter().map(sequence).collect();
    rendezvous().script(ranks, &[0, 9]).complete();
}

#[test]
fn a_cycle_excludes_ranks_that_only_wait_for_it() {
    // Rank 0 waits for 1; ranks 1, 2 and 3 wait for each other in different operations.
    let probe = OpKind::Probe {
        from: Source::Rank(3),
        tag: Tag::Any,
        comm: Comm::WORLD,
    };
    let ranks = vec![
        vec![recv(1, 0, 8)],
        vec![irecv(2, 5, 8, 0), wait_all(1)],
        vec![probe],
        vec![send(1, 0, 101)],
    ];
    let expected = "rank 1 waits in WaitAll for 1 requests from 0 -> rank 2 waits in Probe from 3 tag any (world) -> \
                    rank 3 waits in Send to 1 tag 0 (world) -> rank 1";
    assert_eq!(cycle(rendezvous(), ranks), expected);
}

#[test]
fn a_collective_waits_for_its_peers_and_so_does_a_wait_for_it() {
    let barrier = Collective::Barrier { comm: Comm::WORLD };
    let ranks = vec![
        vec![OpKind::Collective(barrier)],
        vec![recv(0, 1, 8), OpKind::Collective(barrier)],
    ];
    let expected = "rank 0 waits in Barrier (world) -> rank 1 waits in Recv from 0 tag 1 (world) -> rank 0";
    assert_eq!(cycle(Setup::new(), ranks), expected);
    let start = OpKind::Icollective {
        collective: barrier,
        request: Request(3),
    };
    let wait = OpKind::WaitAny {
        first: Request(0),
        count: 9,
    };
    let ranks = vec![vec![start, wait], vec![recv(0, 1, 8), OpKind::Collective(barrier)]];
    let expected =
        "rank 0 waits in WaitAny for 9 requests from 0 -> rank 1 waits in Recv from 0 tag 1 (world) -> rank 0";
    assert_eq!(cycle(Setup::new(), ranks), expected);
}

#[test]
fn a_wait_for_any_source_is_a_wait_for_all() {
    let expected =
        "rank 0 waits in Recv from any tag any (world) -> rank 1 waits in Recv from any tag any (world) -> rank 0";
    assert_eq!(cycle(Setup::new(), vec![vec![ANY], vec![ANY], vec![ANY]]), expected);
    let expected =
        "rank 0 waits in Recv from any tag any (world) -> rank 2 waits in Recv from 0 tag 0 (world) -> rank 0";
    assert_eq!(
        cycle(Setup::new(), vec![vec![ANY], vec![], vec![recv(0, 0, 8)]]),
        expected
    );
}

#[test]
fn a_wait_for_an_ended_rank_is_no_cycle_and_a_wait_for_itself_is() {
    assert_eq!(
        cycle(Setup::new(), vec![vec![recv(1, 0, 8)], vec![], vec![recv(0, 0, 8)]]),
        ""
    );
    let expected = "rank 0 waits in Recv from 0 tag 0 (world) -> rank 0";
    assert_eq!(cycle(Setup::new(), vec![vec![recv(0, 0, 8)], vec![]]), expected);
}

#[test]
fn the_first_ranks_of_a_long_cycle_are_described() {
    let n = 50u32;
    let ranks: Vec<Vec<Op>> = (0..n).map(|r| sequence([recv((r + 1) % n, 0, 8)])).collect();
    let nodes: Vec<u32> = (0..n).collect();
    let machine = Setup::new().script(ranks, &nodes).run();
    let HostOutcome::Stalled { cycle, .. } = machine.outcome() else {
        panic!()
    };
    assert_eq!(cycle.len(), 50);
    let text = describe_cycle(&cycle, 2);
    let expected =
        "rank 0 waits in Recv from 1 tag 0 (world) -> rank 1 waits in Recv from 2 tag 0 (world) -> 48 more -> rank 0";
    assert_eq!(text, expected);
}

#[test]
fn cycles_use_the_rank_numbers_of_job_and_communicator() {
    let few = Comm(4);
    let on = |from| OpKind::Recv {
        from: Source::Rank(from),
        tag: Tag::Is(0),
        bytes: 8,
        comm: few,
    };
    // Ranks 2 and 1 of the job are 0 and 1 of the communicator.
    let ranks = vec![Vec::new(), sequence([on(0)]), sequence([on(1)])];
    let machine = Setup::new()
        .script(vec![sequence([compute(5)])], &[3])
        .split(ranks, vec![(few, vec![2, 1])], &[10, 20, 30])
        .run();
    let HostOutcome::Stalled { cycle, .. } = machine.outcome() else {
        panic!()
    };
    assert!(cycle.iter().all(|blocked| blocked.job == 1));
    let expected = "rank 1 waits in Recv from 0 tag 0 (communicator 4) -> rank 2 waits in Recv from 1 tag 0 (communicator 4) -> rank 1";
    assert_eq!(describe_cycle(&cycle, 10), expected);
}
