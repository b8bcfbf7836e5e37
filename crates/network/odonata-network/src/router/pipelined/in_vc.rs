//! Input virtual channels.

use crate::Traffic;
use crate::flow::{Link, VcRanges};
use crate::packet::{Route, VcTerms};
use crate::routing::Header;
use odonata_engine::{List, NIL, Time};

/// The stage of the front packet of an input virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Stage {
    /// There is no packet.
    Empty,
    /// It has not been routed.
    New,
    /// It requests a virtual channel of its output.
    Routed,
    /// It has a virtual channel; its flits request the crossbar.
    Active,
}

/// An input virtual channel; one cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct InVc {
    /// Packets whose head has arrived.
    pub(crate) heads: List,
    /// When its front packet may make its next request, see [`Subcycle`].
    pub(crate) ready: Time,
    pub(super) created: Time,
    pub(crate) port: u32,
    /// The channel [`vc`](Self::vc) of that port, numbered over all.
    pub(super) out: u32,
    /// The front packet while it is delivered to a node.
    pub(super) delivered: u32,
    /// The front packet's header behind its output.
    pub(super) header: Header,
    /// Number of flits in the buffer.
    pub(crate) present: u16,
    /// Flits of the front packet that have not left.
    pub(crate) left: u16,
    /// Bytes of the last flit of the front packet.
    pub(super) last: u16,
    pub(crate) stage: Stage,
    pub(crate) level: u8,
    /// The first output virtual channel that the front packet may take, numbered in its port, and their number; once it
    /// has one, that channel.
    pub(crate) vc: u8,
    pub(super) channels: u8,
    pub(crate) terms: VcTerms,
    /// Whether the head of the front packet has left.
    pub(super) headless: bool,
    pub(crate) class: u8,
    /// The owner of the front packet.
    pub(crate) traffic: Traffic,
}

const _: () = assert!(size_of::<InVc>() == 64);

impl InVc {
    pub(super) const EMPTY: InVc = InVc {
        heads: List::EMPTY,
        ready: Time::ZERO,
        created: Time::ZERO,
        port: NIL,
        out: NIL,
        delivered: NIL,
        header: Header::NONE,
        present: 0,
        left: 0,
        last: 0,
        stage: Stage::Empty,
        level: 0,
        vc: 0,
        channels: 0,
        terms: VcTerms::NONE,
        headless: false,
        class: 0,
        traffic: 0,
    };

    /// The front packet is routed; `link` is its output.
    #[inline(always)]
    pub(super) fn take(&mut self, route: Route, link: &Link, vcs: &VcRanges) {
        let channels = vcs.of(link.class, route.level, self.class);
        self.stage = Stage::Routed;
        (self.port, self.level, self.terms) = (route.port, route.level, route.terms);
        (self.vc, self.channels) = (channels.start, channels.end - channels.start);
        self.out = link.first_vc + u32::from(channels.start);
    }
}
