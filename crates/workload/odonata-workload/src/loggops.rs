//! The parameters of the LogGOPS model (T. Hoefler, T. Schneider, A. Lumsdaine, HPDC 2010), and the results of a
//! program under it.
//!
//! LogGP (A. Alexandrov et al., SPAA 1995) with a processor cost per byte, O, and a size S above which messages wait
//! for their receive. The network has no contention.

use odonata_units::{Bytes, PerByte, Time};

/// L, o, g, G, O and S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGops {
    /// L: from the sender's network interface to the receiver's.
    pub latency: Time,
    /// o of a send: processor time.
    pub send_overhead: Time,
    /// o of a receive.
    pub recv_overhead: Time,
    /// g: gap between two messages of a network interface.
    pub gap: Time,
    /// G: gap per byte.
    pub gap_per_byte: PerByte,
    /// O: processor time per byte.
    pub overhead_per_byte: PerByte,
    /// S: larger messages use rendezvous.
    pub eager_threshold: u64,
}

impl LogGops {
    /// (s - 1) G for a message of `bytes`.
    pub fn gap_of(&self, bytes: u64) -> Time {
        self.gap_per_byte.time_for(Bytes(bytes.saturating_sub(1)))
    }

    /// (s - 1) O.
    pub fn per_byte(&self, bytes: u64) -> Time {
        self.overhead_per_byte.time_for(Bytes(bytes.saturating_sub(1)))
    }
}

/// The activity of a rank under the LogGOPS model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankTimes {
    /// Its end, relative to its start.
    pub end: Time,
    /// Computation time of all its processors together.
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
