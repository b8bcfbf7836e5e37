//! A schedule as a program: GOAL tasks as operations.
//!
//! | GOAL | operations |
//! |---|---|
//! | `calc` | `Compute` on the processor |
//! | `send` | `Isend` on the processor, and an unordered `Wait`, if a task depends on its end or it is last |
//! | `recv` | `Irecv` on the processor, and an unordered `Wait` |
//! | `l2 requires l1` | `l2` after the `Compute` or the `Wait` of `l1` |
//! | `l2 irequires l1` | `l2` after an operation without time on the processor, placed before that of `l1` |
//! | the whole | between two computations of zero time in stream 0, so that it can be repeated |
//! | more than four dependencies | joined four at a time by computations of zero time |
//!
//! Processor c of GOAL is stream [`Op::PROCESSORS`] + c: one operation at a time, in any order in which they become
//! ready. This keeps the partial order of the schedule and adds nothing to it. Operations are issued in topological
//! order; the graph gives the look-ahead that a rank needs so that issue order delays nothing.
//!
//! Under the LogGOPS model the schedule is simulated as a whole ([`crate::loggops`]).

use crate::loggops::{Outcome, calculation, simulate};
use crate::schedule::{ANY, RankSchedule, Schedule, TaskKind};
use odonata_units::Time;
use odonata_workload::{After, Comm, Cursor, LogGops, Op, OpId, OpKind, Program, RankTimes, Request, Source, Tag};
use std::sync::Arc;

/// A program that runs a schedule.
#[derive(Debug)]
pub struct GoalProgram {
    schedule: Arc<Schedule>,
    operations: Vec<Box<[Op]>>,
    look_ahead: u32,
    compute_scale: f64,
}

impl GoalProgram {
    /// The program of `schedule`; calculation times are multiplied by `compute_scale`. `None` if `stop` returns true.
    ///
    /// # Errors
    /// A rank has too many operations.
    pub fn new(schedule: Schedule, compute_scale: f64, stop: &dyn Fn() -> bool) -> Option<Result<GoalProgram, String>> {
        let mut look_ahead = 1;
        let mut operations = Vec::with_capacity(schedule.ranks().len());
        for (number, rank) in schedule.ranks().iter().enumerate() {
            if stop() {
                return None;
            }
            let lowered = lower(rank, compute_scale);
            if lowered.len() >= u32::MAX as usize - 1 {
                return Some(Err(format!("rank {number} has more than 2^32 operations")));
            }
            look_ahead = look_ahead.max(look_ahead_of(&lowered));
            operations.push(lowered.into_boxed_slice());
        }
        Some(Ok(GoalProgram {
            schedule: Arc::new(schedule),
            operations,
            look_ahead,
            compute_scale,
        }))
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl Program for GoalProgram {
    fn ranks(&self) -> u32 {
        self.operations.len() as u32
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let op = *self.operations.get(rank as usize)?.get(cursor.op as usize)?;
        cursor.op += 1;
        Some(op)
    }

    fn look_ahead(&self) -> u32 {
        self.look_ahead
    }

    fn under_loggops(&self, params: &LogGops) -> Option<Arc<dyn Program>> {
        let outcome = simulate(&self.schedule, params, self.compute_scale, &|| false)?;
        Some(Arc::new(Timed {
            outcome,
            description: self.describe(),
        }))
    }

    fn describe(&self) -> String {
        let tasks: usize = self.schedule.ranks().iter().map(|rank| rank.tasks().len()).sum();
        format!("GOAL schedule of {} ranks, {tasks} tasks", self.ranks())
    }
}

/// A schedule simulated under the LogGOPS model.
#[derive(Debug)]
struct Timed {
    outcome: Outcome,
    description: String,
}

impl Timed {
    fn stuck(&self, rank: u32) -> Option<u32> {
        self.outcome.stuck.filter(|&(at, _)| at == rank).map(|(_, task)| task)
    }
}

impl Program for Timed {
    fn ranks(&self) -> u32 {
        self.outcome.ranks.len() as u32
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let times: &RankTimes = self.outcome.ranks.get(rank as usize)?;
        cursor.advance(|words| {
            let first = words[0] == 0;
            words[0] = 1;
            first.then_some(OpKind::Elapsed(*times))
        })
    }

    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        let task = self.stuck(rank).filter(|_| cursor.op > 0)?;
        Some(format!(
            "the schedule never ends: task {task} of rank {rank}, counted from 0, waits forever"
        ))
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}

/// The operations of a rank.
fn lower(rank: &RankSchedule, scale: f64) -> Vec<Op> {
    let tasks = rank.tasks();
    let mut ops: Vec<Op> = Vec::with_capacity(2 * tasks.len() + 2);
    ops.push(in_order(FIRST, After::NONE));
    // For each task, the operations whose ends are its begin and its end.
    let mut begun = vec![OpId(0); tasks.len()];
    let mut ended = vec![OpId(0); tasks.len()];
    let mut waits: Vec<Vec<OpId>> = vec![Vec::new(); tasks.len()];
    let order = rank.topological_order();
    for &task in &order {
        let at = task as usize;
        let what = &tasks[at];
        if rank.unmet()[at] == 0 {
            waits[at].push(FIRST);
        }
        let after = join(&mut ops, std::mem::take(&mut waits[at]));
        let processor = Op::PROCESSORS + u16::from(what.cpu);
        let mut push = |stream, after, kind| {
            let id = OpId(ops.len() as u32);
            ops.push(Op {
                id,
                stream,
                after,
                kind,
            });
            id
        };
        let begins = !rank.begins().after(task).is_empty();
        let duration = Time::ZERO;
        let mut after = after;
        if begins {
            begun[at] = push(processor, after, OpKind::Compute { duration });
            after = After::ops(&[begun[at]]);
        }
        let request = Request(task);
        let comm = Comm::WORLD;
        let (bytes, tag) = (what.size, what.tag);
        let kind = match what.kind {
            TaskKind::Calc => OpKind::Compute {
                duration: calculation(what, scale),
            },
            TaskKind::Send => OpKind::Isend {
                to: what.peer,
                tag,
                bytes,
                comm,
                request,
            },
            TaskKind::Recv => OpKind::Irecv {
                from: if what.peer == ANY {
                    Source::Any
                } else {
                    Source::Rank(what.peer)
                },
                tag: if tag == ANY { Tag::Any } else { Tag::Is(tag) },
                bytes,
                comm,
                request,
            },
        };
        let called = push(processor, after, kind);
        ended[at] = match what.kind {
            TaskKind::Calc => called,
            _ => push(Op::UNORDERED, After::ops(&[called]), OpKind::Wait { request }),
        };
        for &waiting in rank.ends().after(task) {
            waits[waiting as usize].push(ended[at]);
        }
        for &waiting in rank.begins().after(task) {
            waits[waiting as usize].push(begun[at]);
        }
    }
    let last = order.iter().filter(|&&task| rank.ends().after(task).is_empty());
    let last = last.map(|&task| ended[task as usize]).collect();
    let after = join(&mut ops, last);
    ops.push(in_order(OpId(ops.len() as u32), after));
    ops
}

/// The first operation of a rank, which precedes all others.
const FIRST: OpId = OpId(0);

/// The first operation of a rank, or its last.
fn in_order(id: OpId, after: After) -> Op {
    Op {
        id,
        stream: 0,
        after,
        kind: OpKind::Compute { duration: Time::ZERO },
    }
}

/// Dependencies on all of `waits`; if there are too many, joined by computations of zero time.
fn join(ops: &mut Vec<Op>, mut waits: Vec<OpId>) -> After {
    waits.sort_unstable();
    waits.dedup();
    while waits.len() > After::MOST {
        let mut joined = Vec::with_capacity(waits.len().div_ceil(After::MOST));
        for some in waits.chunks(After::MOST) {
            if let ([alone], true) = (some, waits.len() > After::MOST) {
                joined.push(*alone);
                continue;
            }
            let id = OpId(ops.len() as u32);
            ops.push(Op {
                id,
                stream: Op::UNORDERED,
                after: After::from_slice(some).unwrap_or(After::NONE),
                kind: OpKind::Compute { duration: Time::ZERO },
            });
            joined.push(id);
        }
        waits = joined;
    }
    After::from_slice(&waits).unwrap_or(After::NONE)
}

/// The number of operations in flight that a rank needs so that issue order delays none of `ops`.
///
/// Operation v needs all operations from the first that may still be in flight. Known to be over before v are the first
/// `over[v]` operations, and its dependencies.
fn look_ahead_of(ops: &[Op]) -> u32 {
    let mut over: Vec<u32> = Vec::with_capacity(ops.len());
    let mut most = 1;
    for (at, op) in ops.iter().enumerate() {
        let mut first = op.after.iter().map(|id| over[id.0 as usize]).max().unwrap_or(0);
        let mut named: Vec<u32> = op.after.iter().map(|id| id.0).collect();
        named.sort_unstable();
        for id in named {
            first += u32::from(id == first);
        }
        most = most.max(at as u32 + 1 - first);
        over.push(first);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_workload::operations;

    fn program(text: &str) -> GoalProgram {
        let schedule = crate::text::read(text.as_bytes(), &|| false).unwrap();
        GoalProgram::new(schedule, 1.0, &|| false).unwrap().unwrap()
    }

    #[test]
    fn tasks_become_operations_that_keep_the_partial_order() {
        let program = program(
            "num_ranks 2 rank 0 { a: calc 5 cpu 1 b: send 8b to 1 tag 3 b requires a c: calc 7 c irequires b }
             rank 1 { recv 8b from -1 tag -1 }",
        );
        let ops: Vec<Op> = operations(&program, 0).skip(1).collect();
        let compute = |ns| OpKind::Compute {
            duration: Time::from_ns(ns),
        };
        assert_eq!((ops[0].stream, ops[0].kind), (Op::PROCESSORS + 1, compute(5)));
        // The send begins with an operation of zero time, on which c depends.
        assert_eq!((ops[1].kind, ops[1].after), (compute(0), After::ops(&[OpId(1)])));
        assert!(matches!(
            ops[2].kind,
            OpKind::Isend {
                to: 1,
                tag: 3,
                bytes: 8,
                ..
            }
        ));
        assert_eq!((ops[3].stream, ops[3].after), (Op::UNORDERED, After::ops(&[OpId(3)])));
        assert_eq!((ops[4].kind, ops[4].after), (compute(7), After::ops(&[OpId(2)])));
        let received = operations(&program, 1).nth(1).unwrap().kind;
        assert!(matches!(
            received,
            OpKind::Irecv {
                from: Source::Any,
                tag: Tag::Any,
                ..
            }
        ));
    }

    #[test]
    fn many_predecessors_are_joined_four_at_a_time() {
        let tasks: String = (0..17).map(|n| format!("t{n}: calc 1 ")).collect();
        let edges: String = (0..17).map(|n| format!("end requires t{n} ")).collect();
        let program = program(&format!("num_ranks 1 rank 0 {{ {tasks} end: calc 2 {edges} }}"));
        let ops: Vec<Op> = operations(&program, 0).collect();
        // 17 join to four and one left over, these five to one and one; first and last.
        assert_eq!(ops.len(), 1 + 17 + 4 + 1 + 1 + 1);
        let mut reached = vec![false; ops.len()];
        let mut next = vec![ops.len() - 1];
        while let Some(at) = next.pop() {
            next.extend(ops[at].after.iter().map(|id| id.0 as usize));
            reached[at] = true;
        }
        assert!(reached.iter().all(|&reached| reached));
    }

    #[test]
    fn a_chain_needs_no_look_ahead_and_independent_tasks_need_all() {
        let chain: String = (1..9)
            .map(|n| format!("t{n}: calc 1 t{n} requires t{} ", n - 1))
            .collect();
        assert_eq!(
            program(&format!("num_ranks 1 rank 0 {{ t0: calc 1 {chain} }}")).look_ahead(),
            1
        );
        // Those three, and the last operation.
        assert_eq!(program("num_ranks 1 rank 0 { calc 1 calc 1 calc 1 }").look_ahead(), 3);
    }
}
