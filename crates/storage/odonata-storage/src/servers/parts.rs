//! The parts of a set of servers, side by side, and the questions that concern several of them.

mod transitions;

use odonata_engine::{Mode, NIL, Pool, journalled};
use odonata_units::Time;

use crate::device_queues::DeviceQueues;
use crate::devices::Devices;
use crate::drain::{DrainCursors, DrainPipelines, Reserves};
use crate::faults::failures::{Failures, LostRead};
use crate::index::ContentIndex;
use crate::memory::MemoryPools;
use crate::open_request::{OpenRequest, Piece, PieceKind};
use crate::remove::Removals;
use crate::settings::{Sharing, Unwritten, WritePolicy};
use crate::sharing::{Line, Turns};
use crate::space::DeviceSpaces;
use crate::stage::Stages;
use crate::sync::Syncs;
use crate::{Origin, RequestHeader, ServerParams, StorageOperation, StorageRequest};

/// The state of a set of servers.
#[derive(Debug)]
pub(crate) struct ServerParts {
    pub(crate) params: Vec<ServerParams>,
    /// Number of tiers of servers on the whole machine.
    pub(crate) tiers: u8,
    pub(crate) requests: Pool<OpenRequest>,
    pub(crate) pieces: Pool<Piece>,
    pub(crate) space: DeviceSpaces,
    pub(crate) memories: MemoryPools,
    pub(crate) devices: Devices,
    pub(crate) queues: DeviceQueues,
    pub(crate) turns: Turns,
    pub(crate) index: ContentIndex,
    pub(crate) cursors: DrainCursors,
    pub(crate) pipelines: DrainPipelines,
    pub(crate) reserves: Reserves,
    pub(crate) stages: Stages,
    pub(crate) syncs: Syncs,
    pub(crate) removals: Removals,
    pub(crate) failures: Failures,
}
journalled!(ServerParts {
    requests,
    pieces,
    space,
    memories,
    devices,
    queues,
    turns,
    index,
    cursors,
    pipelines,
    reserves,
    stages,
    syncs,
    removals,
    failures
});

impl ServerParts {
    /// Servers that are empty and idle.
    pub(crate) fn new(params: Vec<ServerParams>) -> Self {
        let devices = Devices::new(&params);
        let all = devices.len() as usize;
        ServerParts {
            tiers: 1,
            requests: Pool::new(),
            pieces: Pool::new(),
            space: DeviceSpaces::new(&devices),
            memories: MemoryPools::new(&params),
            queues: DeviceQueues::new(all),
            turns: Turns::off(),
            index: ContentIndex::new(&params, &devices),
            cursors: DrainCursors::new(all),
            pipelines: DrainPipelines::new(&params),
            reserves: Reserves::new(&params),
            stages: Stages::off(),
            syncs: Syncs::new(params.len()),
            removals: Removals::new(),
            failures: Failures::none(),
            devices,
            params,
        }
    }

    /// Number of servers.
    pub(crate) fn len(&self) -> u32 {
        self.params.len() as u32
    }

    /// How jobs share `server`.
    pub(crate) fn sharing(&self, server: u32) -> Sharing {
        self.params[server as usize].manager.sharing
    }

    /// Whether writes to `server` bypass its devices.
    pub(crate) fn passes_by(&self, server: u32) -> bool {
        let next = self.params[server as usize].next;
        next.is_some_and(|policy| policy.write == WritePolicy::Around)
    }

    /// Space in use at `server`, in bytes: reserved and not drained.
    pub(crate) fn used(&self, server: u32) -> u64 {
        self.devices.of(server).map(|device| self.space.used(device)).sum()
    }

    /// Space that a write to `device` needs beyond the space that its range has there.
    pub(crate) fn needs(&self, device: u32, what: &StorageRequest) -> u64 {
        let server = self.devices.server_of(device);
        match self.index.is_kept(server) {
            true => what.bytes - (self.index).bytes_on((server, device), what.object, crate::index::range_of(what)),
            false => what.bytes,
        }
    }

    /// The request that gets space on `device` next, if any waits.
    pub(crate) fn first_reservation(&self, device: u32) -> Option<u32> {
        let sharing = self.sharing(self.devices.server_of(device));
        let waiting = self.space.waiting(device);
        self.turns.first(sharing, Line::Space(device), &waiting, &self.requests)
    }

    /// Whether a request waits for more space on `device` than it will have: `staying` bytes stay in use.
    pub(crate) fn lacks_space(&self, device: u32, staying: u64) -> bool {
        let will_be_free = self.space.capacity(device) - staying;
        let waiting = self.first_reservation(device);
        waiting.is_some_and(|request| self.needs(device, &self.requests.get(request).what) > will_be_free)
    }

    /// The device of `server` for a request of `bytes` bytes: the one that the rules name, or the next one that is up.
    pub(crate) fn device_for(&self, now: Time, server: u32, bytes: u64) -> u32 {
        let choice = self.params[server as usize].rules.device(bytes, None) as u32;
        self.failures.device_up(now, self.devices.of(server), choice)
    }

    /// The device that serves a read: the one with most of the range, else `by_rules`. `None`: the range must be written, and part of it
    /// is not.
    pub(crate) fn device_of_read(&self, server: u32, what: &StorageRequest, by_rules: u32) -> Option<u32> {
        if !self.index.is_kept(server) {
            return Some(by_rules);
        }
        let (known, device) = self.index.device_with_most(server, what, by_rules);
        let unwritten = self.params[server as usize].manager.unwritten;
        // Bytes that are lost, or on another server, may be read: `reads_lost` has checked them.
        let may_read = unwritten == Unwritten::ExistsBelow || known == what.bytes || what.operation.is_rerouted();
        may_read.then_some(device)
    }

    /// What the reader of `what` gets for lost bytes in its range; nothing for a write. Counts the lost bytes that are read.
    pub(crate) fn reads_lost<M: Mode>(&mut self, server: u32, what: &StorageRequest) -> LostRead {
        if what.operation.is_write() || !self.failures.counts_losses() || !self.index.is_kept(server) {
            return LostRead::Nothing;
        }
        let (known, mut lost) = self.index.known_and_lost(server, what);
        let tolerates_loss = what.operation.tolerates_loss();
        // The contents of another server are unknown here. The lower tier knows what it has of them, and tells a reader that tolerates
        // loss.
        if what.operation.is_rerouted() && !(tolerates_loss && self.params[server as usize].next.is_some()) {
            lost = what.bytes - known;
        }
        let reader = (server, what.header.owner);
        self.failures.read_lost::<M>(reader, lost, tolerates_loss)
    }

    /// Whether a read piece has to be fetched from the lower tier.
    pub(crate) fn is_in_lower_tier(&self, slot: u32) -> bool {
        let piece = self.pieces.get(slot);
        if self.params[piece.server as usize].next.is_none() {
            return false;
        }
        if !self.index.is_kept(piece.server) {
            return true;
        }
        let (bytes, here) = self.index.run_of(piece.server, piece.object, piece.range());
        !here || bytes < piece.bytes
    }

    /// Whether the memory of the server has all of a read piece.
    pub(crate) fn is_in_memory(&self, slot: u32) -> bool {
        let piece = self.pieces.get(slot);
        self.index.is_kept(piece.server) && self.index.is_in_memory(piece)
    }

    /// The operation that `server` asks of the lower tier for piece `slot`.
    pub(crate) fn operation_below(&self, slot: u32, write: bool) -> StorageOperation {
        match self.pieces.get(slot).request {
            _ if write => StorageOperation::Write,
            NIL => StorageOperation::READ,
            request => {
                let what = self.requests.get(request).what.operation;
                let tolerates_loss = what.tolerates_loss();
                StorageOperation::Read {
                    rerouted: tolerates_loss && what.is_rerouted(),
                    tolerates_loss,
                }
            }
        }
    }

    /// The request of piece `slot`; `None` after the answer, since the client may reuse its token.
    pub(crate) fn request_of_piece(&self, slot: u32) -> Option<RequestHeader> {
        let request = self.pieces.get(slot).request;
        if request == NIL {
            return None;
        }
        let request = self.requests.get(request);
        (!request.answered).then_some(request.what.header)
    }

    /// The request whose client waits for `origin`, if there is one.
    pub(crate) fn request_of(&self, origin: Origin) -> Option<RequestHeader> {
        match origin {
            Origin::Piece(slot) => self.request_of_piece(slot),
            Origin::Sync(slot) => self.syncs.request(slot),
            Origin::Removal(slot) => self.removals.request(slot),
        }
    }

    /// Whether work is under way at `server`.
    pub(crate) fn is_busy(&self, server: u32) -> bool {
        let of_piece = |slot: u32| {
            let piece = self.pieces.get(slot);
            piece.server == server && !piece.dead
        };
        let of_request = |slot: u32| {
            let request = self.requests.get(slot);
            request.server == server && !request.dead
        };
        self.syncs.is_any_open(server)
            || self.pieces.slots().into_iter().any(of_piece)
            || self.requests.slots().into_iter().any(of_request)
    }

    /// Marks the requests and pieces of `object` at `server` as removed, except writes that wait for space.
    pub(crate) fn mark_removed<M: Mode>(&mut self, server: u32, object: u64) {
        if self.requests.live() > 0 {
            for slot in self.requests.slots() {
                let request = self.requests.get(slot);
                let waits_for_space = request.what.operation.is_write() && request.issued == 0;
                if request.server == server && request.what.object == object && !request.dead && !waits_for_space {
                    self.requests.edit::<M>(slot).removed = true;
                }
            }
        }
        if self.pieces.live() > 0 {
            for slot in self.pieces.slots() {
                let piece = self.pieces.get(slot);
                if piece.server == server && piece.object == object && !piece.dead {
                    self.pieces.edit::<M>(slot).removed = true;
                }
            }
        }
    }

    /// Whether a removed part of `object` is, or will be, on its way down from `server`.
    pub(crate) fn goes_down(&self, server: u32, object: u64) -> bool {
        let block = |slot: u32| {
            let piece = self.pieces.get(slot);
            let drains = piece.request == NIL && piece.kind == PieceKind::Drain && piece.down;
            drains && piece.server == server && piece.object == object && piece.removed
        };
        let policy = self.params[server as usize].next;
        let passes_on = policy.is_some_and(|policy| policy.write != WritePolicy::Back);
        let write = |slot: u32| {
            let request = self.requests.get(slot);
            let of_object = request.server == server && request.what.object == object;
            of_object && request.what.operation.is_write() && request.removed && !request.dead
        };
        (self.pieces.live() > 0 && self.pieces.slots().into_iter().any(block))
            || (passes_on && self.requests.live() > 0 && self.requests.slots().into_iter().any(write))
    }
}
