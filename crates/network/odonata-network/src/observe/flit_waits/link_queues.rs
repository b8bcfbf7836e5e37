//! The flits that have crossed a pipelined router and have not completed their transmission, by output port.

use crate::Traffic;
use crate::features::Uses;
use odonata_engine::{List, NIL, Pool, Store, Time};

/// Consecutive flits of one owner that have crossed and wait for the link.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Stretch {
    pub(super) from: Time,
    pub(super) until: Time,
    next: u32,
    pub(super) owner: Traffic,
}
odonata_engine::slots!(Stretch);

/// The queues of all output ports, in the order in which the flits have crossed.
#[derive(Debug)]
pub(super) struct LinkQueues {
    queues: Store<List>,
    stretches: Pool<Stretch>,
}
odonata_engine::journalled!(LinkQueues { queues, stretches });

impl LinkQueues {
    /// Of `ports` ports, empty.
    pub(super) fn new(ports: usize) -> LinkQueues {
        LinkQueues {
            queues: Store::filled(ports, List::EMPTY),
            stretches: Pool::new(),
        }
    }

    pub(super) const BYTES_PER_PORT: usize = size_of::<List>();

    /// The stretches of `port`, the first to transmit first.
    pub(super) fn of(&self, port: u32) -> impl Iterator<Item = &Stretch> {
        let mut next = self.queues.get(port).head;
        std::iter::from_fn(move || {
            let stretch = (next != NIL).then(|| self.stretches.get(next))?;
            next = stretch.next;
            Some(stretch)
        })
    }

    /// A flit of `owner` occupies the link of `port` from `from` to `until`, behind all that have crossed before.
    pub(super) fn push<M: Uses>(&mut self, port: u32, owner: Traffic, (from, until): (Time, Time)) {
        let mut queue = *self.queues.get(port);
        if !queue.is_empty() {
            let last = self.stretches.get(queue.tail);
            if last.owner == owner && last.until == from {
                self.stretches.edit::<M>(queue.tail).until = until;
                return;
            }
        }
        let next = NIL;
        let stretch = self.stretches.allocate::<M>(Stretch {
            from,
            until,
            next,
            owner,
        });
        queue.push::<M, _>(&mut self.stretches, stretch);
        *self.queues.edit::<M>(port) = queue;
    }

    /// Removes the flits whose transmission on the link of `port` is complete at `now`.
    pub(super) fn forget<M: Uses>(&mut self, port: u32, now: Time) {
        let mut queue = *self.queues.get(port);
        let before = queue.head;
        while queue.head != NIL && self.stretches.get(queue.head).until <= now {
            let gone = queue.head;
            queue.pop(&self.stretches);
            self.stretches.free::<M>(gone);
        }
        if queue.head != before {
            *self.queues.edit::<M>(port) = queue;
        }
    }
}
