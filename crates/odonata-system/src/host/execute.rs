//! The executor: pulls a rank's operations, begins them in order, ends them.
//!
//! A rank with one stream pulls an operation when its predecessor is complete. One with several
//! looks [`WINDOW`] operations ahead and begins each as soon as its stream is free and what it
//! comes [after](odonata_workload::After) is complete.
//!
//! ```text
//!  pull ──> Parked ──> Ready ──> (Delayed: jitter of the call) ──> perform ──┬──> Blocked: requests ──┐
//!                                                                            └────────────────────────┴──> Busy: costs ──> retire
//! ```
//!
//! `call` says what an operation does when it is performed. A wait for one of several requests is
//! woken by the first, and takes what is complete at the end of that event.
//!
//! `advance` is called once at the end of every event of a rank and never from within, so that nothing
//! recurses however many operations take no time.

use super::Hosts;
use super::event::{HostEvent, Outside};
use super::outcome::Failure;
use super::params::JobProgram;
use super::post::draw;
use super::progress::Chore;
use super::rank::{Activity, Phase, WINDOW};
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::{Op, OpKind};

/// Who is charged for the time that an operation took.
enum Charge {
    Nobody,
    Mpi,
    Io,
}

fn charge(activity: &Activity) -> Charge {
    match activity.op.kind {
        OpKind::Compute { .. } | OpKind::Mark { .. } | OpKind::Report { .. } => Charge::Nobody,
        OpKind::Open { .. }
        | OpKind::Close { .. }
        | OpKind::Read { .. }
        | OpKind::Write { .. }
        | OpKind::Iread { .. }
        | OpKind::Iwrite { .. } => Charge::Io,
        OpKind::Wait { .. } | OpKind::WaitAll { .. } | OpKind::WaitAny { .. } | OpKind::WaitSome { .. }
            if activity.for_io =>
        {
            Charge::Io
        }
        _ if activity.op.stream == 0 => Charge::Mpi,
        _ => Charge::Nobody,
    }
}

impl Hosts {
    /// What was measured at rank `rank` of `job` if the run ends at `now`: with what its unfinished
    /// operations have cost until then. (A wait that I/O would complete counts as MPI, since it does
    /// not know yet what it waits for.)
    pub fn metrics_until(&self, job: u16, rank: u32, now: Time) -> super::RankMetrics {
        let mut metrics = *self.metrics(job, rank);
        let live = self.ranks.get(self.job(job).first_rank + rank).live;
        for slot in live.iter(&self.activities) {
            let activity = self.activities.get(slot);
            if matches!(activity.phase, Phase::Parked | Phase::Ready) {
                continue;
            }
            let time = now.saturating_sub(activity.since);
            match charge(activity) {
                Charge::Mpi => metrics.mpi += time,
                Charge::Io => metrics.io += time,
                // A computation is booked when it begins.
                Charge::Nobody => {
                    let left = activity.busy_until.saturating_sub(now);
                    metrics.compute = metrics.compute.saturating_sub(left);
                }
            }
        }
        metrics
    }

    /// Begins whatever `rank` can begin now.
    pub(crate) fn advance<X: Outside>(&mut self, x: &mut X, rank: u32) {
        loop {
            let state = *self.ranks.get(rank);
            if state.ready > 0 {
                let ready = |&slot: &u32| matches!(self.activities.get(slot).phase, Phase::Ready | Phase::Woken);
                let slot = state
                    .live
                    .iter(&self.activities)
                    .find(ready)
                    .expect("as many are ready as were counted");
                self.ranks.edit::<X>(rank).ready -= 1;
                match self.activities.get(slot).phase {
                    Phase::Woken => self.wake(x, slot),
                    _ => self.begin(x, slot),
                }
                continue;
            }
            let most = if state.parallel { WINDOW } else { 1 };
            if state.live_count >= most || state.exhausted {
                break;
            }
            match self.pull(x, rank) {
                Some(op) => self.admit::<X>(rank, op),
                None => self.ranks.edit::<X>(rank).exhausted = true,
            }
        }
        let state = self.ranks.get(rank);
        if state.exhausted && state.live_count == 0 && !self.metrics.get(rank).finished {
            self.end_rank(x, rank, x.now());
            // As in MPI_Finalize.
            self.catch_up(x, rank);
        }
    }

    /// The next operation of `rank`.
    fn pull<X: Outside>(&mut self, x: &mut X, rank: u32) -> Option<Op> {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let JobProgram::Program(program) = &job.program else {
            return None;
        };
        let local = rank - job.first_rank;
        if program.memory() > 0 {
            return self.pull_with_memory(x, rank);
        }
        let state = self.ranks.edit::<X>(rank);
        if !state.parallel && state.cursor.op >= state.next_scan {
            // Programs do not say how many streams they have. Looking for a second one in the next two
            // windows, once per window, finds it before it matters and costs two pulls per operation.
            let mut cursor = state.cursor;
            let mut coming = std::iter::from_fn(|| program.next(local, &mut cursor)).take(2 * WINDOW as usize);
            state.parallel = coming.any(|op| op.stream != 0);
            state.next_scan = state.cursor.op.saturating_add(WINDOW);
        }
        let op = program.next(local, &mut state.cursor);
        if op.is_none() && program.broken(local, &state.cursor).is_some() {
            let at = x.now();
            self.fail(x, Failure::Program { rank, at });
        }
        op
    }

    /// Puts an operation at the end of those under way.
    fn admit<M: Mode>(&mut self, rank: u32, op: Op) {
        let mut activity = Activity::new(rank, op);
        let mut live = self.ranks.get(rank).live;
        for slot in live.iter(&self.activities) {
            let other = self.activities.get(slot);
            activity.behind |= other.op.stream == op.stream;
            activity.missing += op.after.iter().filter(|&id| id == other.op.id).count() as u8;
        }
        let ready = !activity.behind && activity.missing == 0;
        activity.phase = if ready { Phase::Ready } else { Phase::Parked };
        let slot = self.activities.take::<M>(activity);
        live.push::<M, _>(&mut self.activities, slot);
        let state = self.ranks.edit::<M>(rank);
        state.live = live;
        state.live_count += 1;
        state.ready += u32::from(ready);
    }

    /// Calls an operation; MPI and I/O calls take effect after a random delay.
    fn begin<X: Outside>(&mut self, x: &mut X, slot: u32) {
        let now = x.now();
        let activity = self.activities.edit::<X>(slot);
        activity.since = now;
        let rank = activity.rank;
        if !matches!(
            activity.op.kind,
            OpKind::Compute { .. } | OpKind::Mark { .. } | OpKind::Report { .. }
        ) {
            let delay = draw::<X>(&mut self.streams, rank, self.params.mpi.call_jitter);
            if delay > Time::ZERO {
                self.activities.edit::<X>(slot).phase = Phase::Delayed;
                self.resume_at(x, slot, now + delay);
                return;
            }
        }
        self.perform(x, slot);
    }

    fn resume_at<X: Outside>(&self, x: &mut X, slot: u32, at: Time) {
        let rank = self.activities.get(slot).rank;
        x.schedule(self.places[rank as usize].lp, at, HostEvent::Resume { activity: slot });
    }

    /// The time for which operation `slot` occupied its stream has passed.
    pub(crate) fn resume<X: Outside>(&mut self, x: &mut X, slot: u32) {
        let Activity {
            rank,
            phase,
            background,
            ..
        } = *self.activities.get(slot);
        match phase {
            Phase::Delayed => self.perform(x, slot),
            _ if background => {
                self.activities.edit::<X>(slot).phase = Phase::Blocked;
                self.settle(x, slot);
            }
            _ => {
                if self.next_step(x, slot) {
                    self.settle(x, slot);
                } else {
                    self.retire(x, slot);
                }
            }
        }
        self.advance(x, rank);
    }

    /// All requests of operation `slot` are complete: it ends when what it costs has passed, or goes on
    /// with the next step of a collective, a non-blocking one when the library is at work.
    pub(crate) fn settle<X: Outside>(&mut self, x: &mut X, slot: u32) {
        let Activity {
            background,
            rank,
            pending,
            ..
        } = *self.activities.get(slot);
        if background && pending == 0 && !self.may_progress(rank) {
            self.progress(x, rank, Chore::Step { activity: slot });
            return;
        }
        loop {
            let now = x.now();
            let recv_overhead = self.params.mpi.recv_overhead;
            let activity = self.activities.edit::<X>(slot);
            if activity.pending > 0 {
                activity.phase = Phase::Blocked;
                return;
            }
            let receives = std::mem::take(&mut activity.receives);
            let end = now.max(activity.busy_until) + Time(recv_overhead.0 * u64::from(receives));
            if end > now {
                activity.phase = Phase::Busy;
                self.resume_at(x, slot, end);
                return;
            }
            if !self.next_step(x, slot) {
                self.retire(x, slot);
                return;
            }
        }
    }

    /// Operation `slot` is complete.
    pub(crate) fn retire<X: Outside>(&mut self, x: &mut X, slot: u32) {
        let activity = *self.activities.get(slot);
        let Activity { rank, op, .. } = activity;
        if activity.background {
            self.activities.give::<X>(slot);
            self.end_background(x, &activity);
            return;
        }
        let time = x.now() - activity.since;
        match charge(&activity) {
            Charge::Mpi if time > Time::ZERO => self.metrics.edit::<X>(rank).mpi += time,
            Charge::Io if time > Time::ZERO => self.metrics.edit::<X>(rank).io += time,
            _ => {}
        }
        let mut live = self.ranks.get(rank).live;
        live.remove_first::<X, _>(&mut self.activities, |other| other.op.id == op.id);
        self.activities.give::<X>(slot);
        let mut ready = 0;
        let mut at = live.head;
        let mut successor = true;
        while at != NIL {
            let other = *self.activities.get(at);
            let follows = successor && other.op.stream == op.stream;
            let depended = other.op.after.iter().filter(|&id| id == op.id).count() as u8;
            if follows || depended > 0 {
                let cell = self.activities.edit::<X>(at);
                cell.behind &= !follows;
                cell.missing -= depended;
                if !cell.behind && cell.missing == 0 {
                    cell.phase = Phase::Ready;
                    ready += 1;
                }
                successor &= !follows;
            }
            at = other.next;
        }
        let state = self.ranks.edit::<X>(rank);
        state.live = live;
        state.live_count -= 1;
        state.ready += ready;
    }
}
