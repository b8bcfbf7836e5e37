//! Lost time: how much later ranks reach their position because of waits, and which traffic caused the delay
//! ([`odonata_blame::lost`]).
//!
//! Every occurrence at a host has a [`Stamp`]: its time, its time in a run without waits, and the traffic that caused
//! the difference. While the hosts handle an event, one stamp is [current](LostTime::current): that of the arrived
//! message, the resumed operation, or the request in service. A message sent during the event carries the current
//! stamp, and a completion takes it over:
//!
//! | stamp of | value |
//! |---|---|
//! | a rank | the stamp of the operation that ended last |
//! | an operation | the stamp of its rank at its begin, joined with those of all requests that it has waited for and with its own end |
//! | a request | the stamp of the message, or of the departure, that completed it |
//! | a message | the stamp at its send, plus the loss of its last packet on its route |
//! | a message by rendezvous | receive and RTS are joined at the match; CTS and data carry the result |
//! | a request at a server | the stamp of its message, plus its waits at the server, joined with each piece that arrives |
//! | a request to the next lower tier | the stamp of the request whose piece it serves, which needs all answers |
//! | the end of a job | the join over all its ranks, with the loss of each before its start |
//! | the start of a job | the join over the ends of all jobs that it starts after, and over its stage-in |
//!
//! Culprits are traffic classes: `2 job` is the job's MPI, `2 job + 1` its I/O.

mod facts;
mod outside;
pub(crate) mod path;
pub(crate) mod progress;
mod start;
mod storage;

use crate::params::HostParams;
use odonata_blame::lost::{Carried, Key, Origin, Stamp, Stamps};
use odonata_engine::{Mode, NIL, Time};
use outside::OutsideLinks;
use path::PathLog;
use progress::ProgressLog;
use std::sync::Arc;

/// The owner of a stamp.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dependent {
    /// A rank, at the end of its last operation.
    Rank(u32),
    /// An operation, at its last step.
    Operation(u32),
    /// An operation, joined with everything that it has waited for in the current step.
    Step(u32),
    Request(u32),
    /// A message that waits for its receive or for a predecessor: receiver, sender, context, number.
    Envelope(u32, u32, u32, u32),
    /// A message within a node.
    Local(u32),
    /// A matched RTS without an answer yet.
    Incoming(u32),
    /// A one-sided access that its target has not combined with its memory.
    Answer(u32),
    /// Data that a CTS has requested.
    Outgoing(u32),
    /// A request to storage, at its client.
    StorageRequest(u32),
    /// A request at a storage server: client, and its name for the request.
    Server(u32, u32),
    /// A call at a metadata server: the client, and the client's number for the call.
    Metadata(u32, u32),
    /// An attempt of a server at a part of a request to the lower tier.
    Attempt(u32),
    /// The start of a rank, which a rule or its stage-in has kept waiting.
    Start(u32),
    /// At a rank: its input files, and those of the ranks below it.
    Staged(u32),
    /// At a rank: its end, and that of the ranks below it.
    Ended(u32),
    /// The stop signal to the source of a rank.
    StopNotice(u32),
    /// At rank 0 of a job: the ends of the jobs that it starts after.
    Awaited(u32),
    /// A piece of a request in service at a device.
    Access(u32),
    /// The last access of a job that a device has served: the device, the job.
    Device(u32, u16),
    /// The last block of a job on a link to or from an external file system: the link, the job.
    OutsideBlock(u32, u16),
}

impl Dependent {
    fn key(self) -> Key {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        match self {
            Dependent::Rank(n) => (pair(0, n), 0),
            Dependent::Operation(n) => (pair(1, n), 0),
            Dependent::Step(n) => (pair(2, n), 0),
            Dependent::Request(n) => (pair(3, n), 0),
            Dependent::Local(n) => (pair(4, n), 0),
            Dependent::Incoming(n) => (pair(5, n), 0),
            Dependent::Outgoing(n) => (pair(6, n), 0),
            Dependent::StorageRequest(n) => (pair(7, n), 0),
            Dependent::Server(client, token) => (pair(8, token), pair(client, 0)),
            Dependent::Metadata(client, token) => (pair(9, token), pair(client, 0)),
            Dependent::Attempt(n) => (pair(10, n), 0),
            Dependent::OutsideBlock(link, owner) => (pair(12, link), u64::from(owner)),
            Dependent::Start(n) => (pair(13, n), 0),
            Dependent::Staged(n) => (pair(14, n), 0),
            Dependent::Ended(n) => (pair(15, n), 0),
            Dependent::Awaited(n) => (pair(16, n), 0),
            Dependent::StopNotice(n) => (pair(17, n), 0),
            Dependent::Access(piece) => (pair(19, piece), 0),
            Dependent::Answer(n) => (pair(20, n), 0),
            Dependent::Device(device, owner) => (pair(18, device), u64::from(owner)),
            // The first bit tells it from all of the above.
            Dependent::Envelope(to, from, context, sequence) => (pair(1 << 31 | from, to), pair(context, sequence)),
        }
    }
}

/// The stamps of the hosts of a part; empty if lost time is not recorded.
#[derive(Debug)]
pub(crate) struct LostTime {
    stamps: Stamps,
    path: PathLog,
    progress: ProgressLog,
    outside: OutsideLinks,
    /// The stamp of the event in progress; meaningless between events.
    pub(crate) current: Stamp,
    /// Causes of effects that have not been carried out; empty between inputs.
    causes: Vec<Stamp>,
}
odonata_engine::journalled!(LostTime {
    stamps,
    path,
    progress,
    outside
});

impl LostTime {
    /// For a part with these ranks, given as for a [`SparseStore`](odonata_engine::SparseStore), in a run of `jobs`
    /// jobs.
    pub(crate) fn new(params: &HostParams, ranks: &(Arc<[u32]>, Arc<[u32]>), jobs: usize) -> LostTime {
        let kept = params.lost_time;
        let keep = if kept { params.lost_time_path } else { 0 };
        LostTime {
            stamps: Stamps::new(if kept { 8 * ranks.1.len() + 1 } else { 0 }),
            path: PathLog::new(ranks, keep),
            progress: ProgressLog::new(kept, jobs, params.lost_time_interval),
            outside: OutsideLinks::default(),
            current: Stamp::default(),
            causes: Vec::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.stamps.is_on()
    }

    pub(crate) fn is_now(&mut self, stamp: Stamp) {
        self.current = stamp;
    }

    /// The current stamp, to be restored; `None` if lost time is not recorded.
    #[inline]
    pub(crate) fn save(&self) -> Option<Box<Stamp>> {
        self.is_on().then(|| Box::new(self.current.clone()))
    }

    /// Makes a saved stamp current again.
    #[inline]
    pub(crate) fn restore(&mut self, saved: Option<Box<Stamp>>) {
        if let Some(stamp) = saved {
            self.current = *stamp;
        }
    }

    /// The name of the current stamp, the cause of an effect that is carried out later; [`NIL`] if lost time is not
    /// recorded.
    #[inline]
    pub(crate) fn cause(&mut self) -> u32 {
        if !self.is_on() {
            return NIL;
        }
        self.causes.push(self.current.clone());
        self.causes.len() as u32 - 1
    }

    /// Makes stamp `cause` current, and returns the stamp to restore.
    pub(crate) fn act_for(&mut self, cause: u32) -> Option<Box<Stamp>> {
        let before = self.save();
        self.current = self.causes[cause as usize].clone();
        before
    }

    /// All effects are carried out.
    #[inline]
    pub(crate) fn forget_causes(&mut self) {
        if self.is_on() {
            self.causes.clear();
        }
    }

    /// Begins an event without a known cause: it has lost nothing.
    #[inline]
    pub(crate) fn begins(&mut self, now: Time) {
        if self.is_on() {
            self.current = Stamp::start(now);
        }
    }

    /// Makes the stamp of `dependent` current, advanced to `now`.
    #[inline]
    pub(crate) fn continues(&mut self, dependent: Dependent, now: Time) {
        if self.is_on()
            && let Some(stamp) = self.stamps.get(dependent.key())
        {
            self.current = stamp.later(now);
        }
    }

    /// Makes the stamp of `dependent` current and removes it, since `dependent` is complete.
    #[inline]
    pub(crate) fn is_complete<M: Mode>(&mut self, dependent: Dependent, now: Time) {
        self.continues(dependent, now);
        self.forget::<M>(dependent);
    }

    /// Gives `dependent` the current stamp.
    #[inline]
    pub(crate) fn note<M: Mode>(&mut self, dependent: Dependent) {
        if self.is_on() {
            self.stamps.set::<M>(dependent.key(), &self.current);
        }
    }

    /// Joins the current stamp into that of `dependent`.
    #[inline]
    pub(crate) fn needs_current<M: Mode>(&mut self, dependent: Dependent) {
        if self.is_on() {
            self.stamps.join::<M>(dependent.key(), &self.current);
        }
    }

    /// Joins the stamp of `other` into that of `dependent`, and removes that of `other`.
    fn needs<M: Mode>(&mut self, dependent: Dependent, other: Dependent) {
        if let Some(other) = self.stamps.take::<M>(other.key()) {
            self.stamps.join::<M>(dependent.key(), &other);
        }
    }

    /// Joins the stamp of `dependent` into the current one, and removes it.
    #[inline]
    pub(crate) fn takes<M: Mode>(&mut self, dependent: Dependent) {
        if self.is_on()
            && let Some(stamp) = self.stamps.take::<M>(dependent.key())
        {
            self.current.join(&stamp);
        }
    }

    /// The stamp that a message sent now carries.
    #[inline]
    pub(crate) fn carried(&self) -> Carried {
        Carried {
            origin: self.current.origin,
            losses: self.current.losses.clone(),
        }
    }

    /// The last waits of `rank`.
    pub(crate) fn path(&self) -> Option<&PathLog> {
        self.path.is_on().then_some(&self.path)
    }

    /// Lost time per iteration and per interval.
    pub(crate) fn progress(&self) -> &ProgressLog {
        &self.progress
    }

    pub(crate) fn stamp(&self, dependent: Dependent) -> Option<Stamp> {
        self.stamps.get(dependent.key())
    }

    /// Removes the stamp of `dependent`.
    #[inline]
    pub(crate) fn forget<M: Mode>(&mut self, dependent: Dependent) {
        if self.is_on() {
            self.stamps.forget::<M>(dependent.key());
        }
    }
}
