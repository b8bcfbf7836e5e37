//! The backlog of an output, for congestion control (`control/congestion.rs`).
//!
//! Virtual channels are FIFOs: everything in a channel waits for the output of its front packet, once that is routed.
//! Flits that have crossed the crossbar but not started on the link wait as well. A packet to another router counts as
//! departed with its head, which carries its mark; a packet to a node with its tail, whose arrival time is known.

use super::channels::{Channels, RouterLayout, bits};
use super::clock::Traversal;
use super::in_vc::Stage;
use crate::Payload;
use crate::control::Departure;
use crate::fabric::Shared;
use crate::features::HandlerContext;
use crate::flow::Link;
use odonata_engine::{NIL, Time};

/// A packet that leaves a router.
#[derive(Clone, Copy)]
pub(super) struct Leaving {
    pub(super) packet: u32,
    /// Its input virtual channel, and the packet behind it there.
    pub(super) at: u32,
    pub(super) following: u32,
    pub(super) port: u32,
    /// When its flit arrives at the other end of the link.
    pub(super) arrival: Time,
}

impl Channels {
    /// Notifies congestion control that a packet leaves.
    pub(super) fn packet_leaves<C: HandlerContext>(
        &self,
        ctx: &mut C,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        link: &Link,
        traversal: &Traversal,
        leaving: Leaving,
    ) {
        let Leaving {
            packet, port, arrival, ..
        } = leaving;
        let (departure, _) = link.times_on(arrival);
        let crossed = departure
            .saturating_sub(traversal.crossed)
            .0
            .div_ceil(link.flit.0.max(1));
        let flits = crossed + self.flits_for(shared, layout, &leaving);
        if link.to_node {
            let own = shared.setup.flits(shared.packets.get(packet).bytes);
            let occupied = Time(u64::from(own) * link.flit.0);
            let out = (departure + link.flit, flits > 0);
            (shared.congestion).link_is_free::<C>(&shared.flow.links, port, occupied, out);
        }
        let departure = Departure {
            packet,
            port,
            queued: flits * shared.setup.params.flit,
            arrival: link.to_node.then_some(arrival),
        };
        let pools = (&mut shared.packets, &shared.messages);
        (shared.congestion).packet_leaves(ctx, &shared.setup, &shared.flow.links, pools, departure);
    }

    /// Flits in the buffers of a router that wait for the port of a departing packet, without its own.
    fn flits_for(&self, shared: &Shared<impl Payload>, layout: RouterLayout, leaving: &Leaving) -> u64 {
        let &Leaving {
            at, following, port, ..
        } = leaving;
        let mut flits = 0;
        for word in 0..layout.words() {
            for bit in bits(self.sets.get(layout.first_word + word).occupied) {
                let other = layout.first_vc + word * 64 + bit;
                let vc = self.vcs.get(other);
                let routed = matches!(vc.stage, Stage::Routed | Stage::Active);
                flits += match other == at {
                    true => self.flits_behind(shared, at, following, port),
                    false if routed && vc.port == port => u64::from(vc.present),
                    false => 0,
                };
            }
        }
        flits
    }

    /// Flits behind the front packet of `at`, if they wait for `port`.
    fn flits_behind(&self, shared: &Shared<impl Payload>, at: u32, following: u32, port: u32) -> u64 {
        let vc = self.vcs.get(at);
        if vc.stage == Stage::Active {
            return u64::from(vc.present - vc.present.min(vc.left));
        }
        // The whole packet has left.
        let goes_there =
            following != NIL && self.routes_on_arrival() && shared.packets.get(following).stored_route().port == port;
        u64::from(vc.present) * u64::from(goes_there)
    }
}
