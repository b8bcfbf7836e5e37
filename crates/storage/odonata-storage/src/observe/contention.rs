//! Contention at storage servers: which job delays which, as a ledger of all waits ([`odonata_blame`]) and as the waits of single
//! requests.
//!
//! The unit is a *request* as a whole, because a client waits for whole requests. A request waits for at most one resource:
//!
//! | waits for | while | charged to the owner of |
//! |---|---|---|
//! | [`SPACE`] | it has no reservation | the block whose space is free next |
//! | [`DEVICE`] | a piece of it is in the device's queue, none in service | the access in service; of several, the one that ends next |
//! | [`MEMORY`] | all its pieces wait for memory | the piece that gives its memory back next |
//!
//! A synchronization waits for the resources of its file, and for a block of the [`RESERVE`] ([`syncs`]). A device without an
//! access in service works off deferred work: the wait is charged to the owner of the access that entered service last. While the
//! device has a fault ([`FaultClock`](crate::faults)), the time that its clock loses is charged to the [`FAULT`]. This applies to
//! the requests that wait for the device, and to each access in service of a request whose client waits. Waits for space or memory
//! are charged as without the fault. At all other times a request is in service or its data are on their way. An owner is a job. A
//! block of the drain belongs to the job that wrote its first byte.

mod syncs;
mod waits;

use odonata_blame::{Cause, Histories, Ledger, Place};
use odonata_device::Access;
use odonata_engine::{GrowableStore, Mode, NIL, Store, Time};

use super::accesses::Accesses;
use super::charges::{FAULT, RequestLoss, RequestWaits, ServerCharge, ServerWaitSeries};
use super::facts::{BlockStep, Observer};
use crate::open_request::Piece;
use crate::servers::ServerParts;
use syncs::SyncState;
use waits::{DEVICE, LINES, LOST, MEMORY, RESERVE, RequestWait, SPACE, Wait, Waiter, line, line_of, resource_of};

/// The instrument of a set of servers; empty if it is off.
#[derive(Debug)]
pub(crate) struct Contention {
    /// The lines of each device: its space, the memory of its server (on the first device of a server only), the device itself, the
    /// reserve.
    ledger: Ledger,
    /// Whether the delays due to device faults are charged to the faults.
    charges_faults: bool,
    /// Service time of devices, per job.
    service: Store<u128>,
    /// The waits of open requests and of synchronizations, by their slots.
    requests: GrowableStore<RequestWait>,
    syncs: GrowableStore<SyncState>,
    /// The holders of the resources over time, by the lines of the ledger; empty unless waits of single requests are recorded.
    histories: Histories,
    /// The accesses of the devices, recorded together with the histories.
    accesses: Accesses,
    /// The waits of requests; empty between inputs.
    losses: Vec<RequestLoss>,
}
odonata_engine::journalled!(Contention {
    ledger,
    service,
    requests,
    syncs,
    histories,
    accesses
});

impl Contention {
    pub(crate) fn off() -> Self {
        Contention {
            ledger: Ledger::off(),
            charges_faults: false,
            service: Store::new(),
            requests: GrowableStore::new(),
            syncs: GrowableStore::new(),
            histories: Histories::new(false),
            accesses: Accesses::of(0),
            losses: Vec::new(),
        }
    }

    /// A ledger of the waits between `jobs` jobs; with `interval`, also as a time series.
    pub(crate) fn new(parts: &ServerParts, jobs: u16, interval: Option<Time>, charges_faults: bool) -> Self {
        // The place of a wait in the time series is its tier.
        let tier_of = |device: u32| {
            let server = parts.devices.server_of(device);
            parts.params[server as usize].tier.min(parts.tiers - 1)
        };
        let lines = (0..parts.devices.len())
            .flat_map(|device| [tier_of(device); LINES as usize])
            .collect();
        let causes = LINES as u8 + u8::from(charges_faults);
        Contention {
            ledger: Ledger::new(lines, parts.tiers, jobs, causes, interval),
            charges_faults,
            service: Store::filled(usize::from(jobs), 0),
            ..Contention::off()
        }
    }

    /// Records the waits and the accesses of single requests too, if the ledger is on.
    pub(crate) fn record_requests(&mut self, parts: &ServerParts) {
        if self.is_on() {
            self.histories = Histories::new(true);
            self.accesses = Accesses::of(parts.devices.len() as usize);
        }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.ledger.is_on()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The waits and accesses of single requests that the last input began or ended, if they are recorded.
    pub(crate) fn take_waits(&mut self, parts: &ServerParts) -> RequestWaits {
        let mut losses = std::mem::take(&mut self.losses);
        for loss in &mut losses {
            loss.server = parts.devices.server_of(loss.server);
        }
        let (begun, ended) = self.accesses.take();
        RequestWaits { losses, begun, ended }
    }

    /// Time in which devices served requests of `job`, summed, in ps; zero if the ledger is off.
    pub(crate) fn device_time_ps(&self, job: u16) -> u128 {
        match self.is_on() {
            true => *self.service.get(u32::from(job)),
            false => 0,
        }
    }

    /// The waiting times between jobs by server, resource, victim and culprit, in this order, summed over the devices of a server.
    pub(crate) fn charges(&self, parts: &ServerParts) -> Vec<ServerCharge> {
        let charges = self.ledger.charges().map(|charge| ServerCharge {
            server: parts.devices.server_of(charge.line / LINES),
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
        charges
    }

    /// The same as a time series, if one is kept.
    pub(crate) fn series(&self) -> impl Iterator<Item = ServerWaitSeries> + use<'_> {
        self.ledger.series().map(|charge| ServerWaitSeries {
            start: charge.start,
            tier: charge.place,
            resource: resource_of(charge.cause),
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

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
    fn join<M: Mode>(&mut self, now: Time, line: u32, owner: u16) -> Place {
        self.ledger.join::<M>(line, now, owner);
        match self.histories.is_on() {
            true => self.histories.join::<M>(line, now, None),
            false => Place::NONE,
        }
    }

    /// The wait of `waiter` in `line` ends. Time without a known holder is charged to the waiter itself.
    fn leave<M: Mode>(&mut self, now: Time, (line, cause): (u32, Cause), waiter: Waiter) {
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
    fn lose(&mut self, line: u32, waiter: Waiter, by: (u16, Cause), (from, until): (Time, Time)) {
        if self.histories.is_on() && until > from {
            self.losses.extend(waiter.loss(line, by, (from, until)));
        }
    }

    /// Charges the waits in a line until `now` to the holder of the resource, or defers them if it is not known yet.
    fn charge_until<M: Mode>(&mut self, parts: &ServerParts, now: Time, line: u32) {
        let cause = (line % LINES) as Cause;
        let holder = match cause {
            DEVICE => parts.queues.holder(line / LINES),
            _ => None,
        };
        if cause == DEVICE && self.charges_faults {
            self.charge_faults::<M>(parts, now, line, holder);
        }
        if let Some(holder) = holder {
            self.ledger.charge::<M>(line, now, holder, DEVICE);
            self.held_until::<M>(line, now, Some((holder, DEVICE)));
        } else {
            self.ledger.defer::<M>(line, now);
            self.held_until::<M>(line, now, None);
        }
    }

    /// Charges the time until `now` that the device of a line has lost to faults, and the time between faults.
    fn charge_faults<M: Mode>(&mut self, parts: &ServerParts, now: Time, line: u32, holder: Option<u16>) {
        let ledger = &mut self.ledger;
        let (Some(clock), Some(since)) = (parts.devices.clock(line / LINES), ledger.unbooked_since(line)) else {
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
    fn served_in_fault<M: Mode>(&mut self, parts: &ServerParts, now: Time, device: u32, (since, owner): (Time, u16)) {
        if !self.charges_faults {
            return;
        }
        let Some(clock) = parts.devices.clock(device) else {
            return;
        };
        let time = clock.lost(since, now);
        if time > Time::ZERO {
            let line = line(device, DEVICE);
            self.ledger.wait_begins::<M>(now - time, owner);
            self.ledger.charge_time::<M>(line, now, owner, time, (0, LOST));
            self.ledger.wait_ends::<M>(now, owner);
        }
    }

    /// `owner` gives back a resource that others may wait for.
    fn is_freed<M: Mode>(&mut self, parts: &ServerParts, now: Time, (line, cause): (u32, Cause), owner: u16) {
        self.charge_until::<M>(parts, now, line);
        self.settle::<M>(now, line, cause, owner);
    }

    /// `device` fails: open waits for `causes` are charged to the owner of its last access.
    fn fail<M: Mode>(&mut self, parts: &ServerParts, now: Time, device: u32, causes: &[Cause]) {
        let last = parts.queues.last_owner(device);
        for &cause in causes {
            self.is_freed::<M>(parts, now, (line(device, cause), cause), last);
        }
    }

    /// `request` waits for `wait` from now on.
    fn set_wait<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32, wait: Wait) {
        let old = self.requests.get(request as usize);
        if old.wait == wait {
            return;
        }
        let cell = parts.requests.get(request);
        let (at, owner) = ((cell.server, cell.device), cell.what.header.owner);
        if let Some(cause) = old.wait.cause() {
            let line = line_of(parts, at, cause);
            self.charge_until::<M>(parts, now, line);
            let waiter = Waiter::of(cell, old.place.unwrap_or(Place::NONE));
            self.leave::<M>(now, (line, cause), waiter);
        }
        let mut place = None;
        if let Some(cause) = wait.cause() {
            let line = line_of(parts, at, cause);
            self.charge_until::<M>(parts, now, line);
            place = Some(self.join::<M>(now, line, owner)).filter(|place| place.is_taken());
        }
        *self.requests.edit::<M>(request as usize) = RequestWait { wait, place };
    }
}

impl Observer for Contention {
    /// Charges the open waits.
    fn run_ends<M: Mode>(&mut self, parts: &ServerParts, now: Time) {
        if self.is_on() {
            for line in 0..parts.devices.len() * LINES {
                self.charge_until::<M>(parts, now, line);
            }
            self.close_caches::<M>(parts, now);
        }
    }

    #[inline]
    fn request_waits_for_space<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        if self.is_on() {
            self.set_wait::<M>(parts, now, request, Wait::Space);
        }
    }

    #[inline]
    fn request_has_space<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        if self.is_on() {
            self.set_wait::<M>(parts, now, request, Wait::Nothing);
        }
    }

    #[inline]
    fn request_advances<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        if self.is_on() {
            let cell = parts.requests.get(request);
            self.set_wait::<M>(parts, now, request, Wait::of(cell));
            if cell.answered && cell.write_back {
                self.syncs_follow::<M>(parts, now, request);
            }
        }
    }

    #[inline]
    fn request_is_answered<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        self.request_advances::<M>(parts, now, request);
    }

    #[inline]
    fn request_dies<M: Mode>(&mut self, parts: &ServerParts, now: Time, request: u32) {
        if self.is_on() {
            self.set_wait::<M>(parts, now, request, Wait::Nothing);
        }
    }

    #[inline]
    fn access_is_handed<M: Mode>(&mut self, parts: &ServerParts, piece: u32, access: Access) {
        if self.accesses.is_on() {
            let Piece { device, owner, .. } = *parts.pieces.get(piece);
            let model = &parts.devices.params(device).model;
            self.accesses.is_handed::<M>((device, model), (piece, owner), access);
        }
    }

    #[inline]
    fn access_begins<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {
        if !self.is_on() {
            return;
        }
        let Piece {
            request,
            server,
            device,
            ..
        } = *parts.pieces.get(piece);
        self.charge_until::<M>(parts, now, line(device, DEVICE));
        if request != NIL {
            self.accesses
                .begins((server, device, piece), parts.requests.get(request));
        }
    }

    #[inline]
    fn access_ends<M: Mode>(&mut self, parts: &ServerParts, now: Time, piece: u32) {
        if !self.is_on() {
            return;
        }
        let Piece {
            request,
            server,
            device,
            since,
            owner,
            dead,
            ..
        } = *parts.pieces.get(piece);
        self.charge_until::<M>(parts, now, line(device, DEVICE));
        if parts.devices.params(device).queue_depth > 1 {
            self.settle::<M>(now, line(device, DEVICE), DEVICE, owner);
        }
        if dead || request == NIL {
            return;
        }
        let (cell, service) = (parts.requests.get(request), now - since);
        let seek = parts.devices.seek(device, service);
        self.accesses.ends((server, device, piece), cell, seek);
        *self.service.edit::<M>(u32::from(cell.what.header.owner)) += u128::from(service.0);
        if !cell.write_back && !cell.answered {
            self.served_in_fault::<M>(parts, now, device, (since, owner));
        }
    }

    #[inline]
    fn space_is_freed<M: Mode>(&mut self, parts: &ServerParts, now: Time, device: u32, owner: u16) {
        if self.is_on() {
            self.is_freed::<M>(parts, now, (line(device, SPACE), SPACE), owner);
        }
    }

    #[inline]
    fn memory_is_freed<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32, owner: u16) {
        if self.is_on() {
            let first = parts.devices.of(server).start;
            self.is_freed::<M>(parts, now, (line(first, MEMORY), MEMORY), owner);
        }
    }

    #[inline]
    fn reserve_is_freed<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32, owner: u16) {
        if self.is_on() {
            let first = parts.devices.of(server).start;
            self.is_freed::<M>(parts, now, (line(first, RESERVE), RESERVE), owner);
        }
    }

    fn server_fails<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {
        if self.is_on() {
            for device in parts.devices.of(server) {
                self.fail::<M>(parts, now, device, &[SPACE, MEMORY, DEVICE, RESERVE]);
            }
        }
    }

    fn device_fails<M: Mode>(&mut self, parts: &ServerParts, now: Time, device: u32) {
        if self.is_on() {
            self.fail::<M>(parts, now, device, &[SPACE, DEVICE]);
        }
    }

    #[inline]
    fn block_moves<M: Mode>(
        &mut self,
        parts: &ServerParts,
        now: Time,
        piece: &Piece,
        from: Option<BlockStep>,
        to: Option<BlockStep>,
    ) {
        if self.is_on() {
            self.block_of_syncs_moves::<M>(parts, now, piece, (from, to));
        }
    }

    fn sync_begins<M: Mode>(&mut self, _: &ServerParts, sync: u32) {
        if self.is_on() && self.syncs.get(sync as usize) != SyncState::default() {
            *self.syncs.edit::<M>(sync as usize) = SyncState::default();
        }
    }

    fn sync_drains<M: Mode>(&mut self, parts: &ServerParts, sync: u32) {
        if self.is_on() {
            let server = parts.syncs.get(sync).server;
            self.syncs
                .edit::<M>(sync as usize)
                .begins_to_drain(parts.reserves.chosen(server));
        }
    }

    #[inline]
    fn sync_advances<M: Mode>(&mut self, parts: &ServerParts, now: Time, sync: u32) {
        if self.is_on() {
            self.reconsider_sync::<M>(parts, now, sync);
        }
    }

    fn sync_waits_for_cache<M: Mode>(&mut self, parts: &ServerParts, now: Time, sync: u32, device: u32) {
        if self.is_on() {
            self.sync_awaits_cache::<M>(parts, now, sync, device);
        }
    }

    fn sync_ends_wait<M: Mode>(&mut self, parts: &ServerParts, now: Time, sync: u32) {
        if self.is_on() {
            self.sync_waits_for_nothing::<M>(parts, now, sync);
        }
    }

    #[inline]
    fn blocks_have_left<M: Mode>(&mut self, parts: &ServerParts, now: Time, server: u32) {
        if self.is_on() {
            self.reconsider_syncs::<M>(parts, now, server);
        }
    }
}
