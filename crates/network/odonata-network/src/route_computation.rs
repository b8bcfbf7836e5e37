//! Route computation: the view that a routing has of a router, and its decision for a packet.

mod decide;

use crate::features::Uses;
use crate::flow::Flow;
use crate::packet::Packet;
use crate::routing::{Choice, Path, Routing};
use odonata_engine::random::Purpose;
use odonata_engine::{RangeStore, Stream, Time};
use odonata_units::SplitMix64;
use std::ops::Range;
use std::sync::Arc;

/// The view that route computation has of the router model: whether an output virtual channel is available now.
pub(crate) trait VcAvailability {
    /// Whether one of `vcs` of the local port `port` is free, with room for a packet of `flits`.
    fn has_free_vc<M: Uses>(&self, flow: &mut Flow, port: u32, vcs: Range<u8>, flits: u32, now: Time) -> bool;

    /// Whether a packet is routed again, without effect on state, until it gets a virtual channel.
    fn decides_again(&self) -> bool;
}

/// The routing, and one random stream per router for its choices.
#[derive(Debug)]
pub(crate) struct RouteComputation {
    pub(crate) routing: Arc<Routing>,
    random: RangeStore<Stream>,
}
odonata_engine::journalled!(RouteComputation { random });

impl RouteComputation {
    pub(crate) fn new(routing: Arc<Routing>, routers: Range<u32>, seed: u64) -> RouteComputation {
        let stream = |router| Stream::new(seed, u64::from(router), Purpose::Routing);
        RouteComputation {
            routing,
            random: RangeStore::with(routers, stream),
        }
    }

    /// The logical process of node `node`.
    #[inline]
    pub(crate) fn process_of(&self, node: u32) -> u32 {
        self.routing.topology().node_router(node)
    }
}

/// Random draws that repeat whenever a packet is routed again at the same router: an idle wake-up must not change the
/// result.
#[derive(Clone, Copy)]
pub(crate) struct RepeatableDraws(SplitMix64);

impl RepeatableDraws {
    pub(crate) fn new(seed: u64, router: u32, packet: &Packet) -> RepeatableDraws {
        let mut lot = SplitMix64(seed ^ packet.injected.0.rotate_left(17) ^ u64::from(packet.header.target) << 32);
        lot.next_u64();
        lot.0 ^= u64::from(router);
        RepeatableDraws(lot)
    }
}

/// The answers for a packet that finds no room at any port: the result is where it waits.
impl Choice for RepeatableDraws {
    fn pick(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        false
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        false
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        false
    }
}
