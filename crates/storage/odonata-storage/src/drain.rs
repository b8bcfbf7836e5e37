//! The drain: from the device to the external file system, block by block.
//!
//! The drain is a pipeline of two stages with a buffer each: the device reads one block while the link carries the previous one.
//! The buffers are not part of the memory pool, because freeing space must never wait for a request that needs space. The external
//! file system is a rate and a latency.
//!
//! At a server with an [index](crate::Extents), blocks leave in the order of objects and bytes, from the last position of the
//! drain. Without an index, they leave in the order in which they were written. The device then sees the drain as one object of its
//! own, read from beginning to end: the drain seeks whenever the device served requests in between. The file of a block is not
//! tracked. Reads are served from the device whether or not their bytes have been drained.

use crate::open_request::Piece;
use crate::server::DrainStage;
use crate::{Action, Actions, Servers};
use odonata_engine::{Mode, NIL};
use odonata_units::Time;

/// The object that the device sees when the drain reads.
const DRAIN_OBJECT: u64 = u64::MAX;

impl Servers {
    /// The block in transfer from `server` is safe, as announced by [`Action::DrainUntil`]: its space is free again.
    pub fn drain_done<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        self.is_up::<M>(now, server);
        let drain = self.drains.edit::<M>(server);
        let slot = drain.sending;
        debug_assert_ne!(slot, NIL, "server {server} is draining");
        let Piece {
            bytes, owner, device, ..
        } = *self.pieces.get(slot);
        drain.sending = NIL;
        let link_next = drain.fetched;
        self.store_in_lower_tier::<M>(slot);
        self.pieces.free::<M>(slot);
        self.spaces.edit::<M>(device).drained += bytes;
        self.metrics.edit::<M>(server).bytes_drained += bytes;

        self.settle_space::<M>(now, device, owner);
        self.reserve::<M>(now, device, actions);
        if link_next {
            self.transfer::<M>(now, server, actions);
        }
        self.feed_drain::<M>(now, server, actions);
        self.note_occupancy::<M>(now, server);
    }

    /// Starts to read the next block if the server should drain, has written bytes to drain, and the buffer of the first stage is
    /// free. A device for whose space a request waits comes first; otherwise devices take turns.
    pub(crate) fn feed_drain<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let params = &self.params[server as usize];
        let Some(to) = params.drain else {
            self.feed_lower_tier::<M>(now, server, actions);
            return;
        };
        let DrainStage { fetching, turn, .. } = *self.drains.get(server);
        if fetching != NIL {
            return;
        }
        // Leaving blocks will free their space without a further block.
        let devices = self.devices.of(server);
        let stays = |device: u32| self.spaces.get(device).used - self.spaces.get(device).leaving;
        let will_be_used: u64 = devices.clone().map(stays).sum();
        let lacks_space = |device: &u32| {
            let will_be_free = self.devices.capacity(*device) - stays(*device);
            let waiting = self.first_reservation(*device);
            waiting.is_some_and(|request| self.needs(*device, &self.requests.get(request).what) > will_be_free)
        };
        let has_some = |device: &u32| self.spaces.get(*device).dirty > 0;
        let count = devices.len() as u32;
        let in_turn = (0..count).map(|n| devices.start + (turn + n) % count).filter(has_some);
        let device = match in_turn.clone().find(lacks_space) {
            Some(device) => device,
            None if will_be_used <= to.threshold.0 => return,
            None => match in_turn.clone().next() {
                Some(device) => device,
                None => return,
            },
        };
        let block = params.block();
        let (owner, object, offset, bytes) = if self.is_indexed(server) {
            let chosen = self.choose_to_leave::<M>(device, block, |_| true);
            chosen.expect("something of the device is there alone")
        } else {
            let space = self.spaces.edit::<M>(device);
            let (cursor, bytes) = (space.fetched, block.min(space.dirty));
            space.dirty -= bytes;
            space.leaving += bytes;
            (self.books.drained::<M>(device, bytes), DRAIN_OBJECT, cursor, bytes)
        };
        self.spaces.edit::<M>(device).fetched += bytes;
        let piece = Piece::new(now, (server, device), (NIL, owner), object, offset, bytes);
        let slot = self.pieces.allocate::<M>(piece);
        let drain = self.drains.edit::<M>(server);
        drain.fetching = slot;
        drain.turn = (device - self.devices.of(server).start + 1) % count;
        self.join_device::<M>(now, slot, actions);
    }

    /// The device has read the block of the first stage.
    pub(crate) fn fetched<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let drain = self.drains.edit::<M>(server);
        if self.pieces.get(drain.fetching).removed {
            self.pieces.free::<M>(std::mem::replace(&mut drain.fetching, NIL));
            self.feed_drain::<M>(now, server, actions);
            return;
        }
        drain.fetched = true;
        if drain.sending == NIL {
            self.transfer::<M>(now, server, actions);
            self.feed_drain::<M>(now, server, actions);
        }
    }

    /// Moves the block of the first stage to the link.
    fn transfer<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let drain = self.drains.edit::<M>(server);
        drain.sending = drain.fetching;
        drain.fetching = NIL;
        drain.fetched = false;
        let sending = drain.sending;
        self.pieces.edit::<M>(sending).down = true;
        let time = self.transfer_time(server, self.pieces.get(sending).bytes);
        actions.push(Action::DrainUntil { server, at: now + time });
    }
}
