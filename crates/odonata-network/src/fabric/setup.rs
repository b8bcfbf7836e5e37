//! What never changes during a run: the parameters, and what follows from them.

use crate::flow::VcRanges;
use crate::params::NetworkParams;
use crate::settings::{InputQueues, RouterModel};
use odonata_engine::Time;
use std::ops::Range;

/// The parameters of a part of the fabric, and what every handler would else derive from them again.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) params: NetworkParams,
    /// The routers whose part this is.
    pub(crate) routers: Range<u32>,
    /// The virtual channels of each level of the routing.
    pub(crate) vcs: VcRanges,
    /// Flits of a packet of full size: the bubble that [`VcTerms::bubble`](crate::packet::VcTerms::bubble) asks for.
    pub(crate) bubble: u32,
    /// Flits that every packet counts as, where the router model counts all as full ones.
    full_packet: Option<u32>,
    /// The pipeline's latency, before a packet is routed or after it has been sent: a virtual-channel
    /// router routes what has come through its pipeline, the router of CODES routes on arrival and
    /// adds the delay to the way out.
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
            vcs,
            bubble: full,
            full_packet: (params.router == RouterModel::OutputQueued).then_some(full),
            delay_before_routing,
            delay_after_routing,
            params,
        }
    }

    /// Flits of buffer space that a packet of `bytes` takes.
    #[inline]
    pub(crate) fn flits(&self, bytes: u32) -> u32 {
        // Most packets are full ones: nobody has to divide.
        if u64::from(bytes) == self.params.packet {
            return self.bubble;
        }
        match self.full_packet {
            Some(flits) => flits,
            None => self.params.flits(u64::from(bytes)) as u32,
        }
    }

    /// Flits of a packet where the router model counts all as full ones; else 1.
    #[inline]
    pub(crate) fn full_packet(&self) -> u32 {
        self.full_packet.unwrap_or(1)
    }
}

/// Whether only the heads of input buffers compete; else there are no input queues to keep.
pub(crate) fn has_fifos(params: &NetworkParams) -> bool {
    params.router == RouterModel::InputQueued && params.input_queues == InputQueues::Fifo
}
