//! The lower tier: what a server writes to it and reads from it.
//!
//! ```text
//!   write = "back"     client -> memory -> device -> acknowledged;   device -> reserve -> lower tier -> its space is free, or clean
//!   write = "through"  client -> memory -> device and lower tier -> acknowledged, clean
//!   write = "around"   client -> memory -> lower tier -> acknowledged
//!   read, not here     lower tier -> memory -> client (-> reserve -> device, clean)
//! ```
//!
//! A server is an ordinary client of the lower tier. The caller carries [`Action::AskLowerTier`] there as a request of the server
//! for the job that owns the data, and reports the answer with [`Servers::lower_tier_answered`].
//!
//! **No deadlock.** A tier waits only for the tiers under it. Blocks that leave a server, or are copied to its device, use a
//! reserve of [`blocks_in_flight`](crate::settings::Policy::blocks_in_flight) blocks beside the memory pool: freeing space never
//! waits for a request that needs space. A piece that waits for the lower tier holds memory of its own server alone. The lower tier
//! never waits for an upper tier: a server answers pulls from memory that the piece already holds. The last tier waits for its
//! devices only.
//!
//! [`clean`](crate::space) keeps and evicts clean copies; [`stage`](crate::stage) brings data ahead of their readers.

use odonata_engine::{Mode, NIL};
use odonata_units::Time;

use super::{Action, Actions, Observer, OpenRequest, Servers, Staged, StorageRequest};
use crate::drain::Reserved;
use crate::index::SpaceUse;
use crate::observe::BlockStep;
use crate::open_request::{Piece, PieceKind};
use crate::settings::{ReadPolicy, WritePolicy};
use crate::{Origin, RequestHeader};

impl Servers {
    /// Starts to read the next block of a drain to an external file system, or blocks that leave for the lower tier.
    ///
    /// A block is read if the server should drain, has written bytes to drain, and the buffer of the first stage is free. A device for
    /// whose space a request waits comes first; otherwise devices take turns.
    pub(super) fn feed_drain<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let parts = &mut self.parts;
        let Some(to) = parts.pipelines.link(server) else {
            self.feed_lower_tier::<M>(now, server, actions);
            return;
        };
        let Some(turn) = parts.pipelines.next_turn(server) else {
            return;
        };
        let devices = parts.devices.of(server);
        let count = devices.len() as u32;
        let first = devices.start;
        // Leaving blocks will free their space without a further block.
        let will_be_used: u64 = devices.map(|device| parts.space.staying(device)).sum();
        let has_some = |device: &u32| parts.space.dirty(*device) > 0;
        let mut in_turn = (0..count).map(|n| first + (turn + n) % count).filter(has_some);
        let lacks_space = |device: &u32| parts.lacks_space(*device, parts.space.staying(*device));
        let device = match in_turn.clone().find(lacks_space) {
            Some(device) => device,
            None if will_be_used <= to.threshold.0 => return,
            None => match in_turn.next() {
                Some(device) => device,
                None => return,
            },
        };
        let most = parts.params[server as usize].block();
        let block = if parts.index.is_kept(server) {
            let chosen = self.parts.leave::<M>(device, most, |_| true);
            chosen.expect("something of the device is there alone")
        } else {
            let bytes = most.min(parts.space.dirty(device));
            let states = (SpaceUse::Dirty, SpaceUse::Leaving);
            parts.space.change::<M>(device, states, bytes);
            parts.cursors.take_oldest::<M>(device, bytes)
        };
        let slot = self.parts.new_block::<M>(now, device, block, 0);
        self.parts
            .pipelines
            .fetch::<M>(server, slot, (device - first + 1) % count);
        self.join_device::<M>(now, slot, actions);
    }

    /// The device has read the block of the first stage.
    pub(super) fn fetched<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let parts = &mut self.parts;
        let link_is_free = parts.pipelines.is_fetched::<M>(server);
        let block = parts.pipelines.fetching(server).expect("it has been read");
        if parts.pieces.get(block).removed {
            parts.pipelines.drop_first_stage::<M>(server);
            parts.pieces.free::<M>(block);
            self.feed_drain::<M>(now, server, actions);
        } else if link_is_free {
            self.parts.transfer::<M>(now, server, actions);
            self.feed_drain::<M>(now, server, actions);
        }
    }

    /// The block in transfer from `server` is safe, as announced by [`Action::DrainUntil`]: its space is free again.
    pub fn drain_done<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        self.is_up::<M>(now, server);
        let (slot, has_next) = self.parts.pipelines.is_sent::<M>(server);
        let piece = self.parts.block_has_left::<M>(slot);
        self.observers.data_are_drained::<M>(&self.parts, &piece);
        self.space_is_free::<M>(now, piece.device, piece.owner, actions);
        if has_next {
            self.parts.transfer::<M>(now, server, actions);
        }
        self.feed_drain::<M>(now, server, actions);
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// Sends a request for the piece in `slot` to the lower tier: a write or a read.
    pub(super) fn ask_lower_tier<M: Mode>(&mut self, now: Time, slot: u32, write: bool, actions: &mut Actions) {
        let piece = *self.parts.pieces.get(slot);
        if write {
            self.parts.pieces.edit::<M>(slot).down = true;
            self.observers.data_leave::<M>(&self.parts, now, &piece);
        }
        actions.push(Action::AskLowerTier {
            server: piece.server,
            origin: Origin::Piece(slot),
            owner: piece.owner,
            operation: self.parts.operation_below(slot, write),
            object: piece.object,
            offset: piece.offset,
            bytes: piece.bytes,
        });
    }

    /// Sends a piece of a write, which is in memory, to its device, to the lower tier, or to both.
    pub(super) fn go_on<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let server = self.parts.pieces.get(slot).server;
        match self.parts.params[server as usize].next.map(|policy| policy.write) {
            None | Some(WritePolicy::Back) => self.join_device::<M>(now, slot, actions),
            Some(WritePolicy::Around) => self.ask_lower_tier::<M>(now, slot, true, actions),
            Some(WritePolicy::Through) => {
                self.parts.pieces.edit::<M>(slot).missing = 2;
                self.join_device::<M>(now, slot, actions);
                self.ask_lower_tier::<M>(now, slot, true, actions);
            }
        }
    }

    /// The piece in `slot` is safe in the lower tier, or has come from there.
    pub(super) fn piece_answered<M: Mode>(&mut self, now: Time, slot: u32, lost: bool, actions: &mut Actions) {
        let dead = self.is_dead::<M>(now, slot);
        let parts = &mut self.parts;
        let cell = parts.pieces.edit::<M>(slot);
        (cell.down, cell.lost) = (false, lost);
        let piece = *cell;
        let Piece { server, request, .. } = piece;
        if lost && request != NIL {
            parts.requests.edit::<M>(request).lost = true;
        }
        let write = request == NIL || parts.requests.get(request).what.operation.is_write();
        match write {
            true => self.observers.data_are_below::<M>(&self.parts, now, &piece),
            false => self.observers.data_are_fetched::<M>(&self.parts, &piece),
        }
        // The reads that wait for a staged block. If the lower tier has lost it, each of them asks the lower tier itself.
        if !write {
            for reader in self.parts.stages.arrive::<M>(&piece, &mut self.parts.pieces) {
                match piece.lost {
                    true => self.ask_lower_tier::<M>(now, reader, false, actions),
                    false => self.parts.push_piece(reader, actions),
                }
            }
        }
        match (request, write) {
            (NIL, _) => self.drained_to_lower_tier::<M>(now, slot, actions),
            (_, write) if dead => {
                if write {
                    self.store_around::<M>(&piece);
                }
                self.bury::<M>(now, slot, actions);
            }
            (_, true) => match piece.missing {
                0 => {
                    self.store_around::<M>(&piece);
                    self.finish_piece::<M>(now, slot, actions);
                }
                missing => {
                    self.parts.pieces.edit::<M>(slot).missing = missing - 1;
                    self.end_write_through::<M>(now, slot, actions);
                }
            },
            (request, false) if self.parts.requests.get(request).stages => {
                self.stage_arrived::<M>(now, slot, actions);
            }
            (_, false) => {
                self.parts.pieces.edit::<M>(slot).kind = PieceKind::Fetched;
                self.parts.push_piece(slot, actions);
            }
        }
        self.parts.removals_go_on::<M>(server, actions);
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// A block of the reserve is safe in the lower tier.
    fn drained_to_lower_tier<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.parts.pieces.get(slot);
        let Piece {
            server, owner, device, ..
        } = piece;
        self.observers
            .block_moves::<M>(&self.parts, now, &piece, Some(BlockStep::LowerTier), None);
        self.observers.reserve_is_freed::<M>(&self.parts, now, server, owner);
        self.parts.block_has_left::<M>(slot);
        self.parts.reserves.give_back::<M>(server, Reserved::Sending);
        self.space_is_free::<M>(now, device, owner, actions);
        self.feed_lower_tier::<M>(now, server, actions);
    }

    /// A piece of a write-through is on its device or safe in the lower tier. Ends it when both are true.
    pub(super) fn end_write_through<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.parts.pieces.get(slot);
        if piece.missing > 0 {
            return;
        }
        let parts = &mut self.parts;
        let policy = parts.params[piece.server as usize].next;
        let keeps = policy.is_none_or(|policy| policy.keep || policy.read != ReadPolicy::Pass);
        parts.index.commit_through::<M>(&piece, keeps, &mut parts.space);
        if keeps && !piece.removed {
            parts.space.keep_clean::<M>(&piece);
        }
        self.observers.data_are_received::<M>(&self.parts, &piece);
        self.finish_piece::<M>(now, slot, actions);
        self.parts.removals_go_on::<M>(piece.server, actions);
        self.space_is_free::<M>(now, piece.device, piece.owner, actions);
    }

    /// A piece that has not come to a device is safe in the lower tier.
    pub(super) fn store_around<M: Mode>(&mut self, piece: &Piece) {
        let parts = &mut self.parts;
        if parts.index.is_kept(piece.server) {
            parts.index.commit_below::<M>(piece, &mut parts.space);
        }
        self.observers.data_are_received::<M>(&self.parts, piece);
    }

    /// Starts reads of blocks that should leave, as many as the reserve holds.
    pub(super) fn feed_lower_tier<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let Some(policy) = self.parts.params[server as usize].next else {
            return;
        };
        if policy.write == WritePolicy::Around && !self.parts.index.is_kept(server) {
            return;
        }
        if self.parts.syncs.is_any_open(server) {
            let open: Vec<u32> = self.parts.syncs.open(server).collect();
            for sync in open {
                if self.parts.syncs.advance::<M>(sync, &self.parts.index) {
                    self.pass_sync_on::<M>(now, sync, actions);
                }
            }
        }
        while self.parts.reserves.has_free_block(server) {
            let Some((device, block)) = self.parts.leave_next::<M>(server, policy) else {
                break;
            };
            let devices = self.parts.devices.of(server);
            let turn = (device - devices.start + 1) % devices.len() as u32;
            let number = self.parts.reserves.fetch::<M>(server, turn);
            let slot = self.parts.new_block::<M>(now, device, block, number);
            let piece = *self.parts.pieces.get(slot);
            self.observers
                .block_moves::<M>(&self.parts, now, &piece, None, Some(BlockStep::Queued));
            self.join_device::<M>(now, slot, actions);
        }
        self.observers.blocks_have_left::<M>(&self.parts, now, server);
    }

    /// The device has read a block that leaves for the lower tier.
    pub(super) fn fetched_to_leave<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.parts.pieces.get(slot);
        let Piece { server, removed, .. } = piece;
        self.parts.reserves.give_back::<M>(server, Reserved::Fetching);
        let (from, to) = (BlockStep::Served, (!removed).then_some(BlockStep::LowerTier));
        self.observers
            .block_moves::<M>(&self.parts, now, &piece, Some(from), to);
        if removed {
            self.observers
                .reserve_is_freed::<M>(&self.parts, now, server, piece.owner);
            self.parts.pieces.free::<M>(slot);
            self.feed_lower_tier::<M>(now, server, actions);
            return;
        }
        self.parts.reserves.take::<M>(server, Reserved::Sending);
        self.ask_lower_tier::<M>(now, slot, true, actions);
    }

    /// Evicts up to `needed` bytes of clean copies from `device`. Returns the bytes freed.
    pub(super) fn evict<M: Mode>(&mut self, device: u32, needed: u64) -> u64 {
        let (parts, mut evicted) = (&mut self.parts, Vec::new());
        let server = parts.devices.server_of(device);
        let note = |owner, bytes| evicted.push((owner, bytes));
        let freed = (parts.space).evict::<M>((server, device), needed, &mut parts.index, note);
        for (owner, bytes) in evicted {
            self.observers.copy_is_evicted::<M>(&self.parts, device, owner, bytes);
        }
        freed
    }

    /// Copies `piece`, which came from the lower tier and was delivered, to its device, if the policy says so and space allows.
    pub(super) fn keep_copy<M: Mode>(&mut self, now: Time, piece: &Piece, actions: &mut Actions) {
        let parts = &self.parts;
        let Some(policy) = parts.params[piece.server as usize].next else {
            return;
        };
        let wanted =
            policy.read == ReadPolicy::Cache && piece.kind == PieceKind::Fetched && !piece.removed && !piece.lost;
        if !wanted || !parts.reserves.has_free_block(piece.server) || !parts.index.is_kept(piece.server) {
            return;
        }
        if !self.fill::<M>(piece, true) {
            return;
        }
        let place = (piece.server, piece.device);
        let mut copy = Piece::new(now, place, (NIL, piece.owner), piece.object, piece.offset, piece.bytes);
        copy.kind = PieceKind::Fill;
        let slot = self.parts.pieces.allocate::<M>(copy);
        self.parts.reserves.take::<M>(piece.server, Reserved::Filling);
        self.join_device::<M>(now, slot, actions);
    }

    /// Takes space for a clean copy of `piece` on its device, and evicts other copies for it; without `own`, only if the oldest copy is
    /// of another object. Never evicts while a request waits for space. Returns whether the piece is to be written to the device.
    fn fill<M: Mode>(&mut self, piece: &Piece, own: bool) -> bool {
        let (device, space) = (piece.device, &self.parts.space);
        if self.parts.first_reservation(device).is_some() || piece.bytes > space.capacity(device) {
            return false;
        }
        let free = space.free(device);
        let is_own = space.oldest_clean(device) == Some(piece.object);
        if piece.bytes > free && (own || !is_own) {
            self.evict::<M>(device, piece.bytes - free);
        }
        if piece.bytes > self.parts.space.free(device) {
            return false;
        }
        let parts = &mut self.parts;
        let (bytes, inputs) = parts.index.fill::<M>(piece, &mut parts.space);
        if bytes > 0 {
            self.observers.copy_is_made::<M>(&self.parts, piece, bytes, inputs);
        }
        bytes > 0
    }

    /// The device has written a copy of data that came from the lower tier.
    pub(super) fn filled<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let parts = &mut self.parts;
        let piece = *parts.pieces.get(slot);
        if !piece.removed {
            parts.index.is_filled::<M>(&piece, &mut parts.space);
            parts.space.keep_clean::<M>(&piece);
        }
        if piece.request == NIL {
            parts.pieces.free::<M>(slot);
            parts.reserves.give_back::<M>(piece.server, Reserved::Filling);
            self.observers
                .reserve_is_freed::<M>(&self.parts, now, piece.server, piece.owner);
        } else {
            self.finish_piece::<M>(now, slot, actions);
        }
        // A request may wait for space that is clean now.
        self.space_is_free::<M>(now, piece.device, piece.owner, actions);
        self.feed_lower_tier::<M>(now, piece.server, actions);
    }

    /// Brings the range of `what` from the lower tier to the devices of `server`, and answers when it is there.
    pub(super) fn stage_in<M: Mode>(&mut self, now: Time, server: u32, what: StorageRequest, actions: &mut Actions) {
        let RequestHeader { owner, .. } = what.header;
        if what.bytes > 0 && self.parts.caches(server) {
            self.begin_stage::<M>(now, server, what, false, actions);
            return;
        }
        self.observers
            .stage_moves::<M>(&self.parts, owner, Staged::Left, what.bytes);
        actions.push(Action::Respond {
            server,
            header: what.header,
            lock: None,
            bytes: what.bytes,
            lost: false,
        });
    }

    fn begin_stage<M: Mode>(
        &mut self,
        now: Time,
        server: u32,
        what: StorageRequest,
        ahead: bool,
        actions: &mut Actions,
    ) {
        let device = self.parts.device_for(now, server, what.bytes);
        let mut request = OpenRequest::new(now, (server, device), what);
        (request.stages, request.answered) = (true, ahead);
        let request = self.parts.requests.allocate::<M>(request);
        self.issue::<M>(now, request, actions);
        self.end_stage_without_pieces::<M>(now, request, actions);
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// A read of `what` arrives at `server`: reads ahead if it is sequential.
    pub(super) fn read_ahead<M: Mode>(&mut self, now: Time, server: u32, what: &StorageRequest, actions: &mut Actions) {
        let policy = self.parts.params[server as usize].next;
        let window = policy.map_or(0, |policy| policy.read_ahead.0);
        if window == 0 || !self.parts.stages.reads_ahead() || !self.parts.caches(server) {
            return;
        }
        let last = self.parts.index.end_of(server, what.object);
        if let Some(range) = self.parts.stages.read_ahead::<M>(server, what, window, last) {
            let next = StorageRequest {
                offset: range.start,
                bytes: range.end - range.start,
                ..*what
            };
            self.begin_stage::<M>(now, server, next, true, actions);
        }
    }

    /// Ends a stage that needs no pieces: all of its range is on devices.
    pub(super) fn end_stage_without_pieces<M: Mode>(&mut self, now: Time, request: u32, actions: &mut Actions) {
        let OpenRequest {
            done,
            in_flight,
            answered,
            what,
            ..
        } = *self.parts.requests.get(request);
        if done == what.bytes && in_flight == 0 {
            if !answered {
                self.answer::<M>(now, request, actions);
            }
            self.parts.requests.free::<M>(request);
        }
    }

    /// A piece of a stage has arrived from the lower tier: writes it to its device if there is room.
    fn stage_arrived<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let piece = *self.parts.pieces.get(slot);
        let ahead = self.parts.requests.get(piece.request).answered;
        // The end of a file larger than the buffers must not evict its beginning before that is read.
        let fills = !piece.removed && !piece.lost && self.fill::<M>(&piece, ahead);
        let moved = match (fills, ahead) {
            (false, false) => Some(Staged::Left),
            (false, true) => None,
            (true, false) => Some(Staged::Brought),
            (true, true) => Some(Staged::ReadAhead),
        };
        if let Some(moved) = moved {
            self.observers
                .stage_moves::<M>(&self.parts, piece.owner, moved, piece.bytes);
        }
        if fills {
            self.parts.pieces.edit::<M>(slot).kind = PieceKind::Fill;
            self.join_device::<M>(now, slot, actions);
        } else {
            self.finish_piece::<M>(now, slot, actions);
        }
    }
}
