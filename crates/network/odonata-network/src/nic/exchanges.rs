//! Exchanges: large messages that a node receives, by peer, if a queue pair carries such messages one way at a time.
//!
//! MPI libraries over InfiniBand reach half the rate if two nodes exchange one large message each: the messages go one
//! after the other. So the queue to a peer waits with a large message while the node receives one from that peer. A
//! message that has begun goes on, unless both have begun before either node knew of the other's: then the node with the
//! higher number pauses. A node knows of a message from the arrival of its first packet to that of its last.

use odonata_engine::{Mode, NIL, Pool, Store, Time};

/// Large messages from a peer.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Incoming {
    peer: u32,
    /// Messages of which a packet is delivered, but not the last.
    incomplete: u32,
    /// The arrival of the first packet, and of the last one of complete messages.
    since: Time,
    until: Time,
    next: u32,
}

odonata_engine::slots!(Incoming);

impl Incoming {
    fn is_on(&self, now: Time) -> bool {
        self.since <= now && (self.incomplete > 0 || now < self.until)
    }

    fn is_over(&self, now: Time) -> bool {
        self.incomplete == 0 && self.until <= now
    }
}

/// The large messages that the nodes of a part receive; empty unless queue pairs carry them one way at a time.
#[derive(Debug)]
pub(crate) struct Exchanges {
    /// Messages above this size are large.
    above: u64,
    /// By NIC.
    first: Store<u32>,
    incoming: Pool<Incoming>,
}
odonata_engine::journalled!(Exchanges { first, incoming });

impl Exchanges {
    /// For `nics` NICs; `above` is the size above which messages are large, if that matters.
    pub(crate) fn new(nics: usize, above: Option<u64>) -> Exchanges {
        Exchanges {
            above: above.unwrap_or(u64::MAX),
            first: Store::filled(if above.is_some() { nics } else { 0 }, NIL),
            incoming: Pool::new(),
        }
    }

    /// Bytes per NIC that receives nothing.
    pub(crate) const BYTES_PER_NIC: usize = size_of::<u32>();

    #[inline(always)]
    pub(crate) fn are_on(&self) -> bool {
        !self.first.is_empty()
    }

    #[inline]
    pub(crate) fn is_large(&self, bytes: u64) -> bool {
        bytes > self.above
    }

    /// A packet of a large message from `peer` arrives at `nic` at `arrival`: its first, its last, or both. `until`: when
    /// all of the message is there, with its last packet.
    pub(crate) fn arrives<M: Mode>(
        &mut self,
        (nic, peer): (u32, u32),
        (is_first, until): (bool, Option<Time>),
        (now, arrival): (Time, Time),
    ) {
        let mut at = *self.first.get(nic);
        while at != NIL && self.incoming.get(at).peer != peer {
            at = self.incoming.get(at).next;
        }
        if at == NIL {
            at = self.incoming.allocate::<M>(Incoming {
                peer,
                incomplete: 0,
                since: arrival,
                until: Time::ZERO,
                next: *self.first.get(nic),
            });
            *self.first.edit::<M>(nic) = at;
        }
        let cell = self.incoming.edit::<M>(at);
        if cell.is_over(now) {
            cell.since = arrival;
        }
        cell.incomplete += u32::from(is_first);
        if let Some(until) = until {
            cell.incomplete -= 1;
            cell.until = cell.until.max(until);
        }
    }

    /// Whether `nic` receives a large message from `peer` at `now`.
    pub(super) fn receives(&self, nic: u32, peer: u32, now: Time) -> bool {
        self.of(nic).any(|one| one.peer == peer && one.is_on(now))
    }

    /// The next time at which [`receives`](Self::receives) changes for a peer of `nic`, as far as known.
    pub(super) fn next_change(&self, nic: u32, now: Time) -> Option<Time> {
        let changes = |one: &Incoming| {
            let end = Some(one.until).filter(|_| one.incomplete == 0);
            [Some(one.since), end]
                .into_iter()
                .flatten()
                .filter(|&at| at > now)
                .min()
        };
        self.of(nic).filter_map(changes).min()
    }

    /// Forgets the peers of `nic` from which all has arrived. Call it only at times that do not depend on when the NIC is
    /// served.
    pub(super) fn prune<M: Mode>(&mut self, nic: u32, now: Time) {
        let (mut before, mut at) = (NIL, *self.first.get(nic));
        while at != NIL {
            let one = *self.incoming.get(at);
            if !one.is_over(now) {
                before = at;
            } else {
                match before {
                    NIL => *self.first.edit::<M>(nic) = one.next,
                    _ => self.incoming.edit::<M>(before).next = one.next,
                }
                self.incoming.free::<M>(at);
            }
            at = one.next;
        }
    }

    fn of(&self, nic: u32) -> impl Iterator<Item = &Incoming> {
        let mut at = *self.first.get(nic);
        std::iter::from_fn(move || {
            let one = (at != NIL).then(|| self.incoming.get(at))?;
            at = one.next;
            Some(one)
        })
    }
}
