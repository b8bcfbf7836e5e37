//! A program for the engine: steps as operations.

use std::cell::Cell;

use odonata_units::Time;

use odonata_workload::{
    Collective, Comm, Cursor, FileCall, Group, Op, OpKind, Program, ReportText, Request, Seen, Source, Tag,
};

use super::diagnostic::line_and_column;
use super::instance::Instance;
use super::ir::word;
use super::machine::{MOST_STEPS, Machine, Moment, Step};

/// Time of one access of TOUCHES to memory: an assumption, 1 ns.
const ACCESS: Time = Time::from_ns(1);

/// A coNCePTuaL program with its parameters; see [`Conceptual::program`](super::Conceptual::program).
#[derive(Debug)]
pub struct ConceptualProgram {
    instance: Instance,
}

impl ConceptualProgram {
    pub(super) fn new(instance: Instance) -> Self {
        ConceptualProgram { instance }
    }

    /// The operation of `step`; `None` if it takes neither time nor traffic.
    fn kind(&self, step: Step, memory: &mut [u64]) -> Option<OpKind> {
        let comm = Comm::WORLD;
        // The request number is the number of open requests.
        let request = Request((memory[word::REQUESTS] as u32).wrapping_sub(1));
        Some(match step {
            Step::Message {
                send: true,
                peer: to,
                bytes,
                tag,
                asynchronous,
                detached,
                ..
            } => match asynchronous {
                true => OpKind::Isend {
                    to,
                    tag,
                    bytes,
                    comm,
                    request: if detached { Request::DETACHED } else { request },
                },
                false => OpKind::Send { to, tag, bytes, comm },
            },
            Step::Message {
                peer,
                bytes,
                tag,
                asynchronous,
                ..
            } => {
                let (from, tag) = (Source::Rank(peer), Tag::Is(tag));
                match asynchronous {
                    true => OpKind::Irecv {
                        from,
                        tag,
                        bytes,
                        comm,
                        request,
                    },
                    false => OpKind::Recv { from, tag, bytes, comm },
                }
            }
            Step::WaitAll => OpKind::WaitAll {
                first: Request(0),
                count: std::mem::take(&mut memory[word::REQUESTS]) as u32,
            },
            Step::Barrier(None) => OpKind::Collective(Collective::Barrier { comm }),
            Step::Barrier(Some(data)) => OpKind::Collective(Collective::Barrier {
                comm: Comm(data.circles[0].comm?),
            }),
            Step::Multicast {
                data,
                root,
                circle,
                bytes,
            } => {
                let circle = &data.circles[circle];
                OpKind::Collective(Collective::Broadcast {
                    comm: Comm(circle.comm?),
                    root: circle.members.place(root)?,
                    bytes,
                })
            }
            Step::Reduce { data, items, bytes } => {
                let [from, to, both] = &data.circles[..] else {
                    return None;
                };
                let comm = Comm(both.comm?);
                if from.members == to.members {
                    return Some(OpKind::Collective(Collective::Allreduce {
                        comm,
                        bytes,
                        count: items,
                    }));
                }
                // Several receivers get the result from the first receiver (`machine`).
                let root = both.members.place(to.members.get(0)?)?;
                OpKind::Collective(Collective::Reduce {
                    comm,
                    root,
                    bytes,
                    count: items,
                })
            }
            Step::Delay { microseconds, .. } => OpKind::Compute {
                duration: Time::from_ps(1_000_000).times(microseconds),
            },
            Step::Touch { count, .. } => OpKind::Compute {
                duration: ACCESS.times(count),
            },
            Step::Report { site, index, value } => OpKind::Report {
                report: site,
                index,
                value,
            },
            Step::Aggregate => OpKind::Report {
                report: u32::MAX,
                index: 0,
                value: 0.0,
            },
            Step::Open(file) => OpKind::Open { file },
            Step::Close(file) => OpKind::Close { file },
            Step::Sync(file) => OpKind::Metadata {
                call: FileCall::Sync,
                directory: 0,
                file,
            },
            Step::Transfer {
                write,
                file,
                offset,
                bytes,
                asynchronous,
            } => match (write, asynchronous) {
                (true, false) => OpKind::Write { file, offset, bytes },
                (false, false) => OpKind::Read { file, offset, bytes },
                (true, true) => OpKind::Iwrite {
                    file,
                    offset,
                    bytes,
                    request,
                },
                (false, true) => OpKind::Iread {
                    file,
                    offset,
                    bytes,
                    request,
                },
            },
            Step::Plain(kind) => kind,
            Step::Counters(_) | Step::Text(_) => return None,
        })
    }
}

impl Program for ConceptualProgram {
    fn ranks(&self) -> u32 {
        self.instance.tasks
    }

    /// Unused: the operations depend on the program's memory ([`Program::next_with`]).
    fn next(&self, _: u32, _: &mut Cursor) -> Option<Op> {
        None
    }

    fn memory(&self) -> usize {
        self.instance.code.words as usize
    }

    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        if rank >= self.instance.tasks || seen.memory.len() < self.memory() || seen.memory[word::FAULT] != 0 {
            return None;
        }
        if cursor.op == u32::MAX {
            return None;
        }
        let moment = Moment {
            now: seen.now.map_or(0, |now| now.0),
            clockless: seen.now.is_none(),
            answer: seen.answer,
            op: cursor.op,
            record: false,
        };
        let effort = Cell::new(MOST_STEPS);
        loop {
            let mut machine = Machine {
                program: &self.instance,
                rank,
                memory: &mut *seen.memory,
                moment,
                effort: &effort,
            };
            let kind = match machine.step() {
                Ok(None) => match std::mem::take(&mut seen.memory[word::REQUESTS]) as u32 {
                    0 => return None,
                    // Open requests are awaited at the end of the program.
                    count => OpKind::WaitAll {
                        first: Request(0),
                        count,
                    },
                },
                Ok(Some(step)) => match self.kind(step, seen.memory) {
                    Some(kind) => kind,
                    None => continue,
                },
                Err(fault) => {
                    let at = seen.memory[word::AT];
                    seen.memory[word::FAULT] = self.instance.book(fault);
                    seen.failure = Some(self.instance.abort(fault, at).message);
                    return None;
                }
            };
            return cursor.advance(|_| Some(kind));
        }
    }

    /// From the fault code in the memory: executing the instruction again may not fail in the same way, because its
    /// draws and remaining steps differ.
    fn failure(&self, _: u32, memory: &[u64], _: Time) -> Option<String> {
        let memory = memory.get(..self.memory())?;
        let fault = self.instance.booked(memory[word::FAULT])?;
        Some(self.instance.abort(fault, memory[word::AT]).message)
    }

    fn clock(&self) -> Option<String> {
        let (span, what) = self.instance.code.clock?;
        let (line, column) = line_and_column(&self.instance.source, span.start);
        Some(format!("{}:{line}:{column}: {what}", self.instance.file))
    }

    fn group(&self, _: u32, comm: Comm) -> Option<Group> {
        self.instance.groups.group(comm.0)
    }

    fn report(&self, report: u32) -> Option<ReportText> {
        super::record::report_text(self.instance.code.reports.get(report as usize)?)
    }

    fn describe(&self) -> String {
        format!(
            "coNCePTuaL program {}, {} tasks",
            self.instance.file, self.instance.tasks
        )
    }
}
