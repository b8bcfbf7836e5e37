//! Tails that leave after their port is free again, because they come in over a slower link.
//!
//! A packet shorter than a flit may come in behind such a packet and ask for the port while the last flit of that one is going
//! out. Packets from one input buffer to one port leave in order, so the short one leaves behind it.

use odonata_engine::{GrowableStore, Mode, Time};

/// When the last packet with a late tail leaves its input buffer, and by which port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct LateTail {
    out: Time,
    port: u32,
}

/// The last late tail of each input buffer.
#[derive(Debug, Default)]
pub(super) struct LateTails {
    of_buffer: GrowableStore<LateTail>,
}
odonata_engine::journalled!(LateTails { of_buffer });

impl LateTails {
    /// The tail of a packet from `buffer` leaves by `port` at `out`.
    #[inline]
    pub(super) fn leaves<M: Mode>(&mut self, buffer: u32, port: u32, out: Time) {
        *self.of_buffer.edit::<M>(buffer as usize) = LateTail { out, port };
    }

    /// When the last late tail from `buffer` leaves by `port`; [`Time::ZERO`] if none has.
    #[inline]
    pub(super) fn before(&self, buffer: u32, port: u32) -> Time {
        let LateTail { out, port: of } = self.of_buffer.get(buffer as usize);
        if of == port { out } else { Time::ZERO }
    }

    pub(super) fn memory(&self) -> usize {
        self.of_buffer.memory()
    }
}
