//! Tails that leave after their port is free again, because their packet arrives over a slower link.
//!
//! A packet shorter than a flit may arrive behind it and request the port while the last flit ahead departs. Packets
//! from one input buffer to one port leave in order, so the short packet leaves behind the late tail.

use odonata_engine::{GrowableStore, Mode, Time};

/// Departure time and port of the last packet with a late tail of an input buffer.
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
    /// The tail of a packet from `buffer` departs by `port` at `out`.
    #[inline]
    pub(super) fn leaves<M: Mode>(&mut self, buffer: u32, port: u32, out: Time) {
        *self.of_buffer.edit::<M>(buffer as usize) = LateTail { out, port };
    }

    /// Departure time of the last late tail from `buffer` by `port`; [`Time::ZERO`] without one.
    #[inline]
    pub(super) fn before(&self, buffer: u32, port: u32) -> Time {
        let LateTail { out, port: of } = self.of_buffer.get(buffer as usize);
        if of == port { out } else { Time::ZERO }
    }
}
