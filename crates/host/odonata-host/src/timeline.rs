//! Timeline: single actions of chosen ranks and of the storage servers within a period of a run.
//!
//! | record | content | made |
//! |---|---|---|
//! | [`CallRecord`] | a call of a rank, from begin to end | at its end |
//! | [`StepRecord`] | a step of a message or request ([`Step`]) | at the step |
//! | [`AccessRecord`] | an access of a server's device, or a drain transfer | at its end |
//!
//! A run records nothing unless [`HostParams::timeline`](crate::HostParams::timeline) is set. The records are not part
//! of the digest of results and do not alter the run. Each table keeps the rows that end first, up to a limit, and
//! counts the rows that it drops.

pub(crate) mod call;
mod first_rows;
mod flow;
mod params;
mod record;

pub use call::{CALLS, CallKind, Charge};
pub use flow::{Flow, RequestSpan};
pub use params::TimelineParams;
pub use record::{AccessRecord, CallRecord, Step, StepRecord};

use crate::context::Uses;
use crate::io::facts::IoObserver;
use crate::layout::Layout;
use crate::mpi::matching::Envelope;
use crate::mpi::request::kind::RequestKind;
use crate::observe::{Arrival, Match, Observer, RequestCompletion, RequestTaken, SentMessage};
use crate::rank::activity::{Activity, Phase};
use call::{charge, describe};
pub(crate) use first_rows::FirstRows;
use odonata_engine::{NIL, Time};
use odonata_storage::ServerAccess;
use odonata_workload::OpKind;

/// The steps of messages and requests.
#[derive(Debug)]
pub(crate) struct StepLog {
    params: Option<TimelineParams>,
    rows: FirstRows<StepRecord>,
}
odonata_engine::journalled!(StepLog { rows });

impl StepLog {
    pub(crate) fn new(params: Option<&TimelineParams>) -> Self {
        StepLog {
            rows: FirstRows::new(params.map_or(0, |params| params.rows)),
            params: params.cloned(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.params.is_some()
    }

    /// The recorded steps.
    pub(crate) fn rows(&self) -> &FirstRows<StepRecord> {
        &self.rows
    }

    /// Records a step, if it belongs to one of the chosen ranks and to the period.
    #[inline(never)]
    fn add<M: Uses>(&mut self, record: StepRecord, peer: u32) {
        let Some(params) = &self.params else { return };
        if (params.has(record.rank) || params.has(peer)) && params.overlaps(record.time, record.time) {
            self.rows.add::<M>(record.time, record);
        }
    }
}

impl Observer for StepLog {
    #[inline(always)]
    fn message_is_sent<M: Uses>(&mut self, message: &SentMessage) {
        if self.is_on() {
            let record = StepRecord {
                peer: message.target,
                context: message.context,
                sequence: message.sequence,
                call: message.op.0,
                ..StepRecord::of(Step::Sent, message.rank, message.at).with_bytes(message.bytes)
            };
            self.add::<M>(record, message.target);
        }
    }

    #[inline(always)]
    fn message_waits_for_receive<M: Uses>(&mut self, layout: &Layout, rank: u32, message: &Envelope, now: Time) {
        if self.is_on() {
            let peer = layout.job_of(rank).first_rank + message.source;
            let record = StepRecord {
                peer,
                context: message.context,
                sequence: message.sequence,
                ..StepRecord::of(Step::Unexpected, rank, now)
            };
            self.add::<M>(record, peer);
        }
    }

    #[inline(always)]
    fn message_is_matched<M: Uses>(&mut self, found: &Match<'_>) {
        if self.is_on() {
            let (step, taker) = match found.message.rendezvous {
                NIL => (Step::Matched, found.taker),
                _ => (Step::Asked, NIL),
            };
            let peer = found.layout.job_of(found.rank).first_rank + found.message.source;
            let record = StepRecord {
                peer,
                context: found.message.context,
                sequence: found.message.sequence,
                call: found.receive.op.0,
                ..StepRecord::of(step, found.rank, found.now).with_request(found.number, taker)
            };
            self.add::<M>(record, peer);
        }
    }

    #[inline(always)]
    fn data_arrive<M: Uses>(&mut self, arrival: &Arrival) {
        if self.is_on() {
            let record = StepRecord {
                peer: arrival.from,
                context: arrival.context,
                sequence: arrival.sequence,
                call: arrival.begun_by,
                ..StepRecord::of(Step::Data, arrival.rank, arrival.now).with_request(arrival.number, arrival.taker)
            };
            self.add::<M>(record, arrival.from);
        }
    }

    /// For a receive that is taken now, the step of its message holds this information.
    #[inline(always)]
    fn request_completes<M: Uses>(&mut self, completion: &RequestCompletion) {
        let RequestCompletion { rank, number, .. } = *completion;
        let is_known = completion.kind == RequestKind::Receive && completion.taker != NIL;
        if self.is_on() && number != NIL && !is_known {
            let record = StepRecord {
                call: completion.begun_by,
                ..StepRecord::of(Step::Complete, rank, completion.now).with_request(number, NIL)
            };
            self.add::<M>(record, rank);
        }
    }

    #[inline(always)]
    fn request_is_taken<M: Uses>(&mut self, taken: &RequestTaken) {
        if self.is_on() && taken.kind == RequestKind::Receive && taken.was_done {
            let record = StepRecord {
                call: taken.begun_by,
                ..StepRecord::of(Step::Taken, taken.rank, taken.now).with_request(taken.number, taken.taken_by.0)
            };
            self.add::<M>(record, taken.rank);
        }
    }
}

/// Calls and accesses.
#[derive(Debug)]
pub(crate) struct TimelineLog {
    params: Option<TimelineParams>,
    calls: FirstRows<CallRecord>,
    accesses: FirstRows<AccessRecord>,
}
odonata_engine::journalled!(TimelineLog { calls, accesses });

impl TimelineLog {
    pub(crate) fn new(params: Option<&TimelineParams>) -> Self {
        let rows = params.map_or(0, |params| params.rows);
        TimelineLog {
            params: params.cloned(),
            calls: FirstRows::new(rows),
            accesses: FirstRows::new(rows),
        }
    }

    /// Whether accesses of servers are recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.params.is_some()
    }

    /// Whether a call of `rank` from `begin` to `end` is recorded.
    #[inline(always)]
    fn wants_call(&self, rank: u32, begin: Time, end: Time) -> bool {
        match &self.params {
            None => false,
            Some(params) => params.has(rank) && params.overlaps(begin, end),
        }
    }

    #[inline(never)]
    fn add_call<M: Uses>(&mut self, layout: &Layout, activity: &Activity, for_io: bool, now: Time) {
        if let Some(record) = call_record(layout, activity, for_io, now, false) {
            self.calls.add::<M>(now, record);
        }
    }

    /// The records if the run ends at `now`, with `steps`. `in_progress`: the operations of all ranks, with whether the
    /// request that completed last was for I/O.
    pub(crate) fn measured<'a>(
        &self,
        layout: &Layout,
        now: Time,
        in_progress: impl Iterator<Item = (&'a Activity, bool)>,
        steps: &FirstRows<StepRecord>,
    ) -> TimelineMeasured {
        let Some(params) = &self.params else {
            return TimelineMeasured::default();
        };
        let mut calls = self.calls.as_slice().to_vec();
        let kept = calls.len();
        for (activity, for_io) in in_progress {
            let begun = !matches!(activity.phase, Phase::Parked | Phase::Ready);
            if begun && self.wants_call(activity.rank, activity.since, now) {
                calls.extend(call_record(layout, activity, for_io, now, true));
            }
        }
        let unfinished = (calls.len() - kept) as u64;
        TimelineMeasured {
            seen: [self.calls.seen() + unfinished, steps.seen(), self.accesses.seen()],
            calls,
            accesses: self.accesses.as_slice().to_vec(),
            steps: steps.as_slice().to_vec(),
            limit: params.rows,
        }
    }
}

impl Observer for TimelineLog {
    #[inline(always)]
    fn activity_ends<M: Uses>(&mut self, layout: &Layout, activity: &Activity, for_io: bool, now: Time) {
        if self.wants_call(activity.rank, activity.since, now) {
            self.add_call::<M>(layout, activity, for_io, now);
        }
    }
}

impl IoObserver for TimelineLog {
    fn access_ends<M: Uses>(&mut self, server: u32, access: &ServerAccess, now: Time) {
        let Some(params) = &self.params else { return };
        if params.overlaps(access.begin, now) {
            self.accesses.add::<M>(now, AccessRecord::new(server, access, now));
        }
    }
}

impl IoObserver for StepLog {}

/// The records of one part, or of all parts.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct TimelineMeasured {
    /// Calls, including those that the end of the run cut short; once merged, ordered by rank and begin.
    pub calls: Vec<CallRecord>,
    /// Accesses of servers; once merged, ordered by server and begin.
    pub accesses: Vec<AccessRecord>,
    /// Steps of messages and requests, ordered by time.
    pub steps: Vec<StepRecord>,
    /// Numbers of calls, steps and accesses, kept or dropped.
    pub seen: [u64; 3],
    /// Maximum number of rows of each table; zero if nothing is recorded.
    pub limit: u64,
}

impl TimelineMeasured {
    /// Appends the records of the next part.
    pub(crate) fn absorb(&mut self, next: TimelineMeasured) {
        self.calls.extend(next.calls);
        self.accesses.extend(next.accesses);
        self.steps.extend(next.steps);
        for (sum, seen) in self.seen.iter_mut().zip(next.seen) {
            *sum += seen;
        }
        self.limit = self.limit.max(next.limit);
    }

    /// Keeps the rows that ended first among all parts.
    pub(crate) fn keep_first(&mut self) {
        first_rows::keep_first(&mut self.calls, self.limit, |call| call.end);
        first_rows::keep_first(&mut self.accesses, self.limit, |access| access.end);
        first_rows::keep_first(&mut self.steps, self.limit, |step| step.time);
    }
}

/// The row of `activity`, which ends at `now` or, if `unfinished`, is in progress then; `None` for a report, which is
/// not a call.
fn call_record(layout: &Layout, activity: &Activity, for_io: bool, now: Time, unfinished: bool) -> Option<CallRecord> {
    let op = &activity.op;
    if matches!(op.kind, OpKind::Report { .. }) {
        return None;
    }
    let what = describe(layout, activity.rank, &op.kind);
    Some(CallRecord {
        rank: activity.rank,
        begin: activity.since,
        end: now,
        call: op.id.0,
        kind: what.kind,
        stream: op.stream,
        charge: charge(op, for_io),
        unfinished,
        peer: what.peer,
        request: what.request,
        count: what.count,
        bytes: what.bytes,
        number: what.number,
    })
}
