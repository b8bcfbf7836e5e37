//! Which messages of a program find a receive: no false positives, and long programs are checked in time.

use std::sync::atomic::{AtomicU64, Ordering};

use odonata_trace_format::{Cancellation, Severity};
use odonata_workload::{Collective, Comm, Cursor, Op, OpKind, Program, Request, Source, Tag};

/// The findings of an uncancelled check.
fn lint_program(program: &dyn Program) -> Vec<odonata_trace_format::Finding> {
    odonata_trace_format::lint_program(program, &Cancellation::default())
}

/// The operations of every rank.
#[derive(Debug)]
struct Script(Vec<Vec<OpKind>>);

impl Program for Script {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let kind = self.0[rank as usize].get(cursor.op as usize).copied();
        cursor.advance(|_| kind)
    }
    fn describe(&self) -> String {
        "script".into()
    }
}

fn send(tag: u32) -> OpKind {
    OpKind::Send {
        to: 0,
        tag,
        bytes: 8,
        comm: Comm::WORLD,
    }
}

fn recv(from: Source, tag: Tag) -> OpKind {
    OpKind::Recv {
        from,
        tag,
        bytes: 8,
        comm: Comm::WORLD,
    }
}

#[test]
fn a_receive_of_any_tag_leaves_messages_that_others_need() {
    let receives = vec![
        recv(Source::Rank(1), Tag::Any),
        recv(Source::Any, Tag::Is(5)),
        recv(Source::Any, Tag::Any),
        recv(Source::Rank(2), Tag::Is(6)),
    ];
    let program = Script(vec![receives, vec![send(5)], vec![send(6), send(5), send(5)]]);
    assert_eq!(lint_program(&program), []);
}

#[test]
fn a_receive_without_a_message_in_every_order_is_an_error() {
    let receives = vec![
        recv(Source::Rank(1), Tag::Any),
        recv(Source::Any, Tag::Is(5)),
        recv(Source::Any, Tag::Is(9)),
    ];
    let findings = lint_program(&Script(vec![receives, vec![send(5)], vec![send(5), send(7)]]));
    let texts: Vec<&str> = findings.iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "1 receives of rank 0 from any rank, tag 9, on communicator 0 never match",
            "1 sends from rank 2 to rank 0, tag 7, on communicator 0 are not received"
        ]
    );
    assert!(findings.iter().all(|finding| finding.severity == Severity::Error));
}

/// Linear in the receives: comparing every receive with every message would take 10^10 steps.
#[test]
fn as_many_tags_as_messages_are_checked_in_time() {
    let many = 100_000;
    let receives = (0..many).map(|tag| recv(Source::Any, Tag::Is(tag))).collect();
    let program = Script(vec![receives, (0..many).map(send).collect()]);
    let start = cpu_time::ThreadTime::now();
    assert_eq!(lint_program(&program), []);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Two ranks of very many are in a barrier; counts all queries.
#[derive(Debug)]
struct Lonely(AtomicU64);

impl Program for Lonely {
    fn ranks(&self) -> u32 {
        100_000
    }
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let barrier = OpKind::Collective(Collective::Barrier { comm: Comm::WORLD });
        let there = rank < 2 && cursor.op == 0;
        cursor.advance(|_| there.then_some(barrier))
    }
    fn describe(&self) -> String {
        "lonely".into()
    }
}

#[test]
fn values_that_are_not_shown_are_not_looked_up() {
    let program = Lonely(AtomicU64::new(0));
    let findings = lint_program(&program);
    assert_eq!(findings.len(), 21);
    assert!(findings[0].text.ends_with("rank 2 no further call"), "{findings:?}");
    assert_eq!(findings[20].text, "and 99978 more");
    // Each rank once, and the 20 reported ranks again.
    let asked = program.0.load(Ordering::Relaxed);
    assert!(asked < 2 * u64::from(program.ranks()), "{asked}");
}

#[test]
fn starting_no_requests_takes_no_time() {
    let start = OpKind::StartAll {
        first: Request(0),
        count: u32::MAX,
    };
    let program = Script(vec![vec![start; 10_000]]);
    let begin = cpu_time::ThreadTime::now();
    assert_eq!(
        (
            lint_program(&program),
            odonata_trace_format::traffic_matrix(&program, &Cancellation::default())
        ),
        (Vec::new(), Vec::new())
    );
    // A loop over pairs would take 10,000 times 4 billion steps.
    assert!(begin.elapsed().as_secs() < 60);
}
