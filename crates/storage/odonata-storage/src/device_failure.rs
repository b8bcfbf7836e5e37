//! Devices that fail: one of several devices of a server, for good or until it returns empty. The server continues without it.
//!
//! | state at the failure | effect |
//! |---|---|
//! | bytes on the device alone, of acknowledged writes | lost |
//! | bytes in memory on their way to it, of acknowledged writes | lost: no client can be told, since the write has its answer |
//! | bytes of writes that were not acknowledged | dropped |
//! | requests that use it, or wait for it | not answered: their clients retry, and their locks are given back |
//! | later requests | use the device with the next number that is up, in place of the one that the rules name |
//! | blocks that have left it for the lower tier | arrive |
//! | accesses handed to it | end without effect |
//!
//! Requests that wait for a resource of a dropped request, a block of memory or a lock, continue at that moment. So a failure of a
//! device at a busy server is an event ([`Servers::device_fails`]). The next request notices any other failure, as with failures of
//! servers.

use std::collections::BTreeSet;

use odonata_engine::{List, Mode, NIL, Plain, Store, journalled};
use odonata_units::Time;

use crate::blame::{DEVICE, SPACE};
use crate::open_request::{OpenRequest, Piece, PieceKind, Wait};
use crate::sync::Block;
use crate::{Action, Actions, Outage, Servers};

/// The failures of single devices; empty without failures.
#[derive(Debug)]
pub(crate) struct DeviceFailures {
    /// Per device, in order.
    outages: Vec<Vec<Outage>>,
    /// How many of them have begun, per device.
    begun: Store<u32>,
}
journalled!(DeviceFailures { begun });

impl DeviceFailures {
    pub(crate) fn none() -> DeviceFailures {
        DeviceFailures {
            outages: Vec::new(),
            begun: Store::new(),
        }
    }
}

impl Servers {
    /// Adds failures of devices: `of` returns those of a device of a server, both counted from 0. Call
    /// [`with_failures`](Servers::with_failures) first.
    pub fn with_device_failures(mut self, of: impl Fn(u32, u32) -> Vec<Outage>) -> Self {
        let outages = |device: u32| {
            let server = self.devices.server_of(device);
            of(server, device - self.devices.of(server).start)
        };
        let outages: Vec<_> = (0..self.devices.len()).map(outages).collect();
        if outages.iter().any(|outages| !outages.is_empty()) {
            self.device_failures = DeviceFailures {
                begun: Store::filled(outages.len(), 0),
                outages,
            };
        }
        self
    }

    /// The times when devices fail: server, number of the device there, time.
    pub fn device_failure_times(&self) -> impl Iterator<Item = (u32, u32, Time)> + '_ {
        let all = (0..).zip(&self.device_failures.outages);
        all.flat_map(move |(device, outages)| {
            let server = self.devices.server_of(device);
            let own = device - self.devices.of(server).start;
            outages.iter().map(move |outage| (server, own, outage.from))
        })
    }

    /// Whether work is under way at `server`, so that the failure of a device there is an event.
    pub fn is_busy(&self, server: u32) -> bool {
        let of_piece = |slot: u32| {
            let piece = self.pieces.get(slot);
            piece.server == server && !piece.dead
        };
        let of_request = |slot: u32| {
            let request = self.requests.get(slot);
            request.server == server && !request.dead
        };
        self.synchronizes(server)
            || self.pieces.slots().into_iter().any(of_piece)
            || self.requests.slots().into_iter().any(of_request)
    }

    /// A device of `server` fails now, as announced by [`device_failure_times`](Self::device_failure_times).
    pub fn device_fails<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        if self.is_up::<M>(now, server) && self.is_busy(server) {
            self.fail_devices::<M>(now, server, actions);
        }
    }

    /// Applies the failures of devices of `server` until `now`, if no work has been under way there. Otherwise `device_fails` does.
    pub(crate) fn notice_devices<M: Mode>(&mut self, now: Time, server: u32) {
        if self.device_failures.outages.is_empty() {
            return;
        }
        let due = |device: u32| self.next_outage(device).is_some_and(|outage| outage.from <= now);
        if self.devices.of(server).any(due) && !self.is_busy(server) {
            self.fail_devices::<M>(now, server, &mut Actions::new());
        }
    }

    /// Applies the failures of all devices until `now`, the end of the run.
    pub(crate) fn fail_devices_until(&mut self, now: Time) {
        for server in 0..self.len() {
            if !self.device_failures.outages.is_empty() {
                self.fail_devices::<Plain>(now, server, &mut Actions::new());
            }
        }
    }

    fn fail_devices<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        for device in self.devices.of(server) {
            while let Some(outage) = self.next_outage(device).filter(|outage| outage.from <= now) {
                *self.device_failures.begun.edit::<M>(device) += 1;
                self.fail_device::<M>(outage.from, device, actions);
            }
        }
    }

    /// The next failure of `device` that has not begun.
    fn next_outage(&self, device: u32) -> Option<Outage> {
        let begun = *self.device_failures.begun.get(device);
        self.device_failures.outages[device as usize]
            .get(begun as usize)
            .copied()
    }

    /// Whether `device` has failed and is not back.
    pub(crate) fn is_away(&self, now: Time, device: u32) -> bool {
        let Some(outages) = self.device_failures.outages.get(device as usize) else {
            return false;
        };
        let last = self.device_failures.begun.get(device).checked_sub(1);
        last.is_some_and(|last| now < outages[last as usize].until)
    }

    /// The device of `server` for a request of `bytes` bytes: the one that the rules name, or the next one that is up.
    pub(crate) fn device_for(&self, now: Time, server: u32, bytes: u64) -> u32 {
        let devices = self.devices.of(server);
        let (choice, count) = (
            self.params[server as usize].rules.device(bytes, None) as u32,
            devices.len() as u32,
        );
        let in_turn = |step: u32| devices.start + (choice + step) % count;
        (0..count)
            .map(in_turn)
            .find(|&device| !self.is_away(now, device))
            .unwrap_or(devices.start + choice)
    }

    /// Whether no device of `server` is up.
    pub(crate) fn has_no_device(&self, now: Time, server: u32) -> bool {
        !self.device_failures.outages.is_empty() && self.devices.of(server).all(|device| self.is_away(now, device))
    }

    /// `device` fails.
    fn fail_device<M: Mode>(&mut self, now: Time, device: u32, actions: &mut Actions) {
        let server = self.devices.server_of(device);
        self.settle_device_failure::<M>(now, device, &[SPACE, DEVICE]);
        let mut queued: BTreeSet<u32> = self.queues.waiting(device).iter(&self.pieces).collect();
        self.queues.clear::<M>(device);
        self.spaces.edit::<M>(device).reservations = List::EMPTY;
        self.forget_clean_ranges::<M>(device);

        let (mut given_up, mut unanswered, mut early) = (Vec::new(), Vec::new(), Vec::new());
        for slot in self.requests.slots() {
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
            } = *self.requests.get(slot);
            if own != device || dead || (what.operation.is_write() && self.passes_by(server)) {
                continue;
            }
            self.set_wait::<M>(now, slot, Wait::Nothing);
            if !answered {
                given_up.push((arrived, what, lock));
            }
            if issued == 0 {
                self.requests.free::<M>(slot);
                continue;
            }
            self.requests.edit::<M>(slot).dead = true;
            match (what.operation.is_write(), answered) {
                (true, false) if !removed => unanswered.push(what),
                (true, true) => early.push((number, slot)),
                _ => {}
            }
        }

        let dies = |piece: &Piece| match piece.request {
            NIL => piece.device == device,
            request => self.requests.get(request).dead && piece.device == device,
        };
        let mut dead: Vec<u32> = (self.pieces.slots())
            .into_iter()
            .filter(|&slot| !self.pieces.get(slot).dead && dies(self.pieces.get(slot)))
            .collect();
        // Slots depend on history.
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
        let at_memory = self.leave_memory_queue::<M>(server, &dead);
        queued.extend(self.readers_leave::<M>(server, &dead));
        for &slot in &dead {
            let piece = self.pieces.edit::<M>(slot);
            piece.dead = true;
            piece.has_block = piece.request != NIL && !at_memory.contains(&slot);
            if piece.request == NIL && !piece.down {
                let piece = *piece;
                let waits = self.leave_reserve::<M>(now, slot, &piece);
                queued.extend(waits.then_some(slot));
            }
            self.piece_dies::<M>(slot);
        }
        queued.extend(at_memory);
        for what in unanswered {
            self.drop_unanswered::<M>(server, &what, device);
        }
        self.lose_contents::<M>(server, Some(device - self.devices.of(server).start));
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
        self.removals_go_on::<M>(server, actions);
        self.feed_drain::<M>(now, server, actions);
        self.note_occupancy::<M>(now, server);
    }

    /// Removes the pieces in `dead` from the queue for memory. Returns the removed pieces.
    fn leave_memory_queue<M: Mode>(&mut self, server: u32, dead: &[u32]) -> BTreeSet<u32> {
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

    /// Piece `slot`, which belongs to no request and has not left, leaves the reserve. Returns whether no later input will name it.
    fn leave_reserve<M: Mode>(&mut self, now: Time, slot: u32, piece: &Piece) -> bool {
        let server = piece.server;
        if self.params[server as usize].next.is_some() {
            let reserve = self.lower_tiers.reserves.edit::<M>(server);
            match piece.kind {
                PieceKind::Fill => reserve.filling -= 1,
                _ => reserve.fetching -= 1,
            }
            if piece.kind == PieceKind::Drain {
                let from = if piece.begun { Block::Served } else { Block::Queued };
                self.block_moves::<M>(now, piece, Some(from), None);
            }
            self.settle_reserve::<M>(now, server, piece.owner);
            return false;
        }
        let drain = self.drains.edit::<M>(server);
        if drain.fetching != slot {
            return false;
        }
        let fetched = drain.fetched;
        (drain.fetching, drain.fetched) = (NIL, false);
        fetched
    }
}
