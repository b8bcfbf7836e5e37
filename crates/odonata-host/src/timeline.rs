//! Timeline: what chosen ranks and the storage servers do, one by one, within a period of a run.
//!
//! | record | says | made |
//! |---|---|---|
//! | [`CallRecord`] | a call of a rank, from its begin to its end: as long as the rank is blocked in it | when it ends |
//! | [`StepRecord`] | a step on the way of a message or of a request ([`Step`]) | when it is taken |
//! | [`AccessRecord`] | an access of a server's device, or a transfer of its drain | when it ends |
//!
//! Nothing is recorded unless [`HostParams::timeline`](crate::HostParams::timeline) asks for it, and nothing of it is part of the
//! results' digest: a run is the same with it and without. Each table keeps the rows that end first, up to a limit,
//! and counts what it leaves out.

pub(crate) mod call;
mod first_rows;
mod flow;
mod record;

pub use call::{CALLS, CallKind, Charge};
pub use flow::{Flow, RequestSpan};
pub use record::{AccessRecord, CallRecord, Step, StepRecord};

use crate::Hosts;
use crate::context::HostContext;
use crate::layout::Layout;
use crate::rank::activity::{Activity, Phase};
use call::{charge, describe};
pub(crate) use first_rows::FirstRows;
use odonata_engine::{Mode, Time};
use odonata_storage::ServerAccess;
use odonata_workload::OpKind;
use std::sync::Arc;

/// Of which ranks, when and how many records there are.
#[derive(Clone, Debug)]
pub struct TimelineParams {
    ranks: Arc<[u64]>,
    from: Time,
    until: Time,
    rows: u64,
}

impl TimelineParams {
    /// Of the ranks, counted over all jobs, for which `chosen` has true; of what happens from `from` until before `until`;
    /// at most `rows` in each table.
    pub fn new(chosen: impl IntoIterator<Item = bool>, (from, until): (Time, Time), rows: u64) -> Self {
        let mut ranks: Vec<u64> = Vec::new();
        for (rank, chosen) in chosen.into_iter().enumerate() {
            if rank % 64 == 0 {
                ranks.push(0);
            }
            ranks[rank / 64] |= u64::from(chosen) << (rank % 64);
        }
        let ranks = ranks.into();
        TimelineParams {
            ranks,
            from,
            until,
            rows,
        }
    }

    /// Whether `rank` is one of them.
    #[inline]
    fn has(&self, rank: u32) -> bool {
        self.ranks
            .get(rank as usize / 64)
            .is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    /// Whether some of `begin .. end` is in the period; an instant counts as what it is.
    #[inline]
    fn overlaps(&self, begin: Time, end: Time) -> bool {
        begin < self.until && (end > self.from || begin >= self.from)
    }
}

/// The steps of messages and requests.
#[derive(Debug)]
pub(crate) struct StepLog {
    params: Option<TimelineParams>,
    rows: FirstRows<StepRecord>,
    /// When the call or completion takes place that is being carried out; set before, and no part of the state.
    now: Time,
}
odonata_engine::journalled!(StepLog { rows });

impl StepLog {
    pub(crate) fn new(params: Option<&TimelineParams>) -> Self {
        StepLog {
            rows: FirstRows::new(params.map_or(0, |params| params.rows)),
            params: params.cloned(),
            now: Time::ZERO,
        }
    }

    /// Says what time it is, for steps that are recorded without.
    #[inline(always)]
    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// Whether any steps are recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.params.is_some()
    }

    /// Whether steps between these ranks are recorded at `at`.
    #[inline(always)]
    pub(crate) fn wants(&self, one: u32, other: u32, at: Time) -> bool {
        match &self.params {
            None => false,
            Some(params) => (params.has(one) || params.has(other)) && params.overlaps(at, at),
        }
    }

    /// The same of a step of `rank` alone, now.
    #[inline(always)]
    pub(crate) fn wants_now(&self, rank: u32) -> bool {
        self.params.is_some() && self.wants(rank, rank, self.now)
    }

    /// Records a step.
    #[inline]
    pub(crate) fn add<M: Mode>(&mut self, record: StepRecord) {
        self.rows.add::<M>(record.time, record);
    }

    /// Records a step of now.
    pub(crate) fn add_now<M: Mode>(&mut self, record: StepRecord) {
        self.add::<M>(StepRecord {
            time: self.now,
            ..record
        });
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

    /// Whether a call of `rank` is recorded that began at `begin` and ends at `end`.
    #[inline(always)]
    fn wants_call(&self, rank: u32, begin: Time, end: Time) -> bool {
        match &self.params {
            None => false,
            Some(params) => params.has(rank) && params.overlaps(begin, end),
        }
    }

    /// An access of `server` has ended, with so much space and memory in use.
    pub(crate) fn add_access<M: Mode>(&mut self, server: u32, access: &ServerAccess, end: Time) {
        let Some(params) = &self.params else { return };
        if !params.overlaps(access.begin, end) {
            return;
        }
        let record = AccessRecord::new(server, access, end);
        self.accesses.add::<M>(end, record);
    }
}

/// What was recorded in a part, or in all of them.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct TimelineMeasured {
    /// Calls, those that the end of the run cut short among them; put together, in the order of rank and begin.
    pub calls: Vec<CallRecord>,
    /// Accesses of servers; put together, in the order of server and begin.
    pub accesses: Vec<AccessRecord>,
    /// Steps of messages and requests, in the order of time.
    pub steps: Vec<StepRecord>,
    /// How many calls, steps and accesses there were, kept or not.
    pub seen: [u64; 3],
    /// Most rows of each; zero where nothing is recorded.
    pub limit: u64,
}

impl Hosts {
    /// Operation `activity` of a rank is complete.
    #[inline(always)]
    pub(crate) fn record_call<C: HostContext>(&mut self, activity: &Activity, now: Time) {
        if self.records.timeline.wants_call(activity.rank, activity.since, now) {
            self.keep_call::<C>(activity, now);
        }
    }

    #[inline(never)]
    fn keep_call<M: Mode>(&mut self, activity: &Activity, now: Time) {
        if let Some(record) = call_record(&self.layout, activity, now, false) {
            self.records.timeline.calls.add::<M>(now, record);
        }
    }

    /// What this part has recorded, if the run ends at `now`: with the calls that are under way then.
    pub(crate) fn timeline_measured(&self, now: Time) -> TimelineMeasured {
        let log = &self.records.timeline;
        let Some(params) = &log.params else {
            return TimelineMeasured::default();
        };
        let mut calls = log.calls.as_slice().to_vec();
        let kept = calls.len();
        for (rank, activities) in self.ranks.iter() {
            for activity in activities {
                let begun = !matches!(activity.phase, Phase::Parked | Phase::Ready);
                if begun && log.wants_call(rank, activity.since, now) {
                    calls.extend(call_record(&self.layout, activity, now, true));
                }
            }
        }
        let unfinished = (calls.len() - kept) as u64;
        let steps = &self.mpi.log.steps.rows;
        TimelineMeasured {
            seen: [log.calls.seen() + unfinished, steps.seen(), log.accesses.seen()],
            calls,
            accesses: log.accesses.as_slice().to_vec(),
            steps: steps.as_slice().to_vec(),
            limit: params.rows,
        }
    }
}

impl TimelineMeasured {
    /// Adds what the next part has recorded.
    pub(crate) fn absorb(&mut self, next: TimelineMeasured) {
        self.calls.extend(next.calls);
        self.accesses.extend(next.accesses);
        self.steps.extend(next.steps);
        for (sum, seen) in self.seen.iter_mut().zip(next.seen) {
            *sum += seen;
        }
        self.limit = self.limit.max(next.limit);
    }

    /// Keeps of all parts together the rows that have ended first.
    pub(crate) fn keep_first(&mut self) {
        first_rows::keep_first(&mut self.calls, self.limit, |call| call.end);
        first_rows::keep_first(&mut self.accesses, self.limit, |access| access.end);
        first_rows::keep_first(&mut self.steps, self.limit, |step| step.time);
    }
}

/// The row of `activity`, which ends at `now` or, `unfinished`, is under way then; none of a report, which is no call.
fn call_record(layout: &Layout, activity: &Activity, now: Time, unfinished: bool) -> Option<CallRecord> {
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
        charge: charge(activity),
        unfinished,
        peer: what.peer,
        request: what.request,
        count: what.count,
        bytes: what.bytes,
        number: what.number,
    })
}
