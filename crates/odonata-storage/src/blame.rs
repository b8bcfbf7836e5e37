//! Who holds up whose requests: the servers' books of [`odonata_blame`].
//!
//! The unit is a *request* as a whole, because that is what a client waits for. It waits for at most one thing:
//!
//! | waits for | while | charged to the owner of |
//! |---|---|---|
//! | [`SPACE`] | it has no reservation | the block whose space is free next |
//! | [`DEVICE`] | a piece of it is in the device's queue, none in service | the access in service |
//! | [`MEMORY`] | all its pieces wait for memory | the piece that gives its memory back next |
//!
//! In all other time it is served, or its data are on their way. An owner is a job. A block of the drain belongs to the
//! job that wrote its first byte.

use crate::Servers;
use crate::request::Wait;
use odonata_blame::{Cause, Ledger};
use odonata_engine::{List, Mode, NIL, Pool, Slot, Store, Time};

/// Space on the device.
const SPACE: Cause = 0;
/// A block of memory.
const MEMORY: Cause = 1;
/// The device.
const DEVICE: Cause = 2;

/// Names of what is waited for, by number.
pub const RESOURCES: [&str; 3] = ["space", "memory", "device"];

/// What requests of one job have waited for those of another at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServerCharge {
    /// The server.
    pub server: u32,
    /// What was waited for: an index into [`RESOURCES`].
    pub resource: u8,
    /// Whose requests waited.
    pub victim: u16,
    /// Who held the resource; `None` where the run ended before that was known.
    pub culprit: Option<u16>,
    /// How long, summed over requests.
    pub time: Time,
}

/// The same over time, for all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerWaitSeries {
    /// Start of the interval.
    pub start: Time,
    /// What was waited for: an index into [`RESOURCES`].
    pub resource: u8,
    /// Whose requests waited.
    pub victim: u16,
    /// Who held the resource.
    pub culprit: u16,
    /// How long, summed over requests.
    pub time: Time,
}

/// Bytes in the order of writing, all of one job.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Extent {
    bytes: u64,
    owner: u16,
    next: u32,
}

impl Slot for Extent {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// The books of a set of servers; empty where none are kept.
#[derive(Debug)]
pub(crate) struct Books {
    /// Lines: space, memory and device of each server.
    ledger: Ledger,
    /// Time in which devices served each job.
    service: Store<Time>,
    /// What has been written and not drained, oldest first, per server.
    written: Store<List>,
    extents: Pool<Extent>,
}
odonata_engine::journalled!(Books {
    ledger,
    service,
    written,
    extents
});

impl Books {
    pub(crate) fn off() -> Books {
        Books {
            ledger: Ledger::off(),
            service: Store::new(),
            written: Store::new(),
            extents: Pool::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.ledger.is_on()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// `bytes` of `owner` have been written.
    pub(crate) fn wrote<M: Mode>(&mut self, server: u32, owner: u16, bytes: u64) {
        if !self.is_on() {
            return;
        }
        let mut list = *self.written.get(server);
        if list.tail != NIL && self.extents.get(list.tail).owner == owner {
            self.extents.edit::<M>(list.tail).bytes += bytes;
            return;
        }
        let slot = self.extents.take::<M>(Extent {
            bytes,
            owner,
            next: NIL,
        });
        list.push::<M, _>(&mut self.extents, slot);
        *self.written.edit::<M>(server) = list;
    }

    /// The drain takes the oldest `bytes`; whose the first of them is.
    pub(crate) fn drained<M: Mode>(&mut self, server: u32, bytes: u64) -> u16 {
        if !self.is_on() {
            return 0;
        }
        let mut list = *self.written.get(server);
        let mut first = None;
        let mut left = bytes;
        while left > 0 && list.head != NIL {
            let Extent { bytes, owner, .. } = *self.extents.get(list.head);
            first = first.or(Some(owner));
            if bytes > left {
                self.extents.edit::<M>(list.head).bytes -= left;
                break;
            }
            left -= bytes;
            if let Some(slot) = list.pop(&self.extents) {
                self.extents.give::<M>(slot);
            }
        }
        *self.written.edit::<M>(server) = list;
        first.unwrap_or(0)
    }

    /// The device of a server has served `owner` for `time`.
    pub(crate) fn served<M: Mode>(&mut self, owner: u16, time: Time) {
        if self.is_on() {
            *self.service.edit::<M>(u32::from(owner)) += time;
        }
    }
}

fn line(server: u32, cause: Cause) -> u32 {
    server * RESOURCES.len() as u32 + u32::from(cause)
}

fn cause_of(wait: Wait) -> Option<Cause> {
    match wait {
        Wait::Nothing => None,
        Wait::Space => Some(SPACE),
        Wait::Memory => Some(MEMORY),
        Wait::Device => Some(DEVICE),
    }
}

impl Servers {
    /// Keeps books of who waited for whom, for `jobs` jobs; with `interval`, also over time.
    pub fn with_blame(mut self, jobs: u16, interval: Option<Time>) -> Self {
        let n = self.params.len();
        let lines = vec![0; n * RESOURCES.len()];
        self.books = Books {
            ledger: Ledger::new(lines, 1, jobs, RESOURCES.len() as u8, interval),
            service: Store::filled(usize::from(jobs), Time::ZERO),
            written: Store::filled(n, List::EMPTY),
            extents: Pool::new(),
        };
        self
    }

    /// Books the waits in a line until `now`.
    fn book<M: Mode>(&mut self, now: Time, server: u32, cause: Cause) {
        let in_service = self.devices.get(server).in_service;
        let line = line(server, cause);
        if cause == DEVICE && in_service != NIL {
            let holder = self.pieces.get(in_service).owner;
            self.books.ledger.charge::<M>(line, now, holder, DEVICE);
        } else {
            self.books.ledger.defer::<M>(line, now);
        }
    }

    /// The access in service at `server` is about to change.
    pub(crate) fn book_device<M: Mode>(&mut self, now: Time, server: u32) {
        if self.books.is_on() {
            self.book::<M>(now, server, DEVICE);
        }
    }

    /// `owner` gives back what others may wait for: space or memory.
    fn settle<M: Mode>(&mut self, now: Time, server: u32, cause: Cause, owner: u16) {
        if self.books.is_on() {
            self.book::<M>(now, server, cause);
            self.books.ledger.settle::<M>(line(server, cause), now, owner, cause);
        }
    }

    pub(crate) fn settle_space<M: Mode>(&mut self, now: Time, server: u32, owner: u16) {
        self.settle::<M>(now, server, SPACE, owner);
    }

    pub(crate) fn settle_memory<M: Mode>(&mut self, now: Time, server: u32, owner: u16) {
        self.settle::<M>(now, server, MEMORY, owner);
    }

    /// `request` waits for `wait` from now on.
    pub(crate) fn set_wait<M: Mode>(&mut self, now: Time, request: u32, wait: Wait) {
        let cell = *self.requests.get(request);
        if !self.books.is_on() || cell.wait == wait {
            return;
        }
        let (server, owner) = (cell.server, cell.what.owner);
        if let Some(cause) = cause_of(cell.wait) {
            self.book::<M>(now, server, cause);
            self.books.ledger.leave::<M>(line(server, cause), now, owner);
        }
        if let Some(cause) = cause_of(wait) {
            self.book::<M>(now, server, cause);
            self.books.ledger.join::<M>(line(server, cause), now, owner);
        }
        self.requests.edit::<M>(request).wait = wait;
    }

    /// Finds out anew what `request`, which has its space, waits for.
    pub(crate) fn reconsider<M: Mode>(&mut self, now: Time, request: u32) {
        if request != NIL && self.books.is_on() {
            let wait = self.requests.get(request).waits_for();
            self.set_wait::<M>(now, request, wait);
        }
    }

    /// Who waited for whom at which server, in order of server, resource, victim, culprit; empty unless books are
    /// kept.
    pub fn blame(&self) -> impl Iterator<Item = ServerCharge> + '_ {
        self.books.ledger.charges().map(|charge| ServerCharge {
            server: charge.line / RESOURCES.len() as u32,
            resource: (charge.line % RESOURCES.len() as u32) as u8,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// The same over time, if a time series is kept.
    pub fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> + '_ {
        self.books.ledger.series().map(|charge| ServerWaitSeries {
            start: charge.start,
            resource: charge.cause,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// Until when the time series is kept, if there is one.
    pub fn series_end(&self) -> Option<Time> {
        self.books.ledger.series_end()
    }

    /// Time in which devices served requests of `job`; zero unless books are kept.
    pub fn device_time(&self, job: u16) -> Time {
        match self.books.is_on() {
            true => *self.books.service.get(u32::from(job)),
            false => Time::ZERO,
        }
    }

    /// Ends the books at `now`, when a run ends in the middle of requests.
    pub fn close_books(&mut self, now: Time) {
        if self.books.is_on() {
            for server in 0..self.params.len() as u32 {
                for cause in [SPACE, MEMORY, DEVICE] {
                    self.book::<odonata_engine::Plain>(now, server, cause);
                }
            }
        }
    }
}
