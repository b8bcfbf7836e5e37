//! Failed runs report the reason.

use super::*;

#[test]
fn a_receive_without_message_is_reported_with_rank_operation_and_time() {
    let stuck = recv(1, 7, 8);
    let machine = Setup::new()
        .script(
            vec![sequence([compute(300), stuck]), sequence([send(0, 6, 8)])],
            &[0, 40],
        )
        .run();
    let since = Time::from_ns(300);
    let blocked = vec![Blocked {
        job: 0,
        rank: 0,
        op: "Recv from 1 tag 7 (world)".into(),
        id: OpId(1),
        since,
    }];
    assert_eq!(
        machine.outcome(),
        HostOutcome::Stalled {
            blocked,
            unfinished: 1,
            unmatched: 1,
            cycle: Vec::new(),
        }
    );
    assert!(machine.hosts.audit().unwrap_err().contains("rank 0"));
    assert_eq!(machine.hosts.job_statuses().finished(), (1, 2));
}

#[test]
fn the_ten_longest_blocked_ranks_are_described_in_order() {
    let n = 14u64;
    let rank = |r: u64| {
        let any = OpKind::Recv {
            from: Source::Any,
            tag: Tag::Any,
            bytes: 0,
            comm: Comm(2),
        };
        sequence([compute(100 * (n - r)), any])
    };
    let nodes: Vec<u32> = (0..n as u32).collect();
    let machine = Setup::new().script((0..n).map(rank).collect(), &nodes).run();
    let HostOutcome::Stalled {
        blocked,
        unfinished,
        unmatched,
        ..
    } = machine.outcome()
    else {
        panic!()
    };
    assert_eq!((blocked.len(), unfinished, unmatched), (10, n, 0));
    assert_eq!(blocked[0].op, "Recv from any tag any (communicator 2)");
    assert!(blocked.iter().map(|b| b.rank).eq((4..14).rev()));
}

#[test]
fn a_message_longer_than_its_buffer_is_reported_whether_the_receive_is_early_or_late() {
    for delay in [0, 1_000_000] {
        let receiver = sequence([compute(delay), recv(0, 3, 99)]);
        let machine = Setup::new()
            .script(vec![sequence([send(1, 3, 100)]), receiver], &[0, 40])
            .run();
        let HostOutcome::Failed { kind, text } = machine.outcome() else {
            panic!()
        };
        assert_eq!(kind, FailureKind::Truncation);
        let expected =
            "job \"job 0\" rank 1: a message of 100 B from rank 0 with tag 3 matched a receive with a buffer of 99 B";
        assert_eq!(text, expected);
    }
}

#[test]
fn operations_on_unknown_ranks_or_servers_are_reported() {
    let run = |kind: OpKind| {
        let machine = Setup::new().script(vec![sequence([kind]), Vec::new()], &[0, 40]).run();
        match machine.outcome() {
            HostOutcome::Failed { kind, text } => (kind, text),
            other => panic!("{other:?}"),
        }
    };
    let (kind, text) = run(send(2, 0, 8));
    assert_eq!(kind, FailureKind::InvalidOperation);
    assert!(
        text.contains("Send to 2 tag 0 (world) (operation 0): the job has ranks 0 to 1"),
        "{text}"
    );
    let (kind, text) = run(OpKind::Collective(broadcast(5, 1)));
    assert_eq!(kind, FailureKind::InvalidOperation);
    assert!(text.contains("broadcast from rank 5"), "{text}");
    let (kind, text) = run(OpKind::Write {
        file: 1,
        offset: 0,
        bytes: 8,
    });
    assert_eq!(kind, FailureKind::NoServer);
    assert!(text.contains("Write 8 B at 0 of file 1"), "{text}");
}

#[test]
fn a_wait_on_a_closed_request_returns_immediately_and_numbers_are_reused() {
    let wait = |request| OpKind::Wait {
        request: Request(request),
    };
    let sender = sequence([wait(3), isend(1, 0, 8, 3), wait(3), isend(1, 0, 8, 3), wait(3), wait(3)]);
    let receiver = sequence([irecv(0, 0, 8, 3), wait(3), irecv(0, 0, 8, 3), wait(3)]);
    Setup::new().script(vec![sender, receiver], &[0, 40]).complete();
}

/// A program that reports values endlessly at one instant.
#[derive(Debug)]
struct Reporter;

impl Program for Reporter {
    fn ranks(&self) -> u32 {
        1
    }
    fn next(&self, _: u32, cursor: &mut Cursor) -> Option<Op> {
        let index = cursor.op;
        cursor.advance(|_| {
            Some(OpKind::Report {
                report: 0,
                index,
                value: 1.0,
            })
        })
    }
    fn memory(&self) -> usize {
        1
    }
    fn describe(&self) -> String {
        "reporter".into()
    }
}

/// A mean over the kept values would not be the mean of all values.
#[test]
fn too_many_reports_fail_the_run() {
    let machine = Setup::new().job(JobProgram::Program(Arc::new(Reporter)), &[0]).run();
    let HostOutcome::Failed { kind, text } = machine.outcome() else {
        panic!("{:?}", machine.outcome())
    };
    assert_eq!(kind, FailureKind::InvalidOperation);
    let most = crate::rank::memory::MOST_REPORTS;
    assert!(text.contains(&format!("(operation {most})")), "{text}");
    assert!(
        text.contains(&format!("a rank can log and output at most {most} values")),
        "{text}"
    );
}

/// Two ranks, of which the second repeats one operation `times` times, or endlessly.
#[derive(Debug)]
struct Again {
    kind: OpKind,
    times: u32,
}

impl Program for Again {
    fn ranks(&self) -> u32 {
        2
    }
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let goes_on = rank == 1 && cursor.op < self.times;
        cursor.advance(|_| goes_on.then_some(self.kind))
    }
    fn describe(&self) -> String {
        "again".into()
    }
}

/// The outcome of `kind` repeated `times` times.
fn again(kind: OpKind, times: u32) -> HostOutcome {
    let program = JobProgram::Program(Arc::new(Again { kind, times }));
    Setup::new().job(program, &[0, 40]).run().outcome()
}

#[test]
fn an_endless_program_at_one_instant_fails_the_run() {
    let request = Request(0);
    let test_all = OpKind::TestAll {
        first: request,
        count: 3,
    };
    let probe = OpKind::Iprobe {
        from: Source::Any,
        tag: Tag::Any,
        comm: Comm::WORLD,
    };
    for (kind, most) in [
        (compute(0), 100_000),
        (OpKind::Mark { iteration: 3 }, 100_000),
        (OpKind::Test { request }, 100_000),
        (test_all, 100_000),
        (probe, 100_000),
        // A wait on no open request, and a send without a receiver.
        (OpKind::Wait { request }, 1_000_000),
        (send(PROC_NULL, 0, 8), 1_000_000),
    ] {
        let HostOutcome::Failed { kind: failure, text } = again(kind, u32::MAX) else {
            panic!("{kind:?}")
        };
        assert_eq!(failure, FailureKind::Program);
        let start = format!(
            "job \"job 0\" rank 1: {} (operation {most}), after ",
            crate::diagnosis::describe::describe_operation(&kind)
        );
        assert!(text.starts_with(&start), "{text}");
        assert!(text.ends_with("at one instant: the program runs forever without a computation or a wait that takes time; its program: again"), "{text}");
        // The maximum number is allowed.
        assert_eq!(again(kind, most), HostOutcome::Completed, "{kind:?}");
    }
    // Any passage of time resets the count.
    let picosecond = OpKind::Compute { duration: Time(1) };
    assert_eq!(again(picosecond, 2_000_000), HostOutcome::Completed);
}
