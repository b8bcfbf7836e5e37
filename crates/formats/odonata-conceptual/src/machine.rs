//! One step of a rank: from one operation to the next.
//!
//! A step reads and writes only the rank's memory words, so the same memory, time and answer always give the same
//! operation. Each rank walks through the whole program and skips statements without it.

mod backend;
mod collective;
mod control;
mod counters;
mod message;
mod touch;

pub(super) use counters::STACK_WORDS;

use std::cell::Cell;
use std::sync::Arc;

use odonata_workload::{OpKind, Request};

use super::ast::{CounterAction, IoVerb};
use super::eval::{Env, Map, spend};
use super::functions::{Fault, Value, print};
use super::inject::{Call, Callee};
use super::instance::Instance;
use super::ir::{Inst, InstKind, LOCALS, Piece, Report, Site, Tasks, Touch, word};
use super::sets::SiteData;
use backend::{file_number, numbers, operation};
use counters::Counters;
use message::bytes;
use touch::Access;

/// Maximum number of instructions between two operations of a rank.
pub(super) const MOST_STEPS: u64 = if cfg!(fuzzing) { 2_000 } else { 100_000_000 };

/// The longest delay in microseconds: 2^62 ps.
const MOST_MICROSECONDS: i64 = (1 << 62) / 1_000_000;

/// The next action of a rank.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Message {
        send: bool,
        /// A processor.
        peer: u32,
        bytes: u64,
        tag: u32,
        /// Whether the tag was a string.
        text_tag: bool,
        asynchronous: bool,
        /// A detached asynchronous send, which is never awaited.
        detached: bool,
    },
    WaitAll,
    /// Circle 0 of the data, or all tasks.
    Barrier(Option<Arc<SiteData>>),
    /// From `root` to circle `circle`.
    Multicast {
        data: Arc<SiteData>,
        root: u32,
        circle: usize,
        bytes: u64,
    },
    Reduce {
        data: Arc<SiteData>,
        items: u64,
        bytes: u64,
    },
    Delay {
        microseconds: u64,
        sleep: bool,
    },
    Touch {
        region: u64,
        word: u32,
        first: u64,
        count: u64,
        stride: Option<u64>,
    },
    /// Value `index` of report `site`.
    Report {
        site: u32,
        index: u32,
        value: f64,
    },
    Aggregate,
    Counters(CounterAction),
    /// Text for the back end; in records only.
    Text(String),
    Open(u64),
    Close(u64),
    /// Synchronises a file.
    Sync(u64),
    Transfer {
        write: bool,
        file: u64,
        offset: u64,
        bytes: u64,
        asynchronous: bool,
    },
    /// An operation without a record.
    Plain(OpKind),
}

/// Inputs of a step besides the memory.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    /// In picoseconds.
    pub now: u64,
    /// Whether there is no clock: timed loops have a fixed number of passes.
    pub clockless: bool,
    /// The tag that the last wildcard receive took.
    pub answer: u32,
    /// Number of the operation.
    pub op: u32,
    /// In a record, every operation of the language is one step.
    pub record: bool,
}

/// A rank in the middle of a step.
pub(super) struct Machine<'a> {
    pub program: &'a Instance,
    pub rank: u32,
    pub memory: &'a mut [u64],
    pub moment: Moment,
    /// Remaining steps: [`MOST_STEPS`] from one operation to the next.
    pub effort: &'a Cell<u64>,
}

impl<'a> Machine<'a> {
    fn map(&self) -> Option<&'a Map> {
        match self.memory[word::MAPS] {
            0 => None,
            number => self.program.maps.get(number as usize - 1).map(|map| &**map),
        }
    }

    /// The task of this rank.
    pub(super) fn me(&self) -> u32 {
        self.map().map_or(self.rank, |map| map.task_of[self.rank as usize])
    }

    /// The processor of `task`.
    pub(super) fn processor(&self, task: u32) -> u32 {
        self.map().map_or(task, |map| map.processor_of[task as usize])
    }

    pub(super) fn env(&self) -> Env<'_> {
        let program = self.program;
        let map = self.map();
        Env {
            tasks: i64::from(program.tasks),
            memory: self.memory,
            locals: [0; LOCALS],
            me: i64::from(map.map_or(self.rank, |map| map.task_of[self.rank as usize])),
            now: self.moment.now,
            op: self.moment.op,
            seed: program.seed,
            map,
            tables: &program.code.tables,
            ordinals: &program.code.ordinals,
            effort: self.effort,
        }
    }

    /// Continues after this instruction.
    pub(super) fn done(&mut self) {
        self.jump(self.memory[word::AT] + 1);
    }

    pub(super) fn jump(&mut self, to: u64) {
        self.memory[word::AT] = to;
        self.memory[word::STAGE] = 0;
        self.memory[word::INDEX] = 0;
        self.memory[word::REPEAT] = 0;
    }

    pub(super) fn warm(&self) -> bool {
        self.memory[word::WARM] > 0
    }

    /// The next operation, or `None` at the end.
    pub(super) fn step(&mut self) -> Value<Option<Step>> {
        let program = self.program;
        loop {
            spend(self.effort)?;
            let Some(inst) = program.code.insts.get(self.memory[word::AT] as usize) else {
                return Ok(None);
            };
            if let Some(step) = self.execute(inst)? {
                return Ok(Some(step));
            }
        }
    }

    /// Executes one instruction.
    pub(super) fn one(&mut self) -> Value<()> {
        let program = self.program;
        if let Some(inst) = program.code.insts.get(self.memory[word::AT] as usize) {
            self.execute(inst)?;
        }
        Ok(())
    }

    /// Executes `inst`, or a part of it that ends with an operation.
    fn execute(&mut self, inst: &'a Inst) -> Value<Option<Step>> {
        match &inst.kind {
            InstKind::Jump { to, .. } => self.jump(u64::from(*to)),
            InstKind::Unless { cond, to, .. } => {
                if self.env().cond(cond, false)? {
                    self.done();
                } else {
                    self.jump(u64::from(*to));
                }
            }
            InstKind::Assert(_, cond) => {
                if !self.env().cond(cond, false)? {
                    return Err(ASSERTION);
                }
                self.done();
            }
            InstKind::Let(slot, expr) => {
                self.memory[*slot as usize] = self.env().int(expr)? as u64;
                self.done();
            }
            InstKind::LetRandom {
                slot,
                site,
                limits,
                loops,
            } => {
                self.memory[*slot as usize] = self.random_task(*site, limits, loops)? as u64;
                self.done();
            }
            InstKind::CountStart(shape) => self.count_start(shape)?,
            InstKind::CountHead(shape) => return Ok(self.count_head(shape)),
            InstKind::Next(ordinal, head) => {
                self.memory[*ordinal as usize] += 1;
                self.jump(u64::from(*head));
            }
            InstKind::EachStart(shape) => self.each_start(shape)?,
            InstKind::EachHead(shape) => self.each_head(shape)?,
            InstKind::TimedStart(shape) => self.timed_start(shape)?,
            InstKind::TimedHead(shape) => return self.timed_head(shape),
            InstKind::Send(send) => return self.send(send),
            InstKind::Receive(receive) => return self.receive(receive),
            InstKind::Multicast {
                site,
                sources,
                targets,
                messages,
            } => return self.multicast(site, sources, targets, messages),
            InstKind::Reduce {
                site,
                sources,
                items,
                item,
                ..
            } => return self.reduce(site, sources, items, *item),
            InstKind::Barrier { site, .. } => return self.barrier(site),
            InstKind::Await(tasks) => {
                let me = self.me();
                let mine = self.env().is_member(tasks, me)?;
                self.done();
                if mine {
                    Counters::of(self.memory).complete();
                    return Ok(Some(Step::WaitAll));
                }
            }
            _ => return self.local(inst),
        }
        Ok(None)
    }

    /// Binds the variables of `tasks` to this rank's task, if it is a member.
    fn with_member<T>(&self, tasks: &Tasks, then: impl FnOnce(&Env) -> Value<T>) -> Value<Option<T>> {
        let me = self.me();
        let mut env = self.env();
        if env.is_member(tasks, me)? {
            then(&env).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Tasks touch a memory region one after the other, each continuing where the previous one stopped.
    fn touch(&mut self, site: &Site, state: u32, tasks: &Tasks, touch: &Touch) -> Value<Option<Step>> {
        let data = self.program.caches[site.number as usize]
            .get(site, self.memory, || Ok(SiteData::of(self.env().members(tasks)?)))?;
        let me = self.me();
        let place = data.first.place(me);
        let begin = self.memory[state as usize];
        let Some(task) = data.first.get(0) else {
            self.done();
            return Ok(None);
        };
        let mut env = self.env();
        env.bind(tasks, place.map_or(task, |_| me));
        let access = Access::of(touch, &env)?;
        self.memory[state as usize] = access.start(begin, data.first.len());
        self.done();
        Ok(place.map(|place| Step::Touch {
            region: access.region,
            word: touch.word,
            first: access.start(begin, place),
            count: access.count,
            stride: access.stride,
        }))
    }

    /// Executes a statement without messages.
    fn local(&mut self, inst: &'a Inst) -> Value<Option<Step>> {
        match &inst.kind {
            InstKind::Delay {
                tasks,
                time,
                unit,
                sleep,
            } => {
                let time = self.with_member(tasks, |env| {
                    let time = env
                        .int(time)?
                        .checked_mul(*unit)
                        .filter(|&time| time <= MOST_MICROSECONDS);
                    u64::try_from(time.ok_or("a time of more than 2^62 ps")?).map_err(|_| "negative time")
                })?;
                self.done();
                Ok(time.map(|microseconds| Step::Delay {
                    microseconds,
                    sleep: *sleep,
                }))
            }
            InstKind::Report { tasks, site } => self.report(tasks, *site),
            InstKind::Aggregates { tasks } => {
                let mine = self.with_member(tasks, |_| Ok(()))?.is_some() && !self.warm();
                self.done();
                Ok(mine.then(|| {
                    self.memory[word::LOGGED] = 0;
                    Step::Aggregate
                }))
            }
            InstKind::TopEnd => {
                self.done();
                let logged = std::mem::take(&mut self.memory[word::LOGGED]) != 0;
                Ok((logged && !self.moment.record).then_some(Step::Aggregate))
            }
            InstKind::Counters { tasks, action } => {
                let mine = self.with_member(tasks, |_| Ok(()))?.is_some();
                if mine && !self.warm() {
                    Counters::of(self.memory).act(*action, self.moment.now, self.program.code.stores)?;
                }
                self.done();
                Ok(mine.then_some(Step::Counters(*action)))
            }
            InstKind::Assign { .. } => {
                self.memory[word::MAPS] += 1;
                self.done();
                Ok(None)
            }
            InstKind::Backend { tasks, report, calls } => self.backend(tasks, *report, calls),
            InstKind::Io {
                tasks,
                verb,
                bytes: amount,
                file,
                offset,
                asynchronous,
            } => {
                let step = self.with_member(tasks, |env| {
                    let file = file_number(env.int(file)?)?;
                    Ok(match verb {
                        IoVerb::Open => Some(Step::Open(file)),
                        IoVerb::Close => Some(Step::Close(file)),
                        IoVerb::Sync => Some(Step::Sync(file)),
                        IoVerb::Read | IoVerb::Write => Some(Step::Transfer {
                            write: *verb == IoVerb::Write,
                            file,
                            offset: u64::try_from(env.int(offset)?).map_err(|_| "negative file offset")?,
                            bytes: amount.as_ref().map_or(Ok(0), |amount| bytes(env, amount))?,
                            asynchronous: *asynchronous,
                        }),
                    })
                })?;
                self.done();
                let step = step.flatten();
                if *asynchronous && step.is_some() {
                    self.memory[word::REQUESTS] += 1;
                }
                Ok(step)
            }
            InstKind::Touch {
                site,
                state,
                tasks,
                touch,
            } => self.touch(site, *state, tasks, touch),
            _ => {
                self.done();
                Ok(None)
            }
        }
    }

    fn report(&mut self, tasks: &Tasks, site: u32) -> Value<Option<Step>> {
        if self.warm() {
            self.done();
            return Ok(None);
        }
        let report = &self.program.code.reports[site as usize];
        let values = report.values();
        let index = self.memory[word::INDEX];
        let value = self.with_member(tasks, |env| {
            values.get(index as usize).map_or(Ok(0.0), |value| env.float(value))
        })?;
        let Some(value) = value else {
            self.done();
            return Ok(None);
        };
        if matches!(report, Report::Log { .. }) {
            self.memory[word::LOGGED] = 1;
        }
        if index + 1 < values.len() as u64 {
            self.memory[word::INDEX] += 1;
        } else {
            self.done();
        }
        Ok(Some(Step::Report {
            site,
            index: index as u32,
            value,
        }))
    }

    fn backend(&mut self, tasks: &Tasks, report: u32, calls: &[Call]) -> Value<Option<Step>> {
        let program = self.program;
        let Report::Output { pieces, values } = &program.code.reports[report as usize] else {
            self.done();
            return Ok(None);
        };
        if self.moment.record {
            let text = self.with_member(tasks, |env| {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(piece) => text.push_str(piece),
                        Piece::Value(value) => text.push_str(&print(env.float(&values[*value as usize])?)),
                    }
                }
                Ok(text)
            })?;
            self.done();
            return Ok(text.map(Step::Text));
        }
        let index = self.memory[word::INDEX] as usize;
        let Some(call) = calls.get(index) else {
            self.done();
            return Ok(None);
        };
        let numbers = self.with_member(tasks, |env| numbers(call, values, env))?;
        let Some(numbers) = numbers else {
            self.done();
            return Ok(None);
        };
        let named = program.code.requests.len() as u32;
        let kind = operation(call, numbers, program.tasks, named)?;
        // With named requests, a wait for all is two operations: the second is for the named ones.
        let more = call.callee == Callee::Waitall && named > 0 && self.memory[word::STAGE] == 0;
        if more {
            self.memory[word::STAGE] = 1;
            let count = std::mem::take(&mut self.memory[word::REQUESTS]) as u32;
            Counters::of(self.memory).complete();
            return Ok(Some(Step::Plain(OpKind::WaitAll {
                first: Request(0),
                count,
            })));
        }
        self.memory[word::STAGE] = 0;
        self.memory[word::INDEX] += 1;
        Ok(Some(Step::Plain(kind)))
    }
}

pub(super) const ASSERTION: Fault = "assertion fails";
pub(super) const RESTORE: Fault = "RESTORE without a matching STORE";
