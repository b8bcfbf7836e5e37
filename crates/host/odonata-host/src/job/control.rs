//! Job control: jobs that start after others have ended, and sources that send until other jobs have ended.
//!
//! The signals travel as messages, like all information between ranks. A daemon on each node of a job, which runs
//! before the job starts, relays them:
//!
//! ```text
//!  ranks of the job that ends        its rank 0          rank 0 of a waiting job           its ranks
//!   RanksEnded, up a binomial tree ────────> JobEnded, one message per job ──> Start or Stop, down a binomial tree
//! ```
//!
//! The parent of rank `r` in the tree is `r` with its lowest set bit cleared, so a job of `n` ranks takes `n - 1`
//! messages and `ceil(log2 n)` steps each way. A rank reports when it and all ranks below it have ended. Rank 0 of a
//! waiting job relays the signal after it has heard from every job that it waits for.
//!
//! A control message has [`CONTROL_BYTES`](super::effect::CONTROL_BYTES). It takes the software and interface delays of an MPI message, or the local
//! path between ranks of a node. It counts as packets of the sender's job but not as a message of a rank, and occupies
//! no rank.

use super::effect::JobEffect;
use crate::context::Uses;
use crate::layout::Layout;
use crate::observe::Observer;
use crate::payload::JobSignal;
use crate::turn::Turn;
use odonata_engine::{Mode, RangeStore, SparseStore, Store, Time};

/// Signals that rank 0 of a job still waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Awaited {
    /// Number of jobs that must end before this one starts.
    pub(crate) start: u16,
    /// Number of jobs that must end before this one stops.
    pub(crate) stop: u16,
}

/// A job that still waits for other jobs at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingJob {
    /// Job number.
    pub job: u16,
    /// Whether it has not started; otherwise its sources send until the other jobs have ended.
    pub unstarted: bool,
    /// The unfinished jobs that it waits for, each with its number of unfinished ranks.
    pub waits_for: Vec<(u16, u32)>,
}

/// The children of `rank` in the binomial tree of `ranks` ranks, largest subtree first.
fn children(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let bits = match rank {
        0 => u32::BITS - ranks.saturating_sub(1).leading_zeros(),
        _ => rank.trailing_zeros(),
    };
    (0..bits)
        .rev()
        .map(move |bit| rank + (1 << bit))
        .filter(move |&child| child < ranks)
}

/// For each rank of a job of `ranks` ranks, the number of reports that it waits for before it reports: its own and one
/// per child.
pub(crate) fn reports(ranks: u32) -> impl Iterator<Item = u32> {
    (0..ranks).map(move |rank| 1 + children(rank, ranks).count() as u32)
}

/// What the ranks of a part know about the ends of ranks and jobs. It takes ends of ranks and signals, and returns
/// [effects](JobEffect).
#[derive(Debug)]
pub(crate) struct JobControl {
    layout: Layout,
    /// Per rank: reports of ends that are missing before it reports; empty if no job waits for another.
    unreported: SparseStore<u32>,
    /// Per job, at its rank 0.
    awaited: Store<Awaited>,
    /// Per logical process: the time of its last event with an effect; empty if all events have one.
    last_effective: RangeStore<Time>,
}
odonata_engine::journalled!(JobControl {
    unreported,
    awaited,
    last_effective
});

impl JobControl {
    pub(crate) fn new(
        layout: Layout,
        unreported: SparseStore<u32>,
        awaited: Vec<Awaited>,
        last_effective: RangeStore<Time>,
    ) -> Self {
        JobControl {
            layout,
            unreported,
            awaited: Store::from_vec(awaited),
            last_effective,
        }
    }

    /// Whether the times of the last effects are kept.
    #[inline(always)]
    pub(crate) fn notes_effects(&self) -> bool {
        !self.last_effective.is_empty()
    }

    /// Records an effect at `lp`.
    #[inline]
    pub(crate) fn note_effect<M: Mode>(&mut self, lp: u32, now: Time) {
        if !self.last_effective.is_empty() {
            *self.last_effective.edit::<M>(lp) = now;
        }
    }

    /// Time of the last effect in this part. `None`: at the last event.
    pub(crate) fn last_effective(&self) -> Option<Time> {
        self.last_effective.iter().max().copied()
    }

    /// Signals that rank 0 of `job`, which is in this part, still waits for.
    pub(crate) fn awaited(&self, job: u16) -> Awaited {
        *self.awaited.get(u32::from(job))
    }

    /// `rank` ends at `end`.
    pub(crate) fn rank_ends<M: Uses>(&mut self, turn: &mut Turn<'_, JobEffect>, rank: u32, end: Time) {
        let job = self.layout.job_of(rank);
        if job.tells_servers || !job.watchers.is_empty() {
            turn.observers.rank_ends::<M>(rank, end);
            self.report_end::<M>(turn, rank);
        }
    }

    /// Reports the end of `rank`, or of all ranks of a subtree below it.
    fn report_end<M: Uses>(&mut self, turn: &mut Turn<'_, JobEffect>, rank: u32) {
        turn.observers.end_is_reported::<M>(rank);
        let missing = self.unreported.edit::<M>(rank);
        *missing -= 1;
        if *missing > 0 {
            return;
        }
        turn.observers.ranks_have_ended::<M>(rank, turn.now);
        if let Some(parent) = self.layout.parent(rank) {
            turn.signals(rank, parent, JobSignal::RanksEnded);
            return;
        }
        let job = self.layout.job_of(rank);
        for &waiting in &job.watchers {
            turn.signals(rank, self.layout.job(waiting).first_rank, JobSignal::JobEnded);
        }
        if job.tells_servers {
            turn.effects.push(JobEffect::TellServers { rank });
        }
    }

    /// `rank` and all ranks below it have their input: reports it, or lets the programs start if `rank` is rank 0.
    pub(crate) fn ranks_are_staged(&self, turn: &mut Turn<'_, JobEffect>, rank: u32) {
        match self.layout.parent(rank) {
            Some(parent) => turn.signals(rank, parent, JobSignal::RanksStaged),
            None => self.relay(turn, rank, JobSignal::Staged, JobEffect::StartProgram { rank }),
        }
    }

    /// Handles a control message from rank `from` that has arrived at `rank`.
    pub(crate) fn signal_arrives<M: Uses>(
        &mut self,
        turn: &mut Turn<'_, JobEffect>,
        from: u32,
        rank: u32,
        signal: JobSignal,
    ) {
        match signal {
            JobSignal::RanksEnded => self.report_end::<M>(turn, rank),
            JobSignal::JobEnded => self.job_ended::<M>(turn, rank, self.layout.place(from).job),
            JobSignal::RanksStaged => turn.effects.push(JobEffect::ReportStaged { rank }),
            JobSignal::Start => self.relay(turn, rank, signal, JobEffect::Begin { rank }),
            JobSignal::Staged => self.relay(turn, rank, signal, JobEffect::StartProgram { rank }),
            JobSignal::Stop => self.relay(turn, rank, signal, JobEffect::Stop { rank }),
        }
    }

    /// Relays a signal from `rank` to its children in the tree of its job; then it has `effect` at `rank`.
    fn relay(&self, turn: &mut Turn<'_, JobEffect>, rank: u32, signal: JobSignal, effect: JobEffect) {
        let job = self.layout.job_of(rank);
        for child in children(rank - job.first_rank, job.ranks) {
            turn.signals(rank, job.first_rank + child, signal);
        }
        turn.effects.push(effect);
    }

    /// Tells `rank`, rank 0 of its job, that job `ended` has ended.
    fn job_ended<M: Uses>(&mut self, turn: &mut Turn<'_, JobEffect>, rank: u32, ended: u16) {
        let number = self.layout.place(rank).job;
        let job = self.layout.job(number);
        let (starts, stops) = (job.start_after.contains(&ended), job.until.contains(&ended));
        let awaited = self.awaited.edit::<M>(u32::from(number));
        awaited.start -= u16::from(starts);
        awaited.stop -= u16::from(stops);
        let (start, stop) = (starts && awaited.start == 0, stops && awaited.stop == 0);
        if starts {
            turn.observers.job_end_is_known::<M>(rank, number);
        }
        if start {
            turn.observers.job_may_start::<M>(rank, turn.now);
            self.relay(turn, rank, JobSignal::Start, JobEffect::Begin { rank });
        }
        if stop {
            self.relay(turn, rank, JobSignal::Stop, JobEffect::Stop { rank });
        }
    }

    /// Checks that all job signals have reached their receivers.
    ///
    /// # Errors
    /// Names the job or rank that misses a signal.
    pub(crate) fn audit(&self) -> Result<(), String> {
        if let Some((rank, _)) = self.unreported.iter().find(|&(_, &missing)| missing > 0) {
            return Err(format!("{} has not reported its end", self.layout.name(rank)));
        }
        let layout = &self.layout;
        for (number, job) in (0..).zip(layout.jobs.iter()) {
            if layout.has(job.first_rank) && self.awaited(number) != Awaited::default() {
                return Err(format!("job \"{}\" has not received the end of another job", job.name));
            }
        }
        Ok(())
    }
}

impl Turn<'_, JobEffect> {
    fn signals(&mut self, from: u32, to: u32, signal: JobSignal) {
        self.effects.push(JobEffect::Signal { from, to, signal });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_first_has_one_parent_which_clears_its_lowest_bit() {
        for ranks in 1..70 {
            let mut parents = vec![None; ranks as usize];
            for rank in 0..ranks {
                for child in children(rank, ranks) {
                    assert_eq!(child & (child - 1), rank);
                    assert_eq!(parents[child as usize].replace(rank), None);
                }
            }
            assert!(parents[0].is_none() && parents[1..].iter().all(Option::is_some));
            // The depth of a rank in the tree is its number of set bits.
            assert_eq!(reports(ranks).sum::<u32>(), ranks + ranks - 1);
        }
        assert_eq!(children(0, 8).collect::<Vec<_>>(), [4, 2, 1]);
    }
}
