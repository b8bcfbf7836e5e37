//! Persistent requests.

use super::*;

const REQUEST: Request = Request(4);

fn send_init(to: u32, tag: u32, bytes: u64) -> OpKind {
    OpKind::SendInit {
        to,
        tag,
        bytes,
        comm: Comm::WORLD,
        request: REQUEST,
    }
}
fn recv_init(from: u32, tag: u32, bytes: u64) -> OpKind {
    OpKind::RecvInit {
        from: Source::Rank(from),
        tag: Tag::Is(tag),
        bytes,
        comm: Comm::WORLD,
        request: REQUEST,
    }
}
const START: OpKind = OpKind::Start { request: REQUEST };
const WAIT: OpKind = OpKind::Wait { request: REQUEST };
const FREE: OpKind = OpKind::RequestFree { request: REQUEST };

#[test]
fn a_persistent_transfer_restarts_and_waits_on_idle_requests_return_immediately() {
    for threshold in [u64::MAX, 100] {
        let mut setup = Setup::new();
        setup.params.mpi.eager_threshold = Some(Bytes(threshold));
        let round = [START, WAIT, WAIT];
        let around = |init| {
            sequence(
                [init, WAIT]
                    .into_iter()
                    .chain((0..5).flat_map(|_| round))
                    .chain([FREE, WAIT]),
            )
        };
        let ranks = vec![around(send_init(1, 0, 5_000)), around(recv_init(0, 0, 5_000))];
        let machine = setup.script(ranks, &[0, 71]).complete();
        assert_eq!(
            (machine.hosts.metrics(0, 0).sends, machine.hosts.metrics(0, 1).recvs),
            (5, 5)
        );
    }
}

#[test]
fn persistent_and_ordinary_operations_match_and_start_all_starts_a_range() {
    let init = |number: u32| OpKind::SendInit {
        to: 1,
        tag: 10 + number,
        bytes: u64::from(number),
        comm: Comm::WORLD,
        request: Request(number),
    };
    let (first, count) = (Request(0), 3);
    let mut setup = Setup::new();
    setup.params.mpi.send_overhead = Time::from_ns(70);
    // Requests start in the order of their numbers, not in the order of their creation.
    let sender = sequence([
        init(2),
        init(0),
        init(1),
        OpKind::StartAll { first, count },
        OpKind::Mark { iteration: 0 },
        wait_all(3),
    ]);
    let receiver = sequence((0..3).map(|number| recv(0, 10 + number, u64::from(number))));
    let machine = setup.script(vec![sender, receiver], &[0, 71]).complete();
    assert_eq!(
        machine.hosts.observers.records.iterations()[0].time,
        Time::from_ns(3 * 70)
    );
    let order: Vec<u64> = machine
        .hosts
        .observers
        .records
        .messages()
        .iter()
        .map(|m| m.bytes)
        .collect();
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn an_active_request_that_is_freed_completes_its_transfer() {
    let sender = sequence([send_init(1, 0, 5_000), START, FREE, send_init(1, 1, 8), START, WAIT]);
    let receiver = sequence([recv_init(0, 0, 5_000), START, FREE, recv(0, 1, 8), compute(1_000_000)]);
    for threshold in [u64::MAX, 100] {
        let mut setup = Setup::new();
        setup.params.mpi.eager_threshold = Some(Bytes(threshold));
        let machine = setup
            .script(vec![sender.clone(), receiver.clone()], &[0, 71])
            .complete();
        assert_eq!(machine.hosts.metrics(0, 1).recvs, 2);
    }
}

#[test]
fn starting_an_active_or_unknown_request_is_reported() {
    let run = |kinds: &[OpKind]| {
        let machine = Setup::new()
            .script(vec![sequence(kinds.iter().copied()), Vec::new()], &[0, 40])
            .run();
        match machine.outcome() {
            HostOutcome::Failed {
                kind: FailureKind::InvalidOperation,
                text,
            } => text,
            other => panic!("{other:?}"),
        }
    };
    let text = run(&[recv_init(1, 0, 8), START, START]);
    assert!(
        text.ends_with("Start of request 4 (operation 2): request 4 is in use"),
        "{text}"
    );
    let text = run(&[START]);
    assert!(text.ends_with("there is no persistent request 4"), "{text}");
    let text = run(&[isend(1, 0, 8, 4), START]);
    assert!(text.ends_with("there is no persistent request 4"), "{text}");
    let text = run(&[recv_init(1, 0, 8), recv_init(1, 0, 8)]);
    assert!(text.ends_with("request 4 is in use"), "{text}");
    let text = run(&[send_init(2, 0, 8)]);
    assert!(
        text.ends_with("SendInit to 2 tag 0 (world) (operation 0): the job has ranks 0 to 1"),
        "{text}"
    );
}
