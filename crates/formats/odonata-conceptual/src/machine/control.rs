//! Loops and random tasks.

use odonata_workload::{Comm, OpKind, Source, Tag};

use super::super::functions::{OVERFLOW, Value, knomial_child, knomial_parent};
use super::super::instance::CONTROL;
use super::super::ir::{Each, Expr, Limits, Loop, Range, Site, Timed, count, each, timed, word};
use super::super::progression::{Progression, progression};
use super::super::random::Draws;
use super::super::sets::{Members, SiteData};
use super::{Machine, Step};

/// Bytes of the message with the decision of a timed loop.
const DECISION_BYTES: u64 = 4;
/// Passes of a timed loop and of its warm-up without a clock.
const RECORD_PASSES: (u64, u64) = (3, 1);

impl<'a> Machine<'a> {
    /// The value of a random task, equal for all tasks in the same passes of the enclosing loops.
    pub(super) fn random_task(&self, site: u32, limits: &Limits, loops: &[u32]) -> Value<i64> {
        let env = self.env();
        let tasks = env.tasks;
        let but = |but: &Option<Expr>| but.as_ref().map(|but| env.int(but)).transpose();
        let (low, high, not) = match limits {
            Limits::All => (0, tasks - 1, None),
            Limits::Other(than) => (0, tasks - 1, Some(env.int(than)?)),
            Limits::Less(than, not) => (0, env.int(than)?.saturating_sub(1), but(not)?),
            Limits::Greater(than, not) => (env.int(than)?.saturating_add(1), tasks - 1, but(not)?),
            Limits::In(a, b, not) => {
                let (a, b) = (env.int(a)?, env.int(b)?);
                (a.min(b), a.max(b), but(not)?)
            }
        };
        let (low, high) = (low.max(0), high.min(tasks - 1));
        let excluded = not.filter(|not| (low..=high).contains(not));
        let choices = high.saturating_sub(low).saturating_add(1) - i64::from(excluded.is_some());
        if low > high || choices <= 0 {
            return Ok(-1);
        }
        let passes = loops.iter().map(|&slot| self.memory[slot as usize]);
        let drawn = Draws::new(self.program.seed, [u64::from(site)].into_iter().chain(passes)).below(choices as u64);
        let value = low + drawn as i64;
        Ok(value + i64::from(excluded.is_some_and(|excluded| value >= excluded)))
    }

    pub(super) fn count_start(&mut self, shape: &Loop) -> Value<()> {
        let env = self.env();
        let passes = env.int(&shape.count)?.max(0) as u64;
        let warm = shape.warm.as_ref().map_or(Ok(0), |warm| env.int(warm))?.max(0) as u64;
        let state = shape.state as usize;
        self.memory[state + count::ORDINAL] = 0;
        self.memory[state + count::WARM] = warm;
        self.memory[state + count::TOTAL] = passes.saturating_add(warm);
        self.done();
        Ok(())
    }

    /// The start of every pass, and the end of the last.
    pub(super) fn count_head(&mut self, shape: &Loop) -> Option<Step> {
        let state = shape.state as usize;
        let (ordinal, warm) = (self.memory[state + count::ORDINAL], self.memory[state + count::WARM]);
        if self.memory[word::STAGE] == 0 {
            if warm > 0 && ordinal == 0 {
                self.memory[word::WARM] += 1;
            }
            if warm > 0 && ordinal == warm {
                self.memory[word::WARM] -= 1;
            }
            if shape.synchronize && ordinal == warm {
                self.memory[word::STAGE] = 1;
                return Some(Step::Barrier(None));
            }
        }
        if ordinal < self.memory[state + count::TOTAL] {
            self.done();
        } else {
            self.jump(u64::from(shape.end));
        }
        None
    }

    fn values(&self, ranges: &[Range], site: &Site) -> Value<std::sync::Arc<SiteData>> {
        self.program.caches[site.number as usize].get(site, self.memory, || {
            let mut data = SiteData::of(Members::none());
            data.list = self.env().list(ranges)?;
            Ok(data)
        })
    }

    pub(super) fn each_start(&mut self, shape: &Each) -> Value<()> {
        let state = shape.state as usize;
        let mut found = None;
        if let [Range::List { items, end: Some(end) }] = &shape.ranges[..] {
            let env = self.env();
            let end = env.int(end)?;
            let mut starts = Vec::with_capacity(items.len());
            for item in items {
                starts.push(env.int(item)?);
            }
            if let Progression::Arithmetic(step) = progression(&starts, end)? {
                let first = starts[0];
                let distance = if step > 0 {
                    i128::from(end) - i128::from(first)
                } else {
                    i128::from(first) - i128::from(end)
                };
                let total = if distance < 0 {
                    0
                } else {
                    distance / i128::from(step.unsigned_abs()) + 1
                };
                found = Some((first, step, u64::try_from(total).map_err(|_| OVERFLOW)?));
            }
        }
        let (first, step, total) = match found {
            Some(found) => found,
            None => (0, 0, self.values(&shape.ranges, &shape.site)?.list.len() as u64),
        };
        self.memory[state + each::ORDINAL] = 0;
        self.memory[state + each::TOTAL] = total;
        self.memory[state + each::FIRST] = first as u64;
        self.memory[state + each::STEP] = step as u64;
        self.done();
        Ok(())
    }

    pub(super) fn each_head(&mut self, shape: &Each) -> Value<()> {
        let state = shape.state as usize;
        let ordinal = self.memory[state + each::ORDINAL];
        if ordinal >= self.memory[state + each::TOTAL] {
            self.jump(u64::from(shape.end));
            return Ok(());
        }
        let step = self.memory[state + each::STEP] as i64;
        let value = if step == 0 {
            let data = self.values(&shape.ranges, &shape.site)?;
            data.list
                .get(ordinal as usize)
                .copied()
                .ok_or("a list that changed during its loop")?
        } else {
            // Within the list, so it fits.
            (self.memory[state + each::FIRST] as i64).wrapping_add(step.wrapping_mul(ordinal as i64))
        };
        self.memory[shape.slot as usize] = value as u64;
        self.done();
        Ok(())
    }

    /// `limit` units of `unit` microseconds from now on, in picoseconds.
    fn deadline(&self, limit: &Expr, unit: i64) -> Value<u64> {
        let span = self
            .env()
            .int(limit)?
            .max(0)
            .checked_mul(unit)
            .and_then(|us| us.checked_mul(1_000_000));
        Ok(self.moment.now.saturating_add(span.ok_or(OVERFLOW)? as u64))
    }

    pub(super) fn timed_start(&mut self, shape: &Timed) -> Value<()> {
        let (limit, unit) = match &shape.warm {
            Some((warm, unit)) => (warm, *unit),
            None => (&shape.limit, shape.unit),
        };
        let deadline = self.deadline(limit, unit)?;
        let (state, warm) = (shape.state as usize, shape.warm.is_some());
        self.memory[state + timed::ORDINAL] = 0;
        self.memory[state + timed::DEADLINE] = deadline;
        self.memory[state + timed::PART] = u64::from(!warm);
        self.memory[word::WARM] += u64::from(warm);
        self.done();
        Ok(())
    }

    /// The start of every pass. Rank 0 reads its clock and sends its decision along a binomial tree of messages on a
    /// separate communicator; the tag is the decision.
    pub(super) fn timed_head(&mut self, shape: &Timed) -> Value<Option<Step>> {
        const ASK: u64 = 0;
        const HEARD: u64 = 1;
        const TELL: u64 = 2;
        const ACT: u64 = 3;
        const SYNCHRONIZED: u64 = 4;
        let state = shape.state as usize;
        let ranks = i64::from(self.program.tasks);
        let rank = i64::from(self.rank);
        loop {
            match self.memory[word::STAGE] {
                ASK if self.moment.clockless => {
                    let (passes, warm) = RECORD_PASSES;
                    let most = if self.memory[state + timed::PART] == 0 {
                        warm
                    } else {
                        passes
                    };
                    let limit_is_positive = self.env().int(&shape.limit)? > 0;
                    let go = limit_is_positive && self.memory[state + timed::ORDINAL] < most;
                    self.memory[state + timed::DECISION] = u64::from(go);
                    self.memory[word::STAGE] = ACT;
                }
                ASK if rank == 0 => {
                    let go = self.moment.now < self.memory[state + timed::DEADLINE];
                    self.memory[state + timed::DECISION] = u64::from(go);
                    self.memory[word::STAGE] = TELL;
                }
                ASK => {
                    self.memory[word::STAGE] = HEARD;
                    let parent = knomial_parent(rank, 2, ranks)?;
                    return Ok(Some(Step::Plain(OpKind::Recv {
                        from: Source::Rank(parent as u32),
                        tag: Tag::Any,
                        bytes: DECISION_BYTES,
                        comm: Comm(CONTROL),
                    })));
                }
                HEARD => {
                    self.memory[state + timed::DECISION] = u64::from(self.moment.answer);
                    self.memory[word::STAGE] = TELL;
                }
                TELL => {
                    let child = knomial_child(rank, self.memory[word::INDEX] as i64, 2, ranks)?;
                    if child >= 0 {
                        self.memory[word::INDEX] += 1;
                        return Ok(Some(Step::Plain(OpKind::Send {
                            to: child as u32,
                            tag: self.memory[state + timed::DECISION] as u32,
                            bytes: DECISION_BYTES,
                            comm: Comm(CONTROL),
                        })));
                    }
                    self.memory[word::STAGE] = ACT;
                    self.memory[word::INDEX] = 0;
                }
                ACT if self.memory[state + timed::DECISION] == 1 => {
                    self.done();
                    return Ok(None);
                }
                ACT if self.memory[state + timed::PART] == 0 => {
                    self.memory[state + timed::PART] = 1;
                    self.memory[state + timed::ORDINAL] = 0;
                    self.memory[word::WARM] -= 1;
                    self.memory[word::STAGE] = SYNCHRONIZED;
                    if shape.synchronize {
                        return Ok(Some(Step::Barrier(None)));
                    }
                }
                ACT => {
                    self.jump(u64::from(shape.end));
                    return Ok(None);
                }
                _ => {
                    self.memory[state + timed::DEADLINE] = self.deadline(&shape.limit, shape.unit)?;
                    self.memory[word::STAGE] = ASK;
                }
            }
        }
    }
}
