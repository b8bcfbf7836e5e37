//! The facts that pipelined routers state in addition to those of all routers, and the trait that their instruments
//! implement.
//!
//! An instrument reads the channels and asks links for room, which counts their due credits. When a due credit is counted
//! changes no result. Facts of a cycle come in this order:
//!
//! ```text
//! heads and flits arrive   cycle begins   for each flit granted: crosses, departs, its packet leaves   cycle ends
//! ```

use super::{Observed, Tag};
use crate::fabric::Shared;
use crate::features::Uses;
use crate::flow::{Flow, Link};
use crate::router::pipelined::{Channels, RouterLayout, Subcycle, Traversal};
use crate::{Payload, Traffic};
use odonata_engine::Time;

/// A flit that has passed the crossbar.
#[derive(Clone, Copy)]
pub(crate) struct PassedFlit {
    /// The input virtual channel that it has left, and its owner.
    pub(crate) at: u32,
    pub(crate) owner: Traffic,
    /// Its packet, if the flit is its head or completes it at its node.
    pub(crate) packet: Option<u32>,
    /// Whether it is the last flit of its packet.
    pub(crate) is_tail: bool,
    /// Its output, and the buffer behind that.
    pub(crate) port: u32,
    pub(crate) buffer: u32,
    /// When it arrives at the other end of its link.
    pub(crate) arrival: Time,
}

/// An instrument of pipelined routers. Each method is a fact; an instrument implements those that it records.
#[allow(unused_variables)]
pub(crate) trait PipelineObserver {
    /// The head of `packet` has arrived in its buffer. Stated by routers that take in heads in order.
    #[inline(always)]
    fn head_arrives<M: Uses>(&mut self, channels: &Channels, shared: &mut Shared<impl Payload>, packet: u32) {}

    /// A body flit has arrived at input virtual channel `at`, in time for the cycle that `cycle` computes.
    #[inline(always)]
    fn body_flit_arrives<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        at: u32,
        cycle: impl FnOnce() -> Time,
    ) {
    }

    /// `packet`, which arrived behind another at input virtual channel `at`, is the first there from step `begin` on.
    #[inline(always)]
    fn packet_moves_up<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        (at, packet): (u32, Observed),
        begin: Subcycle,
    ) {
    }

    /// The front packet of input virtual channel `at` has been routed, or will be next.
    #[inline(always)]
    fn packet_leads<M: Uses>(&mut self, channels: &Channels, flow: &mut Flow, at: u32) {}

    /// The allocation of `cycle` begins at a router.
    #[inline(always)]
    fn cycle_begins<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        cycle: Time,
    ) {
    }

    /// All flits granted in `cycle` have left.
    #[inline(always)]
    fn cycle_ends<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        layout: RouterLayout,
        cycle: Time,
    ) {
    }

    /// The next flit of `at` leaves its buffer through the crossbar. Returns the tag of its credit.
    #[inline(always)]
    fn flit_crosses<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        (layout, at): (RouterLayout, u32),
        traversal: &Traversal,
    ) -> Tag {
        Tag::NONE
    }

    /// The flit is in flight on `link`.
    #[inline(always)]
    fn flit_departs<M: Uses>(
        &mut self,
        channels: &Channels,
        shared: &mut Shared<impl Payload>,
        (layout, link): (RouterLayout, &Link),
        traversal: &Traversal,
        flit: &PassedFlit,
    ) {
    }

    /// The front packet of `at`, of `owner`, has left with others behind it; `tag` is that of its last flit.
    #[inline(always)]
    fn packet_leaves<M: Uses>(
        &mut self,
        channels: &Channels,
        flow: &mut Flow,
        (at, owner): (u32, Traffic),
        tag: Tag,
        traversal: &Traversal,
    ) {
    }
}
