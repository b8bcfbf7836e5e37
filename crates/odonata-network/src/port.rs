//! The state of ports and buffers.

use crate::message::Traffic;
use odonata_engine::{List, NIL, Time};

/// The sending side of a link: a router's output port or a NIC. One cache line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct OutPort {
    /// When the link has sent the tail of its last packet.
    pub(crate) free_at: Time,
    /// Since when a packet has found no buffer ([`Time::NEVER`]: none has).
    pub(crate) full_since: Time,
    /// The next look at this port, if it lies in the future.
    pub(crate) service_at: Time,
    /// Credits that have not been counted yet, see [`credit`](crate::credit).
    pub(crate) credits: u32,
    /// Flits sent (or, output-queued, admitted) and not credited, over all virtual channels.
    pub(crate) used: u32,
    /// Flits waiting without a claim on buffer space.
    pub(crate) waiting_flits: u32,
    /// Packets waiting for this port.
    pub(crate) waiting: u32,
    /// Whether somebody waits for a credit: then each credit gets an event.
    pub(crate) hungry: bool,
    /// The virtual channel that was served last.
    pub(crate) last_vc: u8,
    /// Whose packet was sent last; only where waits are booked.
    pub(crate) holder: Traffic,
}

impl OutPort {
    pub(crate) const IDLE: OutPort = OutPort {
        free_at: Time::ZERO,
        full_since: Time::NEVER,
        service_at: Time::ZERO,
        credits: NIL,
        used: 0,
        waiting_flits: 0,
        waiting: 0,
        hungry: false,
        last_vc: 0,
        holder: 0,
    };
}

/// One virtual channel of an output port.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct OutVc {
    /// Flits of the far buffer that are taken.
    pub(crate) used: u32,
    /// Packets waiting for this virtual channel. Input-queued: heads of input buffers, linked by
    /// `next_waiting`. Output-queued: packets with a claim on buffer space, linked by `next`.
    pub(crate) queue: List,
    /// Output-queued only: packets that found the queue full and still hold their upstream credit.
    pub(crate) overflow: List,
}

impl OutVc {
    pub(crate) const IDLE: OutVc = OutVc {
        used: 0,
        queue: List::EMPTY,
        overflow: List::EMPTY,
    };
}

/// One virtual channel of an input port (input-queued routers).
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct InBuffer {
    /// When the tail of the last packet that was read has left.
    pub(crate) read_until: Time,
    /// Packets whose head is here and that are not yet being read.
    pub(crate) fifo: List,
    /// Flits of these.
    pub(crate) flits: u32,
    /// Whether the first of them has been routed and waits for its output.
    pub(crate) requested: bool,
}

impl InBuffer {
    pub(crate) const EMPTY: InBuffer = InBuffer {
        read_until: Time::ZERO,
        fifo: List::EMPTY,
        flits: 0,
        requested: false,
    };
}
