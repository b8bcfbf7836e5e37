//! Servers and devices that fail, for good or until they return empty.
//!
//! From the time of its failure, a server answers nothing. A server with several devices continues without one that fails.
//!
//! | state at the failure | effect |
//! |---|---|
//! | requests of the server, and what arrives for them later | no answer; the clients retry (`storage.client`) |
//! | requests that use the device or wait for it | no answer; their locks are given back |
//! | later requests of the server | use the device with the next number that is up, in place of the one that the rules name |
//! | bytes on a device alone, of acknowledged writes | lost |
//! | bytes in memory or on their way to the device, of acknowledged writes | lost: no client learns of it |
//! | bytes of writes that were not acknowledged | dropped: their clients write them again |
//! | blocks on their way to the lower tier | arrive: they have left |
//! | copies of bytes that the lower tier has | the bytes stay in the lower tier |
//! | accesses handed to a device | end without effect |
//!
//! **When.** Every input of a server first calls [`is_up`](Servers::is_up), which applies the failures of the server that are due, as
//! of their own times. No input has reached the server between such a time and the call. Requests that wait for a resource of a
//! request dropped by the failure of a device continue at that moment. So a failure of a device at a busy server is an event
//! ([`Servers::device_fails`]). The next request notices any other failure.
//!
//! **In flight.** Pieces, requests and synchronizations that a later input will still name (a message, an access of a device)
//! become *dead*: their slots are freed after that input. A pull that was sent is answered in any case.
//!
//! **Conservation.** All committed bytes of a job are stored, overwritten, lost or dropped.

use std::collections::BTreeSet;

use odonata_engine::{Mode, NIL, Plain};
use odonata_units::Time;

use super::{Action, Actions, Observer, OpenRequest, Servers};
use crate::drain::Reserved;
use crate::observe::BlockStep;
use crate::open_request::{Piece, PieceKind};

impl Servers {
    /// Applies the failures of servers and devices until `now`, the end of the run.
    pub fn fail_until(&mut self, now: Time) {
        for server in 0..self.parts.len() {
            self.is_up::<Plain>(now, server);
        }
        for server in 0..self.parts.len() {
            self.fail_devices::<Plain>(now, server, &mut Actions::new());
        }
    }

    /// Whether `server` is up. Applies its failures until `now`.
    #[inline]
    pub(super) fn is_up<M: Mode>(&mut self, now: Time, server: u32) -> bool {
        while let Some(at) = self.parts.failures.next_of_server::<M>(now, server) {
            self.fail::<M>(at, server);
        }
        self.parts.failures.is_server_up(now, server)
    }

    /// Whether `server` receives a request of `owner`. Counts the requests that it does not receive.
    pub fn hears<M: Mode>(&mut self, now: Time, server: u32, owner: u16) -> bool {
        let up = self.is_up::<M>(now, server);
        self.notice_devices::<M>(now, server);
        let parts = &mut self.parts;
        let up = up && !parts.failures.are_all_away(now, parts.devices.of(server));
        if !up {
            parts.failures.losses_of::<M>(server, owner).while_down += 1;
        }
        up
    }

    /// Whether the server or the device of piece `slot` has failed since the piece was made.
    #[inline]
    pub(super) fn is_dead<M: Mode>(&mut self, now: Time, slot: u32) -> bool {
        self.is_up::<M>(now, self.parts.pieces.get(slot).server);
        self.parts.pieces.get(slot).dead
    }

    /// An input has named dead piece `slot`: frees the piece if no other input will, and its request with its last piece.
    pub(super) fn bury<M: Mode>(&mut self, now: Time, slot: u32, actions: &mut Actions) {
        let parts = &mut self.parts;
        let Piece {
            request,
            bytes,
            missing,
            server,
            owner,
            has_block,
            ..
        } = *parts.pieces.get(slot);
        if missing > 1 {
            parts.pieces.edit::<M>(slot).missing = missing - 1;
            return;
        }
        parts.pieces.free::<M>(slot);
        if request != NIL {
            let cell = parts.requests.edit::<M>(request);
            cell.done += bytes;
            if cell.done == cell.issued {
                parts.requests.free::<M>(request);
            }
        }
        if has_block {
            self.release_memory::<M>(now, server, owner, actions);
        }
        if request == NIL {
            self.parts.removals_go_on::<M>(server, actions);
        }
    }

    /// `server` fails at `at`.
    fn fail<M: Mode>(&mut self, at: Time, server: u32) {
        self.observers.server_fails::<M>(&self.parts, at, server);
        let queued = self.parts.empty_queues::<M>(server);
        // Unacknowledged writes with space: their clients write them again.
        let mut unanswered = Vec::new();
        for slot in self.parts.requests.slots() {
            let OpenRequest {
                what,
                server: own,
                device,
                issued,
                answered,
                dead,
                removed,
                ..
            } = *self.parts.requests.get(slot);
            if own != server || dead {
                continue;
            }
            self.observers.request_dies::<M>(&self.parts, at, slot);
            if issued == 0 {
                self.parts.requests.free::<M>(slot);
                continue;
            }
            self.parts.requests.edit::<M>(slot).dead = true;
            if what.operation.is_write() && !answered && !removed && !self.parts.passes_by(server) {
                unanswered.push((what, device));
            }
        }
        self.parts.removals.fail::<M>(server);
        for slot in self.parts.pieces.slots() {
            let piece = *self.parts.pieces.get(slot);
            if piece.server != server {
                continue;
            }
            // A server returns with new memory.
            self.parts.pieces.edit::<M>(slot).has_block = false;
            if !piece.dead {
                self.parts.pieces.edit::<M>(slot).dead = true;
                self.piece_dies::<M>(slot);
                if queued.contains(&slot) {
                    self.bury::<M>(at, slot, &mut Actions::new());
                }
            }
        }
        for (what, device) in unanswered {
            self.parts.drop_unanswered::<M>((server, device), &what);
        }
        self.parts.lose_contents::<M>(server, None);
        let syncs: Vec<u32> = self.parts.syncs.open(server).collect();
        for sync in syncs {
            self.observers.sync_ends_wait::<M>(&self.parts, at, sync);
        }
        self.parts.syncs.fail::<M>(server);
        self.observers.levels_change::<M>(&self.parts, at, server);
    }

    /// Piece `slot` is dead: its data are lost, or already where they were going.
    fn piece_dies<M: Mode>(&mut self, slot: u32) {
        let parts = &mut self.parts;
        let piece = *parts.pieces.get(slot);
        if piece.request == NIL {
            if piece.kind == PieceKind::Drain && !piece.down && !piece.removed {
                // The block has not left: it is lost with the other data of the device.
                parts.index.stays::<M>(&piece, &mut parts.space);
            }
            return;
        }
        let OpenRequest { what, answered, .. } = *parts.requests.get(piece.request);
        let is_in_lower_tier = piece.missing == 1 && !piece.down;
        let is_lost = what.operation.is_write() && answered && !piece.down;
        if is_in_lower_tier {
            self.store_around::<M>(&piece);
        } else if is_lost && piece.removed {
            parts.index.commit_removed::<M>(&piece);
            self.observers.data_are_received::<M>(&self.parts, &piece);
        } else if is_lost {
            // It was never on a device, but its write was acknowledged.
            parts.index.commit_lost::<M>(&piece);
            parts.failures.losses_of::<M>(piece.server, piece.owner).in_memory += piece.bytes;
        }
    }

    /// A device of `server` fails now, as announced by
    /// [`device_failure_times`](crate::MeasuredServers::device_failure_times).
    pub fn device_fails<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        if self.is_up::<M>(now, server) && self.parts.is_busy(server) {
            self.fail_devices::<M>(now, server, actions);
        }
    }

    /// Applies the failures of devices of `server` until `now`, if no work has been under way there. Otherwise `device_fails` does.
    pub(super) fn notice_devices<M: Mode>(&mut self, now: Time, server: u32) {
        let parts = &self.parts;
        if parts.failures.is_device_due(now, parts.devices.of(server)) && !self.parts.is_busy(server) {
            self.fail_devices::<M>(now, server, &mut Actions::new());
        }
    }

    fn fail_devices<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        for device in self.parts.devices.of(server) {
            while let Some(at) = self.parts.failures.next_of_device::<M>(now, device) {
                self.fail_device::<M>(at, device, actions);
            }
        }
    }

    /// `device` fails.
    fn fail_device<M: Mode>(&mut self, now: Time, device: u32, actions: &mut Actions) {
        let server = self.parts.devices.server_of(device);
        self.observers.device_fails::<M>(&self.parts, now, device);
        let parts = &mut self.parts;
        let mut queued: BTreeSet<u32> = parts.queues.waiting(device).iter(&parts.pieces).collect();
        parts.queues.clear::<M>(device);
        parts.space.fail::<M>(device);

        let (mut given_up, mut unanswered, mut early) = (Vec::new(), Vec::new(), Vec::new());
        for slot in self.parts.requests.slots() {
            let OpenRequest {
                what,
                device: own,
                issued,
                answered,
                dead,
                removed,
                arrived,
                number,
                lock,
                ..
            } = *self.parts.requests.get(slot);
            if own != device || dead || (what.operation.is_write() && self.parts.passes_by(server)) {
                continue;
            }
            self.observers.request_dies::<M>(&self.parts, now, slot);
            if !answered {
                given_up.push((arrived, what, lock));
            }
            if issued == 0 {
                self.parts.requests.free::<M>(slot);
                continue;
            }
            self.parts.requests.edit::<M>(slot).dead = true;
            match (what.operation.is_write(), answered) {
                (true, false) if !removed => unanswered.push(what),
                (true, true) => early.push((number, slot)),
                _ => {}
            }
        }

        let dead = self.parts.pieces_of_failed_device(device);
        let at_memory = self.parts.leave_memory_queue::<M>(server, &dead);
        let parts = &mut self.parts;
        queued.extend(parts.stages.leave::<M>(server, &dead, &mut parts.pieces));
        for &slot in &dead {
            let piece = self.parts.pieces.edit::<M>(slot);
            piece.dead = true;
            piece.has_block = piece.request != NIL && !at_memory.contains(&slot);
            if piece.request == NIL && !piece.down {
                let piece = *piece;
                let waits = self.leave_drain::<M>(now, slot, &piece);
                queued.extend(waits.then_some(slot));
            }
            self.piece_dies::<M>(slot);
        }
        queued.extend(at_memory);
        for what in unanswered {
            self.parts.drop_unanswered::<M>((server, device), &what);
        }
        self.parts.lose_contents::<M>(server, Some(device));
        early.sort_unstable();
        for (_, slot) in early {
            self.committed_at_last::<M>(now, slot, actions);
        }
        for slot in dead.into_iter().filter(|slot| queued.contains(slot)) {
            self.bury::<M>(now, slot, actions);
        }
        given_up.sort_by_key(|(arrived, what, _)| (*arrived, what.header.client, what.object, what.offset, what.bytes));
        for (_, what, lock) in given_up {
            actions.push(Action::GivenUp {
                server,
                header: what.header,
                lock,
            });
        }
        self.parts.removals_go_on::<M>(server, actions);
        self.feed_drain::<M>(now, server, actions);
        self.observers.levels_change::<M>(&self.parts, now, server);
    }

    /// Piece `slot`, which belongs to no request and has not left, leaves the drain. Returns whether no later input will name it.
    fn leave_drain<M: Mode>(&mut self, now: Time, slot: u32, piece: &Piece) -> bool {
        let server = piece.server;
        if self.parts.params[server as usize].next.is_none() {
            let parts = &mut self.parts;
            let is_first_stage = parts.pipelines.fetching(server) == Some(slot);
            return is_first_stage && parts.pipelines.drop_first_stage::<M>(server).is_some();
        }
        if piece.kind == PieceKind::Fill {
            self.parts.reserves.give_back::<M>(server, Reserved::Filling);
        } else {
            self.parts.reserves.give_back::<M>(server, Reserved::Fetching);
            let from = if piece.begun {
                BlockStep::Served
            } else {
                BlockStep::Queued
            };
            self.observers
                .block_moves::<M>(&self.parts, now, piece, Some(from), None);
        }
        self.observers
            .reserve_is_freed::<M>(&self.parts, now, server, piece.owner);
        false
    }
}
