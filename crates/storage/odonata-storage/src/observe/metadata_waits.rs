//! The instrument of metadata servers: which job's calls wait for which job.
//!
//! | a call waits for | while | charged to the owner of |
//! |---|---|---|
//! | a thread | all threads of its server are busy | the call that ends next there |
//! | its directory | another call changes the directory, or waits to | the call that ends next in that directory |
//!
//! The time that a server loses to a fault is charged to the fault.

use odonata_blame::{Cause, Histories, Ledger, Owner, Place};
use odonata_engine::{GrowableStore, List, Mode, NIL, Plain, Pool, Time, journalled};

use super::{RequestLoss, charges};
use crate::RequestHeader;
use crate::faults::FaultClock;

/// A service thread.
const THREAD: Cause = 0;
/// The directory of the call.
const DIRECTORY: Cause = 1;
/// A server that is stalled or slow.
const LOST: Cause = 2;
/// Number of resources of a server.
const RESOURCES: u32 = 2;

/// A call at a server, as the instrument sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedCall {
    pub(crate) slot: u32,
    pub(crate) server: u32,
    pub(crate) header: RequestHeader,
}

/// Calls of one owner that wait for a directory.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Waiters {
    owner: Owner,
    count: u32,
    /// Their waiting time that is charged when the directory becomes free, in ps.
    deferred: u64,
    next: u32,
}

odonata_engine::slots!(Waiters);

/// The calls that wait for a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct DirectoryWaits {
    /// By owner.
    waiters: List,
    /// The time until which their waits are added up.
    added_until: Time,
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

/// The waits of calls at a set of servers; empty if they are not recorded.
#[derive(Debug)]
pub(crate) struct MetadataWaits {
    servers: u32,
    ledger: Ledger,
    /// Of directories, by their slots.
    directories: GrowableStore<DirectoryWaits>,
    waiters: Pool<Waiters>,
    /// The holders of threads and directories over time: a line for the threads of each server, then one for each directory. Empty
    /// unless waits of single calls are recorded.
    histories: Histories,
    /// The position of each waiting call in the history of its line, by its slot.
    places: GrowableStore<Option<Place>>,
    /// The waits of calls; empty between inputs.
    losses: Vec<RequestLoss>,
    /// The clock of each server; empty without faults.
    clocks: Vec<FaultClock>,
}
journalled!(MetadataWaits {
    ledger,
    directories,
    waiters,
    histories,
    places
});

impl MetadataWaits {
    pub(crate) fn off() -> Self {
        MetadataWaits {
            servers: 0,
            ledger: Ledger::off(),
            directories: GrowableStore::new(),
            waiters: Pool::new(),
            histories: Histories::new(false),
            places: GrowableStore::new(),
            losses: Vec::new(),
            clocks: Vec::new(),
        }
    }

    /// A ledger of the waits between `jobs` jobs; with `interval`, also as a time series. `faults`: the clocks of the servers, if a
    /// server of the machine has faults.
    pub(crate) fn new(servers: u32, jobs: u16, interval: Option<Time>, faults: Option<Vec<FaultClock>>) -> Self {
        let lines = vec![0; (servers * RESOURCES) as usize];
        let causes = RESOURCES as u8 + u8::from(faults.is_some());
        MetadataWaits {
            servers,
            ledger: Ledger::new(lines, 1, jobs, causes, interval),
            clocks: faults.unwrap_or_default(),
            ..MetadataWaits::off()
        }
    }

    /// Records the waits of single calls, if there is a ledger.
    pub(crate) fn record_calls(&mut self) {
        self.histories = Histories::new(self.is_on());
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.ledger.is_on()
    }

    pub(crate) fn take_losses(&mut self) -> Vec<RequestLoss> {
        std::mem::take(&mut self.losses)
    }

    pub(crate) fn charges(&self) -> impl Iterator<Item = MetadataCharge> + use<'_> {
        self.ledger.charges().map(|charge| MetadataCharge {
            server: charge.line / RESOURCES,
            directory: charge.line % RESOURCES == u32::from(DIRECTORY),
            fault: charge.culprit.is_some() && charge.cause == LOST,
            victim: charge.victim,
            culprit: charge.culprit.filter(|_| charge.cause != LOST),
            time: charge.time,
        })
    }

    pub(crate) fn series(&self) -> impl Iterator<Item = (Time, u8, u16, u16, Time)> + use<'_> {
        let series = self.ledger.series();
        series.map(|charge| {
            let resource = match charge.cause {
                DIRECTORY => charges::DIRECTORY,
                LOST => charges::METADATA_FAULT,
                _ => charges::THREAD,
            };
            (charge.start, resource, charge.victim, charge.culprit, charge.time)
        })
    }

    pub(crate) fn audit(&self) -> Result<(), String> {
        match self.is_on() {
            true => self.ledger.audit(),
            false => Ok(()),
        }
    }

    /// `call` begins to wait for a thread.
    pub(crate) fn call_waits_for_thread<M: Mode>(&mut self, now: Time, call: ObservedCall) {
        if self.is_on() {
            let line = self.charge_threads::<M>(now, call.server);
            self.ledger.join::<M>(line, now, call.header.owner);
            self.join::<M>(now, call.server, call.slot);
        }
    }

    /// `call`, which has waited, has a thread.
    pub(crate) fn call_has_thread<M: Mode>(&mut self, now: Time, call: ObservedCall) {
        if self.is_on() {
            let line = self.charge_threads::<M>(now, call.server);
            self.ledger.leave::<M>(line, now, call.header.owner);
            self.leave::<M>(now, (call.server, THREAD), call);
        }
    }

    /// A thread has served a call of `owner` since `since`, and is free.
    pub(crate) fn thread_is_freed<M: Mode>(&mut self, now: Time, server: u32, owner: Owner, since: Time) {
        if !self.is_on() {
            return;
        }
        if let Some(clock) = self.clocks.get(server as usize) {
            let time = clock.lost(since, now);
            if time > Time::ZERO {
                let line = server * RESOURCES;
                self.ledger.wait_begins::<M>(now - time, owner);
                self.ledger.charge_time::<M>(line, now, owner, time, (0, LOST));
                self.ledger.wait_ends::<M>(now, owner);
            }
        }
        self.threads_are_freed::<M>(now, server, owner);
        self.is_freed::<M>(now, server, (owner, THREAD));
    }

    /// `server` fails while calls wait for a thread; `owner` has one.
    pub(crate) fn server_fails<M: Mode>(&mut self, now: Time, server: u32, owner: Owner) {
        if self.is_on() {
            self.threads_are_freed::<M>(now, server, owner);
        }
    }

    fn threads_are_freed<M: Mode>(&mut self, now: Time, server: u32, owner: Owner) {
        let line = self.charge_threads::<M>(now, server);
        self.ledger.settle::<M>(line, now, owner, THREAD);
    }

    /// `call` begins to wait for `directory`.
    pub(crate) fn call_waits_for_directory<M: Mode>(&mut self, now: Time, directory: u32, call: ObservedCall) {
        if self.is_on() {
            self.waiters_change::<M>(now, directory, call.header.owner, true);
            self.join::<M>(now, self.line_of(directory), call.slot);
        }
    }

    /// `call`, which has waited, has `directory`, or its server has failed.
    pub(crate) fn call_has_directory<M: Mode>(&mut self, now: Time, directory: u32, call: ObservedCall) {
        if self.is_on() {
            self.waiters_change::<M>(now, directory, call.header.owner, false);
            self.leave::<M>(now, (self.line_of(directory), DIRECTORY), call);
        }
    }

    /// A call of `owner` has ended its change of `directory` at `server`, and others go on.
    pub(crate) fn directory_is_freed<M: Mode>(&mut self, now: Time, server: u32, directory: u32, owner: Owner) {
        if self.is_on() {
            self.charge_directory::<M>(now, server, directory, owner);
            self.is_freed::<M>(now, self.line_of(directory), (owner, DIRECTORY));
        }
    }

    /// The server of `directory` fails; `owner` has a thread there.
    pub(crate) fn directory_fails<M: Mode>(&mut self, now: Time, server: u32, directory: u32, owner: Owner) {
        if self.is_on() {
            self.charge_directory::<M>(now, server, directory, owner);
        }
    }

    /// No call has or wants `directory` any more.
    pub(crate) fn directory_ends<M: Mode>(&mut self, directory: u32) {
        if !self.is_on() {
            return;
        }
        let DirectoryWaits { mut waiters, .. } = self.directories.get(directory as usize);
        while let Some(slot) = waiters.pop(&self.waiters) {
            self.waiters.free::<M>(slot);
        }
        *self.directories.edit::<M>(directory as usize) = DirectoryWaits::default();
    }

    /// The run ends at `now`: charges the open waits for threads.
    pub(crate) fn close_threads(&mut self, now: Time) {
        if self.is_on() {
            for server in 0..self.servers {
                self.charge_threads::<Plain>(now, server);
            }
        }
    }

    /// The run ends at `now`: charges the open waits for `directory` at `server`.
    pub(crate) fn close_directory(&mut self, now: Time, server: u32, directory: u32) {
        if !self.is_on() {
            return;
        }
        self.add_up::<Plain>(now, directory);
        let line = server * RESOURCES + u32::from(DIRECTORY);
        let waiters = self.directories.get(directory as usize).waiters;
        for slot in waiters.iter(&self.waiters) {
            let Waiters { owner, deferred, .. } = *self.waiters.get(slot);
            if deferred > 0 {
                self.ledger.defer_time::<Plain>(line, owner, Time(deferred));
            }
        }
    }

    /// The line of `directory` in the histories.
    fn line_of(&self, directory: u32) -> u32 {
        self.servers + directory
    }

    /// Defers the waits for threads of `server` until `now`, or charges them to faults. Returns their line.
    fn charge_threads<M: Mode>(&mut self, now: Time, server: u32) -> u32 {
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

    /// The call in `slot` begins to wait in `line` of the histories.
    fn join<M: Mode>(&mut self, now: Time, line: u32, slot: u32) {
        if self.histories.is_on() {
            self.histories.held_until::<M>(line, now, None);
            let place = self.histories.join::<M>(line, now, None);
            *self.places.edit::<M>(slot as usize) = Some(place);
        }
    }

    /// The resource of `line` was held until `now`, alone or among others.
    fn is_freed<M: Mode>(&mut self, now: Time, line: u32, by: (Owner, Cause)) {
        if self.histories.is_on() {
            self.histories.held_until::<M>(line, now, None);
            self.histories.settle::<M>(line, by);
        }
    }

    /// The wait of `call` in `line` of the histories ends.
    fn leave<M: Mode>(&mut self, now: Time, (line, cause): (u32, Cause), call: ObservedCall) {
        let Some(place) = self.places.get(call.slot as usize).filter(|place| place.is_taken()) else {
            return;
        };
        *self.places.edit::<M>(call.slot as usize) = None;
        let (losses, unknown) = (&mut self.losses, (call.header.owner, cause));
        (self.histories).leave::<M>(line, place, now, unknown, |(culprit, cause), (from, to)| {
            losses.push(RequestLoss {
                header: call.header,
                server: call.server,
                culprit,
                resource: charges::THREAD + cause,
                device: None,
                from,
                until: to,
            });
        });
    }

    /// Adds up the waits for `directory` until `now`.
    fn add_up<M: Mode>(&mut self, now: Time, directory: u32) {
        let DirectoryWaits { waiters, added_until } = self.directories.get(directory as usize);
        let mut slot = waiters.head;
        if slot == NIL || added_until == now {
            return;
        }
        self.directories.edit::<M>(directory as usize).added_until = now;
        let span = (now - added_until).0;
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

    /// One call of `owner` more, or less, waits for `directory`.
    fn waiters_change<M: Mode>(&mut self, now: Time, directory: u32, owner: Owner, joins: bool) {
        self.add_up::<M>(now, directory);
        match joins {
            true => self.ledger.wait_begins::<M>(now, owner),
            false => self.ledger.wait_ends::<M>(now, owner),
        }
        let mut waiters = self.directories.get(directory as usize).waiters;
        let known = waiters
            .iter(&self.waiters)
            .find(|&slot| self.waiters.get(slot).owner == owner);
        let slot = match known {
            Some(slot) => slot,
            None => {
                let slot = self.waiters.allocate::<M>(Waiters {
                    owner,
                    count: 0,
                    deferred: 0,
                    next: NIL,
                });
                waiters.push::<M, _>(&mut self.waiters, slot);
                let cell = self.directories.edit::<M>(directory as usize);
                (cell.waiters, cell.added_until) = (waiters, now);
                slot
            }
        };
        let count = &mut self.waiters.edit::<M>(slot).count;
        *count = if joins { *count + 1 } else { *count - 1 };
    }

    /// Charges the waits for `directory` of `server` until `now` to `owner`.
    fn charge_directory<M: Mode>(&mut self, now: Time, server: u32, directory: u32, owner: Owner) {
        self.add_up::<M>(now, directory);
        let mut slot = self.directories.get(directory as usize).waiters.head;
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
}
