//! The operations of the ranks of a job that may fail.

use odonata_units::Time;

use super::super::{CheckpointFile, barrier, fsync};
use super::CheckpointRestartParams;
use super::state::{BROADCAST_STEPS, PLAN_WORDS, TAG_BITS, View, reports, slot, stage, verdict};
use crate::program::Seen;
use crate::skeletons::failures::Failures;
use crate::{Comm, Cursor, Op, OpKind, Program, Source, Tag};

/// The program of a job that may fail.
#[derive(Clone, Debug)]
pub struct CheckpointRestart {
    ranks: u32,
    params: CheckpointRestartParams,
    failures: Failures,
}

impl CheckpointRestart {
    /// The program on `ranks` ranks, with resolved parameters.
    ///
    /// # Errors
    /// There are no ranks, or too many records.
    pub fn new(ranks: u32, params: CheckpointRestartParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        let records = (params.total.0 / u64::from(ranks)).div_ceil(params.record.0.max(1));
        if records >= u64::from(u32::MAX) {
            return Err(format!(
                "{records} records per rank and checkpoint: expected fewer than 2^32"
            ));
        }
        let failures = Failures::new(params.mtti, *params.seed);
        Ok(CheckpointRestart {
            ranks,
            params,
            failures,
        })
    }

    /// Record `index` of a rank's share of checkpoint `number`; `None` after the last.
    fn record(&self, rank: u32, number: u64, index: u32, write: bool) -> Option<OpKind> {
        let share = self.params.total.0 / u64::from(self.ranks);
        let done = u64::from(index).saturating_mul(self.params.record.0);
        if done >= share {
            return None;
        }
        let (file, bytes) = (self.file(rank, number), self.params.record.0.min(share - done));
        let offset = match self.params.file {
            CheckpointFile::Shared => u64::from(rank) * share + done,
            CheckpointFile::PerRank => done,
        };
        Some(match write {
            true => OpKind::Write { file, offset, bytes },
            false => OpKind::Read { file, offset, bytes },
        })
    }

    /// The file of `rank` for checkpoint `number`: two files alternate, one of which is complete.
    fn file(&self, rank: u32, number: u64) -> u64 {
        match self.params.file {
            CheckpointFile::Shared => number % 2,
            CheckpointFile::PerRank => number % 2 * u64::from(self.ranks) + u64::from(rank),
        }
    }

    /// Child number `index` of `rank` in the binomial tree: ranks that differ from it in one bit below its lowest.
    fn child(&self, rank: u32, index: u32) -> Option<u32> {
        let bits = match rank {
            0 => u32::BITS - (self.ranks - 1).leading_zeros(),
            _ => rank.trailing_zeros(),
        };
        // The farthest first: it has the largest subtree.
        let children = (0..bits).rev().filter_map(|bit| rank.checked_add(1 << bit));
        children.filter(|&child| child < self.ranks).nth(index as usize)
    }

    /// The next operation of the broadcast of `count` words; `None` when all are sent.
    fn broadcast(&self, rank: u32, count: u32, at: &mut View<'_>) -> Option<OpKind> {
        loop {
            let (word, step) = (at.words[1] / BROADCAST_STEPS, at.words[1] % BROADCAST_STEPS);
            if word >= count {
                at.words[1] = 0;
                return None;
            }
            at.words[1] += 1;
            if step == 0 {
                if rank == 0 {
                    continue;
                }
                return Some(OpKind::Recv {
                    from: Source::Rank(rank & (rank - 1)),
                    tag: Tag::Any,
                    bytes: 4,
                    comm: Comm::WORLD,
                });
            }
            // Without a clock there are no failures, and each rank knows the words by itself.
            if step == 1 && rank != 0 && at.now.is_some() {
                at.memory[slot::BROADCAST + word as usize] = u64::from(at.answer);
            }
            match self.child(rank, step - 1) {
                Some(to) => {
                    return Some(OpKind::Send {
                        to,
                        tag: at.memory[slot::BROADCAST + word as usize] as u32,
                        bytes: 4,
                        comm: Comm::WORLD,
                    });
                }
                None => at.words[1] = (word + 1) * BROADCAST_STEPS,
            }
        }
    }

    /// The next operation of gathering at rank 0 whether any rank has lost data, which is also a barrier; `None` when
    /// the rank has reported to its parent.
    fn gather(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        let step = at.words[1];
        if step > 0 && self.child(rank, step - 1).is_some() && at.answer == 1 {
            // The report of the child received last.
            at.memory[slot::LOST] = 1;
        }
        at.words[1] += 1;
        if let Some(child) = self.child(rank, step) {
            return Some(OpKind::Recv {
                from: Source::Rank(child),
                tag: Tag::Any,
                bytes: 4,
                comm: Comm::WORLD,
            });
        }
        let received = step > 0 && self.child(rank, step - 1).is_none();
        if rank == 0 || received {
            at.words[1] = 0;
            return None;
        }
        Some(OpKind::Send {
            to: rank & (rank - 1),
            tag: at.memory[slot::LOST] as u32,
            bytes: 4,
            comm: Comm::WORLD,
        })
    }

    /// Decides on an activity of `duration` from now on, which the next failure may cut short.
    fn decide(&self, duration: Time, at: &mut View<'_>) {
        let now = at.now();
        let failure = at.memory[slot::FAILURE];
        let fails = at.now.is_some() && failure <= now.saturating_add(duration.0);
        let duration = if fails { failure.saturating_sub(now) } else { duration.0 };
        let verdict = if fails { verdict::FAILS } else { verdict::GO_ON };
        let (low, mask) = (TAG_BITS, (1u64 << TAG_BITS) - 1);
        let words = [
            verdict,
            duration >> low,
            duration & mask,
            failure >> low,
            failure & mask,
        ];
        at.memory[slot::BROADCAST..slot::HAS_OLDER].copy_from_slice(&words);
    }

    /// Decides whether the current activity ended before the failure, with complete data.
    fn commit(&self, at: &mut View<'_>) {
        at.memory[slot::BROADCAST] = match at.memory[slot::LOST] {
            _ if Self::struck(at) => verdict::FAILS,
            0 => verdict::GO_ON,
            _ => verdict::LOST,
        };
    }

    /// Handles a failure, noticed now.
    fn fail(&self, rank: u32, lost: Time, at: &mut View<'_>) {
        at.memory[slot::DONE] = at.memory[slot::SAFE];
        at.memory[slot::FAILURES] += 1;
        if rank == 0 {
            at.report(reports::FAILURE, lost.seconds());
            let after = at.now().max(at.memory[slot::FAILURE]);
            at.memory[slot::FAILURE] = self.failures.after(Time(after)).0;
        }
        at.go_to(stage::PLAN_RESTART);
    }

    fn gave_up(&self, memory: &[u64]) -> String {
        format!(
            "the job gives up after {} failures, with {} of {} of its work in a checkpoint: interval, checkpoint and \
             restart are too long for a mean time to interrupt of {}",
            memory[slot::FAILURES],
            Time(memory[slot::SAFE]),
            self.params.work,
            self.params.mtti
        )
    }

    /// The next operation of `rank`.
    fn find(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        loop {
            // The report of the failure that exceeds the limit still comes.
            if let Some(report) = at.next_report() {
                return Some(report);
            }
            if at.memory[slot::FAILURES] > u64::from(self.params.most_failures) && rank == 0 {
                at.failure = Some(self.gave_up(at.memory));
                return None;
            }
            let step = match at.words[0] {
                stage::BEGIN => self.begin(rank, at),
                stage::PLAN => self.plan(rank, at),
                stage::COMPUTE => self.compute(rank, at),
                stage::WRITE => self.write(rank, at),
                stage::PLAN_RESTART => self.plan_restart(rank, at),
                stage::RESTART => self.restart(rank, at),
                stage::READ => self.read(rank, at),
                _ => return None,
            };
            if step.is_some() {
                return step;
            }
        }
    }

    fn begin(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        at.words[1] += 1;
        if at.words[1] == 1 {
            return Some(barrier());
        }
        at.memory[slot::FAILURE] = self.failures.after(Time(at.now())).0;
        if rank == 0 {
            at.report(reports::BEGIN, self.params.work.seconds());
        }
        if let Some(interval) = self.params.known_interval() {
            self.take_interval(rank, interval, at);
        }
        at.go_to(stage::PLAN);
        None
    }

    fn take_interval(&self, rank: u32, interval: Time, at: &mut View<'_>) {
        at.memory[slot::INTERVAL] = interval.0;
        if rank == 0 {
            at.report(reports::INTERVAL, interval.seconds());
        }
    }

    fn plan(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        if at.words[1] == 0 && (rank == 0 || at.now.is_none()) {
            let left = self.params.work.0 - at.memory[slot::DONE];
            // Without an interval, a checkpoint comes first.
            let next = left.min(at.memory[slot::INTERVAL]);
            self.decide(Time(next), at);
        }
        let op = self.broadcast(rank, PLAN_WORDS, at);
        if op.is_none() {
            at.hear();
            at.go_to(stage::COMPUTE);
        }
        op
    }

    fn compute(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        let duration = at.planned_duration();
        at.words[1] += 1;
        if at.words[1] == 1 && duration > Time::ZERO {
            return Some(OpKind::Compute { duration });
        }
        if at.memory[slot::BROADCAST] == verdict::FAILS {
            self.fail(rank, duration, at);
            return None;
        }
        at.memory[slot::DONE] += duration.0;
        if at.memory[slot::DONE] >= self.params.work.0 {
            if rank == 0 {
                at.report(reports::SOLUTION, self.params.work.seconds());
            }
            at.go_to(stage::END);
        } else {
            at.go_to(stage::WRITE);
        }
        None
    }

    /// Whether the failure has struck: a rank skips operations it has not begun.
    fn struck(at: &View<'_>) -> bool {
        at.now.is_some_and(|now| now.0 >= at.memory[slot::FAILURE])
    }

    fn write(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        let number = at.memory[slot::COMPLETE] + 1;
        // Its file is that of the second to last checkpoint.
        at.memory[slot::HAS_OLDER] = 0;
        let op = self.transfer(rank, number, true, at);
        if op.is_some() {
            return op;
        }
        let took = at.since();
        if at.memory[slot::BROADCAST] == verdict::FAILS {
            let lost = Time(at.memory[slot::DONE] - at.memory[slot::SAFE]);
            self.fail(rank, lost, at);
            if rank == 0 {
                at.report(reports::LOST_CHECKPOINT, took.seconds());
            }
            return None;
        }
        at.memory[slot::HAS_OLDER] = u64::from(at.memory[slot::COMPLETE] > 0);
        at.memory[slot::OLDER_SAFE] = at.memory[slot::SAFE];
        at.memory[slot::SAFE] = at.memory[slot::DONE];
        at.memory[slot::COMPLETE] = number;
        if rank == 0 {
            at.report(reports::CHECKPOINT, took.seconds());
        }
        if at.memory[slot::INTERVAL] == 0 && (rank == 0 || at.now.is_none()) {
            // Without a clock, all the work at once.
            let interval = at.now.map_or(self.params.work, |_| self.params.optimum_of(took));
            self.take_interval(rank, interval, at);
        }
        at.go_to(stage::PLAN);
        None
    }

    fn plan_restart(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        if at.words[1] == 0 && rank == 0 {
            at.memory[slot::SINCE] = at.now();
            self.decide(self.params.restart, at);
        }
        let op = self.broadcast(rank, PLAN_WORDS, at);
        if op.is_none() {
            at.hear();
            at.words[0] = stage::RESTART;
        }
        op
    }

    fn restart(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        let duration = at.planned_duration();
        at.words[1] += 1;
        if at.words[1] == 1 && duration > Time::ZERO {
            return Some(OpKind::Compute { duration });
        }
        if at.memory[slot::BROADCAST] == verdict::FAILS {
            let took = at.since();
            self.fail(rank, Time::ZERO, at);
            if rank == 0 {
                at.report(reports::LOST_RESTART, took.seconds());
            }
            return None;
        }
        at.words[0] = stage::READ;
        at.words[1] = 0;
        None
    }

    fn read(&self, rank: u32, at: &mut View<'_>) -> Option<OpKind> {
        let op = self.transfer(rank, at.memory[slot::COMPLETE], false, at);
        if op.is_some() {
            return op;
        }
        let took = at.since();
        if at.memory[slot::BROADCAST] == verdict::FAILS {
            self.fail(rank, Time::ZERO, at);
            if rank == 0 {
                at.report(reports::LOST_RESTART, took.seconds());
            }
            return None;
        }
        if at.memory[slot::BROADCAST] == verdict::LOST {
            // It reads again.
            self.go_back(rank, at);
            return None;
        }
        if rank == 0 {
            at.report(reports::RESTART, took.seconds());
        }
        at.go_to(stage::PLAN);
        None
    }

    /// The last complete checkpoint is lost: the previous one takes its place, or the beginning.
    fn go_back(&self, rank: u32, at: &mut View<'_>) {
        let (number, safe) = match at.memory[slot::HAS_OLDER] {
            0 => (0, 0),
            _ => (at.memory[slot::COMPLETE] - 1, at.memory[slot::OLDER_SAFE]),
        };
        let lost = Time(at.memory[slot::SAFE] - safe);
        at.memory[slot::COMPLETE] = number;
        at.memory[slot::SAFE] = safe;
        at.memory[slot::DONE] = safe;
        at.memory[slot::HAS_OLDER] = 0;
        if rank == 0 {
            at.report(reports::UNREADABLE, lost.seconds());
        }
    }

    /// The next operation of writing or reading checkpoint `number`, 0 meaning none; `None` when rank 0 has broadcast
    /// the result.
    ///
    /// `words[3]` counts the completed parts: barrier, open, records, fsync, close, barrier (for a read, the gather),
    /// and the broadcast; `words[1]` and `words[2]` count within them.
    fn transfer(&self, rank: u32, number: u64, write: bool, at: &mut View<'_>) -> Option<OpKind> {
        let opens = self.params.file == CheckpointFile::PerRank || rank == 0;
        let file = self.file(rank, number);
        if at.words[3] == 0 {
            at.memory[slot::LOST] = 0;
        } else if at.lost {
            at.memory[slot::LOST] = 1;
        }
        loop {
            at.words[3] += 1;
            let op = match at.words[3] - 1 {
                0 => Some(barrier()),
                1 => (opens && number > 0).then_some(OpKind::Open { file }),
                2 => {
                    let index = at.words[2];
                    let goes_on = number > 0 && at.memory[slot::LOST] == 0;
                    let record = match goes_on && !Self::struck(at) {
                        true => self.record(rank, number, index, write),
                        false => None,
                    };
                    if record.is_some() {
                        at.words[2] += 1;
                        at.words[3] -= 1;
                    }
                    record
                }
                3 => (self.params.fsync && write && number > 0).then(|| fsync(file)),
                4 => (opens && number > 0).then_some(OpKind::Close { file }),
                5 if write => Some(barrier()),
                5 => {
                    let op = self.gather(rank, at);
                    at.words[3] -= u32::from(op.is_some());
                    op
                }
                _ => {
                    if at.words[1] == 0 && (rank == 0 || at.now.is_none()) {
                        self.commit(at);
                    }
                    let op = self.broadcast(rank, 1, at);
                    if op.is_none() {
                        at.words[2] = 0;
                        at.words[3] = 0;
                        return None;
                    }
                    at.words[3] -= 1;
                    op
                }
            };
            if op.is_some() {
                return op;
            }
        }
    }
}

impl Program for CheckpointRestart {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        // Called with its memory only.
        let _ = (rank, cursor);
        None
    }

    fn memory(&self) -> usize {
        slot::COUNT
    }

    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        let (now, answer, lost) = (seen.now, seen.answer, seen.lost);
        let memory = seen.memory.get_mut(..slot::COUNT)?;
        let mut failure = None;
        let op = cursor.advance(|words| {
            let mut at = View {
                words,
                memory,
                now,
                answer,
                lost,
                failure: None,
            };
            let op = self.find(rank, &mut at);
            failure = at.failure;
            op
        });
        seen.failure = failure;
        op
    }

    fn reads_survivors(&self, _: &Cursor) -> bool {
        true
    }

    fn failure(&self, _: u32, memory: &[u64], _: Time) -> Option<String> {
        let failed = memory
            .get(slot::FAILURES)
            .is_some_and(|&count| count > u64::from(self.params.most_failures));
        failed.then(|| self.gave_up(memory))
    }

    fn clock(&self) -> Option<String> {
        Some("checkpoint-restart needs the times of failures".into())
    }

    fn describe(&self) -> String {
        let CheckpointRestartParams { work, mtti, total, .. } = self.params;
        format!(
            "{work} of work with checkpoints of {total}, {} ranks that fail every {mtti}",
            self.ranks
        )
    }
}
