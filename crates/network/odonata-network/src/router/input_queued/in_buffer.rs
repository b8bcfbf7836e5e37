//! Input buffers with FIFO input queues.

use odonata_engine::{List, Time};

/// One virtual channel of an input port, with FIFO input queues.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct InBuffer {
    /// When the tail of the packet read last has left.
    pub(super) read_until: Time,
    /// Packets whose head has arrived and that are not being read yet.
    pub(super) fifo: List,
    /// Flits of these packets.
    pub(super) flits: u32,
    /// Whether the first of them has been routed and waits for its output.
    pub(super) requested: bool,
}

impl InBuffer {
    pub(super) const EMPTY: InBuffer = InBuffer {
        read_until: Time::ZERO,
        fifo: List::EMPTY,
        flits: 0,
        requested: false,
    };
}
