//! Synchronization of a file (`fsync`): waits until everything acknowledged of an object is committed.
//!
//! ```text
//!   arrives -> acknowledged writes of the object     -> volatile caches   -> what is here alone  -> the lower tier -> answer
//!              have come to their devices                of the devices       has gone down          does the same
//!              (acknowledge = "memory")                  are written out      (only to the last tier)
//! ```
//!
//! A synchronization waits only for writes acknowledged before its arrival. With `acknowledge = "device"` all of them are on
//! devices, and it takes its two messages and the time of the devices' caches. If it goes to the last tier, the blocks of the
//! object that are on devices of the server alone leave before other blocks, whatever the policy, in the order of their offsets.
//! Bytes written behind that position meanwhile belong to the next synchronization, so that a synchronization ends while its file
//! is still being written. A server that bypasses its devices always passes the synchronization to the lower tier.

mod waits;

use odonata_engine::{List, Mode, NIL, Pool, Store, journalled};
use odonata_units::Time;

use crate::extents::Place;
use crate::{Action, Actions, Origin, RequestHeader, Servers, StorageRequest};
pub(crate) use waits::Block;
use waits::{Blocks, SyncWait};

/// The current phase of a synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Phase {
    /// Waits for that many writes acknowledged before its arrival.
    Writes(u32),
    /// Waits for the caches of devices or for the lower tier; the caller reports their end.
    Passed,
    /// Waits until bytes `from..end` have left.
    Drain { from: u64, end: u64 },
}

/// A synchronization under way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Sync {
    what: StorageRequest,
    server: u32,
    /// The number of writes that the server had acknowledged early at its arrival.
    number: u64,
    phase: Phase,
    /// Whether its server has failed.
    dead: bool,
    /// The oldest acknowledged write that it waits for, or [`NIL`].
    oldest: u32,
    /// The number of the first block that left after the synchronization began to wait for blocks, and the counts of blocks from
    /// that number on.
    first: u64,
    blocks: Blocks,
    wait: SyncWait,
    /// Its position in the history of the line.
    place: odonata_blame::Place,
    next: u32,
}
odonata_engine::slots!(Sync);

/// The state that synchronizations of a server need.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Acknowledged {
    /// Writes acknowledged so far before all of their bytes were on a device.
    writes: u64,
    /// Those of them that are not fully on a device yet, oldest first.
    uncommitted: List,
    /// Synchronizations under way.
    open: List,
}

/// The synchronizations of a set of servers.
#[derive(Debug)]
pub(crate) struct Syncs {
    cells: Pool<Sync>,
    servers: Store<Acknowledged>,
}
journalled!(Syncs { cells, servers });

impl Syncs {
    pub(crate) fn new(servers: usize) -> Self {
        Syncs {
            cells: Pool::new(),
            servers: Store::filled(servers, Acknowledged::default()),
        }
    }

    /// Synchronizations under way.
    pub(crate) fn live(&self) -> u32 {
        self.cells.live()
    }

    /// The synchronizations under way at `server`, in the order of their arrival.
    fn open(&self, server: u32) -> Vec<u32> {
        self.servers.get(server).open.iter(&self.cells).collect()
    }
}

impl Servers {
    /// Whether a synchronization is under way at `server`.
    pub(crate) fn synchronizes(&self, server: u32) -> bool {
        !self.syncs.servers.get(server).open.is_empty()
    }

    /// A synchronization arrives at `server`.
    pub(crate) fn sync<M: Mode>(&mut self, now: Time, server: u32, what: StorageRequest, actions: &mut Actions) {
        let cell = *self.syncs.servers.get(server);
        let before = cell.uncommitted.iter(&self.requests);
        let mut before = before.filter(|&slot| self.requests.get(slot).what.object == what.object);
        let oldest = before.next();
        let writes = usize::from(oldest.is_some()) + before.count();
        let slot = self.syncs.cells.allocate::<M>(Sync {
            what,
            server,
            number: cell.writes,
            phase: Phase::Writes(writes as u32),
            dead: false,
            oldest: oldest.unwrap_or(NIL),
            first: 0,
            blocks: Blocks::default(),
            wait: SyncWait::Nothing,
            place: odonata_blame::Place::NONE,
            next: NIL,
        });
        let mut open = cell.open;
        open.push::<M, _>(&mut self.syncs.cells, slot);
        self.syncs.servers.edit::<M>(server).open = open;
        if writes == 0 {
            self.write_caches_out::<M>(now, slot, actions);
        } else {
            self.reconsider_sync::<M>(now, slot);
        }
    }

    /// The caches that synchronization `slot` waits for are written out, as announced by [`Action::CachesWritten`].
    pub fn caches_written<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        if !self.sync_died::<M>(now, slot) {
            self.set_sync_wait::<M>(now, slot, SyncWait::Nothing);
            self.drain_for_sync::<M>(now, slot, actions);
        }
    }

    /// The request of synchronization `slot`; `None` if its server has failed.
    pub(crate) fn request_of_sync(&self, slot: u32) -> Option<RequestHeader> {
        let Sync { what, dead, .. } = *self.syncs.cells.get(slot);
        (!dead).then_some(what.header)
    }

    /// The lower tier has answered synchronization `slot`.
    pub(crate) fn sync_answered<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        if !self.sync_died::<M>(now, slot) {
            self.end_sync::<M>(now, slot, actions);
        }
    }

    /// Whether the server of synchronization `slot` has failed; frees the synchronization then.
    fn sync_died<M: Mode>(&mut self, now: Time, slot: u32) -> bool {
        self.is_up::<M>(now, self.syncs.cells.get(slot).server);
        let dead = self.syncs.cells.get(slot).dead;
        if dead {
            self.syncs.cells.free::<M>(slot);
        }
        dead
    }

    /// `server` has failed: its synchronizations get no answer.
    pub(crate) fn end_syncs<M: Mode>(&mut self, at: Time, server: u32) {
        for slot in self.syncs.open(server) {
            self.set_sync_wait::<M>(at, slot, SyncWait::Nothing);
            match self.syncs.cells.get(slot).phase {
                Phase::Passed => self.syncs.cells.edit::<M>(slot).dead = true,
                Phase::Writes(_) | Phase::Drain { .. } => self.syncs.cells.free::<M>(slot),
            }
        }
        let cell = self.syncs.servers.edit::<M>(server);
        (cell.open, cell.uncommitted) = (List::EMPTY, List::EMPTY);
    }

    /// Write `request` is acknowledged before all of it is on a device.
    pub(crate) fn acknowledged_early<M: Mode>(&mut self, request: u32) {
        let server = self.requests.get(request).server;
        let cell = self.syncs.servers.edit::<M>(server);
        self.requests.edit::<M>(request).number = cell.writes;
        cell.writes += 1;
        let mut uncommitted = cell.uncommitted;
        uncommitted.push::<M, _>(&mut self.requests, request);
        self.syncs.servers.edit::<M>(server).uncommitted = uncommitted;
    }

    /// All of write `request`, which was acknowledged early, is on a device.
    pub(crate) fn committed_at_last<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        let (server, number, file) = {
            let cell = self.requests.get(request);
            (cell.server, cell.number, cell.what.object)
        };
        let mut uncommitted = self.syncs.servers.get(server).uncommitted;
        uncommitted.remove_first::<M, _>(&mut self.requests, |other| other.number == number);
        self.syncs.servers.edit::<M>(server).uncommitted = uncommitted;
        for slot in self.syncs.open(server) {
            let sync = *self.syncs.cells.get(slot);
            if let Phase::Writes(left) = sync.phase
                && sync.what.object == file
                && number < sync.number
            {
                self.syncs.cells.edit::<M>(slot).phase = Phase::Writes(left - 1);
                if sync.oldest == request {
                    let mut rest = uncommitted.iter(&self.requests);
                    let oldest = rest.find(|&slot| self.requests.get(slot).what.object == file);
                    self.syncs.cells.edit::<M>(slot).oldest = oldest.filter(|_| left > 1).unwrap_or(NIL);
                }
                self.reconsider_sync::<M>(now, slot);
                if left == 1 {
                    self.write_caches_out::<M>(now, slot, actions);
                }
            }
        }
    }

    /// All acknowledged bytes are on devices: writes the volatile caches to their media.
    fn write_caches_out<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let server = self.syncs.cells.get(slot).server;
        let (mut at, mut last) = (now, NIL);
        for device in self.devices.of(server) {
            let end = self.devices.flush::<M>(device, now);
            if end > at {
                (at, last) = (end, device);
            }
        }
        if at > now {
            self.syncs.cells.edit::<M>(slot).phase = Phase::Passed;
            self.waits_for_cache::<M>(now, slot, last);
            actions.push(Action::CachesWritten { server, slot, at });
        } else {
            self.drain_for_sync::<M>(now, slot, actions);
        }
    }

    /// All acknowledged bytes are on media: starts the drain if the synchronization needs it.
    fn drain_for_sync<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let Sync { what, server, .. } = *self.syncs.cells.get(slot);
        let leads_down = self.params[server as usize].next.is_some();
        if !(leads_down && what.goes_to_last_tier() && self.is_indexed(server)) {
            self.pass_sync_on::<M>(now, slot, actions);
            return;
        }
        let end = self.contents.extents.end_of(server, what.object);
        let first = self.lower_tiers.reserves.get(server).left;
        let sync = self.syncs.cells.edit::<M>(slot);
        (sync.phase, sync.first) = (Phase::Drain { from: 0, end }, first);
        self.feed_lower_tier::<M>(now, server, actions);
    }

    /// A block may have left `server`: advances the synchronizations that wait for it.
    pub(crate) fn advance_syncs<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        if self.syncs.servers.get(server).open.is_empty() {
            return;
        }
        for slot in self.syncs.open(server) {
            let Sync { what, phase, .. } = *self.syncs.cells.get(slot);
            let Phase::Drain { mut from, end } = phase else {
                continue;
            };
            let alone = |place: Place| matches!(place, Place::Device(_) | Place::Leaving(_));
            let next = loop {
                match self.contents.extents.first(server, what.object, from..end) {
                    Some(extent) if !alone(extent.place) => from = extent.end,
                    next => break next,
                }
            };
            match next {
                Some(extent) => {
                    self.syncs.cells.edit::<M>(slot).phase = Phase::Drain {
                        from: extent.start,
                        end,
                    }
                }
                None => self.pass_sync_on::<M>(now, slot, actions),
            }
        }
    }

    /// Chooses the next block of `server` that a synchronization needs in the lower tier: its device, and owner, object, offset,
    /// length.
    pub(crate) fn leave_for_sync<M: Mode>(&mut self, server: u32) -> Option<(u32, (u16, u64, u64, u64))> {
        if self.syncs.servers.get(server).open.is_empty() {
            return None;
        }
        let block = self.params[server as usize].block();
        for slot in self.syncs.open(server) {
            let Sync { what, phase, .. } = *self.syncs.cells.get(slot);
            let Phase::Drain { from, end } = phase else { continue };
            let mut found = self.contents.extents.find(server, what.object, from..end);
            let alone = found.find_map(|extent| match extent.place {
                Place::Device(device) => Some((extent, device)),
                _ => None,
            });
            drop(found);
            if let Some((extent, device)) = alone {
                let end = extent.start + block.min(extent.bytes());
                let range = extent.start..end;
                self.shift::<M>(server, what.object, range, extent.owner, Place::Leaving(device));
                let device = self.devices.of(server).start + u32::from(device);
                return Some((device, (extent.owner, what.object, extent.start, end - extent.start)));
            }
        }
        None
    }

    /// None of its bytes are here alone: passes the synchronization to the lower tier, or ends it.
    fn pass_sync_on<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        self.set_sync_wait::<M>(now, slot, SyncWait::Nothing);
        let Sync { what, server, .. } = *self.syncs.cells.get(slot);
        let leads_down = self.params[server as usize].next.is_some();
        if leads_down && (what.goes_to_last_tier() || self.passes_by(server)) {
            self.syncs.cells.edit::<M>(slot).phase = Phase::Passed;
            actions.push(Action::pass_on(server, Origin::Sync(slot), &what));
        } else {
            self.end_sync::<M>(now, slot, actions);
        }
    }

    /// Answers synchronization `slot` and frees it.
    fn end_sync<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        self.set_sync_wait::<M>(now, slot, SyncWait::Nothing);
        let Sync { what, server, .. } = *self.syncs.cells.get(slot);
        let mut open = self.syncs.servers.get(server).open;
        let it = |other: &Sync| other.what.header == what.header;
        open.remove_first::<M, _>(&mut self.syncs.cells, it);
        self.syncs.servers.edit::<M>(server).open = open;
        self.syncs.cells.free::<M>(slot);
        actions.push(Action::answer(server, what.header));
    }
}
