//! Who holds up whose metadata calls: the books of metadata servers.
//!
//! | a call waits for | while | charged to the owner of |
//! |---|---|---|
//! | a thread | all threads of its server are busy | the call that ends next there |
//! | its directory | another call changes the directory, or waits to | the call that ends next in that directory |

use super::{Call, Directory, MetadataServers};
use crate::RequestLoss;
use crate::faults::FaultClock;
use odonata_blame::{Cause, Histories, Ledger, Owner, Place};
use odonata_engine::{List, Mode, NIL, Plain, Pool};
use odonata_units::Time;

/// A service thread.
pub(super) const THREAD: Cause = 0;
/// The directory of the call.
pub(super) const DIRECTORY: Cause = 1;
/// A server that stands still, or is slow.
const LOST: Cause = 2;
/// Resources of a server.
pub(super) const RESOURCES: u32 = 2;

/// Calls of one owner that wait for a directory.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Waiters {
    owner: Owner,
    count: u32,
    /// What they have waited and is charged when the directory is free next, in ps.
    deferred: u64,
    next: u32,
}

odonata_engine::slots!(Waiters);

/// The books; empty where none are kept.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) ledger: Ledger,
    waiters: Pool<Waiters>,
    /// Who had a thread or a directory last: a line for the threads of each server, then one for each directory. Empty
    /// where nobody asks whom a single call has waited for.
    histories: Histories,
    /// What calls have waited; empty between inputs.
    losses: Vec<RequestLoss>,
    /// The clock of each server; nothing where none has a fault.
    clocks: Vec<FaultClock>,
}
odonata_engine::journalled!(Books {
    ledger,
    waiters,
    histories
});

impl Books {
    pub(super) fn off() -> Books {
        Books {
            ledger: Ledger::off(),
            waiters: Pool::new(),
            histories: Histories::new(false),
            losses: Vec::new(),
            clocks: Vec::new(),
        }
    }

    pub(super) fn new(servers: u32, jobs: u16, interval: Option<Time>, faults: (bool, Vec<FaultClock>)) -> Books {
        let lines = vec![0; (servers * RESOURCES) as usize];
        Books {
            ledger: Ledger::new(lines, 1, jobs, RESOURCES as u8 + u8::from(faults.0), interval),
            waiters: Pool::new(),
            histories: Histories::new(false),
            losses: Vec::new(),
            clocks: faults.1,
        }
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.ledger.is_on()
    }

    /// Books the waits for threads of `server` until `now`: their line.
    pub(super) fn book_threads<M: Mode>(&mut self, now: Time, server: u32) -> u32 {
        let line = server * RESOURCES;
        if let (Some(clock), Some(since)) = (self.clocks.get(server as usize), self.ledger.unbooked_since(line))
            && since < now
        {
            for (end, lost) in clock.stretches(since, now) {
                match lost {
                    true => self.ledger.charge::<M>(line, end, 0, LOST),
                    false => self.ledger.defer::<M>(line, end),
                }
            }
        }
        self.ledger.defer::<M>(line, now);
        line
    }

    /// A thread has done a call of `owner`, which it began at `since`: what of that is due to a fault.
    pub(super) fn served_in_fault<M: Mode>(&mut self, now: Time, server: u32, since: Time, owner: Owner) {
        let Some(clock) = self.clocks.get(server as usize) else {
            return;
        };
        let time = clock.lost(since, now);
        if self.is_on() && time > Time::ZERO {
            self.ledger.wait_begins::<M>(now - time, owner);
            self.ledger
                .charge_time::<M>(server * RESOURCES, now, owner, time, (0, LOST));
            self.ledger.wait_ends::<M>(now, owner);
        }
    }

    /// A call of `owner` waits for a thread of `server`.
    pub(super) fn wants_thread<M: Mode>(&mut self, now: Time, server: u32, owner: Owner) {
        if self.is_on() {
            let line = self.book_threads::<M>(now, server);
            self.ledger.join::<M>(line, now, owner);
        }
    }

    /// It has got one.
    pub(super) fn has_thread<M: Mode>(&mut self, now: Time, server: u32, owner: Owner) {
        if self.is_on() {
            let line = self.book_threads::<M>(now, server);
            self.ledger.leave::<M>(line, now, owner);
        }
    }

    /// A call of `owner` has given its thread back.
    pub(super) fn frees_thread<M: Mode>(&mut self, now: Time, server: u32, owner: Owner) {
        if self.is_on() {
            let line = self.book_threads::<M>(now, server);
            self.ledger.settle::<M>(line, now, owner, THREAD);
        }
    }

    /// A call begins to wait in `line` of the histories; its place there.
    pub(super) fn joins<M: Mode>(&mut self, now: Time, line: u32) -> Place {
        if !self.histories.is_on() {
            return Place::NONE;
        }
        self.histories.held_until::<M>(line, now, None);
        self.histories.join::<M>(line, now, None)
    }

    /// Until `now`, `owner` has had what those in `line` wait for, or was one of those who had.
    pub(super) fn frees<M: Mode>(&mut self, now: Time, line: u32, by: (Owner, Cause)) {
        if self.histories.is_on() {
            self.histories.held_until::<M>(line, now, None);
            self.histories.settle::<M>(line, by);
        }
    }

    /// `call` does not wait in `line` any more.
    pub(super) fn leaves<M: Mode>(&mut self, now: Time, (line, cause): (u32, Cause), call: &Call) {
        if !call.place.is_taken() {
            return;
        }
        let (what, losses) = (call.what, &mut self.losses);
        let unknown = (what.header.owner, cause);
        (self.histories).leave::<M>(line, call.place, now, unknown, |(culprit, cause), (from, to)| {
            losses.push(RequestLoss {
                header: what.header,
                server: call.server,
                culprit,
                resource: crate::THREAD + cause,
                device: None,
                from,
                until: to,
            });
        });
    }

    /// Adds up what the calls that wait for `directory` have waited until `now`.
    fn book<M: Mode>(&mut self, now: Time, directory: &mut Directory) {
        let span = (now - directory.booked).0;
        directory.booked = now;
        if span > 0 {
            let mut slot = directory.waiters.head;
            while slot != NIL {
                let Waiters { count, next, .. } = *self.waiters.get(slot);
                if count > 0 {
                    let time = span.wrapping_mul(u64::from(count));
                    let cell = self.waiters.edit::<M>(slot);
                    cell.deferred = cell.deferred.wrapping_add(time);
                }
                slot = next;
            }
        }
    }

    /// One call of `owner` more, or less, waits for `directory`.
    pub(super) fn directory_waits<M: Mode>(&mut self, now: Time, directory: &mut Directory, owner: Owner, joins: bool) {
        if !self.is_on() {
            return;
        }
        self.book::<M>(now, directory);
        match joins {
            true => self.ledger.wait_begins::<M>(now, owner),
            false => self.ledger.wait_ends::<M>(now, owner),
        }
        let known = (directory.waiters.iter(&self.waiters)).find(|&slot| self.waiters.get(slot).owner == owner);
        let slot = match known {
            Some(slot) => slot,
            None => {
                let slot = self.waiters.allocate::<M>(Waiters {
                    owner,
                    count: 0,
                    deferred: 0,
                    next: NIL,
                });
                directory.waiters.push::<M, _>(&mut self.waiters, slot);
                slot
            }
        };
        let count = &mut self.waiters.edit::<M>(slot).count;
        *count = if joins { *count + 1 } else { *count - 1 };
    }

    /// A call of `owner` has changed `directory` of `server`, which is free: charges what others have waited for it.
    pub(super) fn frees_directory<M: Mode>(&mut self, now: Time, server: u32, directory: &mut Directory, owner: Owner) {
        if !self.is_on() {
            return;
        }
        self.book::<M>(now, directory);
        let mut slot = directory.waiters.head;
        while slot != NIL {
            let waiters = *self.waiters.get(slot);
            if waiters.deferred > 0 {
                self.waiters.edit::<M>(slot).deferred = 0;
                let (line, time) = (server * RESOURCES + u32::from(DIRECTORY), Time(waiters.deferred));
                self.ledger
                    .charge_time::<M>(line, now, waiters.owner, time, (owner, DIRECTORY));
            }
            slot = waiters.next;
        }
    }

    /// Nobody waits for a directory any more.
    pub(super) fn forget<M: Mode>(&mut self, mut waiters: List) {
        while let Some(slot) = waiters.pop(&self.waiters) {
            self.waiters.free::<M>(slot);
        }
    }
}

/// What metadata calls of one job have waited for those of another at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataCharge {
    /// The server.
    pub server: u32,
    /// Whether it was a directory that they waited for; else a thread.
    pub directory: bool,
    /// Whether it was a fault that held them up, and nobody.
    pub fault: bool,
    /// Whose calls waited.
    pub victim: u16,
    /// Whose calls they waited for; `None` where the run ended before that was known.
    pub culprit: Option<u16>,
    /// How long, summed over calls.
    pub time: Time,
}

impl MetadataServers {
    /// Keeps books of who waited for whom, for `jobs` jobs; with `interval`, also over time.
    /// With `faults`, if a server of the machine has some, what they cost is charged to them.
    pub fn with_blame(self, jobs: u16, interval: Option<Time>, faults: bool) -> Self {
        let clocks = if faults { self.clocks.clone() } else { Vec::new() };
        MetadataServers {
            books: Books::new(self.len(), jobs, interval, (faults, clocks)),
            ..self
        }
    }

    /// Keeps in mind whom each single call waits for, where books are kept.
    pub fn with_losses(mut self) -> Self {
        self.books.histories = Histories::new(self.books.is_on());
        self
    }

    /// What calls have waited for whom in the input that was handled last, where that is kept in mind.
    pub fn take_losses(&mut self) -> Vec<RequestLoss> {
        std::mem::take(&mut self.books.losses)
    }

    /// The line of `directory` in the histories.
    pub(super) fn line_of(&self, directory: u32) -> u32 {
        self.len() + directory
    }

    /// Who waited for whom at which server, in order of server, resource, victim, culprit; empty unless books are kept.
    pub fn blame(&self) -> impl Iterator<Item = MetadataCharge> + '_ {
        self.books.ledger.charges().map(|charge| MetadataCharge {
            server: charge.line / RESOURCES,
            directory: charge.line % RESOURCES == u32::from(DIRECTORY),
            fault: charge.culprit.is_some() && charge.cause == LOST,
            victim: charge.victim,
            culprit: charge.culprit.filter(|_| charge.cause != LOST),
            time: charge.time,
        })
    }

    /// The same over time, if a time series is kept: start of the interval, what was waited for, victim, culprit, time.
    pub fn blame_series(&self) -> impl Iterator<Item = (Time, u8, u16, u16, Time)> + '_ {
        let series = self.books.ledger.series();
        series.map(|charge| {
            let resource = match charge.cause {
                DIRECTORY => crate::DIRECTORY,
                LOST => crate::METADATA_FAULT,
                _ => crate::THREAD,
            };
            (charge.start, resource, charge.victim, charge.culprit, charge.time)
        })
    }

    /// Ends the books at `now`, when a run ends in the middle of calls.
    pub fn close_books(&mut self, now: Time) {
        if !self.books.is_on() {
            return;
        }
        for server in 0..self.len() {
            self.books.book_threads::<Plain>(now, server);
        }
        for bucket in 0..self.buckets.len() as u32 {
            let mut slot = self.buckets.get(bucket).head;
            while slot != NIL {
                let mut directory = *self.directories.get(slot);
                self.books.book::<Plain>(now, &mut directory);
                *self.directories.edit::<Plain>(slot) = directory;
                let line = super::server_of(bucket) * RESOURCES + u32::from(DIRECTORY);
                let waiters: Vec<Waiters> = (directory.waiters.iter(&self.books.waiters))
                    .map(|slot| *self.books.waiters.get(slot))
                    .collect();
                for waiters in waiters.into_iter().filter(|waiters| waiters.deferred > 0) {
                    let time = Time(waiters.deferred);
                    self.books.ledger.defer_time::<Plain>(line, waiters.owner, time);
                }
                slot = directory.next;
            }
        }
    }
}
