//! The constants of a run: the parameters and values derived from them.

use crate::flow::VcRanges;
use crate::params::NetworkParams;
use crate::settings::{InputQueues, RouterModel};
use odonata_engine::Time;
use std::ops::Range;

/// The parameters of a part of the fabric, and derived values that handlers would otherwise recompute.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) params: NetworkParams,
    /// The routers of this part.
    pub(crate) routers: Range<u32>,
    /// The virtual channels of each level of the routing.
    pub(crate) vcs: VcRanges,
    /// Whether a packet may take any channel of its level: see [`NetworkParams::takes_any_channel`].
    pub(crate) takes_any_channel: bool,
    /// Flits of a full packet: the bubble of [`VcTerms::bubble`](crate::packet::VcTerms::bubble).
    pub(crate) bubble: u32,
    /// Bytes of a flit.
    flit: u32,
    /// Flits that every packet counts as, if the router model counts all packets as full ones.
    full_packet: Option<u32>,
    /// Pipeline latency before routing and after sending. A virtual-channel router routes packets that have passed its
    /// pipeline; the router of CODES routes on arrival and adds the delay on departure.
    pub(crate) delay_before_routing: Time,
    pub(crate) delay_after_routing: Time,
}

impl Setup {
    pub(crate) fn new(params: NetworkParams, routers: Range<u32>, vcs: VcRanges) -> Setup {
        let full = params.flits(params.packet) as u32;
        let (delay_before_routing, delay_after_routing) = match params.router {
            RouterModel::InputQueued => (params.router_delay, Time::ZERO),
            RouterModel::OutputQueued => (Time::ZERO, params.router_delay),
            RouterModel::Pipelined => (Time::ZERO, Time::ZERO),
        };
        Setup {
            routers,
            takes_any_channel: params.takes_any_channel(&vcs),
            vcs,
            bubble: full,
            flit: u32::try_from(params.flit).unwrap_or(u32::MAX),
            full_packet: (params.router == RouterModel::OutputQueued).then_some(full),
            delay_before_routing,
            delay_after_routing,
            params,
        }
    }

    /// Flits of buffer space that a packet of `bytes` takes.
    #[inline]
    pub(crate) fn flits(&self, bytes: u32) -> u32 {
        // Most packets are full ones, which need no division.
        if u64::from(bytes) == self.params.packet {
            return self.bubble;
        }
        match self.full_packet {
            Some(flits) => flits,
            // The same as `NetworkParams::flits`, by a shorter division.
            None if bytes <= self.flit => 1,
            None => bytes.div_ceil(self.flit),
        }
    }

    /// Flits of a packet if the router model counts all as full ones; otherwise 1.
    #[inline]
    pub(crate) fn full_packet(&self) -> u32 {
        self.full_packet.unwrap_or(1)
    }
}

/// Whether only the heads of input buffers compete; otherwise there are no input queues.
pub(crate) fn has_fifos(params: &NetworkParams) -> bool {
    params.router == RouterModel::InputQueued && params.input_queues == InputQueues::Fifo
}
