//! Interfaces: which of a node's network interfaces carry a message, and the parts of a message that uses several.
//!
//! The fabric knows interfaces, the hosts know nodes: interface `i` of node `n` has number `n R + i` in the fabric, with R
//! interfaces per node. A rank has an interface by `nic.affinity`. A server uses the one whose number is that of its
//! client modulo R. A message of more than `nic.stripe_above` bytes of data is divided over S interfaces: part `k` goes
//! from interface `(i + k) mod R` to `(j + k) mod R`, where a whole message would go from `i` to `j`. The hosts hear of
//! its departure and arrival with its last part.

use crate::layout::Endpoint;
use crate::payload::Payload;
use odonata_engine::{List, Mode, NIL, Pool, Store, Time};
use odonata_network::Message;
use odonata_network::settings::{Affinity, Nic};
use odonata_units::mix64;

/// Lists of divided messages under way, found by a hash.
const BUCKETS: u64 = 1 << 10;

/// The interface of the `order`-th of `ranks` ranks on a node with `interfaces` interfaces.
pub(crate) fn of_rank(affinity: Affinity, interfaces: u32, order: u32, ranks: u32) -> u32 {
    match affinity {
        Affinity::Block => (u64::from(order) * u64::from(interfaces) / u64::from(ranks)) as u32,
        Affinity::RoundRobin => order % interfaces,
    }
}

/// A divided message of which some parts have not yet left, or arrived.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Divided {
    payload: Payload,
    created: Time,
    is_arrival: bool,
    missing: u8,
    bytes: u64,
    next: u32,
}

odonata_engine::slots!(Divided);

/// The interfaces of the nodes of a part.
#[derive(Debug)]
pub(crate) struct Interfaces {
    nic: Nic,
    per_node: u32,
    buckets: Store<List>,
    divided: Pool<Divided>,
}
odonata_engine::journalled!(Interfaces { buckets, divided });

impl Interfaces {
    pub(crate) fn new(nic: &Nic, per_node: u32) -> Interfaces {
        let buckets = if nic.stripe_above.is_some() { BUCKETS } else { 0 };
        Interfaces {
            nic: nic.clone(),
            per_node,
            buckets: Store::filled(buckets as usize, List::EMPTY),
            divided: Pool::new(),
        }
    }

    /// The interface of `own` for messages to and from `peer`, counted on its node.
    fn of(&self, own: Endpoint, peer: Endpoint) -> u32 {
        match own.interface {
            NIL => peer.stream % self.per_node,
            interface => interface,
        }
    }

    /// The number in the fabric of interface `interface` of `node`.
    pub(crate) fn number(&self, node: u32, interface: u32) -> u32 {
        node * self.per_node + interface
    }

    /// The interfaces of a message, numbered in the fabric.
    #[inline]
    pub(crate) fn between(&self, source: Endpoint, target: Endpoint) -> (u32, u32) {
        if self.per_node == 1 {
            return (source.node, target.node);
        }
        self.of_part(source, target, 0)
    }

    /// The interfaces of part `part` of a message.
    pub(crate) fn of_part(&self, source: Endpoint, target: Endpoint, part: u32) -> (u32, u32) {
        let at = |own: Endpoint, peer| own.node * self.per_node + (self.of(own, peer) + part) % self.per_node;
        (at(source, target), at(target, source))
    }

    /// Number of parts of a message with `bytes` of data.
    #[inline]
    pub(crate) fn parts(&self, payload: &Payload, bytes: u64) -> u32 {
        match self.per_node == 1 || payload.is_control() {
            true => 1,
            false => self.nic.stripes(self.per_node, bytes),
        }
    }

    /// A part of a message has left (or, with `is_arrival`, arrived). Returns the bytes of the whole message with its last
    /// part.
    pub(crate) fn join<M: Mode>(&mut self, part: &Message<Payload>, is_arrival: bool) -> Option<u64> {
        if part.stripes == 1 {
            return Some(part.bytes);
        }
        // Equal messages, such as those of a rank that sends the same twice, may share parts: their sums are equal, too.
        let ends = [part.source, part.target].map(|interface| u64::from(interface / self.per_node));
        let hash = mix64(mix64(part.created.0) ^ (ends[0] << 32 | ends[1]));
        let bucket = (hash % BUCKETS) as u32;
        let mut list = *self.buckets.get(bucket);
        let is_same = |open: &Divided| {
            open.payload == part.content && open.created == part.created && open.is_arrival == is_arrival
        };
        let found = list.iter(&self.divided).find(|&slot| is_same(self.divided.get(slot)));
        let Some(slot) = found else {
            let slot = self.divided.allocate::<M>(Divided {
                payload: part.content,
                created: part.created,
                is_arrival,
                missing: part.stripes - 1,
                bytes: part.bytes,
                next: NIL,
            });
            list.push::<M, _>(&mut self.divided, slot);
            *self.buckets.edit::<M>(bucket) = list;
            return None;
        };
        let open = self.divided.edit::<M>(slot);
        open.missing -= 1;
        open.bytes += part.bytes;
        let Divided { missing, bytes, .. } = *open;
        if missing > 0 {
            return None;
        }
        list.remove_first::<M, _>(&mut self.divided, is_same);
        *self.buckets.edit::<M>(bucket) = list;
        self.divided.free::<M>(slot);
        Some(bytes)
    }

    /// Divided messages of which some parts are under way.
    pub(crate) fn live(&self) -> u32 {
        self.divided.live()
    }
}

/// The bytes of part `part` of `parts` of a message of `bytes`: equal up to one.
pub(crate) fn bytes_of_part(bytes: u64, part: u32, parts: u32) -> u64 {
    let (part, parts) = (u64::from(part), u64::from(parts));
    bytes / parts + u64::from(part < bytes % parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    #[test]
    fn ranks_share_interfaces_in_blocks_or_take_turns() {
        let all = |affinity, ranks| {
            (0..ranks)
                .map(|order| of_rank(affinity, 4, order, ranks))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(Affinity::Block, 8), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(all(Affinity::Block, 2), [0, 2]);
        assert_eq!(all(Affinity::Block, 6), [0, 0, 1, 2, 2, 3]);
        assert_eq!(all(Affinity::RoundRobin, 6), [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn parts_are_equal_up_to_a_byte_and_make_the_message() {
        assert_eq!([0, 1, 2].map(|part| bytes_of_part(11, part, 3)), [4, 4, 3]);
        assert_eq!(
            (0..7).map(|part| bytes_of_part(1_000_003, part, 7)).sum::<u64>(),
            1_000_003
        );
    }

    /// Parts of two messages arrive in any order; each message is whole with its last part.
    #[test]
    fn a_message_is_whole_with_its_last_part() {
        let nic = Nic {
            stripe_above: Some(odonata_units::Bytes(1)),
            ..Nic::default()
        };
        let mut interfaces = Interfaces::new(&nic, 2);
        let part = |to, rail, bytes| {
            let payload = Payload::Synthetic { from: 0, to };
            let mut message = Message::new(rail, 2 * to + rail, bytes, 0, Time(5), payload);
            message.stripes = 2;
            message
        };
        assert_eq!(interfaces.join::<Plain>(&part(1, 0, 10), true), None);
        assert_eq!(interfaces.join::<Plain>(&part(2, 1, 7), true), None);
        assert_eq!(interfaces.join::<Plain>(&part(1, 1, 9), false), None);
        assert_eq!(interfaces.live(), 3);
        assert_eq!(interfaces.join::<Plain>(&part(1, 1, 9), true), Some(19));
        assert_eq!(interfaces.join::<Plain>(&part(2, 0, 8), true), Some(15));
        assert_eq!(interfaces.join::<Plain>(&part(1, 0, 10), false), Some(19));
        assert_eq!(interfaces.live(), 0);
    }
}
