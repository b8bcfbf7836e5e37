//! Rate limits of flows under congestion control: the sending side of [`congestion`](super::congestion).
//!
//! A *flow* is the traffic from a NIC to one node in one traffic class. A limited flow has its own message queue, so
//! that it does not block messages to other nodes, and sends its next packet
//!
//! ```text
//! L / (b r)   after the start of its last one, of L bytes, on a link of bandwidth b, at its rate r < 1
//! ```
//!
//! Messages move into this queue when the flow becomes limited, later ones when they reach the NIC: these times do not
//! depend on when the NIC is served. Only limited flows have a record, at most [`MOST_LIMITS`] per NIC and class.

use super::pair_windows::{Probe, Window};
use crate::Payload;
use crate::message::Message;
use odonata_engine::{List, Mode, NIL, Pool, Store, Time};

/// Most flows that a NIC limits at the same time in a class; further flows are not limited.
pub(crate) const MOST_LIMITS: u16 = 64;

/// The lowest rate, as a fraction of the link's.
pub(crate) const LEAST_RATE: f64 = 1.0 / 1024.0;

/// A limited flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Limit {
    /// Rate at `updated`, as a fraction of the link's.
    rate: f64,
    updated: Time,
    /// When the rate begins to recover.
    recovers: Time,
    /// When the last packet started, and its transmission time.
    started: Time,
    occupied: Time,
    /// When the next packet may start.
    pub(crate) due: Time,
    /// With windows: the packets in flight, how many may be, the next probe, and whether one is in flight.
    in_flight: u32,
    window: u32,
    probe: Probe,
    probes: bool,
    pub(crate) target: u32,
    /// Its messages, in order of arrival.
    pub(crate) queue: List,
    /// Bytes of the first message that are not yet in packets.
    pub(crate) unsent: u64,
    /// The next limited flow of the NIC and class.
    next: u32,
}

odonata_engine::slots!(Limit);

impl Limit {
    /// The rate at `now`: it gains the elapsed fraction of `recovery`, as a fraction of the link's rate.
    fn rate(&self, now: Time, recovery: Time) -> f64 {
        let gained = now.saturating_sub(self.recovers).0 as f64 / recovery.0 as f64;
        (self.rate + gained).min(1.0)
    }

    fn gap(&self, rate: f64) -> Time {
        // A rate is at least LEAST_RATE, and a packet takes far less than a second.
        Time((self.occupied.0 as f64 / rate) as u64)
    }

    /// When the rate last changed.
    pub(crate) fn updated(&self) -> Time {
        self.updated
    }
}

/// The limited flows of a queue of a NIC.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Chain {
    first: u32,
    count: u16,
    /// Whether the last packet was of a limited flow: then others have their turn.
    limited: bool,
}

/// The limited flows of a part; empty without congestion control.
#[derive(Debug)]
pub(crate) struct RateLimits {
    recovery: Time,
    has_windows: bool,
    /// By queue of a NIC.
    chains: Store<Chain>,
    limits: Pool<Limit>,
}
odonata_engine::journalled!(RateLimits { chains, limits });

impl RateLimits {
    /// Bytes per queue of a NIC without limited flows.
    pub(crate) const BYTES_PER_QUEUE: usize = size_of::<Chain>();

    /// For `lanes` queues of NICs; a flow recovers from rate zero to that of its link in `recovery`.
    pub(crate) fn new(lanes: usize, recovery: Time, has_windows: bool) -> RateLimits {
        let chain = Chain {
            first: NIL,
            count: 0,
            limited: false,
        };
        RateLimits {
            recovery,
            has_windows,
            chains: Store::filled(lanes, chain),
            limits: Pool::new(),
        }
    }

    /// Whether flows have windows, instead of rates.
    pub(crate) fn has_windows(&self) -> bool {
        self.has_windows
    }

    /// The probe of the next packet of a flow with a window.
    pub(crate) fn probe(&self, limit: u32) -> Option<Probe> {
        let flow = self.limits.get(limit);
        (!flow.probes).then_some(flow.probe)
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

    /// The flow with messages that is due first, and when; among equals the one to the lowest node.
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

    /// Whether the last packet of `lane` was of a limited flow.
    pub(crate) fn had_turn(&self, lane: u32) -> bool {
        self.chains.get(lane).limited
    }

    /// Records whether the packet that `lane` sends now is of a limited flow.
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

    /// Sets the bytes left of the first message of a limited flow, of which a part has been sent already.
    pub(crate) fn resume<M: Mode>(&mut self, limit: u32, unsent: u64) {
        self.limits.edit::<M>(limit).unsent = unsent;
    }

    /// A new limit without a rate; `None` if there are too many.
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
            in_flight: 0,
            window: 1,
            probe: Probe {
                round: 0,
                is_first: true,
            },
            probes: false,
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

    /// Sets the rate of a flow. It holds for the time of `hold` packets at that rate, then recovers.
    pub(crate) fn set_rate<M: Mode>(&mut self, limit: u32, rate: f64, now: Time, hold: f64) {
        let cell = self.limits.edit::<M>(limit);
        cell.rate = rate.clamp(LEAST_RATE, 1.0);
        cell.updated = now;
        cell.recovers = now + Time((cell.gap(cell.rate).0 as f64 * hold) as u64);
        cell.due = cell.started + cell.gap(cell.rate);
    }

    /// A packet of `bytes` of a limited flow starts now, with transmission time `occupied`.
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
        cell.unsent -= u64::from(bytes);
        if self.has_windows {
            (cell.in_flight, cell.updated, cell.probes) = (cell.in_flight + 1, now, true);
            cell.due = if cell.in_flight < cell.window { now } else { Time::NEVER };
        } else {
            (cell.started, cell.occupied) = (now, occupied);
            cell.due = now + cell.gap(rate);
        }
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

    /// Sets the window of a flow. Before its first window the flow is `new`.
    pub(crate) fn set_window<M: Mode>(&mut self, limit: u32, window: Window, now: Time, new: bool) {
        if !window.acknowledges && !new {
            // The source knows already; packets that it sent before are not in its window.
            return;
        }
        let cell = self.limits.edit::<M>(limit);
        cell.in_flight -= u32::from(window.acknowledges);
        // After a pause a source begins with one packet, so that many that begin at once do not fill the network.
        let pauses = cell.in_flight == 0 && cell.queue.is_empty();
        cell.window = if pauses { 1 } else { window.packets };
        if window.probed {
            cell.probes = false;
            cell.probe.round = window.round;
        }
        cell.probe.is_first = pauses || new;
        cell.updated = now;
        cell.due = match cell.in_flight < cell.window {
            true => window.next.due(now),
            false => Time::NEVER,
        };
    }

    /// Removes the flows of `lane` that have no message and are back at the rate of the link. Call it only at times
    /// that do not depend on when the NIC is served.
    pub(crate) fn prune<M: Mode>(&mut self, lane: u32, now: Time) {
        let (mut before, mut at) = (NIL, self.chains.get(lane).first);
        while at != NIL {
            let limit = *self.limits.get(at);
            let is_free = match self.has_windows {
                true => limit.in_flight == 0 && now >= limit.updated + self.recovery,
                false => limit.due <= now && limit.rate(now, self.recovery) >= 1.0,
            };
            if limit.queue.is_empty() && is_free {
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

    /// Whether `lane` has no limited flow.
    #[inline]
    pub(crate) fn is_empty(&self, lane: u32) -> bool {
        self.chains.get(lane).first == NIL
    }
}
