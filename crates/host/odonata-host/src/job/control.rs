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
//! A control message has [`CONTROL_BYTES`]. It takes the software and interface delays of an MPI message, or the local
//! path between ranks of a node. It counts as packets of the sender's job but not as a message of a rank, and occupies
//! no rank.

use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::lost::Dependent;
use crate::params::JobProgram;
use crate::payload::{JobSignal, Payload};
use crate::send::{SendRequest, traffic_of};
use odonata_engine::{Mode, RangeStore, SparseStore, Store, Time};

/// Size of a control message between ranks, in bytes: an envelope with job, rank and kind.
pub const CONTROL_BYTES: u64 = 64;

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

/// What the ranks of a part know about the ends of ranks and jobs.
#[derive(Debug)]
pub(crate) struct JobControl {
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
    pub(crate) fn new(unreported: SparseStore<u32>, awaited: Vec<Awaited>, last_effective: RangeStore<Time>) -> Self {
        JobControl {
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

    pub(crate) fn footprint(&self) -> usize {
        self.unreported.memory() + self.awaited.memory() + self.last_effective.memory()
    }
}

impl Hosts {
    /// Lets `rank` begin, immediately or after the start delay of its job.
    fn begin_rank<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let place = self.layout.place(rank);
        match self.layout.job(place.job).start {
            Time::ZERO => self.start_rank(ctx, rank),
            delay => {
                self.ranks.lost.may_start::<C>(rank);
                ctx.schedule(place.lp, ctx.now() + delay, HostEvent::Start { rank });
            }
        }
    }

    /// Starts the program or the source of `rank`, after its stage-in if it has one.
    pub(crate) fn start_rank<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        self.ranks.lost.continues(Dependent::Start(rank), ctx.now());
        if !self.begin_stage_in(ctx, rank) {
            self.start_program(ctx, rank);
        }
    }

    /// Starts the program after the stage-in.
    pub(crate) fn start_program<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        self.records.edit_metrics::<C>(rank).start = Some(ctx.now());
        (self.ranks.lost).start_rank::<C>(rank, self.layout.place(rank).job, ctx.now());
        match self.layout.job_of(rank).program {
            JobProgram::Program(_) => self.advance(ctx, rank),
            JobProgram::Synthetic { .. } => self.start_source(ctx, rank),
        }
    }

    pub(crate) fn end_rank<C: HostContext>(&mut self, ctx: &mut C, rank: u32, end: Time) {
        let metrics = self.records.edit_metrics::<C>(rank);
        metrics.finished = true;
        metrics.end = end;
        let job = self.layout.job_of(rank);
        if job.tells_servers || !job.watchers.is_empty() {
            self.ranks.lost.ends::<C>(rank, end);
            self.report_end(ctx, rank);
        }
    }

    /// Reports the end of `rank`, or of all ranks of a subtree below it.
    fn report_end<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        self.ranks.lost.needs_current::<C>(Dependent::Ended(rank));
        let missing = self.jobs.unreported.edit::<C>(rank);
        *missing -= 1;
        if *missing > 0 {
            return;
        }
        self.ranks.lost.is_complete::<C>(Dependent::Ended(rank), ctx.now());
        if let Some(parent) = self.parent(rank) {
            self.signal(ctx, rank, parent, JobSignal::RanksEnded);
            return;
        }
        let number = self.layout.place(rank).job;
        let job = self.layout.job(number);
        let tells_servers = job.tells_servers;
        for watcher in 0..job.watchers.len() {
            let waiting = self.layout.job(number).watchers[watcher];
            let root = self.layout.job(waiting).first_rank;
            self.signal(ctx, rank, root, JobSignal::JobEnded);
        }
        if tells_servers {
            self.tell_servers(ctx, rank);
        }
    }

    /// The parent of `rank` in the tree of its job; `None` for rank 0.
    pub(crate) fn parent(&self, rank: u32) -> Option<u32> {
        let first = self.layout.job_of(rank).first_rank;
        let local = rank - first;
        (local > 0).then(|| first + (local & (local - 1)))
    }

    pub(crate) fn pass_on<C: HostContext>(&mut self, ctx: &mut C, rank: u32, signal: JobSignal) {
        let job = self.layout.job_of(rank);
        let (first, ranks) = (job.first_rank, job.ranks);
        for child in children(rank - first, ranks) {
            self.signal(ctx, rank, first + child, signal);
        }
    }

    pub(crate) fn signal<C: HostContext>(&mut self, ctx: &mut C, from: u32, to: u32, signal: JobSignal) {
        let request = SendRequest {
            source: self.layout.endpoint_of_rank(from),
            target: self.layout.endpoint_of_rank(to),
            bytes: CONTROL_BYTES,
            traffic: traffic_of(self.layout.place(from).job, false),
            payload: Payload::JobControl { from, to, signal },
            created: ctx.now(),
            software: self.params.mpi.send_software(CONTROL_BYTES),
            notify_sent: false,
            notify_arrived: true,
        };
        self.send(ctx, request);
    }

    /// Handles a control message that has arrived at `rank`.
    pub(crate) fn job_signal_arrived<C: HostContext>(&mut self, ctx: &mut C, from: u32, rank: u32, signal: JobSignal) {
        match signal {
            JobSignal::RanksEnded => self.report_end(ctx, rank),
            JobSignal::JobEnded => {
                let ended = self.layout.place(from).job;
                self.job_ended(ctx, rank, ended);
            }
            JobSignal::Start => {
                self.pass_on(ctx, rank, signal);
                self.begin_rank(ctx, rank);
            }
            JobSignal::RanksStaged => self.report_staged(ctx, rank),
            JobSignal::Staged => {
                self.pass_on(ctx, rank, signal);
                self.start_program(ctx, rank);
            }
            JobSignal::Stop => {
                self.pass_on(ctx, rank, signal);
                self.stop_now(ctx, rank);
            }
        }
    }

    /// Tells `rank`, rank 0 of its job, that job `ended` has ended.
    fn job_ended<C: HostContext>(&mut self, ctx: &mut C, rank: u32, ended: u16) {
        let number = self.layout.place(rank).job;
        let job = self.layout.job(number);
        let (starts, stops) = (job.start_after.contains(&ended), job.until.contains(&ended));
        let awaited = self.jobs.awaited.edit::<C>(u32::from(number));
        awaited.start -= u16::from(starts);
        awaited.stop -= u16::from(stops);
        let (start, stop) = (starts && awaited.start == 0, stops && awaited.stop == 0);
        if starts {
            self.ranks.lost.concerns(number);
            self.ranks.lost.needs_current::<C>(Dependent::Awaited(rank));
        }
        if start {
            self.ranks.lost.is_complete::<C>(Dependent::Awaited(rank), ctx.now());
            self.pass_on(ctx, rank, JobSignal::Start);
            self.begin_rank(ctx, rank);
        }
        if stop {
            self.pass_on(ctx, rank, JobSignal::Stop);
            self.stop_now(ctx, rank);
        }
    }

    fn stop_now<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        if !self.records.metrics(rank).finished {
            self.ranks.lost.note::<C>(Dependent::StopNotice(rank));
        }
        self.stop_source(ctx, rank);
    }

    /// Checks that all job signals have reached their receivers.
    ///
    /// # Errors
    /// Names the job or rank that misses a signal.
    pub(crate) fn audit_jobs(&self) -> Result<(), String> {
        if let Some((rank, _)) = self.jobs.unreported.iter().find(|&(_, &missing)| missing > 0) {
            return Err(format!("{} has not reported its end", self.layout.name(rank)));
        }
        let (layout, jobs) = (&self.layout, &self.jobs);
        let heard = |job: &u16| !layout.has(layout.job(*job).first_rank) || jobs.awaited(*job) == Awaited::default();
        match (0..self.jobs()).find(|job| !heard(job)) {
            None => Ok(()),
            Some(job) => Err(format!(
                "job \"{}\" has not received the end of another job",
                layout.job(job).name
            )),
        }
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
