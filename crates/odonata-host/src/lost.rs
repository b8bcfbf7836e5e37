//! Lost time: how much later ranks come to where they are because something was waited for, by whose fault
//! ([`odonata_blame::lost`]).
//!
//! Whatever happens at a host has a [`Stamp`]: when it happened, when it would have happened without waits, and to whom the
//! difference is due. While an event is handled, one stamp is [current](LostTime::current): that of the message that has
//! arrived, of the operation that goes on, of the request that a server works on. Whatever is sent then takes it along, and
//! whatever completes then has it:
//!
//! | stamp of | is |
//! |---|---|
//! | a rank | that of the operation that ended last |
//! | an operation | that of its rank when it began, joined with all requests that it has waited for and with its own end |
//! | a request | that of the message, or of the departure, that completed it |
//! | a message | that of what sent it, and what its last packet has lost on its way |
//! | a message by rendezvous | the receive and the RTS are joined at the match; the CTS takes that along, and the data |
//! | a request at a server | that of its message, what it waits there, and each of its pieces that arrives |
//! | a request to the lower tier | that of the request whose piece it is, which needs all answers |
//! | the end of a job | that of all its ranks, with what each had lost before its start |
//! | the start of a job | that of the ends of all jobs that it starts after, and of its stage-in |
//!
//! Culprits are traffics: number `2 job` is the job's MPI, the next one its I/O.

mod mpi;
mod outside;
pub(crate) mod path;
pub(crate) mod progress;
mod start;
mod storage;

pub(crate) use outside::OutsideBlock;

use crate::params::HostParams;
use odonata_blame::lost::{Carried, Key, Origin, Stamp, Stamps};
use odonata_engine::{Mode, Time};
use outside::OutsideLinks;
use path::PathLog;
use progress::ProgressLog;
use std::sync::Arc;

/// What has a stamp.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// A rank, since its last operation.
    Rank(u32),
    /// An operation, since its last step.
    Operation(u32),
    /// An operation, with all that it has waited for in the step under way.
    Step(u32),
    /// A request.
    Request(u32),
    /// A message that waits for its receive or for a predecessor: receiver, sender, context, number.
    Envelope(u32, u32, u32, u32),
    /// A message within a node.
    Local(u32),
    /// A matched RTS that is not answered yet.
    Incoming(u32),
    /// Data that a CTS has asked for.
    Outgoing(u32),
    /// A request to storage, at its client.
    StorageRequest(u32),
    /// A request at a storage server: client, and its name for the request.
    Server(u32, u32),
    /// A call at a metadata server, in the same way.
    Metadata(u32, u32),
    /// An attempt of a server at a part of a request to the lower tier.
    Attempt(u32),
    /// The start of a rank, which a rule or its stage-in has kept waiting.
    Start(u32),
    /// At a rank: its input files, and those of the ranks below it.
    Staged(u32),
    /// At a rank: its end, and that of the ranks below it.
    Ended(u32),
    /// What has told the source of a rank to stop.
    Told(u32),
    /// At rank 0 of a job: the ends of the jobs that it starts after.
    Awaited(u32),
    /// A piece of a request that a device serves.
    Access(u32),
    /// The last access of a job that a device has served: the device, the job.
    Device(u32, u16),
    /// The last block of a job on a link to or from a file system outside: the link, the job.
    OutsideBlock(u32, u16),
}

impl Of {
    fn key(self) -> Key {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        match self {
            Of::Rank(n) => (pair(0, n), 0),
            Of::Operation(n) => (pair(1, n), 0),
            Of::Step(n) => (pair(2, n), 0),
            Of::Request(n) => (pair(3, n), 0),
            Of::Local(n) => (pair(4, n), 0),
            Of::Incoming(n) => (pair(5, n), 0),
            Of::Outgoing(n) => (pair(6, n), 0),
            Of::StorageRequest(n) => (pair(7, n), 0),
            Of::Server(client, token) => (pair(8, token), pair(client, 0)),
            Of::Metadata(client, token) => (pair(9, token), pair(client, 0)),
            Of::Attempt(n) => (pair(10, n), 0),
            Of::OutsideBlock(link, owner) => (pair(12, link), u64::from(owner)),
            Of::Start(n) => (pair(13, n), 0),
            Of::Staged(n) => (pair(14, n), 0),
            Of::Ended(n) => (pair(15, n), 0),
            Of::Awaited(n) => (pair(16, n), 0),
            Of::Told(n) => (pair(17, n), 0),
            Of::Access(piece) => (pair(19, piece), 0),
            Of::Device(device, owner) => (pair(18, device), u64::from(owner)),
            // The first bit tells it from all of the above.
            Of::Envelope(to, from, context, sequence) => (pair(1 << 31 | from, to), pair(context, sequence)),
        }
    }
}

/// The stamps of the hosts of a part; none where lost time is not kept.
#[derive(Debug)]
pub(crate) struct LostTime {
    stamps: Stamps,
    path: PathLog,
    progress: ProgressLog,
    outside: OutsideLinks,
    /// Of what is being handled; without meaning between events.
    pub(crate) current: Stamp,
}
odonata_engine::journalled!(LostTime {
    stamps,
    path,
    progress,
    outside
});

impl LostTime {
    /// Of a part with these ranks, given as for a [`SparseStore`](odonata_engine::SparseStore), in a run of so many jobs.
    pub(crate) fn new(params: &HostParams, ranks: &(Arc<[u32]>, Arc<[u32]>), jobs: usize) -> LostTime {
        let kept = params.lost_time;
        let keep = if kept { params.lost_time_path } else { 0 };
        LostTime {
            stamps: Stamps::new(if kept { 8 * ranks.1.len() + 1 } else { 0 }),
            path: PathLog::new(ranks, keep),
            progress: ProgressLog::new(kept, jobs, params.lost_time_interval),
            outside: OutsideLinks::default(),
            current: Stamp::default(),
        }
    }

    /// Whether it is kept.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.stamps.is_on()
    }

    /// What is handled now has this stamp.
    pub(crate) fn is_now(&mut self, stamp: Stamp) {
        self.current = stamp;
    }

    /// An event of which nothing is known is handled: nothing is lost in it.
    #[inline]
    pub(crate) fn begins(&mut self, now: Time) {
        if self.is_on() {
            self.current = Stamp::start(now);
        }
    }

    /// What is handled belongs to `of`.
    #[inline]
    pub(crate) fn continues(&mut self, of: Of, now: Time) {
        if self.is_on()
            && let Some(stamp) = self.stamps.get(of.key())
        {
            self.current = stamp.later(now);
        }
    }

    /// The same for the last time: `of` is complete, and nobody asks for it any more.
    #[inline]
    pub(crate) fn is_complete<M: Mode>(&mut self, of: Of, now: Time) {
        self.continues(of, now);
        self.forget::<M>(of);
    }

    /// `of` has happened now, by what is handled.
    #[inline]
    pub(crate) fn note<M: Mode>(&mut self, of: Of) {
        if self.is_on() {
            self.stamps.set::<M>(of.key(), &self.current);
        }
    }

    /// `of` needs what is handled, too.
    #[inline]
    pub(crate) fn needs_current<M: Mode>(&mut self, of: Of) {
        if self.is_on() {
            self.stamps.join::<M>(of.key(), &self.current);
        }
    }

    /// `of` needs `other`, which is not asked for again.
    fn needs<M: Mode>(&mut self, of: Of, other: Of) {
        if let Some(other) = self.stamps.take::<M>(other.key()) {
            self.stamps.join::<M>(of.key(), &other);
        }
    }

    /// What is handled needs `of`, which is not asked for again.
    #[inline]
    pub(crate) fn takes<M: Mode>(&mut self, of: Of) {
        if self.is_on()
            && let Some(stamp) = self.stamps.take::<M>(of.key())
        {
            self.current.join(&stamp);
        }
    }

    /// What a message takes along that is sent now.
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

    /// What jobs lose as they go on.
    pub(crate) fn progress(&self) -> &ProgressLog {
        &self.progress
    }

    /// The stamp of `of`.
    pub(crate) fn stamp(&self, of: Of) -> Option<Stamp> {
        self.stamps.get(of.key())
    }

    /// Nobody asks for `of` any more.
    #[inline]
    pub(crate) fn forget<M: Mode>(&mut self, of: Of) {
        if self.is_on() {
            self.stamps.forget::<M>(of.key());
        }
    }

    /// Bytes of memory held.
    pub(crate) fn footprint(&self) -> usize {
        self.stamps.memory() + self.path.memory() + self.progress.memory() + self.outside.memory()
    }
}
