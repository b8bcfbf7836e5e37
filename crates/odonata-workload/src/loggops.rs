//! The parameters of the LogGOPS model (T. Hoefler, T. Schneider, A. Lumsdaine, HPDC 2010), and what a program does under it.
//!
//! LogGP (A. Alexandrov et al., SPAA 1995) with a cost of the processor per byte, O, and a size S above which messages wait
//! for their receive. There is no contention in the network.

use odonata_units::{Bytes, PerByte, Time};

/// L, o, g, G, O and S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGops {
    /// L: from the sender's network interface to the receiver's.
    pub latency: Time,
    /// o of a send: how long it occupies the processor.
    pub send_overhead: Time,
    /// o of a receive.
    pub recv_overhead: Time,
    /// g: between two messages of a network interface.
    pub gap: Time,
    /// G: per byte, between two messages.
    pub gap_per_byte: PerByte,
    /// O: how long a byte occupies the processor.
    pub overhead_per_byte: PerByte,
    /// S: larger messages go by rendezvous.
    pub eager_threshold: u64,
}

impl LogGops {
    /// (s - 1) G: of a message of `bytes`.
    pub fn gap_of(&self, bytes: u64) -> Time {
        self.gap_per_byte.time_for(Bytes(bytes.saturating_sub(1)))
    }

    /// (s - 1) O.
    pub fn per_byte(&self, bytes: u64) -> Time {
        self.overhead_per_byte.time_for(Bytes(bytes.saturating_sub(1)))
    }
}

/// What a rank did under the LogGOPS model, and until when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankTimes {
    /// When it was at its end, from its start.
    pub end: Time,
    /// How long it computed, on all its processors together.
    pub compute: Time,
    /// Messages sent.
    pub sends: u32,
    /// Messages received.
    pub recvs: u32,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
}
