//! The router models: where packets wait, and how outputs are arbitrated.
//!
//! | model | step | packets wait |
//! |---|---|---|
//! | [`input_queued`] | packet by packet | at their input port, in one FIFO or virtual output queues per virtual channel |
//! | [`output_queued`] | packet by packet | at their output port, as in the dragonfly models of CODES |
//! | [`pipelined`] | flit by flit, in cycles | at their input virtual channel, in front of separable allocators |

mod arbiter;
pub(crate) mod input_queued;
pub(crate) mod output_queued;
pub(crate) mod pipelined;
mod turns;

pub(crate) use arbiter::{NO_INPUT, input_port};

use crate::features::Uses;
use crate::flow::Flow;
use odonata_engine::Time;
use std::ops::Range;

/// The view that route computation has of the router model: whether an output virtual channel is available now.
pub(crate) trait VcAvailability {
    /// Whether one of `vcs` of the local port `port` is free, with room for a packet of `flits`.
    fn has_free_vc<M: Uses>(&self, flow: &mut Flow, port: u32, vcs: Range<u8>, flits: u32, now: Time) -> bool;

    /// Whether a packet is routed again, without effect on state, until it gets a virtual channel.
    fn decides_again(&self) -> bool;
}

/// Routers that work packet by packet: a channel is free if no packet waits for it and the whole packet fits.
pub(crate) struct WholePackets;

impl VcAvailability for WholePackets {
    #[inline]
    fn has_free_vc<M: Uses>(&self, flow: &mut Flow, port: u32, mut vcs: Range<u8>, flits: u32, now: Time) -> bool {
        let link = flow.link::<M>(port);
        flow.count_credits::<M>(port, now);
        vcs.any(|vc| {
            let cell = flow.vc::<M>(link.first_vc + u32::from(vc));
            cell.queue.is_empty() && cell.overflow.is_empty() && cell.used + flits <= link.capacity
        })
    }

    #[inline(always)]
    fn decides_again(&self) -> bool {
        false
    }
}
