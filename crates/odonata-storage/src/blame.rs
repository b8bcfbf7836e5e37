//! Who holds up whose requests: the servers' books of [`odonata_blame`].
//!
//! The unit is a *request* as a whole, because that is what a client waits for. It waits for at most one thing:
//!
//! | waits for | while | charged to the owner of |
//! |---|---|---|
//! | [`SPACE`] | it has no reservation | the block whose space is free next |
//! | [`DEVICE`] | a piece of it is in the device's queue, none in service | the access in service; of several, the one that ends next |
//! | [`MEMORY`] | all its pieces wait for memory | the piece that gives its memory back next |
//!
//! A synchronization waits for what its file waits for, and beside that for a block of the [`RESERVE`] (`sync/waits.rs`).
//! A device that has nobody in service works off what it has put off: that is charged to the job whose turn came last.
//! While the device has a fault ([`FaultClock`](crate::faults)), what its clock loses is charged to that ([`FAULT`]): of those who wait for the
//! device, and of each access that is served for somebody who waits. Who waits for space or memory meanwhile does so for whom it
//! would have waited anyway.
//! In all other time it is served, or its data are on their way. An owner is a job. A block of the drain belongs to the
//! job that wrote its first byte.

use crate::accesses::{Accesses, DeviceAccess};
use crate::open_request::{OpenRequest, Wait};
use crate::{RequestHeader, Servers};
use odonata_blame::{Cause, Histories, Ledger, Place};
use odonata_engine::{List, Mode, NIL, Pool, Store, Time};

/// Space on the device.
pub(crate) const SPACE: Cause = 0;
/// A block of memory.
pub(crate) const MEMORY: Cause = 1;
/// The device.
pub(crate) const DEVICE: Cause = 2;

/// A block of the reserve of those that go down.
pub(crate) const RESERVE: Cause = 3;

/// A device that stands still, or is slow.
pub(crate) const LOST: Cause = 4;

/// Lines of a device: one for each of the resources above.
pub(crate) const LINES: u32 = 4;

/// Names of what requests wait for at a storage manager, by number.
pub const RESOURCES: [&str; 3] = ["space", "memory", "device"];

/// A lock on a range of a file ([`ExtentLocks`](crate::ExtentLocks)).
pub const LOCK: u8 = 3;
/// A thread of a metadata server ([`MetadataServers`](crate::MetadataServers)).
pub const THREAD: u8 = 4;
/// A directory that somebody changes, there.
pub const DIRECTORY: u8 = 5;
/// A storage server, or a device of it, that is away, stands still or is slow; nobody holds it.
pub const FAULT: u8 = 6;

/// The same of a metadata server.
pub const METADATA_FAULT: u8 = 7;

/// A block of the reserve, of those that a server hands down to the lower tier.
pub const RESERVED: u8 = 8;

/// Names of what is waited for at servers of all kinds, by number; the first are those of a storage manager.
pub const SERVER_RESOURCES: [&str; 9] = [
    "space",
    "memory",
    "device",
    "lock",
    "thread",
    "directory",
    "fault",
    "fault",
    "reserve",
];

/// Who waits at a server, a request or a synchronization, as long as somebody waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    /// Where it joined its line.
    pub(crate) place: Place,
    /// Whose it is.
    pub(crate) owner: u16,
    /// The header of its request; none of one that is answered, since the client may use its token again.
    pub(crate) name: Option<RequestHeader>,
}

impl Waiter {
    pub(crate) fn of(request: &OpenRequest) -> Waiter {
        let what = request.what;
        Waiter {
            place: request.place,
            owner: what.header.owner,
            name: (!request.answered).then_some(what.header),
        }
    }

    /// That it has waited for `time` in `line`, for what `culprit` had of `resource`.
    fn loss(self, line: u32, (culprit, resource): (u16, Cause), (from, until): (Time, Time)) -> Option<RequestLoss> {
        let waits_for_device = line % LINES == u32::from(DEVICE);
        self.name.map(|header| RequestLoss {
            header,
            // The device; `take_losses` says of which server.
            server: line / LINES,
            device: waits_for_device.then_some(line / LINES),
            culprit,
            resource: resource_of(resource),
            from,
            until,
        })
    }
}

/// What requests of one job have waited for those of another at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServerCharge {
    /// The server.
    pub server: u32,
    /// What was waited for: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// Whose requests waited.
    pub victim: u16,
    /// Who held the resource; `None` where the run ended before that was known, and of a fault.
    pub culprit: Option<u16>,
    /// How long, summed over requests.
    pub time: Time,
}

/// The same over time, for all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerWaitSeries {
    /// Start of the interval.
    pub start: Time,
    /// The tier of the servers; 0 of metadata servers.
    pub tier: u8,
    /// What was waited for: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// Whose requests waited.
    pub victim: u16,
    /// Who held the resource; 0 of a fault.
    pub culprit: u16,
    /// How long, summed over requests.
    pub time: Time,
}

/// What one request has waited for another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLoss {
    /// The request.
    pub header: RequestHeader,
    /// The server.
    pub server: u32,
    /// Whose request had what it waited for.
    pub culprit: u16,
    /// What that was: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// Of a wait for a device, which of all.
    pub device: Option<u32>,
    /// Since when.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

/// Bytes in the order of writing, all of one job.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Extent {
    bytes: u64,
    owner: u16,
    next: u32,
}

odonata_engine::slots!(Extent);

/// The books of a set of servers; empty where none are kept.
#[derive(Debug)]
pub(crate) struct Books {
    /// Lines of each device: its space, its server's memory (of the first device of a server alone), itself.
    ledger: Ledger,
    /// Time in which devices served each job.
    service: Store<u128>,
    /// What has been written and not drained, oldest first, per device.
    written: Store<List>,
    extents: Pool<Extent>,
    /// Who had what, by the lines of the ledger; empty where nobody asks whom a single request has waited for.
    histories: Histories,
    /// Who accesses the devices, kept in mind with the histories.
    pub(crate) accesses: Accesses,
    /// What requests have waited; empty between inputs.
    losses: Vec<RequestLoss>,
}
odonata_engine::journalled!(Books {
    ledger,
    service,
    written,
    extents,
    histories,
    accesses
});

impl Books {
    pub(crate) fn off() -> Books {
        Books {
            ledger: Ledger::off(),
            service: Store::new(),
            written: Store::new(),
            extents: Pool::new(),
            histories: Histories::new(false),
            accesses: Accesses::of(0),
            losses: Vec::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.ledger.is_on()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// `bytes` of `owner` have been written.
    pub(crate) fn wrote<M: Mode>(&mut self, device: u32, owner: u16, bytes: u64) {
        if !self.is_on() {
            return;
        }
        let mut list = *self.written.get(device);
        if list.tail != NIL && self.extents.get(list.tail).owner == owner {
            self.extents.edit::<M>(list.tail).bytes += bytes;
            return;
        }
        let slot = self.extents.allocate::<M>(Extent {
            bytes,
            owner,
            next: NIL,
        });
        list.push::<M, _>(&mut self.extents, slot);
        *self.written.edit::<M>(device) = list;
    }

    /// The drain takes the oldest `bytes`; whose the first of them is.
    pub(crate) fn drained<M: Mode>(&mut self, device: u32, bytes: u64) -> u16 {
        if !self.is_on() {
            return 0;
        }
        let mut list = *self.written.get(device);
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
                self.extents.free::<M>(slot);
            }
        }
        *self.written.edit::<M>(device) = list;
        first.unwrap_or(0)
    }

    /// The device of a server has served `owner` for `time`.
    pub(crate) fn served<M: Mode>(&mut self, owner: u16, time: Time) {
        if self.is_on() {
            *self.service.edit::<M>(u32::from(owner)) += u128::from(time.0);
        }
    }
}

impl Books {
    /// Until `until`, somebody has had what those in `line` wait for; if it is not known who, it is settled later.
    fn held_until<M: Mode>(&mut self, line: u32, until: Time, by: Option<(u16, Cause)>) {
        if self.histories.is_on() {
            self.histories.held_until::<M>(line, until, by);
        }
    }

    /// It was `owner` who had it.
    fn settle<M: Mode>(&mut self, now: Time, line: u32, cause: Cause, owner: u16) {
        self.ledger.settle::<M>(line, now, owner, cause);
        if self.histories.is_on() {
            self.histories.settle::<M>(line, (owner, cause));
        }
    }

    /// Somebody waits in `line` from `now` on; where that is in its history, if that is kept.
    pub(crate) fn join<M: Mode>(&mut self, now: Time, line: u32, owner: u16) -> Place {
        self.ledger.join::<M>(line, now, owner);
        match self.histories.is_on() {
            true => self.histories.join::<M>(line, now, None),
            false => Place::NONE,
        }
    }

    /// `waiter` does not wait in `line` any more. What nobody is known to have held was held up by itself.
    pub(crate) fn leave<M: Mode>(&mut self, now: Time, (line, cause): (u32, Cause), waiter: Waiter) {
        self.ledger.leave::<M>(line, now, waiter.owner);
        if !waiter.place.is_taken() {
            return;
        }
        let losses = &mut self.losses;
        (self.histories).leave::<M>(
            line,
            waiter.place,
            now,
            (waiter.owner, cause),
            |(culprit, resource), (from, to)| losses.extend(waiter.loss(line, (culprit, resource), (from, to))),
        );
    }

    /// `waiter` has waited from then until then for what `by` had, outside of any line.
    pub(crate) fn lose(&mut self, line: u32, waiter: Waiter, by: (u16, Cause), (from, until): (Time, Time)) {
        if self.histories.is_on() && until > from {
            self.losses.extend(waiter.loss(line, by, (from, until)));
        }
    }
}

/// The line of those who wait for `cause` at a device; for memory, at the first of a server.
pub(crate) fn line(device: u32, cause: Cause) -> u32 {
    device * LINES + u32::from(cause)
}

/// The number of a cause in [`SERVER_RESOURCES`].
fn resource_of(cause: Cause) -> u8 {
    match cause {
        RESERVE => RESERVED,
        LOST => FAULT,
        cause => cause,
    }
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
        let n = self.devices.len() as usize;
        // Where a wait is, in the time series: at which tier.
        let tier_of = |device: u32| {
            self.params[self.devices.server_of(device) as usize]
                .tier
                .min(self.tiers - 1)
        };
        let lines = (0..n as u32)
            .flat_map(|device| [tier_of(device); LINES as usize])
            .collect();
        let causes = LINES as u8 + u8::from(self.charges_faults);
        self.books = Books {
            ledger: Ledger::new(lines, self.tiers, jobs, causes, interval),
            service: Store::filled(usize::from(jobs), 0),
            written: Store::filled(n, List::EMPTY),
            ..Books::off()
        };
        self
    }

    /// Keeps in mind whom each single request waits for, where books are kept.
    pub fn with_losses(mut self) -> Self {
        if self.books.is_on() {
            self.books.histories = Histories::new(true);
            self.books.accesses = Accesses::of(self.devices.len() as usize);
        }
        self
    }

    /// What requests have waited for whom in the input that was handled last, where that is kept in mind.
    pub fn take_losses(&mut self) -> Vec<RequestLoss> {
        let mut losses = std::mem::take(&mut self.books.losses);
        for loss in &mut losses {
            loss.server = self.devices.server_of(loss.server);
        }
        losses
    }

    /// What devices have begun and what they have ended to serve in the input that was handled last, where that is kept in mind.
    pub fn take_accesses(&mut self) -> (Vec<DeviceAccess>, Vec<DeviceAccess>) {
        self.books.accesses.take()
    }

    /// The line of those who wait for `cause` at `device` of `server`.
    pub(crate) fn line_of(&self, (server, device): (u32, u32), cause: Cause) -> u32 {
        match cause {
            MEMORY | RESERVE => line(self.devices.of(server).start, cause),
            cause => line(device, cause),
        }
    }

    /// Books the waits in a line until `now`.
    pub(crate) fn book<M: Mode>(&mut self, now: Time, line: u32) {
        let cause = (line % LINES) as Cause;
        let holder = match cause {
            DEVICE => self.queues.holder(line / LINES),
            _ => None,
        };
        if cause == DEVICE && self.charges_faults {
            self.book_faults::<M>(now, line, holder);
        }
        if let Some(holder) = holder {
            self.books.ledger.charge::<M>(line, now, holder, DEVICE);
            self.books.held_until::<M>(line, now, Some((holder, DEVICE)));
        } else {
            self.books.ledger.defer::<M>(line, now);
            self.books.held_until::<M>(line, now, None);
        }
    }

    /// Books what the device of a line has lost until `now` by faults, and what lies between.
    fn book_faults<M: Mode>(&mut self, now: Time, line: u32, holder: Option<u16>) {
        let ledger = &mut self.books.ledger;
        let (Some(clock), Some(since)) = (self.devices.clock(line / LINES), ledger.unbooked_since(line)) else {
            return;
        };
        if since >= now {
            return;
        }
        for (end, lost) in clock.stretches(since, now) {
            match (lost, holder) {
                (true, _) => ledger.charge::<M>(line, end, 0, LOST),
                (false, Some(holder)) => ledger.charge::<M>(line, end, holder, DEVICE),
                (false, None) => ledger.defer::<M>(line, end),
            }
        }
    }

    /// An access of `owner`, who waits for it, has been served by `device` since `since`: what of that is due to a fault.
    pub(crate) fn served_in_fault<M: Mode>(&mut self, now: Time, device: u32, since: Time, owner: u16) {
        if !self.charges_faults || !self.books.is_on() {
            return;
        }
        let Some(clock) = self.devices.clock(device) else {
            return;
        };
        let time = clock.lost(since, now);
        if time > Time::ZERO {
            let (ledger, line) = (&mut self.books.ledger, line(device, DEVICE));
            ledger.wait_begins::<M>(now - time, owner);
            ledger.charge_time::<M>(line, now, owner, time, (0, LOST));
            ledger.wait_ends::<M>(now, owner);
        }
    }

    /// Whether what faults of devices cost is charged to them; before [`with_blame`](Self::with_blame), and alike for all parts of a machine.
    pub fn charging_faults(mut self, charges: bool) -> Self {
        self.charges_faults = charges;
        self
    }

    /// The accesses in service at `device` are about to change.
    pub(crate) fn book_device<M: Mode>(&mut self, now: Time, device: u32) {
        if self.books.is_on() {
            self.book::<M>(now, line(device, DEVICE));
        }
    }

    /// An access of `owner` has ended at `device`.
    pub(crate) fn settle_device<M: Mode>(&mut self, now: Time, device: u32, owner: u16) {
        if self.books.is_on() && self.devices.params(device).queue_depth > 1 {
            self.books.settle::<M>(now, line(device, DEVICE), DEVICE, owner);
        }
    }

    /// `owner` gives back what others may wait for: space or memory.
    fn settle<M: Mode>(&mut self, now: Time, line: u32, cause: Cause, owner: u16) {
        if self.books.is_on() {
            self.book::<M>(now, line);
            self.books.settle::<M>(now, line, cause, owner);
        }
    }

    pub(crate) fn settle_space<M: Mode>(&mut self, now: Time, device: u32, owner: u16) {
        self.settle::<M>(now, line(device, SPACE), SPACE, owner);
    }

    pub(crate) fn settle_memory<M: Mode>(&mut self, now: Time, server: u32, owner: u16) {
        let first = self.devices.of(server).start;
        self.settle::<M>(now, line(first, MEMORY), MEMORY, owner);
    }

    /// A block of `owner` leaves the reserve of `server`.
    pub(crate) fn settle_reserve<M: Mode>(&mut self, now: Time, server: u32, owner: u16) {
        let first = self.devices.of(server).start;
        self.settle::<M>(now, line(first, RESERVE), RESERVE, owner);
    }

    /// `server` fails: what has been waited for there is charged to the job whose access was the last at its device.
    pub(crate) fn settle_failure<M: Mode>(&mut self, now: Time, server: u32) {
        for device in self.devices.of(server) {
            self.settle_device_failure::<M>(now, device, &[SPACE, MEMORY, DEVICE, RESERVE]);
        }
    }

    /// `device` fails: likewise, of those who wait for one of `causes`.
    pub(crate) fn settle_device_failure<M: Mode>(&mut self, now: Time, device: u32, causes: &[Cause]) {
        let last = self.queues.last_owner(device);
        for &cause in causes {
            self.settle::<M>(now, line(device, cause), cause, last);
        }
    }

    /// `request` waits for `wait` from now on.
    pub(crate) fn set_wait<M: Mode>(&mut self, now: Time, request: u32, wait: Wait) {
        let cell = *self.requests.get(request);
        if !self.books.is_on() || cell.wait == wait {
            return;
        }
        let (at, owner) = ((cell.server, cell.device), cell.what.header.owner);
        if let Some(cause) = cause_of(cell.wait) {
            let line = self.line_of(at, cause);
            self.book::<M>(now, line);
            self.books.leave::<M>(now, (line, cause), Waiter::of(&cell));
        }
        let mut place = Place::NONE;
        if let Some(cause) = cause_of(wait) {
            let line = self.line_of(at, cause);
            self.book::<M>(now, line);
            place = self.books.join::<M>(now, line, owner);
        }
        let cell = self.requests.edit::<M>(request);
        (cell.wait, cell.place) = (wait, place);
    }

    /// Finds out anew what `request`, which has its space, waits for.
    pub(crate) fn reconsider<M: Mode>(&mut self, now: Time, request: u32) {
        if request != NIL && self.books.is_on() {
            let cell = self.requests.get(request);
            let (wait, followed) = (cell.waits_for(), cell.answered && cell.write_back);
            self.set_wait::<M>(now, request, wait);
            if followed {
                self.syncs_follow::<M>(now, request);
            }
        }
    }

    /// Who waited for whom at which server, in order of server, resource, victim, culprit; empty unless books are
    /// kept. Of several devices of a server it is the sum.
    pub fn blame(&self) -> impl Iterator<Item = ServerCharge> + '_ {
        let charges = self.books.ledger.charges().map(|charge| ServerCharge {
            server: self.devices.server_of(charge.line / LINES),
            resource: match charge.culprit {
                Some(_) if charge.cause == LOST => FAULT,
                _ => resource_of((charge.line % LINES) as Cause),
            },
            victim: charge.victim,
            culprit: charge.culprit.filter(|_| charge.cause != LOST),
            time: charge.time,
        });
        let name = |charge: &ServerCharge| (charge.server, charge.resource, charge.victim, charge.culprit);
        let mut charges: Vec<_> = charges.collect();
        charges.sort_by_key(name);
        charges.dedup_by(|next, sum| {
            let same = name(next) == name(sum);
            if same {
                sum.time += next.time;
            }
            same
        });
        charges.into_iter()
    }

    /// The same over time, if a time series is kept.
    pub fn blame_series(&self) -> impl Iterator<Item = ServerWaitSeries> + '_ {
        self.books.ledger.series().map(|charge| ServerWaitSeries {
            start: charge.start,
            tier: charge.place,
            resource: resource_of(charge.cause),
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// Until when the time series are kept, if there are any.
    pub fn series_end(&self) -> Option<Time> {
        let ends = [self.books.ledger.series_end(), self.occupancy.end()];
        ends.into_iter().flatten().min()
    }

    /// Time in which devices served requests of `job`, summed, in ps; zero unless books are kept.
    pub fn device_time_ps(&self, job: u16) -> u128 {
        match self.books.is_on() {
            true => *self.books.service.get(u32::from(job)),
            false => 0,
        }
    }

    /// Ends the books at `now`, when a run ends in the middle of requests.
    pub fn close_books(&mut self, now: Time) {
        if self.books.is_on() {
            for line in 0..self.devices.len() * LINES {
                self.book::<odonata_engine::Plain>(now, line);
            }
            self.close_books_of_syncs(now);
        }
    }
}
