//! Blame of waits of metadata calls: the books of metadata servers.
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
/// A server that is stalled or slow.
const LOST: Cause = 2;
/// Number of resources of a server.
pub(super) const RESOURCES: u32 = 2;

/// Calls of one owner that wait for a directory.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Waiters {
    owner: Owner,
    count: u32,
    /// Their waiting time that is charged when the directory becomes free, in ps.
    deferred: u64,
    next: u32,
}

odonata_engine::slots!(Waiters);

/// The books; empty if no books are kept.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) ledger: Ledger,
    waiters: Pool<Waiters>,
    /// The holders of threads and directories over time: a line for the threads of each server, then one for each directory. Empty
    /// unless waits of single calls are recorded.
    histories: Histories,
    /// The waits of calls; empty between inputs.
    losses: Vec<RequestLoss>,
    /// The clock of each server; empty without faults.
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

    /// Books the waits for threads of `server` until `now`. Returns their line.
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

    /// A thread has served a call of `owner` since `since`: charges the part due to a fault.
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

    /// The call has a thread.
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

    /// A call begins to wait in `line` of the histories. Returns its position there.
    pub(super) fn joins<M: Mode>(&mut self, now: Time, line: u32) -> Place {
        if !self.histories.is_on() {
            return Place::NONE;
        }
        self.histories.held_until::<M>(line, now, None);
        self.histories.join::<M>(line, now, None)
    }

    /// `owner` held the resource of `line` until `now`, alone or among others.
    pub(super) fn frees<M: Mode>(&mut self, now: Time, line: u32, by: (Owner, Cause)) {
        if self.histories.is_on() {
            self.histories.held_until::<M>(line, now, None);
            self.histories.settle::<M>(line, by);
        }
    }

    /// The wait of `call` in `line` ends.
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

    /// Adds up the waits for `directory` until `now`.
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

    /// A call of `owner` has ended its change of `directory` of `server`: charges the waits for the directory.
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

    /// The waits for a directory have ended: frees its counts.
    pub(super) fn forget<M: Mode>(&mut self, mut waiters: List) {
        while let Some(slot) = waiters.pop(&self.waiters) {
            self.waiters.free::<M>(slot);
        }
    }
}

/// The time that metadata calls of one job waited for another job at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataCharge {
    /// The server.
    pub server: u32,
    /// Whether they waited for a directory; otherwise for a thread.
    pub directory: bool,
    /// Whether they waited for a fault and not for a job.
    pub fault: bool,
    /// The job whose calls waited.
    pub victim: u16,
    /// The job whose calls they waited for; `None` if the run ended before that was known.
    pub culprit: Option<u16>,
    /// The waiting time, summed over calls.
    pub time: Time,
}

impl MetadataServers {
    /// Keeps books of the waits between `jobs` jobs; with `interval`, also as a time series. With `faults`, if a server of the
    /// machine has faults, delays due to faults are charged to the faults.
    pub fn with_blame(self, jobs: u16, interval: Option<Time>, faults: bool) -> Self {
        let clocks = if faults { self.clocks.clone() } else { Vec::new() };
        MetadataServers {
            books: Books::new(self.len(), jobs, interval, (faults, clocks)),
            ..self
        }
    }

    /// Records the waits of single calls, if books are kept.
    pub fn with_losses(mut self) -> Self {
        self.books.histories = Histories::new(self.books.is_on());
        self
    }

    /// The waits of calls that the last input ended, if they are recorded.
    pub fn take_losses(&mut self) -> Vec<RequestLoss> {
        std::mem::take(&mut self.books.losses)
    }

    /// The line of `directory` in the histories.
    pub(super) fn line_of(&self, directory: u32) -> u32 {
        self.len() + directory
    }

    /// The waiting times between jobs by server, resource, victim and culprit, in this order; empty unless books are kept.
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

    /// The same as a time series, if one is kept: start of the interval, resource, victim, culprit, time.
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

    /// Ends the books at `now`, the end of the run; calls may still be open.
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
