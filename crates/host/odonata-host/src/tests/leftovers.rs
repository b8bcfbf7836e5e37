//! Unfinished communication at the end of a program is reported and fails the run.

use super::*;
use odonata_workload::Collective;

fn ends(a: Vec<OpKind>, b: Vec<OpKind>) -> HostOutcome {
    ends_with(u64::MAX, a, b)
}

/// The outcome for two ranks on different routers.
fn ends_with(eager_threshold: u64, a: Vec<OpKind>, b: Vec<OpKind>) -> HostOutcome {
    let mut setup = Setup::new();
    setup.params.mpi.eager_threshold = Some(Bytes(eager_threshold));
    setup.script(vec![sequence(a), sequence(b)], &[0, 40]).run().outcome()
}

/// Eager and rendezvous.
const THRESHOLDS: [u64; 2] = [u64::MAX, 0];
const FREE: OpKind = OpKind::RequestFree { request: Request(4) };
const BARRIER: OpKind = OpKind::Icollective {
    collective: Collective::Barrier { comm: Comm::WORLD },
    request: Request(4),
};

#[test]
fn a_receive_without_a_message_is_reported_for_every_kind_of_wait() {
    let detached = OpKind::Irecv {
        from: Source::Any,
        tag: Tag::Any,
        bytes: 8,
        comm: Comm::WORLD,
        request: Request::DETACHED,
    };
    let named = "job \"job 0\" rank 0: a receive from rank 1 with tag 7 (world) (operation 1) got no message";
    for rest in [vec![], vec![FREE], vec![OpKind::Test { request: Request(4) }]] {
        let receive = [compute(5), irecv(1, 7, 8, 4)].into_iter().chain(rest).collect();
        assert_eq!(ends(receive, vec![compute(1_000_000)]), left_behind(named));
    }
    let any = "job \"job 0\" rank 1: a receive from any rank with any tag (world) (operation 0) got no message";
    assert_eq!(ends(vec![], vec![detached]), left_behind(any));
    // A message with another tag does not match, and is left behind as well.
    let other = "; job \"job 0\" rank 0: a message of 8 B from rank 1 with tag 6 (world) was never received";
    for threshold in THRESHOLDS {
        let outcome = ends_with(
            threshold,
            vec![compute(5), irecv(1, 7, 8, 4)],
            vec![isend(0, 6, 8, 4), FREE],
        );
        assert_eq!(outcome, left_behind(&format!("{named}{other}")));
    }
}

#[test]
fn a_persistent_receive_is_a_leftover_only_if_it_was_started() {
    let made = OpKind::RecvInit {
        from: Source::Rank(1),
        tag: Tag::Is(7),
        bytes: 8,
        comm: Comm::WORLD,
        request: Request(4),
    };
    let start = OpKind::Start { request: Request(4) };
    assert_eq!(ends(vec![made], vec![]), HostOutcome::Completed);
    let text = "job \"job 0\" rank 0: a receive from rank 1 with tag 7 (world) (operation 1) got no message";
    assert_eq!(ends(vec![made, start], vec![]), left_behind(text));
    let text = "job \"job 0\" rank 0: request 4, a receive (operation 1), was never waited for";
    assert_eq!(ends(vec![made, start], vec![send(0, 7, 8)]), left_behind(text));
}

#[test]
fn a_message_without_a_receive_is_reported_with_sender_and_receiver() {
    let text = "job \"job 0\" rank 1: a message of 8 B from rank 0 with tag 3 (world) was never received";
    assert_eq!(ends(vec![send(1, 3, 8)], vec![]), left_behind(text));
    // The request of the send is incomplete, so only the message is reported.
    assert_eq!(ends_with(0, vec![isend(1, 3, 8, 4)], vec![]), left_behind(text));
}

#[test]
fn a_request_that_is_never_waited_for_is_reported_with_its_operation() {
    let text = "job \"job 0\" rank 0: request 4, a send (operation 0), was never waited for";
    for threshold in THRESHOLDS {
        let outcome = ends_with(threshold, vec![isend(1, 0, 8, 4)], vec![recv(0, 0, 8)]);
        assert_eq!(outcome, left_behind(text));
        // A freed request is not a leftover, whether it was freed before or after its completion.
        let freed = ends_with(threshold, vec![isend(1, 0, 8, 4), FREE], vec![recv(0, 0, 8)]);
        assert_eq!(freed, HostOutcome::Completed);
    }
    let nobody = isend(PROC_NULL, 0, 8, 2);
    let text = "job \"job 0\" rank 1: request 2, a message to or from no rank (operation 0), was never waited for";
    assert_eq!(ends(vec![], vec![nobody]), left_behind(text));
}

#[test]
fn a_non_blocking_collective_not_called_by_all_ranks_fails_the_run() {
    let HostOutcome::Failed { kind, text } = ends(vec![BARRIER], vec![]) else {
        panic!("it ended well");
    };
    assert_eq!(kind, FailureKind::CollectiveMismatch);
    assert!(text.contains("rank 1 has ended"), "{text}");
    // If the calling rank only receives, no message shows the call.
    let broadcast = OpKind::Icollective {
        collective: broadcast(0, 8),
        request: Request(4),
    };
    let HostOutcome::Failed { kind, text } = ends(vec![], vec![broadcast]) else {
        panic!("it ended well");
    };
    assert_eq!(kind, FailureKind::LeftBehind);
    let expected = "(operation 0) was not called by all ranks of its communicator";
    assert!(
        text.starts_with("job \"job 0\" rank 1: non-blocking Broadcast") && text.ends_with(expected),
        "{text}"
    );
}

#[test]
fn the_first_of_many_leftovers_are_described_and_the_others_counted() {
    let receives = |_| sequence((0..3).map(|number| irecv(0, number, 8, number)));
    let machine = Setup::new()
        .script((0..4).map(receives).collect(), &[0, 20, 40, 60])
        .run();
    let HostOutcome::Failed { text, .. } = machine.outcome() else {
        panic!()
    };
    assert!(
        text.starts_with("job \"job 0\" rank 0: a receive from rank 0 with tag 0"),
        "{text}"
    );
    assert!(
        text.ends_with("with tag 1 (world) (operation 1) got no message; and 7 more"),
        "{text}"
    );
}

/// Messages still in flight at the end of a program are not leftovers.
#[test]
fn messages_without_a_waiting_sender_complete_if_they_are_received() {
    let detached = OpKind::Isend {
        to: 1,
        tag: 0,
        bytes: 5_000,
        comm: Comm::WORLD,
        request: Request::DETACHED,
    };
    for threshold in THRESHOLDS {
        let outcome = ends_with(
            threshold,
            vec![detached, isend(1, 1, 8, 4), FREE],
            vec![recv(0, 0, 5_000), recv(0, 1, 8)],
        );
        assert_eq!(outcome, HostOutcome::Completed);
    }
}
