//! Statements without messages: delays, reports, counters, processors, files.

use odonata_units::Time;
use odonata_workload::{Collective, Comm, FILE_BITS, OpKind, Request, Source, Tag};

use super::super::ast::{CounterAction, IoVerb};
use super::super::functions::{OVERFLOW, Value, print, to_int};
use super::super::inject::{Call, Callee, Number};
use super::super::instance::NAMED;
use super::super::ir::{Expr, Inst, InstKind, Piece, Report, Site, Tasks, Touch, word};
use super::super::lower::{MOST_STORES, STORED_WORDS};
use super::super::sets::SiteData;
use super::message::bytes;
use super::{Machine, RESTORE, Step};

/// The longest delay in microseconds: 2^62 ps.
const MOST_MICROSECONDS: i64 = (1 << 62) / 1_000_000;

/// The number of a file in operations.
fn file_number(number: i64) -> Value<u64> {
    match u64::try_from(number) {
        Err(_) => Err("negative file number"),
        Ok(number) if number >> FILE_BITS > 0 => Err("a file number of 2^56 or more"),
        Ok(number) => Ok(number),
    }
}

impl<'a> Machine<'a> {
    /// Binds the variables of `tasks` to this rank's task, if it is a member.
    fn with_member<T>(
        &self,
        tasks: &Tasks,
        then: impl FnOnce(&super::super::eval::Env) -> Value<T>,
    ) -> Value<Option<T>> {
        let me = self.me();
        let mut env = self.env();
        if env.is_member(tasks, me)? {
            then(&env).map(Some)
        } else {
            Ok(None)
        }
    }

    pub(super) fn local(&mut self, inst: &'a Inst) -> Value<Option<Step>> {
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
                    self.counters(*action)?;
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

    /// The five words saved by STORES.
    fn counters(&mut self, action: CounterAction) -> Value<()> {
        const KEPT: [usize; STORED_WORDS as usize] = [
            word::ORIGIN,
            word::SENT,
            word::SENT_BYTES,
            word::RECEIVED,
            word::RECEIVED_BYTES,
        ];
        match action {
            CounterAction::Reset => {
                for slot in KEPT {
                    self.memory[slot] = 0;
                }
                self.memory[word::ORIGIN] = self.moment.now;
                self.memory[word::WAS_RESET] = 1;
            }
            CounterAction::Store => {
                let depth = self.program.code.stores.ok_or(RESTORE)? as usize;
                let level = self.memory[depth];
                if level >= u64::from(MOST_STORES) {
                    return Err("more than 8 sets of stored counters");
                }
                let first = depth + 1 + level as usize * KEPT.len();
                for (at, slot) in KEPT.into_iter().enumerate() {
                    self.memory[first + at] = self.memory[slot];
                }
                self.memory[depth] += 1;
            }
            CounterAction::Restore => {
                let depth = self.program.code.stores.ok_or(RESTORE)? as usize;
                let level = self.memory[depth].checked_sub(1).ok_or(RESTORE)?;
                let first = depth + 1 + level as usize * KEPT.len();
                for (at, slot) in KEPT.into_iter().enumerate() {
                    self.memory[slot] = self.memory[first + at];
                }
                self.memory[depth] = level;
            }
        }
        Ok(())
    }

    /// Tasks touch a memory region one after the other, each continuing where the previous one stopped.
    fn touch(&mut self, site: &Site, state: u32, tasks: &Tasks, touch: &Touch) -> Value<Option<Step>> {
        let data = self.program.caches[site.number as usize]
            .get(site, self.memory, || Ok(SiteData::of(self.env().members(tasks)?)))?;
        let me = self.me();
        let shape = |task: u32| -> Value<(u64, u64, Option<u64>)> {
            let mut env = self.env();
            env.bind(tasks, task);
            let region = bytes(&env, &touch.region)?;
            let positive = |value: i64| u64::try_from(value).map_err(|_| "negative memory access");
            let stride = match &touch.stride {
                Some((length, unit)) => Some(
                    positive(env.int(length)?)?
                        .checked_mul(u64::from(*unit))
                        .ok_or(OVERFLOW)?,
                ),
                None => None,
            };
            let times = positive(env.int(&touch.times)?)?;
            let each = match &touch.count {
                Some(count) => positive(env.int(count)?)?,
                None => region
                    .checked_div(stride.unwrap_or(u64::from(touch.word)))
                    .ok_or("a stride of zero")?,
            };
            Ok((region, each.checked_mul(times).ok_or(OVERFLOW)?, stride))
        };
        let place = data.first.place(me);
        let begin = self.memory[state as usize];
        let Some(task) = data.first.get(0) else {
            self.done();
            return Ok(None);
        };
        let (region, count, stride) = shape(place.map_or(task, |_| me))?;
        let way = u128::from(count) * u128::from(stride.unwrap_or(u64::from(touch.word)));
        let modulus = u128::from(region.max(1));
        let at = |tasks: u32| ((u128::from(begin) + way % modulus * u128::from(tasks)) % modulus) as u64;
        self.memory[state as usize] = at(data.first.len());
        self.done();
        Ok(place.map(|place| Step::Touch {
            region,
            word: touch.word,
            first: at(place),
            count,
            stride,
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
        let numbers = self.with_member(tasks, |env| {
            let mut numbers = [Some(0i64); 8];
            for (slot, number) in numbers.iter_mut().zip(&call.numbers) {
                *slot = match number {
                    Number::Any => None,
                    Number::Product(factor, of) => {
                        let mut product = *factor;
                        for &value in of {
                            product *= env.float(values.get(value as usize).unwrap_or(&Expr::Int(0)))?;
                        }
                        Some(to_int(product.trunc())?)
                    }
                };
            }
            Ok(numbers)
        })?;
        let Some(numbers) = numbers else {
            self.done();
            return Ok(None);
        };
        let kind = self.call(call, numbers)?;
        // With named requests, a wait for all is two operations: the second is for the named ones.
        let named = program.code.requests.len() as u32;
        let more = call.callee == Callee::Waitall && named > 0 && self.memory[word::STAGE] == 0;
        if more {
            self.memory[word::STAGE] = 1;
            let count = std::mem::take(&mut self.memory[word::REQUESTS]) as u32;
            self.complete();
            return Ok(Some(Step::Plain(OpKind::WaitAll {
                first: Request(0),
                count,
            })));
        }
        self.memory[word::STAGE] = 0;
        self.memory[word::INDEX] += 1;
        Ok(Some(Step::Plain(kind)))
    }

    fn call(&self, call: &Call, numbers: [Option<i64>; 8]) -> Value<OpKind> {
        let comm = Comm::WORLD;
        let ranks = i64::from(self.program.tasks);
        let positive = |at: usize| {
            let number = numbers[at].ok_or("ANY where a number is expected")?;
            u64::try_from(number).map_err(|_| "negative number in a call for the back end")
        };
        let total = |at: usize| positive(at)?.checked_mul(positive(at + 1)?).ok_or(OVERFLOW);
        let rank = |at: usize| match numbers[at] {
            Some(rank) if (0..ranks).contains(&rank) => Ok(rank as u32),
            _ => Err("a rank out of range in a call for the back end"),
        };
        let source = |at: usize| match numbers[at] {
            None => Ok(Source::Any),
            Some(_) => rank(at).map(Source::Rank),
        };
        let tag = |at: usize| u32::try_from(positive(at)?).map_err(|_| "a tag out of range in a call for the back end");
        let match_tag = |at: usize| match numbers[at] {
            None => Ok(Tag::Any),
            Some(_) => tag(at).map(Tag::Is),
        };
        let file = || file_number(numbers[0].ok_or("ANY where a number is expected")?);
        let request = Request(NAMED + call.request.unwrap_or(0));
        Ok(match call.callee {
            Callee::Allreduce => OpKind::Collective(Collective::Allreduce {
                comm,
                bytes: total(0)?,
                count: positive(0)?,
            }),
            Callee::Reduce => OpKind::Collective(Collective::Reduce {
                comm,
                root: rank(2)?,
                bytes: total(0)?,
                count: positive(0)?,
            }),
            Callee::Bcast => OpKind::Collective(Collective::Broadcast {
                comm,
                root: rank(2)?,
                bytes: total(0)?,
            }),
            Callee::Alltoall => OpKind::Collective(Collective::Alltoall { comm, bytes: total(0)? }),
            Callee::Allgather => OpKind::Collective(Collective::Allgather { comm, bytes: total(0)? }),
            Callee::Gather => OpKind::Collective(Collective::Gather {
                comm,
                root: rank(4)?,
                bytes: total(0)?,
            }),
            Callee::Scatter => OpKind::Collective(Collective::Scatter {
                comm,
                root: rank(4)?,
                bytes: total(0)?,
            }),
            Callee::Barrier => OpKind::Collective(Collective::Barrier { comm }),
            Callee::Send => OpKind::Send {
                to: rank(2)?,
                tag: tag(3)?,
                bytes: total(0)?,
                comm,
            },
            Callee::Isend => OpKind::Isend {
                to: rank(2)?,
                tag: tag(3)?,
                bytes: total(0)?,
                comm,
                request,
            },
            Callee::Recv => OpKind::Recv {
                from: source(2)?,
                tag: match_tag(3)?,
                bytes: total(0)?,
                comm,
            },
            Callee::Irecv => OpKind::Irecv {
                from: source(2)?,
                tag: match_tag(3)?,
                bytes: total(0)?,
                comm,
                request,
            },
            Callee::Sendrecv => OpKind::Sendrecv {
                to: rank(2)?,
                send_tag: tag(3)?,
                send_bytes: total(0)?,
                from: source(6)?,
                recv_tag: match_tag(7)?,
                recv_bytes: total(4)?,
                comm,
            },
            Callee::Wait => OpKind::Wait { request },
            Callee::Waitall => OpKind::WaitAll {
                first: Request(NAMED),
                count: self.program.code.requests.len() as u32,
            },
            Callee::Compute => OpKind::Compute {
                // In nanoseconds.
                duration: Time(
                    positive(0)?
                        .checked_mul(1_000)
                        .filter(|&ps| ps <= 1 << 62)
                        .ok_or("a time of more than 2^62 ps")?,
                ),
            },
            Callee::Mark => OpKind::Mark {
                iteration: u32::try_from(positive(0)?).map_err(|_| "an iteration out of range")?,
            },
            Callee::Open => OpKind::Open { file: file()? },
            Callee::Close => OpKind::Close { file: file()? },
            Callee::Read => OpKind::Read {
                file: file()?,
                offset: 0,
                bytes: positive(1)?,
            },
            Callee::Write => OpKind::Write {
                file: file()?,
                offset: 0,
                bytes: positive(1)?,
            },
        })
    }
}
