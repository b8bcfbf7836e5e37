//! The queue in front of each device, and the accesses that the device has.
//!
//! An access is *queued* until it is *handed* to its device, and *in service* from its turn there until its end. The caller decides
//! which access is handed over next ([`Turns`](crate::sharing::Turns)).

use odonata_engine::{List, Mode, Pool, Store, journalled};
use odonata_units::Time;

use crate::open_request::Piece;

/// The accesses of one device.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct DeviceQueue {
    /// Pieces that have not been handed to it.
    queue: List,
    /// Length of the queue.
    queued: u32,
    /// Accesses that have been handed to it and have not ended.
    handed: u32,
    /// Handed accesses in service.
    serving: u32,
    /// Since when at least one access is in service.
    busy_since: Time,
    /// The owner of the access that entered service last.
    last: u16,
}

/// The queues of a set of devices.
#[derive(Debug)]
pub(crate) struct DeviceQueues {
    queues: Store<DeviceQueue>,
}
journalled!(DeviceQueues { queues });

impl DeviceQueues {
    pub(crate) fn new(devices: usize) -> Self {
        DeviceQueues {
            queues: Store::filled(devices, DeviceQueue::default()),
        }
    }

    /// Appends `piece` to the queue of `device`. Returns the accesses that the device has or will have.
    pub(crate) fn join<M: Mode>(&mut self, device: u32, piece: u32, pieces: &mut Pool<Piece>) -> u32 {
        let queue = self.queues.edit::<M>(device);
        queue.queue.push::<M, _>(pieces, piece);
        queue.queued += 1;
        queue.queued + queue.handed
    }

    /// The pieces that wait for `device`.
    pub(crate) fn waiting(&self, device: u32) -> List {
        self.queues.get(device).queue
    }

    /// The same, if there is one that `device`, which takes `depth` accesses, can be handed.
    pub(crate) fn next_of(&self, device: u32, depth: u32) -> Option<List> {
        let DeviceQueue { queue, handed, .. } = *self.queues.get(device);
        (handed != depth && !queue.is_empty()).then_some(queue)
    }

    /// An access is handed to `device`; `waiting` are the pieces that still wait.
    pub(crate) fn hand_over<M: Mode>(&mut self, device: u32, waiting: List) {
        let queue = self.queues.edit::<M>(device);
        queue.queue = waiting;
        queue.queued -= 1;
        queue.handed += 1;
    }

    /// The turn of an access of `owner` has come at `device`.
    pub(crate) fn begins<M: Mode>(&mut self, now: Time, device: u32, owner: u16) {
        let queue = self.queues.edit::<M>(device);
        if queue.serving == 0 {
            queue.busy_since = now;
        }
        queue.serving += 1;
        queue.last = owner;
    }

    /// An access of `device` has ended.
    pub(crate) fn ends<M: Mode>(&mut self, device: u32) {
        let queue = self.queues.edit::<M>(device);
        debug_assert!(queue.serving > 0, "device {device} serves an access");
        queue.handed -= 1;
        queue.serving -= 1;
    }

    /// Since when `device` is busy, if it has one access in service: it is idle after that one.
    pub(crate) fn busy_since_if_last(&self, device: u32) -> Option<Time> {
        let DeviceQueue {
            serving, busy_since, ..
        } = *self.queues.get(device);
        (serving == 1).then_some(busy_since)
    }

    /// Forgets the pieces that wait for `device`.
    pub(crate) fn clear<M: Mode>(&mut self, device: u32) {
        let queue = self.queues.edit::<M>(device);
        (queue.queue, queue.queued) = (List::EMPTY, 0);
    }

    /// Accesses that `device` has or will have.
    pub(crate) fn accesses(&self, device: u32) -> u32 {
        let DeviceQueue { queued, handed, .. } = *self.queues.get(device);
        queued + handed
    }

    /// Accesses that `device` has in service.
    pub(crate) fn in_service(&self, device: u32) -> u32 {
        self.queues.get(device).serving
    }

    /// The job of the access of `device` whose turn has come last.
    pub(crate) fn last_owner(&self, device: u32) -> u16 {
        self.queues.get(device).last
    }

    /// The job that has `device` alone, if only one can have it: of several in service it is known afterwards which makes room.
    pub(crate) fn holder(&self, device: u32) -> Option<u16> {
        let DeviceQueue {
            handed, serving, last, ..
        } = *self.queues.get(device);
        (serving == 0 || handed == 1).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::{NIL, Plain};

    #[test]
    fn accesses_are_queued_handed_and_served_and_the_busy_time_is_their_union() {
        let (mut queues, mut pieces, ns) = (DeviceQueues::new(1), Pool::new(), Time::from_ns);
        for owner in [4, 5, 6] {
            let piece = pieces.allocate::<Plain>(Piece::new(Time::ZERO, (0, 0), (NIL, owner), 0, 0, 10));
            let accesses = queues.join::<Plain>(0, piece, &mut pieces);
            assert_eq!(accesses, piece + 1);
        }
        // A device that takes two accesses at once.
        for slot in [0, 1] {
            let mut waiting = queues.next_of(0, 2).expect("there is room at the device");
            assert_eq!(waiting.pop(&pieces), Some(slot));
            queues.hand_over::<Plain>(0, waiting);
        }
        assert!(queues.next_of(0, 2).is_none() && queues.next_of(0, 3).is_some());
        queues.begins::<Plain>(ns(10), 0, 4);
        assert_eq!(queues.holder(0), None, "two accesses have the device");
        queues.begins::<Plain>(ns(15), 0, 5);
        assert_eq!((queues.in_service(0), queues.busy_since_if_last(0)), (2, None));
        queues.ends::<Plain>(0);
        assert_eq!(queues.busy_since_if_last(0), Some(ns(10)), "busy since the first");
        assert_eq!((queues.holder(0), queues.accesses(0)), (Some(5), 2));
        queues.ends::<Plain>(0);
        assert_eq!((queues.in_service(0), queues.accesses(0)), (0, 1));
    }
}
