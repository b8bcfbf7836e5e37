//! The drain: from the device to the external file system, block by block.
//!
//! Two stages with a buffer each, so that the device reads one block while the link carries the one
//! before. The buffers are not taken from the memory pool, because what makes room must never wait
//! for those who need room. The external file system itself is a rate and a latency.
//!
//! Blocks leave in the order in which they were written. The device sees the drain as one object of its own,
//! read from its beginning to its end: it seeks whenever requests were served in between. Which
//! bytes of which file a block holds is not tracked, and a read is served from the device whether or
//! not its bytes were drained meanwhile.

use crate::request::Piece;
use crate::server::{DrainStage, Space};
use crate::{Action, Actions, Servers};
use odonata_engine::{Mode, NIL};
use odonata_units::{Bytes, Time};

/// The object that the device sees when the drain reads.
const DRAIN_OBJECT: u64 = u64::MAX;

impl Servers {
    /// The block in transfer from `server` is safe, as announced by [`Action::DrainUntil`]: its space is
    /// free again.
    pub fn drain_done<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let drain = self.drains.edit::<M>(server);
        let slot = drain.sending;
        debug_assert_ne!(slot, NIL, "server {server} is draining");
        let Piece { bytes, owner, .. } = *self.pieces.get(slot);
        drain.sending = NIL;
        drain.in_transit -= bytes;
        let link_next = drain.fetched;
        self.pieces.give::<M>(slot);
        let space = self.spaces.edit::<M>(server);
        space.used -= bytes;
        space.drained += bytes;
        self.metrics.edit::<M>(server).bytes_drained += bytes;

        self.settle_space::<M>(now, server, owner);
        self.reserve::<M>(now, server, actions);
        if link_next {
            self.transfer::<M>(now, server, actions);
        }
        self.feed_drain::<M>(now, server, actions);
    }

    /// Starts to fetch the next block if there is a reason to drain, something written to drain, and
    /// the buffer of the first stage is free.
    pub(crate) fn feed_drain<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let params = &self.params[server as usize];
        let Some(to) = params.drain else { return };
        let DrainStage {
            fetching,
            in_transit,
            cursor,
            ..
        } = *self.drains.get(server);
        if fetching != NIL {
            return;
        }
        let Space { used, written, .. } = *self.spaces.get(server);
        // What is already on its way out will be free without a further block.
        let will_be_used = used - in_transit;
        let will_be_free = params.capacity - will_be_used;
        let waiting = self.first_reservation(server);
        let lacks_space = waiting.is_some_and(|request| self.requests.get(request).what.bytes > will_be_free);
        let bytes = params.block.min(written - cursor);
        if bytes == 0 || (will_be_used <= to.threshold && !lacks_space) {
            return;
        }
        let owner = self.books.drained::<M>(server, bytes);
        let slot = self
            .pieces
            .take::<M>(Piece::new(now, server, (NIL, owner), DRAIN_OBJECT, cursor, bytes));
        let drain = self.drains.edit::<M>(server);
        drain.fetching = slot;
        drain.in_transit += bytes;
        drain.cursor += bytes;
        self.join_device::<M>(now, server, slot, actions);
    }

    /// The device has read the block of the first stage.
    pub(crate) fn fetched<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let drain = self.drains.edit::<M>(server);
        drain.fetched = true;
        if drain.sending == NIL {
            self.transfer::<M>(now, server, actions);
            self.feed_drain::<M>(now, server, actions);
        }
    }

    /// Moves the block of the first stage to the link.
    fn transfer<M: Mode>(&mut self, now: Time, server: u32, actions: &mut Actions) {
        let to = self.params[server as usize]
            .drain
            .expect("only a server with a drain fetches blocks");
        let drain = self.drains.edit::<M>(server);
        drain.sending = drain.fetching;
        drain.fetching = NIL;
        drain.fetched = false;
        let time = to.latency + to.bandwidth.time_for(Bytes(self.pieces.get(drain.sending).bytes));
        // An event comes strictly later than its cause, however fast the link.
        actions.push(Action::DrainUntil {
            server,
            at: now + time.max(Time::from_ps(1)),
        });
    }
}
