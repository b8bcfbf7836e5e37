//! The state of ports and buffers.

use super::link::LinkEntry;
use crate::message::Traffic;
use crate::router::NO_INPUT;
use odonata_engine::{List, Time};

/// The sending side of a link: a router's output port or a NIC. One cache line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(crate) struct OutPort {
    /// Until when the link is occupied: each packet takes its bytes / bandwidth.
    pub(crate) free_at: Time,
    /// Since when a packet has lacked a buffer ([`Time::NEVER`]: none has).
    pub(crate) stalled_since: Time,
    /// The next wake-up of this port, if it lies in the future.
    pub(crate) service_at: Time,
    /// Flits sent (or, output-queued, admitted) without a returned credit, over all virtual channels.
    pub(crate) used: u32,
    /// Flits of packets that wait for buffer space.
    pub(crate) waiting_flits: u32,
    /// Packets waiting for this port.
    pub(crate) waiting: u32,
    pub(super) flags: PortFlags,
    /// The virtual channel served last.
    pub(crate) last_vc: u8,
    /// The owner of the packet sent last.
    pub(crate) holder: Traffic,
    /// The input port of the packet sent last, see [`input_port`](crate::router::input_port).
    pub(crate) last_input: u32,
    /// The virtual channels below [`MASKED`](Self::MASKED) with waiting packets, as bits. Input-queued only.
    pub(crate) waiting_vcs: u32,
    /// The individual properties of the link.
    pub(super) link: LinkEntry,
}

impl OutPort {
    /// Most virtual channels of a port whose waiting packets are marked in bits.
    pub(crate) const MASKED: u8 = 32;

    /// The idle port of `link`.
    pub(super) const fn idle(link: LinkEntry) -> OutPort {
        OutPort {
            link,
            free_at: Time::ZERO,
            stalled_since: Time::NEVER,
            service_at: Time::ZERO,
            used: 0,
            waiting_flits: 0,
            waiting: 0,
            flags: PortFlags::NONE,
            last_vc: 0,
            holder: 0,
            last_input: NO_INPUT,
            waiting_vcs: 0,
        }
    }

    /// Whether a packet waits for a credit, so that each credit gets an event. A copy lies beside the credits: see
    /// [`set_awaits_credit`](crate::flow::Flow::set_awaits_credit).
    #[inline(always)]
    pub(crate) fn awaits_credit(&self) -> bool {
        self.flags.has(PortFlags::AWAITS_CREDIT)
    }

    /// Whether one of its channels is [exhausted](super::exhaustion); for a pipelined router, whether one had no room
    /// when the last flit left.
    #[inline(always)]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.flags.has(PortFlags::EXHAUSTED)
    }
}

const _: () = assert!(size_of::<OutPort>() == 64);

/// Flags of a port.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct PortFlags(u8);

impl PortFlags {
    pub(super) const AWAITS_CREDIT: u8 = 1;
    pub(super) const EXHAUSTED: u8 = 2;

    pub(super) const NONE: PortFlags = PortFlags(0);

    #[inline(always)]
    pub(super) fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    #[inline(always)]
    pub(super) fn set(&mut self, flag: u8, is_set: bool) {
        self.0 = self.0 & !flag | if is_set { flag } else { 0 };
    }
}

/// One virtual channel of an output port.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct OutVc {
    /// Flits of the downstream buffer that are taken.
    pub(crate) used: u32,
    /// Input-queued only: the input port of the packet sent last among those that requested this virtual channel.
    pub(crate) last_input: u32,
    /// Packets that wait for this virtual channel. Input-queued: a list of requests, see
    /// `router/arbiter.rs`. Output-queued: packets that hold buffer space, linked by `next`.
    pub(crate) queue: List,
    /// Output-queued only: a list of packets that found the queue full and still hold their upstream credit.
    pub(crate) overflow: List,
}

impl OutVc {
    pub(crate) const IDLE: OutVc = OutVc {
        used: 0,
        last_input: NO_INPUT,
        queue: List::EMPTY,
        overflow: List::EMPTY,
    };

    /// Input-queued: the list of requests for it, and the input port last served among them.
    #[inline(always)]
    pub(crate) fn requests(&self) -> (List, u32) {
        (self.queue, self.last_input)
    }
}
