//! The arbiter of an output: selects the next packet among the requests.
//!
//! Requests for a virtual channel of an output form a list. With first-come arbitration it is a queue. Otherwise the
//! requests of one input port form a queue (a virtual output queue, served in order), and the list is one of input
//! ports, which compete by the first packet of each (W. Dally, B. Towles, "Principles and practices of interconnection
//! networks", 2004, chapter 18):
//!
//! - **round robin**: the next input port after the one served last. Under overload every port gets the same share of
//!   the output, whatever the size of its buffer; in a chain of `n` mergers the farthest source gets 2^-n;
//! - **age**: the packet created first, of any input (D. Abts, D. Weisser, "Age-based packet arbitration in large-radix
//!   k-ary n-cubes", SC 2007). Under overload every source gets the same share, whatever its distance;
//! - **lowest first**: the lowest input port.
//!
//! ```text
//! line   head -> input 2 -> input 5 -> input 7 (tail) -> head        round, in the order of input ports
//!                  |          |          |
//!                 p p p       p         p p                         entry: the last packet, linked to the first
//! ```
//!
//! A round starts with the input whose turn it is when requests arrive, so usually the first and the last of a list
//! determine the next turn. With age arbitration the list is sorted by the first packets of the input queues instead,
//! so that the first of the list is next. The remaining queue of a served input usually goes to the end of the list.

use crate::packet::{Packet, VcTerms};
use crate::settings::Arbitration;
use odonata_engine::{List, Mode, NIL, Pool, Time};

/// No input port has been served yet; sorts before all ports.
pub(crate) const NO_INPUT: u32 = u32::MAX;

/// The arbiters of all outputs of a part. Their state is in the request lists and ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arbiter {
    arbitration: Arbitration,
    /// Whether requests of an input port form a queue, linked by [`Packet::next`]. If not, another list uses that link,
    /// and every request is a list entry itself.
    queues: bool,
}

/// The request of a list that is next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) packet: u32,
    /// Its entry in the list, which is the last packet of its queue; and the entry before.
    place: u32,
    before: u32,
}

/// The input port of `packet`, as the number of its first buffer; ports are in the order of these numbers.
#[inline]
pub(crate) fn input_port(packet: &Packet) -> u32 {
    packet.buffer - u32::from(packet.vc)
}

/// Distance in turns from `last` to `input`.
#[inline]
fn turns(input: u32, last: u32) -> u32 {
    input.wrapping_sub(last).wrapping_sub(1)
}

impl Arbiter {
    pub(crate) fn new(arbitration: Arbitration, queues: bool) -> Arbiter {
        Arbiter {
            arbitration,
            queues: queues && arbitration != Arbitration::FirstCome,
        }
    }

    /// Whether requests are served in the order of arrival.
    #[inline(always)]
    pub(crate) fn is_first_come(self) -> bool {
        self.arbitration == Arbitration::FirstCome
    }

    #[inline(always)]
    pub(crate) fn arbitration(self) -> Arbitration {
        self.arbitration
    }

    /// The port after which the round starts, if `served` was served last.
    #[inline]
    fn last(self, served: u32) -> u32 {
        match self.arbitration {
            Arbitration::LowestFirst => NO_INPUT,
            _ => served,
        }
    }

    /// The last served port that makes the list's own order apply, for outputs with a separate order per list.
    #[inline]
    pub(crate) fn own_order(self, packets: &Pool<Packet>, line: List) -> u32 {
        match line.head {
            NIL => NO_INPUT,
            head => input_port(packets.get(head)).wrapping_sub(1),
        }
    }

    /// `packet` joins `line`, whose input port `served` was served last.
    #[inline]
    pub(crate) fn join<M: Mode>(self, packets: &mut Pool<Packet>, line: &mut List, packet: u32, served: u32) {
        if self.is_first_come() {
            if line.tail != NIL {
                packets.edit_trusted::<M>(line.tail).next_waiting = packet;
            }
            packets.edit_trusted::<M>(packet).next_waiting = NIL;
            line.tail = packet;
            if line.head == NIL {
                line.head = packet;
            }
            return;
        }
        if line.head == NIL {
            let p = packets.edit_trusted::<M>(packet);
            p.next_waiting = packet;
            if self.queues {
                p.next = packet;
            }
            (line.head, line.tail) = (packet, packet);
            return;
        }
        match self.is_sorted() {
            true => self.join_sorted::<M>(packets, line, packet),
            false => self.join_round::<M>(packets, line, packet, self.last(served)),
        }
    }

    /// Whether lists are sorted by [`rank`](Self::rank) instead of input port.
    #[inline]
    fn is_sorted(self) -> bool {
        self.queues && self.arbitration == Arbitration::Age
    }

    /// The rank of the queue with entry `place` in a sorted list; ranks are unique.
    #[inline]
    fn rank<M: Mode>(self, packets: &Pool<Packet>, place: u32) -> ((u64, u64), u32) {
        let first = packets.trusted::<M>(self.first::<M>(packets, place));
        (age(first), input_port(first))
    }

    /// `packet` joins a sorted list that is not empty.
    fn join_sorted<M: Mode>(self, packets: &mut Pool<Packet>, line: &mut List, packet: u32) {
        let own = input_port(packets.trusted::<M>(packet));
        let (mut before, mut at) = (line.tail, line.head);
        loop {
            let stands = packets.trusted::<M>(at);
            if input_port(stands) == own {
                stands_for::<M>(packets, line, (before, at), packet);
                return;
            }
            if at == line.tail {
                break;
            }
            (before, at) = (at, stands.next_waiting);
        }
        packets.edit_trusted::<M>(packet).next = packet;
        self.insert::<M>(packets, line, packet);
    }

    /// Inserts the queue with entry `place` into a sorted list that is not empty.
    fn insert<M: Mode>(self, packets: &mut Pool<Packet>, line: &mut List, place: u32) {
        let rank = self.rank::<M>(packets, place);
        let (mut before, mut at) = (line.tail, line.head);
        if rank > self.rank::<M>(packets, line.tail) {
            line.tail = place;
        } else {
            // The loop ends at the last entry at the latest.
            while self.rank::<M>(packets, at) < rank {
                (before, at) = (at, packets.trusted::<M>(at).next_waiting);
            }
            if at == line.head {
                line.head = place;
            }
        }
        packets.edit_trusted::<M>(before).next_waiting = place;
        packets.edit_trusted::<M>(place).next_waiting = at;
    }

    /// `packet` joins a list that is not empty.
    fn join_round<M: Mode>(self, packets: &mut Pool<Packet>, line: &mut List, packet: u32, last: u32) {
        let input = |packets: &Pool<Packet>, at: u32| input_port(packets.trusted::<M>(at));
        let (own, start) = (input(packets, packet), input(packets, line.head));
        // Find the last entry that does not come after it in the round.
        let (mut before, mut at) = (line.tail, line.tail);
        if own.wrapping_sub(start) <= input(packets, line.tail).wrapping_sub(start) {
            at = line.head;
            while at != line.tail {
                let next = packets.trusted::<M>(at).next_waiting;
                if input(packets, next).wrapping_sub(start) > own.wrapping_sub(start) {
                    break;
                }
                (before, at) = (at, next);
            }
        }
        let stands = *packets.trusted::<M>(at);
        if self.queues && input_port(&stands) == own {
            stands_for::<M>(packets, line, (before, at), packet);
            return;
        }
        let p = packets.edit_trusted::<M>(packet);
        p.next_waiting = stands.next_waiting;
        if self.queues {
            p.next = packet;
        }
        packets.edit_trusted::<M>(at).next_waiting = packet;
        if at == line.tail {
            // Between last and first: the packet begins the round if its turn comes sooner and it is the first of its
            // input.
            if input_port(&stands) != own && turns(own, last) < turns(start, last) {
                line.head = packet;
            } else {
                line.tail = packet;
            }
        }
    }

    /// The first packet of the queue with entry `place`.
    #[inline]
    fn first<M: Mode>(self, packets: &Pool<Packet>, place: u32) -> u32 {
        match self.queues {
            true => packets.trusted::<M>(place).next,
            false => place,
        }
    }

    /// The next request of `line`, which is not empty; `served` is the input port served last.
    // Inlined into its callers. It must not call functions that return more than fits into registers.
    #[inline(always)]
    pub(crate) fn next<M: Mode>(self, packets: &Pool<Packet>, line: List, served: u32) -> Turn {
        let (before, place) = match self.arbitration {
            Arbitration::FirstCome => (NIL, line.head),
            Arbitration::Age if !self.queues => self.first_of::<M>(packets, line, NO_INPUT, |_| true),
            Arbitration::RoundRobin | Arbitration::LowestFirst if line.head != line.tail => {
                next_in_round::<M>(packets, line, self.last(served))
            }
            _ => (line.tail, line.head),
        };
        Turn {
            packet: self.first::<M>(packets, place),
            place,
            before,
        }
    }

    /// The sort key of `packet` among the channels of its output, whose last served input port is `served`; the least
    /// goes first.
    #[inline(always)]
    pub(crate) fn among_channels<M: Mode>(self, packets: &Pool<Packet>, packet: u32, served: u32) -> (u64, u64) {
        let p = packets.trusted::<M>(packet);
        match self.arbitration {
            Arbitration::FirstCome => (0, 0),
            Arbitration::Age => age(p),
            Arbitration::RoundRobin | Arbitration::LowestFirst => (turns(input_port(p), self.last(served)).into(), 0),
        }
    }

    /// The next request of `line` among those that satisfy `may`.
    #[cold]
    pub(crate) fn next_of<M: Mode>(
        self,
        packets: &Pool<Packet>,
        line: List,
        served: u32,
        may: impl Fn(&Packet) -> bool,
    ) -> Option<Turn> {
        let (before, place) = self.first_of::<M>(packets, line, self.last(served), may);
        (place != NIL).then(|| Turn {
            packet: self.first::<M>(packets, place),
            place,
            before,
        })
    }

    /// The entry of the next request of `line` after input port `last` among those that satisfy `may`, and the entry
    /// before it; [`NIL`] without one. With age arbitration: the packet created first; among equals the one that its
    /// node sent first, then the one at the lowest input port.
    #[inline(never)]
    fn first_of<M: Mode>(
        self,
        packets: &Pool<Packet>,
        line: List,
        last: u32,
        may: impl Fn(&Packet) -> bool,
    ) -> (u32, u32) {
        let mut best = (NIL, NIL);
        let mut least = ((u64::MAX, u64::MAX), u32::MAX);
        self.go_round::<M>(packets, line, |before, at| {
            let p = packets.trusted::<M>(self.first::<M>(packets, at));
            let rank = match self.arbitration {
                Arbitration::FirstCome => ((0, 0), 0),
                Arbitration::Age => (age(p), input_port(p)),
                Arbitration::RoundRobin | Arbitration::LowestFirst => ((0, 0), turns(input_port(p), last)),
            };
            if may(p) && (best.1 == NIL || rank < least) {
                (best, least) = ((before, at), rank);
            }
        });
        best
    }

    /// Whether `packet` with these terms goes before all packets of `line` that could block it; called when those have
    /// been tried and lack room.
    #[cold]
    pub(crate) fn is_first<M: Mode>(
        self,
        packets: &Pool<Packet>,
        line: List,
        (packet, terms): (u32, VcTerms),
        served: u32,
    ) -> bool {
        let last = self.last(served);
        let own = packets.trusted::<M>(packet);
        let mut first = true;
        self.go_round::<M>(packets, line, |_, at| {
            let other = packets.trusted::<M>(self.first::<M>(packets, at));
            if other.terms.bubble() && !terms.bubble() {
                return;
            }
            let (input, its) = (input_port(own), input_port(other));
            first &= match self.arbitration {
                Arbitration::FirstCome => false,
                Arbitration::Age if self.queues && input == its => false,
                Arbitration::Age => (age(own), input) < (age(other), its),
                Arbitration::RoundRobin | Arbitration::LowestFirst => turns(input, last) < turns(its, last),
            };
        });
        first
    }

    /// Calls `see` with each entry of `line` and the entry before it.
    #[inline]
    fn go_round<M: Mode>(self, packets: &Pool<Packet>, line: List, mut see: impl FnMut(u32, u32)) {
        let (mut before, mut at) = (if self.is_first_come() { NIL } else { line.tail }, line.head);
        while at != NIL {
            see(before, at);
            if at == line.tail {
                break;
            }
            (before, at) = (at, packets.trusted::<M>(at).next_waiting);
        }
    }

    /// The request `turn` leaves its list.
    #[inline]
    pub(crate) fn leave<M: Mode>(self, packets: &mut Pool<Packet>, line: &mut List, turn: Turn) {
        let Turn {
            packet, place, before, ..
        } = turn;
        let next = packets.trusted::<M>(place).next_waiting;
        if self.is_first_come() {
            match before {
                NIL => line.head = next,
                _ => packets.edit_trusted::<M>(before).next_waiting = next,
            }
            if line.tail == packet {
                line.tail = before;
            }
            return;
        }
        if self.is_sorted() {
            let alone = next == place;
            if !alone {
                packets.edit_trusted::<M>(before).next_waiting = next;
                if line.head == place {
                    line.head = next;
                }
                if line.tail == place {
                    line.tail = before;
                }
            }
            if place != packet {
                let second = packets.trusted::<M>(packet).next;
                packets.edit_trusted::<M>(place).next = second;
                if !alone {
                    self.insert::<M>(packets, line, place);
                }
            } else if alone {
                *line = List::EMPTY;
            }
        } else if place != packet {
            // The rest of its queue stays; its turn comes after all others.
            let second = packets.trusted::<M>(packet).next;
            packets.edit_trusted::<M>(place).next = second;
            (line.head, line.tail) = (next, place);
        } else if next == place {
            *line = List::EMPTY;
        } else {
            packets.edit_trusted::<M>(before).next_waiting = next;
            (line.head, line.tail) = (next, before);
        }
    }

    /// Calls `see` with all packets of `line`, input by input.
    pub(crate) fn each<M: Mode>(self, packets: &Pool<Packet>, line: List, mut see: impl FnMut(u32)) {
        self.go_round::<M>(packets, line, |_, place| {
            if !self.queues {
                see(place);
                return;
            }
            let mut at = packets.trusted::<M>(place).next;
            while at != place {
                see(at);
                at = packets.trusted::<M>(at).next;
            }
            see(place);
        });
    }
}

/// The entry of `line` whose turn is next after input port `last`, and the entry before it.
#[inline(never)]
fn next_in_round<M: Mode>(packets: &Pool<Packet>, line: List, last: u32) -> (u32, u32) {
    let wait = |at: u32| turns(input_port(packets.trusted::<M>(at)), last);
    let (mut before, mut at) = (line.tail, line.head);
    let mut least = wait(at);
    // Port numbers rise along the list except at one place, where the round begins.
    if least > wait(line.tail) {
        loop {
            let next = packets.trusted::<M>(at).next_waiting;
            let this = wait(next);
            (before, at) = (at, next);
            if this < least || at == line.tail {
                break;
            }
            least = this;
        }
    }
    (before, at)
}

/// Replaces the entry `at` of `line`, which follows `before`, by `packet`, the new last packet of its input's queue.
fn stands_for<M: Mode>(packets: &mut Pool<Packet>, line: &mut List, (before, at): (u32, u32), packet: u32) {
    let Packet { next, next_waiting, .. } = *packets.trusted::<M>(at);
    let alone = next_waiting == at;
    packets.edit_trusted::<M>(at).next = packet;
    let p = packets.edit_trusted::<M>(packet);
    p.next = next;
    p.next_waiting = if alone { packet } else { next_waiting };
    if !alone {
        packets.edit_trusted::<M>(before).next_waiting = packet;
    }
    if line.head == at {
        line.head = packet;
    }
    if line.tail == at {
        line.tail = packet;
    }
}

/// Sort key by age, the oldest first.
#[inline]
pub(crate) fn age(packet: &Packet) -> (u64, u64) {
    let (Time(created), Time(injected)) = (packet.created, packet.injected);
    (created, injected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Header;
    use odonata_engine::random::Purpose;
    use odonata_engine::{Plain, Stream};

    fn packet(created: u64, injected: u64, port: u32, vc: u8) -> Packet {
        Packet {
            created: Time(created),
            injected: Time(injected),
            tail_in: Time::ZERO,
            header: Header::new(0),
            message: NIL,
            bytes: 1,
            buffer: 4 * port + u32::from(vc),
            next: NIL,
            next_waiting: NIL,
            traffic: 0,
            vc,
            class: 0,
            flags: crate::packet::PacketFlags::default(),
            hops: 0,
            terms: VcTerms::default(),
        }
    }

    /// Compares with a list of requests in order of arrival: the first packet of each input port competes. The least
    /// (created, injected, port) is next, or the next port after the last one, among those that are allowed.
    #[test]
    fn the_first_packets_of_the_inputs_decide_the_next_turn() {
        for (seed, arbitration) in (0..60).flat_map(|seed| {
            [Arbitration::Age, Arbitration::RoundRobin, Arbitration::LowestFirst].map(|arbitration| (seed, arbitration))
        }) {
            let arbiter = Arbiter::new(arbitration, true);
            let mut random = Stream::new(seed, 1, Purpose::Host);
            let mut packets = Pool::<Packet>::new();
            let (mut line, mut list, mut served) = (List::EMPTY, Vec::<u32>::new(), NO_INPUT);
            for _ in 0..400 {
                if list.is_empty() || random.below(9) < 5 {
                    let [created, injected, port, vc] = [6, 6, 7, 4].map(|most| random.below(most));
                    let new = packets.allocate::<Plain>(packet(created.into(), injected.into(), port, vc as u8));
                    arbiter.join::<Plain>(&mut packets, &mut line, new, served);
                    list.push(new);
                    continue;
                }
                let firsts = |packets: &Pool<Packet>, may: &dyn Fn(&Packet) -> bool| {
                    let input = |at: u32| input_port(packets.get(at));
                    let first =
                        |&(place, &at): &(usize, &u32)| list[..place].iter().all(|&other| input(other) != input(at));
                    let firsts = list.iter().enumerate().filter(first).map(|(_, &at)| at);
                    let last = arbiter.last(served);
                    firsts
                        .filter(|&at| may(packets.get(at)))
                        .min_by_key(|&at| match arbitration {
                            Arbitration::Age => (age(packets.get(at)), input(at)),
                            _ => ((turns(input(at), last).into(), 0), 0),
                        })
                };
                let some = arbitration == Arbitration::Age && random.below(3) == 0;
                let may = |p: &Packet| !some || p.vc.is_multiple_of(2);
                let expected = firsts(&packets, &may);
                let turn = match some {
                    true => arbiter.next_of::<Plain>(&packets, line, served, may),
                    false => Some(arbiter.next::<Plain>(&packets, line, served)),
                };
                assert_eq!(turn.map(|turn| turn.packet), expected, "{arbitration:?} {seed}");
                let Some(turn) = turn else { continue };
                arbiter.leave::<Plain>(&mut packets, &mut line, turn);
                served = input_port(packets.get(turn.packet));
                list.retain(|&other| other != turn.packet);
                packets.free::<Plain>(turn.packet);
                let mut seen = Vec::new();
                arbiter.each::<Plain>(&packets, line, |at| seen.push(at));
                seen.sort_unstable();
                let mut left = list.clone();
                left.sort_unstable();
                assert!(line.is_empty() || seen == left, "{arbitration:?} {seed}");
                assert_eq!(line.is_empty(), list.is_empty());
            }
        }
    }
}
