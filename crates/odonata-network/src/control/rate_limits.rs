//! Flows that congestion control has slowed down: the sending side of [`congestion`](super::congestion).
//!
//! A *flow* is what a NIC sends to one node in one traffic class. A flow that is limited has its messages in a queue of its own,
//! so that none of them stands in front of a message to another node, and sends its next packet
//!
//! ```text
//! L / (b r)   after the start of its last one, of L bytes, on a link of bandwidth b, at its rate r < 1
//! ```
//!
//! Messages move into such a queue when the flow is limited and when they come to the NIC later: moments that do not depend on who
//! serves the NIC when. There is only a record for flows that are limited, and at most [`MOST_LIMITS`] for each NIC and class.

use crate::Payload;
use crate::message::Message;
use odonata_engine::{List, Mode, NIL, Pool, Store, Time};

/// Flows that a NIC limits at the same time in a class; where there are more, those that come later go on as they are.
pub(crate) const MOST_LIMITS: u16 = 64;

/// The lowest rate, as a part of the link's.
pub(crate) const LEAST_RATE: f64 = 1.0 / 1024.0;

/// A flow that is limited.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Limit {
    /// Rate at `updated`, as a part of the link's.
    rate: f64,
    updated: Time,
    /// When the rate begins to recover.
    recovers: Time,
    /// When the last packet has started, and how long it occupied the link.
    started: Time,
    occupied: Time,
    /// When the next one may start.
    pub(crate) due: Time,
    /// Where the flow goes.
    pub(crate) target: u32,
    /// Its messages, in order of arrival.
    pub(crate) queue: List,
    /// Bytes of the first one that are not yet in packets.
    pub(crate) unsent: u64,
    /// The next flow of the NIC and class that is limited.
    next: u32,
}

odonata_engine::slots!(Limit);

impl Limit {
    /// The rate at `now`: it gains a part of the link's rate that is the part of `recovery` that has gone by.
    fn rate(&self, now: Time, recovery: Time) -> f64 {
        let gained = now.saturating_sub(self.recovers).0 as f64 / recovery.0 as f64;
        (self.rate + gained).min(1.0)
    }

    fn gap(&self, rate: f64) -> Time {
        // A rate is LEAST_RATE at least, a packet takes far less than a second.
        Time((self.occupied.0 as f64 / rate) as u64)
    }

    /// When the rate was changed last.
    pub(crate) fn updated(&self) -> Time {
        self.updated
    }
}

/// The limited flows of a queue of a NIC.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Chain {
    first: u32,
    count: u16,
    /// Whether the last packet was one of a limited flow: then others have their turn.
    limited: bool,
}

/// The limited flows of a part; empty where there is no congestion control.
#[derive(Debug)]
pub(crate) struct RateLimits {
    recovery: Time,
    /// By queue of a NIC.
    chains: Store<Chain>,
    limits: Pool<Limit>,
}
odonata_engine::journalled!(RateLimits { chains, limits });

impl RateLimits {
    /// Bytes of each queue of a NIC of which no flow is limited.
    pub(crate) const OF_A_LANE: usize = size_of::<Chain>();

    /// For so many queues of NICs; from no rate at all a flow recovers to that of its link in `recovery`.
    pub(crate) fn new(lanes: usize, recovery: Time) -> RateLimits {
        let chain = Chain {
            first: NIL,
            count: 0,
            limited: false,
        };
        RateLimits {
            recovery,
            chains: Store::filled(lanes, chain),
            limits: Pool::new(),
        }
    }

    pub(crate) fn get(&self, limit: u32) -> &Limit {
        self.limits.get(limit)
    }

    /// The limit of the flow to `target`, or [`NIL`].
    #[inline]
    pub(crate) fn find(&self, lane: u32, target: u32) -> u32 {
        let mut at = self.chains.get(lane).first;
        while at != NIL && self.limits.get(at).target != target {
            at = self.limits.get(at).next;
        }
        at
    }

    /// The flow with messages that is due first, and when; of several the one to the node of the lowest number.
    pub(crate) fn first_due(&self, lane: u32) -> Option<(Time, u32)> {
        let mut best: Option<((Time, u32), u32)> = None;
        let mut at = self.chains.get(lane).first;
        while at != NIL {
            let limit = self.limits.get(at);
            let key = (limit.due, limit.target);
            if !limit.queue.is_empty() && best.is_none_or(|(best, _)| key < best) {
                best = Some((key, at));
            }
            at = limit.next;
        }
        best.map(|((due, _), at)| (due, at))
    }

    /// Whether the last packet of `lane` was one of a limited flow.
    pub(crate) fn had_turn(&self, lane: u32) -> bool {
        self.chains.get(lane).limited
    }

    /// Notes whether the packet that `lane` sends now is one of a limited flow.
    pub(crate) fn note_turn<M: Mode>(&mut self, lane: u32, limited: bool) {
        if self.chains.get(lane).limited != limited {
            self.chains.edit::<M>(lane).limited = limited;
        }
    }

    /// Appends a message to the queue of a limited flow. Returns whether it is the first.
    pub(crate) fn push<M: Mode>(
        &mut self,
        messages: &mut Pool<Message<impl Payload>>,
        limit: u32,
        message: u32,
    ) -> bool {
        let mut queue = self.limits.get(limit).queue;
        let first = queue.is_empty();
        queue.push::<M, _>(messages, message);
        let bytes = messages.get(message).bytes;
        let cell = self.limits.edit::<M>(limit);
        cell.queue = queue;
        if first {
            cell.unsent = bytes;
        }
        first
    }

    /// The first message of a limited flow, of which a part has been sent already, has so many bytes left.
    pub(crate) fn resume<M: Mode>(&mut self, limit: u32, unsent: u64) {
        self.limits.edit::<M>(limit).unsent = unsent;
    }

    /// A new limit, which has no rate yet; `None` if there are too many.
    pub(crate) fn create<M: Mode>(&mut self, lane: u32, target: u32, now: Time, occupied: Time) -> Option<u32> {
        let chain = *self.chains.get(lane);
        if chain.count >= MOST_LIMITS {
            return None;
        }
        let limit = self.limits.allocate::<M>(Limit {
            rate: 1.0,
            updated: now,
            recovers: now,
            started: now,
            occupied,
            due: now,
            target,
            queue: List::EMPTY,
            unsent: 0,
            next: chain.first,
        });
        let chain = self.chains.edit::<M>(lane);
        (chain.first, chain.count) = (limit, chain.count + 1);
        Some(limit)
    }

    /// The rate of a flow at `now`.
    pub(crate) fn rate(&self, limit: u32, now: Time) -> f64 {
        self.limits.get(limit).rate(now, self.recovery)
    }

    /// Sets the rate of a flow; it stays for the time of `hold` packets at that rate, and recovers then.
    pub(crate) fn set_rate<M: Mode>(&mut self, limit: u32, rate: f64, now: Time, hold: f64) {
        let cell = self.limits.edit::<M>(limit);
        cell.rate = rate.clamp(LEAST_RATE, 1.0);
        cell.updated = now;
        cell.recovers = now + Time((cell.gap(cell.rate).0 as f64 * hold) as u64);
        cell.due = cell.started + cell.gap(cell.rate);
    }

    /// A packet of `bytes` of a limited flow starts now and occupies the link for so long.
    pub(crate) fn sent<M: Mode>(
        &mut self,
        messages: &Pool<Message<impl Payload>>,
        limit: u32,
        bytes: u32,
        now: Time,
        occupied: Time,
    ) {
        let rate = self.rate(limit, now);
        let cell = self.limits.edit::<M>(limit);
        (cell.started, cell.occupied) = (now, occupied);
        cell.due = now + cell.gap(rate);
        cell.unsent -= u64::from(bytes);
        if cell.unsent > 0 {
            return;
        }
        let mut queue = cell.queue;
        queue.pop(messages);
        let unsent = if queue.is_empty() {
            0
        } else {
            messages.get(queue.head).bytes
        };
        let cell = self.limits.edit::<M>(limit);
        (cell.queue, cell.unsent) = (queue, unsent);
    }

    /// Forgets the flows of `lane` that have no message and are back at the rate of the link. To be called at moments that do not
    /// depend on who serves the NIC when.
    pub(crate) fn prune<M: Mode>(&mut self, lane: u32, now: Time) {
        let (mut before, mut at) = (NIL, self.chains.get(lane).first);
        while at != NIL {
            let limit = *self.limits.get(at);
            if limit.queue.is_empty() && limit.due <= now && limit.rate(now, self.recovery) >= 1.0 {
                let chain = self.chains.edit::<M>(lane);
                chain.count -= 1;
                if before == NIL {
                    chain.first = limit.next;
                } else {
                    self.limits.edit::<M>(before).next = limit.next;
                }
                self.limits.free::<M>(at);
            } else {
                before = at;
            }
            at = limit.next;
        }
    }

    /// Whether no flow of `lane` is limited.
    #[inline]
    pub(crate) fn is_empty(&self, lane: u32) -> bool {
        self.chains.get(lane).first == NIL
    }

    pub(crate) fn memory(&self) -> usize {
        self.chains.memory() + self.limits.memory()
    }
}
