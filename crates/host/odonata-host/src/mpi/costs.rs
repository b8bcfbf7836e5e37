//! What the software of the library costs for a message: calls, copies, answers.

use crate::layout::Layout;
use crate::settings::Mpi as Settings;
use odonata_engine::Time;
use odonata_units::{Bytes, PerByte};

impl Settings {
    /// Software time of an answer of a rendezvous, and of an acknowledgment.
    #[inline]
    pub(crate) fn answer_delay(&self) -> Time {
        self.control_delay.unwrap_or(self.send_delay)
    }

    /// Software time for a message of `bytes` between ranks: call and copy.
    #[inline]
    pub(crate) fn send_software(&self, bytes: u64) -> Time {
        self.send_delay + self.send_per_byte.time_for(Bytes(bytes))
    }

    /// The time in which the interface fetches an eager message of `bytes` between these ranks from memory.
    #[inline]
    pub(super) fn fetch(&self, layout: &Layout, ends: (u32, u32), bytes: u64) -> Time {
        match self.inline_up_to {
            Some(most) if bytes > most.0 && layout.are_apart(ends) => self.fetch_delay,
            _ => Time::ZERO,
        }
    }

    /// The time for a copy of an eager message of `bytes` between these ranks, at `rate`. Nothing is copied within a node.
    #[inline]
    pub(super) fn eager_copy(&self, layout: &Layout, ends: (u32, u32), rate: PerByte, bytes: u64) -> Time {
        if rate == PerByte::ZERO || !layout.are_apart(ends) {
            return Time::ZERO;
        }
        rate.time_for(Bytes(bytes))
    }

    /// Whether the send of an eager message of `bytes` between these ranks completes by acknowledgment.
    #[inline]
    pub(crate) fn is_acknowledged(&self, layout: &Layout, ends: (u32, u32), bytes: u64) -> bool {
        (self.acknowledged_above).is_some_and(|most| bytes > most.0) && layout.are_apart(ends)
    }
}
