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

use odonata_engine::{List, Mode, Pool, Store, journalled};

use crate::index::{ContentIndex, LeavingBlock, Place, SpaceAccount};
use crate::open_request::OpenRequest;
use crate::{RequestHeader, StorageRequest};

/// The current phase of a synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Phase {
    /// Waits for that many writes acknowledged before its arrival.
    Writes(u32),
    /// Waits for the caches of devices or for the lower tier; the caller reports their end.
    Passed,
    /// Waits until bytes `from..end` have left.
    Drain { from: u64, end: u64 },
}

/// A synchronization under way.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Sync {
    pub(crate) what: StorageRequest,
    pub(crate) server: u32,
    /// The number of writes that the server had acknowledged early at its arrival.
    number: u64,
    pub(crate) phase: Phase,
    /// Whether its server has failed.
    is_dead: bool,
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

    /// Whether a synchronization is under way at `server`.
    pub(crate) fn is_any_open(&self, server: u32) -> bool {
        !self.servers.get(server).open.is_empty()
    }

    /// The synchronizations under way at `server`, in the order of their arrival.
    pub(crate) fn open(&self, server: u32) -> impl Iterator<Item = u32> + use<'_> {
        self.servers.get(server).open.iter(&self.cells)
    }

    /// All synchronizations, also those of servers that have failed.
    pub(crate) fn slots(&self) -> Vec<u32> {
        self.cells.slots()
    }

    /// Synchronization `slot`.
    pub(crate) fn get(&self, slot: u32) -> &Sync {
        self.cells.get(slot)
    }

    /// The request of synchronization `slot`; `None` if its server has failed.
    pub(crate) fn request(&self, slot: u32) -> Option<RequestHeader> {
        let Sync { what, is_dead, .. } = *self.cells.get(slot);
        (!is_dead).then_some(what.header)
    }

    /// Synchronization `what` arrives at `server`. Returns its slot, and whether it waits for writes.
    pub(crate) fn arrive<M: Mode>(
        &mut self,
        server: u32,
        what: StorageRequest,
        requests: &Pool<OpenRequest>,
    ) -> (u32, bool) {
        let cell = *self.servers.get(server);
        let before = cell.uncommitted.iter(requests);
        let writes = before
            .filter(|&slot| requests.get(slot).what.object == what.object)
            .count();
        let slot = self.cells.allocate::<M>(Sync {
            what,
            server,
            number: cell.writes,
            phase: Phase::Writes(writes as u32),
            is_dead: false,
            next: odonata_engine::NIL,
        });
        let mut open = cell.open;
        open.push::<M, _>(&mut self.cells, slot);
        self.servers.edit::<M>(server).open = open;
        (slot, writes > 0)
    }

    /// Write `request` is acknowledged before all of it is on a device.
    pub(crate) fn acknowledge_early<M: Mode>(&mut self, request: u32, requests: &mut Pool<OpenRequest>) {
        let server = requests.get(request).server;
        let cell = self.servers.edit::<M>(server);
        requests.edit::<M>(request).number = cell.writes;
        cell.writes += 1;
        cell.uncommitted.push::<M, _>(requests, request);
    }

    /// All of write `request`, which was acknowledged early, is on a device. Returns the synchronizations under way at its server.
    pub(crate) fn commit<M: Mode>(&mut self, request: u32, requests: &mut Pool<OpenRequest>) -> Vec<u32> {
        let OpenRequest { server, number, .. } = *requests.get(request);
        let mut uncommitted = self.servers.get(server).uncommitted;
        uncommitted.remove_first::<M, _>(requests, |other| other.number == number);
        self.servers.edit::<M>(server).uncommitted = uncommitted;
        self.open(server).collect()
    }

    /// Write `request` is committed: synchronization `slot` waits for one write less, if it waits for this one. Returns how many are
    /// left then.
    pub(crate) fn waits_no_longer_for<M: Mode>(&mut self, slot: u32, request: &OpenRequest) -> Option<u32> {
        let sync = *self.cells.get(slot);
        match sync.phase {
            Phase::Writes(left) if sync.what.object == request.what.object && request.number < sync.number => {
                self.cells.edit::<M>(slot).phase = Phase::Writes(left - 1);
                Some(left - 1)
            }
            _ => None,
        }
    }

    /// The oldest acknowledged write that synchronization `slot` waits for.
    pub(crate) fn oldest_write(&self, slot: u32, requests: &Pool<OpenRequest>) -> Option<u32> {
        let sync = self.cells.get(slot);
        let mut before = self.servers.get(sync.server).uncommitted.iter(requests);
        before.find(|&slot| {
            let request = requests.get(slot);
            request.what.object == sync.what.object && request.number < sync.number
        })
    }

    /// Synchronization `slot` waits for caches of devices or for the lower tier.
    pub(crate) fn pass<M: Mode>(&mut self, slot: u32) {
        self.cells.edit::<M>(slot).phase = Phase::Passed;
    }

    /// Synchronization `slot` waits until the first `end` bytes of its object have left.
    pub(crate) fn drain<M: Mode>(&mut self, slot: u32, end: u64) {
        self.cells.edit::<M>(slot).phase = Phase::Drain { from: 0, end };
    }

    /// Advances synchronization `slot` over the bytes that have left. Returns whether it waited for bytes to leave, and all have.
    pub(crate) fn advance<M: Mode>(&mut self, slot: u32, index: &ContentIndex) -> bool {
        let Sync {
            what, phase, server, ..
        } = *self.cells.get(slot);
        let Phase::Drain { mut from, end } = phase else {
            return false;
        };
        let alone = |place: Place| matches!(place, Place::Device(_) | Place::Leaving(_));
        let next = loop {
            match index.first(server, what.object, from..end) {
                Some(extent) if !alone(extent.place) => from = extent.end,
                next => break next,
            }
        };
        if let Some(extent) = next {
            let from = extent.start;
            self.cells.edit::<M>(slot).phase = Phase::Drain { from, end };
        }
        next.is_none()
    }

    /// Lets the next block of `server`, at most `most` bytes, leave that a synchronization needs in the lower tier. Returns its device
    /// with it.
    pub(crate) fn leave_next<M: Mode>(
        &self,
        server: u32,
        most: u64,
        index: &mut ContentIndex,
        space: &mut impl SpaceAccount,
    ) -> Option<(u32, LeavingBlock)> {
        self.open(server).find_map(|slot| {
            let Sync { what, phase, .. } = *self.cells.get(slot);
            match phase {
                Phase::Drain { from, end } => index.leave_within::<M>(server, what.object, (from..end, most), space),
                Phase::Writes(_) | Phase::Passed => None,
            }
        })
    }

    /// Synchronization `slot` has ended. Returns its server and its request.
    pub(crate) fn end<M: Mode>(&mut self, slot: u32) -> (u32, RequestHeader) {
        let Sync { what, server, .. } = *self.cells.get(slot);
        let mut open = self.servers.get(server).open;
        open.remove_first::<M, _>(&mut self.cells, |other| other.what.header == what.header);
        self.servers.edit::<M>(server).open = open;
        self.cells.free::<M>(slot);
        (server, what.header)
    }

    /// Frees synchronization `slot`, reported by the caller, if its server has failed. Returns whether it has.
    pub(crate) fn bury<M: Mode>(&mut self, slot: u32) -> bool {
        let is_dead = self.cells.get(slot).is_dead;
        if is_dead {
            self.cells.free::<M>(slot);
        }
        is_dead
    }

    /// `server` has failed: its synchronizations get no answer.
    pub(crate) fn fail<M: Mode>(&mut self, server: u32) {
        let all: Vec<u32> = self.open(server).collect();
        for slot in all {
            match self.cells.get(slot).phase {
                Phase::Passed => self.cells.edit::<M>(slot).is_dead = true,
                Phase::Writes(_) | Phase::Drain { .. } => self.cells.free::<M>(slot),
            }
        }
        let cell = self.servers.edit::<M>(server);
        (cell.open, cell.uncommitted) = (List::EMPTY, List::EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientId, Requester, StorageOperation};
    use odonata_engine::Plain;
    use odonata_units::Time;

    fn request(token: u32, operation: StorageOperation, object: u64) -> StorageRequest {
        let header = RequestHeader {
            client: ClientId::from(Requester::Rank(0)),
            token,
            owner: 0,
        };
        StorageRequest {
            header,
            operation,
            object,
            offset: 0,
            bytes: 10,
        }
    }

    /// Writes 0 and 2 to file 7 and write 1 to file 8 are acknowledged early; write 3 to file 7 after the synchronization.
    #[test]
    fn a_synchronization_waits_for_the_writes_acknowledged_before_it() {
        let (mut syncs, mut requests) = (Syncs::new(1), Pool::new());
        let acknowledge = |syncs: &mut Syncs, requests: &mut Pool<OpenRequest>, object| {
            let write = request(0, StorageOperation::Write, object);
            let slot = requests.allocate::<Plain>(OpenRequest::new(Time::ZERO, (0, 0), write));
            syncs.acknowledge_early::<Plain>(slot, requests);
        };
        for object in [7, 8, 7] {
            acknowledge(&mut syncs, &mut requests, object);
        }
        let sync = request(9, StorageOperation::Sync { to_last_tier: false }, 7);
        let (slot, waits) = syncs.arrive::<Plain>(0, sync, &requests);
        assert!(waits);
        acknowledge(&mut syncs, &mut requests, 7);
        let mut left = Vec::new();
        for write in [3, 0, 1, 2] {
            let oldest = syncs.oldest_write(slot, &requests);
            assert_eq!(syncs.commit::<Plain>(write, &mut requests), [slot]);
            left.push((oldest, syncs.waits_no_longer_for::<Plain>(slot, requests.get(write))));
        }
        let expected = [(Some(0), None), (Some(0), Some(1)), (Some(2), None), (Some(2), Some(0))];
        assert_eq!(left, expected);
        assert_eq!(syncs.oldest_write(slot, &requests), None);
        assert_eq!(syncs.end::<Plain>(slot), (0, sync.header));
        assert_eq!((syncs.live(), syncs.is_any_open(0)), (0, false));
    }
}
