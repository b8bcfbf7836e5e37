//! Exposed communication: the time in which ranks wait for it instead of computing, by the parallelism that it serves
//! ([`Parallelism`]).
//!
//! A wait of the pipeline is divided at the call of the sender whose message ends it: before, the rank is idle because
//! its neighbor is not as far (a bubble); after, it waits for the network. This is the "late sender" of Scalasca (F. Wolf,
//! B. Mohr, 2003). Only programs with one stream state the parallelism.

use super::facts::{MessageArrival, Observer, RequestTaken};
use crate::context::Uses;
use crate::io::facts::IoObserver;
use crate::layout::Layout;
use crate::mpi::request::kind::RequestKind;
use crate::rank::activity::Activity;
use crate::timeline::Charge;
use crate::timeline::call::charge;
use odonata_engine::{Digest, NIL, SparseStore, Time};
use odonata_workload::{Op, Parallelism};

/// Waits of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ExposedTime {
    /// By parallelism; without bubbles.
    waits: [Time; Parallelism::KINDS],
    /// Waits for neighbors in the pipeline that had not called their send.
    pub bubble: Time,
    /// The operation in progress, and the last call of a sender whose message it has waited for.
    operation: u32,
    sent: Time,
}

impl ExposedTime {
    /// Nothing yet.
    pub(crate) const NONE: ExposedTime = ExposedTime {
        waits: [Time::ZERO; Parallelism::KINDS],
        bubble: Time::ZERO,
        operation: NIL,
        sent: Time::ZERO,
    };

    /// Waits for communication of `parallelism`.
    pub fn wait(&self, parallelism: Parallelism) -> Time {
        self.waits[parallelism as usize]
    }

    /// Adds a wait for `parallelism` from `since` to `now`.
    fn add(&mut self, parallelism: Parallelism, since: Time, now: Time) {
        let bubble = match parallelism {
            Parallelism::Pipeline => self.sent.min(now).saturating_sub(since),
            _ => Time::ZERO,
        };
        self.bubble += bubble;
        self.waits[parallelism as usize] += now - since - bubble;
    }

    pub(crate) fn results(&self, digest: &mut Digest) {
        for time in self.waits.iter().chain([&self.bubble]) {
            digest.word(time.0);
        }
    }
}

/// The waits of the ranks of a part; empty if no program states its parallelism.
#[derive(Debug)]
pub(crate) struct ExposedLog {
    ranks: SparseStore<ExposedTime>,
    /// When the sender of the message that arrives in this event called; meaningless between events.
    sent: Time,
}
odonata_engine::journalled!(ExposedLog { ranks });

impl ExposedLog {
    pub(crate) fn new(ranks: SparseStore<ExposedTime>) -> ExposedLog {
        let sent = Time::ZERO;
        ExposedLog { ranks, sent }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.ranks.iter().next().is_some()
    }

    /// The waits of each rank whose program states its parallelism.
    pub(crate) fn iter<'a>(&'a self, layout: &'a Layout) -> impl Iterator<Item = (u32, ExposedTime)> + 'a {
        let stated =
            |&(rank, _): &(u32, &ExposedTime)| layout.program(rank).is_some_and(|program| program.has_parallelism());
        self.ranks.iter().filter(stated).map(|(rank, &time)| (rank, time))
    }

    /// Adds the wait of `op` of `rank`, in progress since `since`, to `time`.
    pub(crate) fn add(time: &mut ExposedTime, layout: &Layout, (rank, op): (u32, &Op), since: Time, now: Time) {
        if let Some(parallelism) = layout.program(rank).and_then(|program| program.parallelism(&op.kind)) {
            time.add(parallelism, since, now);
        }
    }
}

impl IoObserver for ExposedLog {}

impl Observer for ExposedLog {
    #[inline]
    fn event_begins<M: Uses>(&mut self, _: Time) {
        self.sent = Time::ZERO;
    }

    #[inline]
    fn message_arrives<M: Uses>(&mut self, arrival: &MessageArrival<'_>) {
        self.sent = arrival.created;
    }

    fn operation_begins<M: Uses>(&mut self, operation: u32, rank: u32, _: Time) {
        if self.is_on() {
            let cell = self.ranks.edit::<M>(rank);
            (cell.operation, cell.sent) = (operation, Time::ZERO);
        }
    }

    fn request_is_taken<M: Uses>(&mut self, taken: &RequestTaken) {
        let waited = taken.kind == RequestKind::Receive && !taken.was_done;
        if waited && self.is_on() && self.ranks.get(taken.rank).operation == taken.operation {
            let cell = self.ranks.edit::<M>(taken.rank);
            cell.sent = cell.sent.max(self.sent);
        }
    }

    fn activity_ends<M: Uses>(&mut self, layout: &Layout, activity: &Activity, for_io: bool, now: Time) {
        let Activity { op, rank, since, .. } = activity;
        if self.is_on() && charge(op, for_io) == Charge::Mpi {
            let mut time = *self.ranks.get(*rank);
            ExposedLog::add(&mut time, layout, (*rank, op), *since, now);
            *self.ranks.edit::<M>(*rank) = time;
        }
    }
}
