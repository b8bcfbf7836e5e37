//! Packets.

use crate::routing::{Decision, Header};
use odonata_engine::{Slot, Time};

/// A packet on its way; one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Packet {
    /// When the message was created by the host.
    pub(crate) created: Time,
    /// When the packet started on the terminal link: the start of packet latency.
    pub(crate) injected: Time,
    /// When its tail is in the buffer it is in or on the way to.
    pub(crate) tail_in: Time,
    pub(crate) header: Header,
    pub(crate) message: u32,
    pub(crate) bytes: u32,
    /// The input buffer (port and virtual channel) it is in or on the way to.
    pub(crate) buffer: u32,
    /// Next packet of the FIFO it is in (or of the free list).
    pub(crate) next: u32,
    /// Next packet that waits for the same output and virtual channel.
    pub(crate) next_waiting: u32,
    pub(crate) traffic: u16,
    /// Virtual channel of that buffer, as its sender counts them.
    pub(crate) vc: u8,
    /// Its traffic class.
    pub(crate) class: u8,
    /// A port has marked it as one that met congestion.
    pub(crate) marked: bool,
    /// Routers visited.
    pub(crate) hops: u16,
    /// What it wants of the buffer it waits for, see [`Wants`].
    pub(crate) wants: Wants,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// On what terms a packet waits for room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Wants(u8);

impl Wants {
    pub(crate) const NONE: Wants = Wants(0);
    const RETRY: u8 = 1;
    const SPARE: u8 = 2;

    pub(crate) fn of(decision: &Decision) -> Wants {
        Wants(Self::RETRY * u8::from(decision.retry) + Self::SPARE * u8::from(decision.spare))
    }

    /// It does not wait for room there: it is decided upon again ([`Decision::retry`]).
    #[inline]
    pub(crate) fn retry(self) -> bool {
        self.0 & Self::RETRY != 0
    }

    /// It wants room for one more full packet ([`Decision::spare`]).
    #[inline]
    pub(crate) fn spare(self) -> bool {
        self.0 & Self::SPARE != 0
    }
}

impl Slot for Packet {
    #[inline]
    fn next(&self) -> u32 {
        self.next
    }
    #[inline]
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}
