//! Which messages of a program find a receive: what only looks wrong is not reported, and long programs are checked in time.

use odonata_workload::dumpi::{Severity, lint_program};
use odonata_workload::{Comm, Cursor, Op, OpKind, Program, Source, Tag};

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
fn a_receive_of_any_tag_does_not_take_what_another_one_needs() {
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
fn what_gets_nothing_under_every_order_is_an_error() {
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
            "1 receives of rank 0 from anybody, tag 9, on communicator 0 get nothing",
            "1 sends from rank 2 to rank 0, tag 7, on communicator 0 are not received"
        ]
    );
    assert!(findings.iter().all(|finding| finding.severity == Severity::Error));
}

/// Linear in the receives: with every one held against every message this would be 10^10 steps.
#[test]
fn as_many_tags_as_messages_are_checked_in_time() {
    let many = 100_000;
    let receives = (0..many).map(|tag| recv(Source::Any, Tag::Is(tag))).collect();
    let program = Script(vec![receives, (0..many).map(send).collect()]);
    let start = std::time::Instant::now();
    assert_eq!(lint_program(&program), []);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
