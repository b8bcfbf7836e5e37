//! Blame of waits of requests at servers: the books of [`odonata_blame`].
//!
//! The unit is a *request* as a whole, because a client waits for whole requests. A request waits for at most one resource:
//!
//! | waits for | while | charged to the owner of |
//! |---|---|---|
//! | [`SPACE`] | it has no reservation | the block whose space is free next |
//! | [`DEVICE`] | a piece of it is in the device's queue, none in service | the access in service; of several, the one that ends next |
//! | [`MEMORY`] | all its pieces wait for memory | the piece that gives its memory back next |
//!
//! A synchronization waits for the resources of its file, and for a block of the [`RESERVE`] (`sync/waits.rs`). A device without an
//! access in service works off deferred work: the wait is charged to the owner of the access that entered service last. While the
//! device has a fault ([`FaultClock`](crate::faults)), the time that its clock loses is charged to the [`FAULT`]. This applies to
//! the requests that wait for the device, and to each access in service of a request whose client waits. Waits for space or memory
//! are charged as without the fault. At all other times a request is in service or its data are on their way. An owner is a job. A
//! block of the drain belongs to the job that wrote its first byte.

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

/// A block of the reserve for data that leave.
pub(crate) const RESERVE: Cause = 3;

/// A device that is stalled or slow.
pub(crate) const LOST: Cause = 4;

/// Lines of a device: one for each of the resources above.
pub(crate) const LINES: u32 = 4;

/// Names of the resources of a storage manager, by number.
pub const RESOURCES: [&str; 3] = ["space", "memory", "device"];

/// A lock on a range of a file ([`ExtentLocks`](crate::ExtentLocks)).
pub const LOCK: u8 = 3;
/// A thread of a metadata server ([`MetadataServers`](crate::MetadataServers)).
pub const THREAD: u8 = 4;
/// A directory of a metadata server that another call changes.
pub const DIRECTORY: u8 = 5;
/// A storage server or its device that is away, stalled or slow; no job holds it.
pub const FAULT: u8 = 6;

/// The same of a metadata server.
pub const METADATA_FAULT: u8 = 7;

/// A block of the reserve for data that a server writes to the lower tier.
pub const RESERVED: u8 = 8;

/// Names of the resources of all kinds of servers, by number; the first are those of a storage manager.
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

/// A request or synchronization that waits at a server while a client waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    /// Its position in the history of its line.
    pub(crate) place: Place,
    /// Its job.
    pub(crate) owner: u16,
    /// The header of its request; `None` after the answer, since the client may reuse its token.
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

    /// The loss of the wait in `line` for `resource`, which `culprit` held.
    fn loss(self, line: u32, (culprit, resource): (u16, Cause), (from, until): (Time, Time)) -> Option<RequestLoss> {
        let waits_for_device = line % LINES == u32::from(DEVICE);
        self.name.map(|header| RequestLoss {
            header,
            // The device; `take_losses` replaces it by its server.
            server: line / LINES,
            device: waits_for_device.then_some(line / LINES),
            culprit,
            resource: resource_of(resource),
            from,
            until,
        })
    }
}

/// The time that requests of one job waited for another job at one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServerCharge {
    /// The server.
    pub server: u32,
    /// The resource: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// The job whose requests waited.
    pub victim: u16,
    /// The job that held the resource; `None` if the run ended before that was known, and for a fault.
    pub culprit: Option<u16>,
    /// The waiting time, summed over requests.
    pub time: Time,
}

/// The same per interval of time, for all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerWaitSeries {
    /// Start of the interval.
    pub start: Time,
    /// The tier of the servers; 0 of metadata servers.
    pub tier: u8,
    /// The resource: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// The job whose requests waited.
    pub victim: u16,
    /// The job that held the resource; 0 for a fault.
    pub culprit: u16,
    /// The waiting time, summed over requests.
    pub time: Time,
}

/// A wait of one request for another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLoss {
    /// The request.
    pub header: RequestHeader,
    /// The server.
    pub server: u32,
    /// The job that held the resource.
    pub culprit: u16,
    /// The resource: an index into [`SERVER_RESOURCES`].
    pub resource: u8,
    /// The device, if the resource is one.
    pub device: Option<u32>,
    /// Start of the wait.
    pub from: Time,
    /// End of the wait.
    pub until: Time,
}

/// Consecutively written bytes of one job.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Extent {
    bytes: u64,
    owner: u16,
    next: u32,
}

odonata_engine::slots!(Extent);

/// The books of a set of servers; empty if no books are kept.
#[derive(Debug)]
pub(crate) struct Books {
    /// The lines of each device: its space, the memory of its server (on the first device of a server only), the device itself, the
    /// reserve.
    ledger: Ledger,
    /// Service time of devices, per job.
    service: Store<u128>,
    /// Bytes written and not drained, oldest first, per device.
    written: Store<List>,
    extents: Pool<Extent>,
    /// The holders of the resources over time, by the lines of the ledger; empty unless waits of single requests are recorded.
    histories: Histories,
    /// The accesses of the devices, recorded together with the histories.
    pub(crate) accesses: Accesses,
    /// The waits of requests; empty between inputs.
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

    /// The drain takes the oldest `bytes`. Returns the owner of the first of them.
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

    /// A device has served `owner` for `time`.
    pub(crate) fn served<M: Mode>(&mut self, owner: u16, time: Time) {
        if self.is_on() {
            *self.service.edit::<M>(u32::from(owner)) += u128::from(time.0);
        }
    }
}

impl Books {
    /// The resource of `line` was held until `until`, by `by` if that is known; otherwise `settle` names the holder later.
    fn held_until<M: Mode>(&mut self, line: u32, until: Time, by: Option<(u16, Cause)>) {
        if self.histories.is_on() {
            self.histories.held_until::<M>(line, until, by);
        }
    }

    /// `owner` held the resource.
    fn settle<M: Mode>(&mut self, now: Time, line: u32, cause: Cause, owner: u16) {
        self.ledger.settle::<M>(line, now, owner, cause);
        if self.histories.is_on() {
            self.histories.settle::<M>(line, (owner, cause));
        }
    }

    /// A wait in `line` begins at `now`. Returns its position in the history, if that is kept.
    pub(crate) fn join<M: Mode>(&mut self, now: Time, line: u32, owner: u16) -> Place {
        self.ledger.join::<M>(line, now, owner);
        match self.histories.is_on() {
            true => self.histories.join::<M>(line, now, None),
            false => Place::NONE,
        }
    }

    /// The wait of `waiter` in `line` ends. Time without a known holder is charged to the waiter itself.
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

    /// `waiter` has waited from `from` to `until` for a resource that `by` held, outside of any line.
    pub(crate) fn lose(&mut self, line: u32, waiter: Waiter, by: (u16, Cause), (from, until): (Time, Time)) {
        if self.histories.is_on() && until > from {
            self.losses.extend(waiter.loss(line, by, (from, until)));
        }
    }
}

/// The line for `cause` at a device; for memory, at the first device of a server.
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
    /// Keeps books of the waits between `jobs` jobs; with `interval`, also as a time series.
    pub fn with_blame(mut self, jobs: u16, interval: Option<Time>) -> Self {
        let n = self.devices.len() as usize;
        // The place of a wait in the time series is its tier.
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

    /// Records the waits of single requests, if books are kept.
    pub fn with_losses(mut self) -> Self {
        if self.books.is_on() {
            self.books.histories = Histories::new(true);
            self.books.accesses = Accesses::of(self.devices.len() as usize);
        }
        self
    }

    /// The waits of requests that the last input ended, if they are recorded.
    pub fn take_losses(&mut self) -> Vec<RequestLoss> {
        let mut losses = std::mem::take(&mut self.books.losses);
        for loss in &mut losses {
            loss.server = self.devices.server_of(loss.server);
        }
        losses
    }

    /// The accesses that the last input began and ended, if they are recorded.
    pub fn take_accesses(&mut self) -> (Vec<DeviceAccess>, Vec<DeviceAccess>) {
        self.books.accesses.take()
    }

    /// The line for `cause` at `device` of `server`.
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

    /// Books the time until `now` that the device of a line has lost to faults, and the time between faults.
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

    /// An access of `owner`, which waits for it, has been in service at `device` since `since`: charges the part due to a fault.
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

    /// Sets whether delays due to device faults are charged to the faults. Call it before [`with_blame`](Self::with_blame), and
    /// alike for all parts of a machine.
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

    /// `owner` gives back a resource that others may wait for: space, memory or a block of the reserve.
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

    /// `server` fails: open waits there are charged to the owner of the last access of the device.
    pub(crate) fn settle_failure<M: Mode>(&mut self, now: Time, server: u32) {
        for device in self.devices.of(server) {
            self.settle_device_failure::<M>(now, device, &[SPACE, MEMORY, DEVICE, RESERVE]);
        }
    }

    /// `device` fails: open waits for `causes` are charged to the owner of its last access.
    pub(crate) fn settle_device_failure<M: Mode>(&mut self, now: Time, device: u32, causes: &[Cause]) {
        let last = self.queues.last_owner(device);
        for &cause in causes {
            self.settle::<M>(now, line(device, cause), cause, last);
        }
    }

    /// Sets the resource that `request` waits for from now on.
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

    /// Updates the resource that `request`, which has its space, waits for.
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

    /// The waiting times between jobs by server, resource, victim and culprit, in this order, summed over the devices of a server;
    /// empty unless books are kept.
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

    /// The same as a time series, if one is kept.
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

    /// The end of the time series, if there are any.
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

    /// Ends the books at `now`, the end of the run; requests may still be open.
    pub fn close_books(&mut self, now: Time) {
        if self.books.is_on() {
            for line in 0..self.devices.len() * LINES {
                self.book::<odonata_engine::Plain>(now, line);
            }
            self.close_books_of_syncs(now);
        }
    }
}
