//! Programs in sequence, repeatedly.

use std::sync::Arc;

use odonata_workload::skeletons::*;
use odonata_workload::{After, Collective, Comm, Counts, Cursor, Group, Op, OpId, OpKind, Phases, Program, operations};

/// The same operations on all ranks; communicator 3 is the even ranks, list 5 is 100 times `to`.
#[derive(Debug)]
struct Script(u32, Vec<Op>);

impl Program for Script {
    fn ranks(&self) -> u32 {
        self.0
    }
    fn next(&self, _: u32, cursor: &mut Cursor) -> Option<Op> {
        let op = *self.1.get(cursor.op as usize)?;
        cursor.op += 1;
        cursor.words[2] += 7;
        Some(op)
    }
    fn group(&self, _: u32, comm: Comm) -> Option<Group> {
        match comm {
            Comm::WORLD => Some(Group::world(self.0)),
            Comm(3) => Some(Group::Strided {
                first: 0,
                stride: 2,
                count: self.0.div_ceil(2),
            }),
            _ => None,
        }
    }
    fn bytes(&self, _: u32, counts: Counts, _: u32, to: u32) -> u64 {
        if counts == Counts(5) { 100 * u64::from(to) } else { 0 }
    }
    fn describe(&self) -> String {
        "script".into()
    }
}

fn op(id: u32, stream: u16, after: After, kind: OpKind) -> Op {
    let id = OpId(id);
    Op {
        id,
        stream,
        after,
        kind,
    }
}

fn stencil(iterations: u32) -> Arc<dyn Program> {
    let params = StencilParams {
        iterations,
        ..Default::default()
    };
    Arc::new(Stencil::new(8, params).unwrap())
}

fn checkpoint(iterations: u32) -> Arc<dyn Program> {
    let params = CheckpointParams {
        iterations,
        ..Default::default()
    };
    Arc::new(Checkpoint::new(8, params).unwrap())
}

fn kinds(program: &dyn Program, rank: u32) -> Vec<OpKind> {
    operations(program, rank).map(|op| op.kind).collect()
}

#[test]
fn a_repetition_is_the_same_program_with_operations_and_marks_numbered_through() {
    let (once, thrice) = (stencil(2), Phases::new(vec![stencil(2)], 3).unwrap());
    let single = kinds(once.as_ref(), 5);
    let marks = |kind: &OpKind| matches!(kind, OpKind::Mark { .. });
    let mut expected = Vec::new();
    for repetition in 0..3 {
        expected.extend(single.iter().map(|kind| match *kind {
            OpKind::Mark { iteration } => OpKind::Mark {
                iteration: 2 * repetition + iteration,
            },
            kind => kind,
        }));
    }
    assert_eq!(kinds(&thrice, 5), expected);
    assert_eq!(expected.iter().filter(|kind| marks(kind)).count(), 6);
    assert!(operations(&thrice, 5).map(|op| op.id.0).eq(0..expected.len() as u32));
    assert_eq!(thrice.describe(), format!("3 times {}", once.describe()));
}

#[test]
fn phases_follow_each_other_and_have_files_of_their_own_that_repetitions_use_again() {
    let phases = Phases::new(vec![stencil(1), checkpoint(2), checkpoint(1)], 2).unwrap();
    let files: Vec<u64> = operations(&phases, 3)
        .filter_map(|op| match op.kind {
            OpKind::Write { file, .. } => Some(file),
            _ => None,
        })
        .collect();
    let (second, third) = (1 << 56, 2 << 56);
    assert_eq!(files, [second, second + 1, third, second, second + 1, third]);
    let lengths = [stencil(1), checkpoint(2), checkpoint(1)].map(|phase| kinds(phase.as_ref(), 0).len());
    assert_eq!(kinds(&phases, 0).len(), 2 * lengths.iter().sum::<usize>());
    assert!(
        phases.describe().starts_with("2 times (stencil"),
        "{}",
        phases.describe()
    );
    assert!(phases.describe().contains("; then Checkpoint"));
}

#[test]
fn dependencies_streams_communicators_and_size_lists_belong_to_their_phase() {
    let barrier = |comm| OpKind::Collective(Collective::Barrier { comm: Comm(comm) });
    let script = || -> Arc<dyn Program> {
        Arc::new(Script(
            6,
            vec![
                op(0, 0, After::NONE, barrier(3)),
                op(1, 1, After::ops(&[OpId(0)]), barrier(0)),
                op(2, 0, After::ops(&[OpId(0), OpId(1)]), barrier(3)),
            ],
        ))
    };
    let phases = Phases::new(vec![script(), script()], 1).unwrap();
    let ops: Vec<Op> = operations(&phases, 4).collect();
    assert_eq!(ops[5].after, After::ops(&[OpId(3), OpId(4)]));
    assert_eq!(
        (ops[4].id, ops[4].stream, ops[4].after),
        (OpId(4), 1, After::ops(&[OpId(3)]))
    );
    let comm = |op: &Op| match op.kind {
        OpKind::Collective(collective) => collective.comm(),
        _ => panic!("{op:?}"),
    };
    assert_eq!((comm(&ops[1]), comm(&ops[4])), (Comm::WORLD, Comm::WORLD));
    assert_ne!(comm(&ops[0]), comm(&ops[3]));
    // Both phases know the even ranks; a missing phase knows no rank.
    for op in [&ops[0], &ops[3]] {
        let group = phases.group(4, comm(op)).unwrap();
        assert_eq!((group.len(), group.rank(2)), (3, Some(4)));
    }
    assert_eq!(phases.group(4, Comm(3 | 2 << 23)), None);
    assert_eq!(phases.group(4, Comm::WORLD), Some(Group::world(6)));
    assert_eq!(phases.bytes(4, Counts(5 | 1 << 24), 0, 3), 300);
    assert_eq!(phases.bytes(4, Counts(5 | 2 << 24), 0, 3), 0);
}

#[test]
fn ranks_without_operations_in_a_phase_pass_it_by_and_without_any_end_at_once() {
    // Only rank 0 opens and closes files; a script without operations is passed by all ranks.
    let empty = || -> Arc<dyn Program> { Arc::new(Script(8, Vec::new())) };
    let phases = Phases::new(vec![empty(), checkpoint(1), empty()], 4).unwrap();
    assert_eq!(kinds(&phases, 1).len(), 4 * kinds(checkpoint(1).as_ref(), 1).len());
    let nothing = Phases::new(vec![empty(), empty()], 1 << 29).unwrap();
    let mut cursor = Cursor::default();
    assert_eq!(nothing.next(0, &mut cursor), None);
    assert_eq!(cursor, Cursor::default());
}

#[test]
fn a_restored_cursor_resumes_in_the_same_phase() {
    let phases = Phases::new(vec![stencil(1), checkpoint(1)], 2).unwrap();
    let all: Vec<Op> = operations(&phases, 0).collect();
    let mut cursor = Cursor::default();
    for (at, op) in all.iter().enumerate() {
        let saved = cursor;
        let mut rest = std::iter::from_fn(|| phases.next(0, &mut cursor));
        assert!(rest.by_ref().eq(all[at..].iter().copied()));
        cursor = saved;
        assert_eq!(phases.next(0, &mut cursor).as_ref(), Some(op));
    }
}

#[test]
fn phases_that_do_not_fit_together_are_errors() {
    let error = |phases: Vec<Arc<dyn Program>>, repeat| Phases::new(phases, repeat).unwrap_err();
    assert!(error(vec![], 1).contains("0 phases: expected 1 to 128"));
    assert!(error((0..129).map(|_| stencil(1)).collect(), 1).contains("129 phases"));
    assert!(error(vec![stencil(1)], 0).contains("no repetition"));
    let other = Arc::new(Script(3, Vec::new()));
    assert!(error(vec![stencil(1), other], 1).contains("phases of 8 and 3 ranks"));
    assert!(error(vec![stencil(100)], 1 << 21).contains("2^30"));
    let empty: Arc<dyn Program> = Arc::new(Script(8, Vec::new()));
    assert!(error(vec![empty], u32::MAX).contains("too many"));
}

#[test]
fn size_lists_of_collectives_are_those_of_their_phase() {
    let gatherv = |comm, counts| OpKind::Collective(Collective::Gatherv { comm, root: 0, counts });
    let one = || Arc::new(Script(4, vec![op(0, 0, After::NONE, gatherv(Comm(3), Counts(5)))]));
    let phases = Phases::new(vec![one(), one()], 1).unwrap();
    let kinds: Vec<OpKind> = operations(&phases, 2).map(|op| op.kind).collect();
    let second = gatherv(Comm(3 | 1 << 23), Counts(5 | 1 << 24));
    assert_eq!(kinds, [gatherv(Comm(3), Counts(5)), second]);
    // The second list equals the first.
    assert_eq!(
        phases.bytes(2, Counts(5 | 1 << 24), 2, 0),
        phases.bytes(2, Counts(5), 2, 0)
    );
}

/// The upper 8 bits of a file number are the phase; a larger number does not fit.
#[test]
fn a_file_number_that_phases_have_no_room_for_ends_the_program() {
    let open = |file| -> Arc<dyn Program> {
        let kind = OpKind::Open { file };
        Arc::new(Script(1, vec![op(0, 0, After::NONE, kind)]))
    };
    let largest = (1 << 56) - 1;
    let phases = Phases::new(vec![open(4), open(largest)], 1).unwrap();
    assert_eq!(
        kinds(&phases, 0).last(),
        Some(&OpKind::Open {
            file: 1 << 56 | largest
        })
    );
    let phases = Phases::new(vec![open(3), open(1 << 56)], 1).unwrap();
    let mut cursor = Cursor::default();
    assert!(phases.next(0, &mut cursor).is_some());
    assert_eq!(phases.next(0, &mut cursor), None);
    let why = phases.broken(0, &cursor).unwrap();
    assert!(
        why.contains("is on file 72057594037927936") && why.contains("below 2^56"),
        "{why}"
    );
    // With one phase there is nothing to keep apart.
    let alone = Phases::new(vec![open(1 << 60)], 2).unwrap();
    assert_eq!(kinds(&alone, 0), [OpKind::Open { file: 1 << 60 }; 2]);
}
