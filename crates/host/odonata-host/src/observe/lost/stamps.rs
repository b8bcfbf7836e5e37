//! The stamps at the hosts, and the stamp of the event in progress.
//!
//! Every owner of a stamp is a [`Dependent`]. While the hosts handle an event, one stamp is
//! [current](StampTable::current): facts give it to a dependent, join it into the stamp of one, or take one over.

use odonata_blame::lost::{Carried, Key, Stamp, Stamps};
use odonata_engine::{Mode, NIL, Time};

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
    /// The key of its stamp.
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

/// The stamps of the hosts of a part by their owners; empty if lost time is not recorded.
#[derive(Debug)]
pub(crate) struct StampTable {
    stamps: Stamps,
    /// The stamp of the event in progress; meaningless between events.
    pub(crate) current: Stamp,
    /// Causes of effects that have not been carried out; empty between inputs.
    causes: Vec<Stamp>,
}
odonata_engine::journalled!(StampTable { stamps });

impl StampTable {
    /// A table with `cells` cells at first; with 0, lost time is not recorded.
    pub(super) fn new(cells: usize) -> StampTable {
        StampTable {
            stamps: Stamps::new(cells),
            current: Stamp::default(),
            causes: Vec::new(),
        }
    }

    /// Whether lost time is recorded.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.stamps.is_on()
    }

    /// Makes `stamp` current.
    pub(crate) fn is_now(&mut self, stamp: Stamp) {
        self.current = stamp;
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
    pub(super) fn needs<M: Mode>(&mut self, dependent: Dependent, other: Dependent) {
        if let Some(other) = self.take::<M>(other) {
            self.join::<M>(dependent, &other);
        }
    }

    /// Joins the stamp of `dependent` into the current one, and removes it.
    #[inline]
    pub(crate) fn takes<M: Mode>(&mut self, dependent: Dependent) {
        if self.is_on()
            && let Some(stamp) = self.take::<M>(dependent)
        {
            self.current.join(&stamp);
        }
    }

    /// Whether `dependent` has a stamp.
    pub(super) fn has(&self, dependent: Dependent) -> bool {
        self.stamps.has(dependent.key())
    }

    /// Gives `dependent` a stamp.
    pub(super) fn set<M: Mode>(&mut self, dependent: Dependent, stamp: &Stamp) {
        self.stamps.set::<M>(dependent.key(), stamp);
    }

    /// Joins `stamp` into that of `dependent`.
    pub(super) fn join<M: Mode>(&mut self, dependent: Dependent, stamp: &Stamp) {
        self.stamps.join::<M>(dependent.key(), stamp);
    }

    /// Removes the stamp of `dependent`, and returns it.
    pub(super) fn take<M: Mode>(&mut self, dependent: Dependent) -> Option<Stamp> {
        self.stamps.take::<M>(dependent.key())
    }

    /// The stamp of `dependent`.
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

    /// The stamp that a message sent now carries.
    #[inline]
    pub(crate) fn carried(&self) -> Carried {
        Carried {
            origin: self.current.origin,
            losses: self.current.losses.clone(),
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
}
