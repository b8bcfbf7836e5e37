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
//! `advance` is called once at the end of every event of a rank and never from within, so that nothing
//! recurses however many operations take no time.

use super::Hosts;
use super::event::{HostEvent, Outside};
use super::matching::Posted;
use super::metrics::IterationRecord;
use super::outcome::Failure;
use super::params::JobProgram;
use super::peers::context;
use super::post::draw;
use super::rank::{Activity, Phase, WINDOW};
use super::request::Transfer;
use odonata_engine::{Mode, NIL, Time};
use odonata_workload::{Comm, Op, OpKind, Source, Tag};

/// Who is charged for the time that an operation took.
enum Charge {
    Nobody,
    Mpi,
    Io,
}

fn charge(activity: &Activity) -> Charge {
    match activity.op.kind {
        OpKind::Compute { .. } | OpKind::Mark { .. } => Charge::Nobody,
        OpKind::Open { .. }
        | OpKind::Close { .. }
        | OpKind::Read { .. }
        | OpKind::Write { .. }
        | OpKind::Iread { .. }
        | OpKind::Iwrite { .. } => Charge::Io,
        OpKind::Wait { .. } | OpKind::WaitAll { .. } if activity.for_io => Charge::Io,
        _ if activity.op.stream == 0 => Charge::Mpi,
        _ => Charge::Nobody,
    }
}

/// A receive of the program, as it is posted.
fn receive(source: Source, tag: Tag, comm: Comm, bytes: u64, request: u32) -> Posted {
    Posted {
        source,
        tag,
        context: context(comm, false),
        bytes,
        request,
        collective: None,
        next: NIL,
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
                let ready = |&slot: &u32| self.activities.get(slot).phase == Phase::Ready;
                let slot = state
                    .live
                    .iter(&self.activities)
                    .find(ready)
                    .expect("as many are ready as were counted");
                self.ranks.edit::<X>(rank).ready -= 1;
                self.begin(x, slot);
                continue;
            }
            let most = if state.parallel { WINDOW } else { 1 };
            if state.live_count >= most || state.exhausted {
                break;
            }
            match self.pull::<X>(rank) {
                Some(op) => self.admit::<X>(rank, op),
                None => self.ranks.edit::<X>(rank).exhausted = true,
            }
        }
        let state = self.ranks.get(rank);
        if state.exhausted && state.live_count == 0 && !self.metrics.get(rank).finished {
            self.end_rank(x, rank, x.now());
        }
    }

    /// The next operation of `rank`.
    fn pull<M: Mode>(&mut self, rank: u32) -> Option<Op> {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let JobProgram::Program(program) = &job.program else {
            return None;
        };
        let local = rank - job.first_rank;
        let state = self.ranks.edit::<M>(rank);
        if !state.parallel && state.cursor.op >= state.next_scan {
            // Programs do not say how many streams they have. Looking for a second one in the next two
            // windows, once per window, finds it before it matters and costs two pulls per operation.
            let mut cursor = state.cursor;
            let mut coming = std::iter::from_fn(|| program.next(local, &mut cursor)).take(2 * WINDOW as usize);
            state.parallel = coming.any(|op| op.stream != 0);
            state.next_scan = state.cursor.op.saturating_add(WINDOW);
        }
        program.next(local, &mut state.cursor)
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
        if !matches!(activity.op.kind, OpKind::Compute { .. } | OpKind::Mark { .. }) {
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
        let Activity { rank, phase, .. } = *self.activities.get(slot);
        match phase {
            Phase::Delayed => self.perform(x, slot),
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

    /// Carries out an operation.
    fn perform<X: Outside>(&mut self, x: &mut X, slot: u32) {
        let now = x.now();
        let activity = self.activities.edit::<X>(slot);
        activity.phase = Phase::Blocked;
        // One for us, so that a request that completes at once does not end the operation half-way.
        activity.pending = 1;
        activity.busy_until = now;
        let (op, rank) = (activity.op, activity.rank);
        let send_overhead = self.params.mpi.send_overhead;
        let mut busy = Time::ZERO;
        match op.kind {
            OpKind::Compute { duration } => {
                busy = duration;
                self.metrics.edit::<X>(rank).compute += duration;
            }
            OpKind::Send { to, tag, bytes, comm } => {
                busy = send_overhead;
                let request = self.open_blocking::<X>(slot, Transfer::Send);
                self.send(x, slot, to, tag, context(comm, false), bytes, request, Time::ZERO);
            }
            OpKind::Isend {
                to,
                tag,
                bytes,
                comm,
                request,
            } => {
                busy = send_overhead;
                let request = self.open_numbered::<X>(rank, request, Transfer::Send);
                self.send(x, slot, to, tag, context(comm, false), bytes, request, Time::ZERO);
            }
            OpKind::Recv { from, tag, bytes, comm } => {
                let request = self.open_blocking::<X>(slot, Transfer::Receive);
                self.post(x, rank, receive(from, tag, comm, bytes, request));
            }
            OpKind::Irecv {
                from,
                tag,
                bytes,
                comm,
                request,
            } => {
                let request = self.open_numbered::<X>(rank, request, Transfer::Receive);
                self.post(x, rank, receive(from, tag, comm, bytes, request));
            }
            OpKind::Wait { request } => self.await_requests::<X>(slot, request, 1),
            OpKind::WaitAll { first, count } => self.await_requests::<X>(slot, first, count),
            OpKind::Collective(collective) => {
                if !self.start_collective::<X>(slot, &collective) {
                    self.fail(x, Failure::Invalid { rank, op });
                    return;
                }
            }
            OpKind::Open { .. } | OpKind::Close { .. } => {}
            OpKind::Read { file, offset, bytes } | OpKind::Write { file, offset, bytes } => {
                let request = self.open_blocking::<X>(slot, Transfer::Io);
                let write = matches!(op.kind, OpKind::Write { .. });
                self.start_io(x, slot, write, file, offset, bytes, request);
            }
            OpKind::Iread {
                file,
                offset,
                bytes,
                request,
            }
            | OpKind::Iwrite {
                file,
                offset,
                bytes,
                request,
            } => {
                let request = self.open_numbered::<X>(rank, request, Transfer::Io);
                let write = matches!(op.kind, OpKind::Iwrite { .. });
                self.start_io(x, slot, write, file, offset, bytes, request);
            }
            OpKind::Mark { iteration } => {
                let job = self.places[rank as usize].job;
                let rank = rank - self.jobs[usize::from(job)].first_rank;
                self.iteration_rows.push(IterationRecord {
                    job,
                    rank,
                    iteration,
                    time: now,
                });
            }
        }
        let activity = self.activities.edit::<X>(slot);
        activity.busy_until = now + busy;
        activity.pending -= 1;
        if activity.pending == 0 {
            self.settle(x, slot);
        }
    }

    /// All requests of operation `slot` are complete: it ends when what it costs has passed, or goes on
    /// with the next step of a collective.
    pub(crate) fn settle<X: Outside>(&mut self, x: &mut X, slot: u32) {
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
    fn retire<X: Outside>(&mut self, x: &mut X, slot: u32) {
        let activity = *self.activities.get(slot);
        let Activity { rank, op, .. } = activity;
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
