//! Changes that concern several parts at once: blocks that leave, and lists that a failure empties.

use std::collections::BTreeSet;

use odonata_engine::{List, Mode, NIL};
use odonata_units::Time;

use super::ServerParts;
use crate::index::{LeavingBlock, SpaceAccount, SpaceUse};
use crate::open_request::Piece;
use crate::settings::{DrainPolicy, Eviction, Policy};
use crate::{Action, Actions, StorageRequest};

impl ServerParts {
    /// Lets a block of at most `most` bytes of `device` leave, of a job that `which` selects.
    pub(crate) fn leave<M: Mode>(
        &mut self,
        device: u32,
        most: u64,
        which: impl Fn(u16) -> bool,
    ) -> Option<LeavingBlock> {
        let (server, from) = (self.devices.server_of(device), self.cursors.position(device));
        let chosen = (self.index).leave::<M>((server, device), (from, most), which, &mut self.space)?;
        self.cursors.passes::<M>(device, &chosen);
        Some(chosen)
    }

    /// Makes a piece of a block that leaves `device`.
    pub(crate) fn new_block<M: Mode>(&mut self, now: Time, device: u32, block: LeavingBlock, number: u64) -> u32 {
        let LeavingBlock {
            owner,
            object,
            offset,
            bytes,
        } = block;
        let place = (self.devices.server_of(device), device);
        let mut piece = Piece::new(now, place, (NIL, owner), object, offset, bytes);
        piece.number = number;
        self.pieces.allocate::<M>(piece)
    }

    /// Moves the block of the first stage to the link.
    pub(crate) fn transfer<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let slot = self.pipelines.send::<M>(server);
        let piece = self.pieces.edit::<M>(slot);
        piece.down = true;
        let at = now + self.pipelines.transfer_time(server, piece.bytes);
        actions.push(Action::DrainUntil { server, at });
    }

    /// The block of piece `slot` is safe: frees the piece, and its space unless its copy stays. Returns the piece.
    pub(crate) fn block_has_left<M: Mode>(&mut self, slot: u32) -> Piece {
        let piece = *self.pieces.get(slot);
        if !self.index.is_kept(piece.server) {
            self.space.vacate::<M>(piece.device, SpaceUse::Leaving, piece.bytes);
        } else if !piece.removed {
            let policy = self.params[piece.server as usize].next;
            let keeps = policy.is_some_and(|policy| policy.keep) && !piece.dead;
            self.index.has_left::<M>(&piece, keeps, &mut self.space);
            if keeps {
                self.space.keep_clean::<M>(&piece);
            }
        }
        self.pieces.free::<M>(slot);
        self.space.count_drained::<M>(piece.device, piece.bytes);
        piece
    }

    /// Chooses the next block to leave, and its device. Blocks of synchronizations come first, then those of a device for whose space a
    /// request waits; otherwise devices take turns.
    pub(crate) fn leave_next<M: Mode>(&mut self, server: u32, policy: Policy) -> Option<(u32, LeavingBlock)> {
        let most = self.params[server as usize].block();
        if self.syncs.is_any_open(server)
            && let Some(wanted) = (self.syncs).leave_next::<M>(server, most, &mut self.index, &mut self.space)
        {
            return Some(wanted);
        }
        let (devices, turn) = (self.devices.of(server), self.reserves.turn(server));
        let count = devices.len() as u32;
        let in_turn = |n: u32| devices.start + (turn + n) % count;
        let (mut alone, mut first, mut urgent) = (0, None, None);
        for device in (0..count).map(in_turn) {
            let dirty = self.space.dirty(device);
            alone += dirty;
            if dirty > 0 {
                let lacks_space = || self.lacks_space(device, self.space.fixed(device));
                first = first.or(Some(device));
                urgent = urgent.or_else(|| lacks_space().then_some(device));
            }
        }
        let wanted = match policy.drain {
            DrainPolicy::Immediately => true,
            DrainPolicy::AboveWatermark => alone > policy.watermark.0,
            DrainPolicy::JobEnd => false,
        };
        if let Some(device) = urgent.or(first.filter(|_| wanted)) {
            let chosen = self.leave::<M>(device, most, |_| true)?;
            return Some((device, chosen));
        }
        let ended = self.reserves.ended_jobs(server)?;
        let all = policy.drain == DrainPolicy::JobEnd;
        let leaves: Vec<bool> = (0..)
            .zip(&ended)
            .map(|(job, &ended)| ended && (all || self.stages.stages_out(job)))
            .collect();
        let leaves = |owner: u16| leaves.get(usize::from(owner)) == Some(&true);
        for device in (0..count).map(in_turn) {
            if self.space.dirty(device) > 0
                && let Some(chosen) = self.leave::<M>(device, most, leaves)
            {
                return Some((device, chosen));
            }
        }
        self.reserves.has_no_ended::<M>(server);
        None
    }

    /// Postpones the eviction of the clean copies that a piece reads.
    pub(crate) fn touch<M: Mode>(&mut self, piece: &Piece) {
        let policy = self.params[piece.server as usize].next;
        if policy.is_some_and(|policy| policy.eviction == Eviction::Lru) {
            self.index.touch::<M>(piece, &mut self.space);
        }
    }

    /// Whether `server` can keep clean copies.
    pub(crate) fn caches(&self, server: u32) -> bool {
        self.index.is_kept(server) && self.params[server as usize].next.is_some() && self.stages.is_on()
    }

    /// Empties all lists of `server`. Returns the pieces that only those lists named.
    pub(crate) fn empty_queues<M: Mode>(&mut self, server: u32) -> BTreeSet<u32> {
        let mut queued: BTreeSet<u32> = self.memories.waiting(server).iter(&self.pieces).collect();
        self.memories.clear::<M>(server);
        for device in self.devices.of(server) {
            queued.extend(self.queues.waiting(device).iter(&self.pieces));
            self.queues.clear::<M>(device);
            self.space.fail::<M>(device);
        }
        queued.extend(self.stages.fail::<M>(server, &self.pieces));
        queued.extend(self.pipelines.drop_first_stage::<M>(server));
        self.reserves.fail::<M>(server);
        queued
    }

    /// Removes the bytes of `what`, an unacknowledged write, that have come to a device of a server.
    pub(crate) fn drop_unanswered<M: Mode>(&mut self, (server, device): (u32, u32), what: &StorageRequest) {
        let failures = &mut self.failures;
        let dropped = |owner, bytes| failures.losses_of::<M>(server, owner).dropped += bytes;
        (self.index).drop_unanswered::<M>((server, device), what, &mut self.space, dropped);
    }

    /// The contents of all devices of `server` are lost, or those of device `only`.
    pub(crate) fn lose_contents<M: Mode>(&mut self, server: u32, only: Option<u32>) {
        let failures = &mut self.failures;
        let lost = |owner, bytes| failures.losses_of::<M>(server, owner).on_devices += bytes;
        self.index.lose::<M>(server, only, &mut self.space, lost);
    }

    /// The pieces that die with `device`, whose requests are dead: in an order that does not depend on slots.
    pub(crate) fn pieces_of_failed_device(&self, device: u32) -> Vec<u32> {
        let dies = |piece: &Piece| {
            let with_request = piece.request == NIL || self.requests.get(piece.request).dead;
            !piece.dead && piece.device == device && with_request
        };
        let all = self.pieces.slots().into_iter();
        let mut dead: Vec<u32> = all.filter(|&slot| dies(self.pieces.get(slot))).collect();
        dead.sort_by_key(|&slot| {
            let Piece {
                owner,
                object,
                offset,
                bytes,
                request,
                ..
            } = *self.pieces.get(slot);
            (owner, object, offset, bytes, request == NIL)
        });
        dead
    }

    /// Removes the pieces in `dead` from the queue for memory. Returns the removed pieces.
    pub(crate) fn leave_memory_queue<M: Mode>(&mut self, server: u32, dead: &[u32]) -> BTreeSet<u32> {
        let dead: BTreeSet<u32> = dead.iter().copied().collect();
        let all: Vec<u32> = self.memories.waiting(server).iter(&self.pieces).collect();
        let (leave, stay): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|slot| dead.contains(slot));
        if !leave.is_empty() {
            let mut queue = List::EMPTY;
            for slot in stay {
                queue.push::<M, _>(&mut self.pieces, slot);
            }
            self.memories.set_waiting::<M>(server, queue);
        }
        leave.into_iter().collect()
    }

    /// Sends a piece of a read, which is in memory, to its client.
    pub(crate) fn push_piece(&self, slot: u32, actions: &mut Actions) {
        let Piece {
            server, request, bytes, ..
        } = *self.pieces.get(slot);
        actions.push(Action::Push {
            server,
            slot,
            header: self.requests.get(request).what.header,
            bytes,
        });
    }

    /// A block of `server` has arrived in the lower tier: removals without blocks on their way ask again.
    pub(crate) fn removals_go_on<M: Mode>(&mut self, server: u32, actions: &mut Actions) {
        if !self.removals.is_any_waiting() {
            return;
        }
        for (slot, object) in self.removals.waiting_at(server) {
            if !self.goes_down(server, object) {
                self.removals.ask_again::<M>(slot, actions);
            }
        }
    }
}
