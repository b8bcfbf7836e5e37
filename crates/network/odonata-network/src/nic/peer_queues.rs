//! Queues of a NIC per peer, as the queue pairs of InfiniBand: messages to one node wait in one queue, and the queues
//! take turns packet by packet. Control messages have a queue of their own, which goes first.
//!
//! The lane's [`SourceQueue`](super::SourceQueue) holds the messages of the queue that has the turn, and sends as if there
//! were no other. The turn passes on when a packet starts. So with k queues that have packets of L bytes on a link of
//! rate b, a queue sends one every `k L / b`, and a control message waits for one packet at most: the one on the link.

use crate::Payload;
use crate::message::Message;
use odonata_engine::{List, Mode, NIL, Pool, Store};

/// The peer of the queue of control messages.
const CONTROL: u32 = NIL;

/// Chains per lane, by which a queue is found.
const CHAINS: u32 = 16;

/// The messages to one node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct PeerQueue {
    /// The node, or [`CONTROL`].
    peer: u32,
    /// Its messages and the bytes of the first that are not yet in packets, unless it has the turn.
    messages: List,
    unsent: u64,
    /// The next queue in the order of turns.
    next: u32,
    /// The next queue of its chain.
    chained: u32,
}

odonata_engine::slots!(PeerQueue);

/// The queues of a lane.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Turns {
    /// The queue that has the turn, or [`NIL`] if there is none.
    current: u32,
    /// Whether it has sent a packet while no other queue had one: then the next new queue gets the turn.
    has_sent: bool,
    /// The others, in the order of their turns.
    others: List,
    /// The queue that has sent the last packet, or [`NIL`]: its next turn is behind those of all queues that are there
    /// when the next packet starts.
    last: u32,
    /// Queues whose first message must not be sent now.
    held: List,
}

/// The queues per peer of a part's NICs; empty if the messages of a NIC share a queue.
#[derive(Debug)]
pub(super) struct PeerQueues {
    /// By lane.
    turns: Store<Turns>,
    /// The first queue of each chain.
    chains: Store<u32>,
    queues: Pool<PeerQueue>,
}
odonata_engine::journalled!(PeerQueues { turns, chains, queues });

impl PeerQueues {
    /// Bytes per lane without messages.
    pub(super) const BYTES_PER_LANE: usize = size_of::<Turns>() + CHAINS as usize * size_of::<u32>();

    /// For `lanes` queues of NICs; none without queues per peer.
    pub(super) fn new(lanes: usize) -> PeerQueues {
        let turns = Turns {
            current: NIL,
            has_sent: false,
            others: List::EMPTY,
            last: NIL,
            held: List::EMPTY,
        };
        PeerQueues {
            turns: Store::filled(lanes, turns),
            chains: Store::filled(lanes * CHAINS as usize, NIL),
            queues: Pool::new(),
        }
    }

    /// Whether NICs have queues per peer.
    #[inline(always)]
    pub(super) fn are_on(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Adds `message` to its queue. `sending` is the content of the lane: the messages of the queue that has the turn,
    /// and the unsent bytes of the first. Returns the new content, and whether its first message is another one.
    pub(super) fn push<M: Mode>(
        &mut self,
        messages: &mut Pool<Message<impl Payload>>,
        lane: u32,
        message: u32,
        sending: (List, u64),
    ) -> ((List, u64), bool) {
        let m = messages.get(message);
        let (bytes, peer) = (m.bytes, if m.is_control { CONTROL } else { m.target });
        let Turns {
            current,
            has_sent,
            mut others,
            last,
            held,
        } = *self.turns.get(lane);
        if current != NIL && self.queues.get(current).peer == peer {
            let (mut queue, unsent) = sending;
            queue.push::<M, _>(messages, message);
            return ((queue, unsent), false);
        }
        let waiting = self.find(lane, peer);
        if waiting != NIL {
            let mut queue = self.queues.get(waiting).messages;
            queue.push::<M, _>(messages, message);
            self.queues.edit::<M>(waiting).messages = queue;
            return (sending, false);
        }
        let mut queue = List::EMPTY;
        queue.push::<M, _>(messages, message);
        let new = self.create::<M>(lane, peer, (queue, bytes));
        if current == NIL {
            self.turns.edit::<M>(lane).current = new;
            return ((queue, bytes), true);
        }
        if peer != CONTROL && !has_sent {
            others.push::<M, _>(&mut self.queues, new);
            self.turns.edit::<M>(lane).others = others;
            return (sending, false);
        }
        let cell = self.queues.edit::<M>(current);
        (cell.messages, cell.unsent) = sending;
        let (others, last) = match has_sent {
            true => (others, current),
            // The queue that had the turn gets it back after the control messages.
            false => {
                cell.next = others.head;
                let tail = if others.is_empty() { current } else { others.tail };
                (List { head: current, tail }, last)
            }
        };
        *self.turns.edit::<M>(lane) = Turns {
            current: new,
            has_sent: false,
            others,
            last,
            held,
        };
        ((queue, bytes), true)
    }

    /// A packet of the queue that has the turn has started, which leaves `sending`: the turn passes on, except from
    /// control messages. Returns the new content of the lane.
    pub(super) fn pass_on<M: Mode>(&mut self, lane: u32, sending: (List, u64)) -> (List, u64) {
        let Turns {
            current,
            mut others,
            last,
            held,
            ..
        } = *self.turns.get(lane);
        let is_done = sending.0.is_empty();
        if !is_done && self.queues.get(current).peer == CONTROL {
            return sending;
        }
        if last != NIL {
            others.push::<M, _>(&mut self.queues, last);
        }
        let next = others.pop(&self.queues);
        if is_done {
            self.remove::<M>(lane, current);
        } else if next.is_some() {
            let cell = self.queues.edit::<M>(current);
            (cell.messages, cell.unsent) = sending;
        }
        let (current, has_sent, last) = match next {
            None if is_done => (NIL, false, NIL),
            None => (current, true, NIL),
            Some(next) => (next, false, if is_done { NIL } else { current }),
        };
        *self.turns.edit::<M>(lane) = Turns {
            current,
            has_sent,
            others,
            last,
            held,
        };
        match has_sent {
            true => sending,
            false => self.content(current),
        }
    }

    /// Removes the queue to `peer`. Returns its content, and the new content of the lane, which has `sending` now.
    pub(super) fn take<M: Mode>(&mut self, lane: u32, peer: u32, sending: (List, u64)) -> ((List, u64), (List, u64)) {
        let Turns {
            current,
            mut others,
            last,
            mut held,
            ..
        } = *self.turns.get(lane);
        if current != NIL && self.queues.get(current).peer == peer {
            return (sending, self.pass_on::<M>(lane, (List::EMPTY, 0)));
        }
        let is_last = last != NIL && self.queues.get(last).peer == peer;
        let is_sought = |queue: &PeerQueue| queue.peer == peer;
        let taken = match is_last {
            true => Some(last),
            false => (others.remove_first::<M, _>(&mut self.queues, is_sought))
                .or_else(|| held.remove_first::<M, _>(&mut self.queues, is_sought)),
        };
        let Some(taken) = taken else {
            return ((List::EMPTY, 0), sending);
        };
        let turns = self.turns.edit::<M>(lane);
        (turns.others, turns.held) = (others, held);
        if is_last {
            turns.last = NIL;
        }
        let content = self.content(taken);
        self.remove::<M>(lane, taken);
        (content, sending)
    }

    /// Lets queues wait whose first message `must_wait`, given their peer, that message and its unsent bytes, and returns
    /// those to the order of turns whose message need not wait any more. `sending` is the content of the lane; returns the
    /// new one.
    pub(super) fn hold<M: Mode>(
        &mut self,
        lane: u32,
        sending: (List, u64),
        must_wait: impl Fn(u32, u32, u64) -> bool,
    ) -> (List, u64) {
        let Turns {
            mut current,
            mut has_sent,
            mut others,
            mut last,
            held,
        } = *self.turns.get(lane);
        let before = current;
        let waits = |queues: &Pool<PeerQueue>, queue: u32, (messages, unsent): (List, u64)| {
            let peer = queues.get(queue).peer;
            peer != CONTROL && must_wait(peer, messages.head, unsent)
        };
        let (mut content, mut kept, mut at) = (sending, List::EMPTY, held.head);
        while at != NIL {
            let next = self.queues.get(at).next;
            let list = match waits(&self.queues, at, self.content(at)) {
                true => &mut kept,
                false => &mut others,
            };
            list.push::<M, _>(&mut self.queues, at);
            at = next;
        }
        while current == NIL || waits(&self.queues, current, content) {
            if current != NIL {
                let cell = self.queues.edit::<M>(current);
                (cell.messages, cell.unsent) = content;
                kept.push::<M, _>(&mut self.queues, current);
            }
            current = others.pop(&self.queues).unwrap_or(NIL);
            if current == NIL {
                (current, last) = (last, NIL);
            }
            has_sent = false;
            content = self.content(current);
            if current == NIL {
                break;
            }
        }
        if current != before || kept != held || !held.is_empty() {
            *self.turns.edit::<M>(lane) = Turns {
                current,
                has_sent,
                others,
                last,
                held: kept,
            };
        }
        content
    }

    fn content(&self, queue: u32) -> (List, u64) {
        if queue == NIL {
            return (List::EMPTY, 0);
        }
        let PeerQueue { messages, unsent, .. } = *self.queues.get(queue);
        (messages, unsent)
    }

    fn chain(lane: u32, peer: u32) -> u32 {
        lane * CHAINS + peer % CHAINS
    }

    /// The queue to `peer`, or [`NIL`].
    fn find(&self, lane: u32, peer: u32) -> u32 {
        let mut at = *self.chains.get(Self::chain(lane, peer));
        while at != NIL && self.queues.get(at).peer != peer {
            at = self.queues.get(at).chained;
        }
        at
    }

    fn create<M: Mode>(&mut self, lane: u32, peer: u32, (messages, unsent): (List, u64)) -> u32 {
        let chain = Self::chain(lane, peer);
        let new = self.queues.allocate::<M>(PeerQueue {
            peer,
            messages,
            unsent,
            next: NIL,
            chained: *self.chains.get(chain),
        });
        *self.chains.edit::<M>(chain) = new;
        new
    }

    /// Frees a queue that is not in the order of turns.
    fn remove<M: Mode>(&mut self, lane: u32, queue: u32) {
        let PeerQueue { peer, chained, .. } = *self.queues.get(queue);
        let chain = Self::chain(lane, peer);
        let mut at = *self.chains.get(chain);
        if at == queue {
            *self.chains.edit::<M>(chain) = chained;
        } else {
            while self.queues.get(at).chained != queue {
                at = self.queues.get(at).chained;
            }
            self.queues.edit::<M>(at).chained = chained;
        }
        self.queues.free::<M>(queue);
    }
}
