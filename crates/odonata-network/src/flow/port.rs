//! The state of ports and buffers.

use super::link::OwnOfLink;
use crate::message::Traffic;
use crate::router::NOBODY;
use odonata_engine::{List, Time};

/// The sending side of a link: a router's output port or a NIC. One cache line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
pub(crate) struct OutPort {
    /// Until when the link is occupied: by each packet for its bytes / bandwidth.
    pub(crate) free_at: Time,
    /// Since when a packet has found no buffer ([`Time::NEVER`]: none has).
    pub(crate) stalled_since: Time,
    /// The next wake-up of this port, if it lies in the future.
    pub(crate) service_at: Time,
    /// Flits sent (or, output-queued, admitted) and not credited, over all virtual channels.
    pub(crate) used: u32,
    /// Flits waiting without a claim on buffer space.
    pub(crate) waiting_flits: u32,
    /// Packets waiting for this port.
    pub(crate) waiting: u32,
    pub(super) flags: PortFlags,
    /// The virtual channel that was served last.
    pub(crate) last_vc: u8,
    /// The owner of the packet that was sent last.
    pub(crate) holder: Traffic,
    /// The input port whose packet was sent last, see [`input_port`](crate::router::input_port).
    pub(crate) last_input: u32,
    /// The virtual channels below [`MASKED`](Self::MASKED) for which somebody waits: bits. Input-queued only.
    pub(crate) waiting_vcs: u32,
    /// What the link is.
    pub(super) link: OwnOfLink,
}

impl OutPort {
    /// Ports with so many virtual channels at most tell by bits for which of them somebody waits.
    pub(crate) const MASKED: u8 = 32;

    /// The idle port of `link`.
    pub(super) const fn idle(link: OwnOfLink) -> OutPort {
        OutPort {
            link,
            free_at: Time::ZERO,
            stalled_since: Time::NEVER,
            service_at: Time::ZERO,
            used: 0,
            waiting_flits: 0,
            waiting: 0,
            flags: PortFlags(0),
            last_vc: 0,
            holder: 0,
            last_input: NOBODY,
            waiting_vcs: 0,
        }
    }

    /// Whether somebody waits for a credit: then each credit gets an event. Kept beside the credits, too: see
    /// [`set_awaits_credit`](crate::flow::Flow::set_awaits_credit).
    #[inline(always)]
    pub(crate) fn awaits_credit(&self) -> bool {
        self.flags.has(PortFlags::AWAITS_CREDIT)
    }

    /// Whether one of its channels is [exhausted](super::exhaustion); of a pipelined router's port, whether one had no room when the last flit went.
    #[inline(always)]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.flags.has(PortFlags::EXHAUSTED)
    }
}

const _: () = assert!(size_of::<OutPort>() == 64);

/// What is known of a port, in bits.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct PortFlags(u8);

impl PortFlags {
    pub(super) const AWAITS_CREDIT: u8 = 1;
    pub(super) const EXHAUSTED: u8 = 2;

    #[inline(always)]
    fn has(self, flag: u8) -> bool {
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
    /// Flits of the far buffer that are taken.
    pub(crate) used: u32,
    /// Input-queued only: the input port whose packet was sent last of those that asked for this virtual channel.
    pub(crate) last_input: u32,
    /// Packets waiting for this virtual channel. Input-queued: a line of requests, see
    /// [`arbiter`](crate::router::arbiter). Output-queued: packets with a claim on buffer space, linked by `next`.
    pub(crate) queue: List,
    /// Output-queued only: packets that found the queue full and still hold their upstream credit, in a line likewise.
    pub(crate) overflow: List,
}

impl OutVc {
    pub(crate) const IDLE: OutVc = OutVc {
        used: 0,
        last_input: NOBODY,
        queue: List::EMPTY,
        overflow: List::EMPTY,
    };

    /// Input-queued: the line of requests for it, and the input port that was served last of it.
    #[inline(always)]
    pub(crate) fn requests(&self) -> (List, u32) {
        (self.queue, self.last_input)
    }
}
