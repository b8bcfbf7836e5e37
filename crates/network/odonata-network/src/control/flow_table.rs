//! The flows to overloaded nodes, as the last router before each of them tracks them.
//!
//! A *flow* is the traffic from one node to another in one traffic class. A router finds a flow by a hash of its ends, and
//! lists the flows to each node in the order in which they appeared.

use odonata_engine::{Mode, NIL, Pool, Store, Time};
use odonata_units::mix64;

/// The ends of a flow: its source, its traffic class, and the NIC of its target, a local number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Ends {
    pub(super) source: u32,
    pub(super) nic: u32,
    pub(super) class: u8,
}

/// A tracked flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct TrackedFlow {
    pub(super) ends: Ends,
    /// When its last packet came.
    pub(super) last: Time,
    /// The rate that its source was told last, as a fraction of the link's.
    pub(super) told: f64,
    /// The next flow to the same node.
    pub(super) next: u32,
    /// The next flow with the same hash.
    collides: u32,
}

odonata_engine::slots!(TrackedFlow);

/// The tracked flows of a part; empty without this control.
#[derive(Debug)]
pub(super) struct FlowTable {
    /// By hash: the first flow.
    buckets: Store<u32>,
    flows: Pool<TrackedFlow>,
}
odonata_engine::journalled!(FlowTable { buckets, flows });

impl FlowTable {
    /// Bytes per node without tracked flows.
    pub(super) const BYTES_PER_NODE: usize = size_of::<u32>();

    pub(super) fn new(nodes: usize) -> FlowTable {
        FlowTable {
            buckets: Store::filled(nodes, NIL),
            flows: Pool::new(),
        }
    }

    pub(super) fn get(&self, flow: u32) -> &TrackedFlow {
        self.flows.get(flow)
    }

    pub(super) fn edit<M: Mode>(&mut self, flow: u32) -> &mut TrackedFlow {
        self.flows.edit::<M>(flow)
    }

    fn bucket(&self, ends: Ends) -> u32 {
        let key = u64::from(ends.source) << 32 | u64::from(ends.nic);
        (mix64(key ^ u64::from(ends.class) << 56) % self.buckets.len() as u64) as u32
    }

    /// The flow with these ends, or [`NIL`].
    pub(super) fn find(&self, ends: Ends) -> u32 {
        let mut at = *self.buckets.get(self.bucket(ends));
        while at != NIL && self.flows.get(at).ends != ends {
            at = self.flows.get(at).collides;
        }
        at
    }

    /// Begins to track a flow; `next` is the first flow to its node so far.
    pub(super) fn insert<M: Mode>(&mut self, ends: Ends, now: Time, next: u32) -> u32 {
        let bucket = self.bucket(ends);
        let flow = self.flows.allocate::<M>(TrackedFlow {
            ends,
            last: now,
            told: 1.0,
            next,
            collides: *self.buckets.get(bucket),
        });
        *self.buckets.edit::<M>(bucket) = flow;
        flow
    }

    /// Stops to track the flows of the list from `first` on that are `idle`. Returns the list without them, and their
    /// number.
    pub(super) fn prune<M: Mode>(&mut self, first: u32, idle: impl Fn(&TrackedFlow) -> bool) -> (u32, u32) {
        let (mut head, mut before, mut at, mut removed) = (first, NIL, first, 0);
        while at != NIL {
            let flow = *self.flows.get(at);
            if idle(&flow) {
                match before {
                    NIL => head = flow.next,
                    _ => self.flows.edit::<M>(before).next = flow.next,
                }
                self.unlink::<M>(at);
                self.flows.free::<M>(at);
                removed += 1;
            } else {
                before = at;
            }
            at = flow.next;
        }
        (head, removed)
    }

    /// Removes `flow` from its bucket.
    fn unlink<M: Mode>(&mut self, flow: u32) {
        let TrackedFlow { ends, collides, .. } = *self.flows.get(flow);
        let bucket = self.bucket(ends);
        let mut at = *self.buckets.get(bucket);
        if at == flow {
            *self.buckets.edit::<M>(bucket) = collides;
            return;
        }
        while self.flows.get(at).collides != flow {
            at = self.flows.get(at).collides;
        }
        self.flows.edit::<M>(at).collides = collides;
    }
}
