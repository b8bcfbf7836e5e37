//! What was sent, marked, trimmed, dropped and sent again.

use odonata_engine::Time;

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PortCounters {
    /// Frames with data that have left.
    pub data: u64,
    /// Frames without data that have left.
    pub control: u64,
    /// Bytes on the wire of all of them.
    pub bytes: u64,
    /// The time that they took.
    pub busy: Time,
    /// Frames that were marked here.
    pub marked: u64,
    /// Frames whose data was dropped here.
    pub trimmed: u64,
    /// Frames that were dropped here.
    pub dropped: u64,
    /// Most bytes of data that waited.
    pub most: u64,
    /// Pauses that its switch sent to the other end of the cable.
    pub pauses: u64,
    /// Time for which it was paused.
    pub paused: Time,
}

/// Counters of the flows of one traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TransportCounters {
    /// Flows that are complete.
    pub flows: u64,
    /// Packets sent for the first time, and their bytes of payload.
    pub packets: u64,
    /// Bytes of payload of these.
    pub bytes: u64,
    /// Packets sent again.
    pub again: u64,
    /// Bytes of payload of these.
    pub again_bytes: u64,
    /// Packets that arrived, whole and for the first time.
    pub delivered: u64,
    /// Bytes of payload of these.
    pub delivered_bytes: u64,
    /// Packets that arrived although they had arrived before.
    pub duplicates: u64,
    /// Packets trimmed and packets dropped in the network.
    pub trimmed: u64,
    /// Dropped packets, trimmed ones included that were dropped later.
    pub dropped: u64,
    /// Packets that arrived marked.
    pub marked: u64,
    /// ACKs sent.
    pub acks: u64,
    /// NACKs sent, of trimmed or of missing packets.
    pub nacks: u64,
    /// Timeouts.
    pub timeouts: u64,
}

impl TransportCounters {
    /// Adds the counters of another part.
    pub fn add(&mut self, other: &TransportCounters) {
        let TransportCounters {
            flows,
            packets,
            bytes,
            again,
            again_bytes,
            delivered,
            delivered_bytes,
            duplicates,
            trimmed,
            dropped,
            marked,
            acks,
            nacks,
            timeouts,
        } = other;
        self.flows += flows;
        self.packets += packets;
        self.bytes += bytes;
        self.again += again;
        self.again_bytes += again_bytes;
        self.delivered += delivered;
        self.delivered_bytes += delivered_bytes;
        self.duplicates += duplicates;
        self.trimmed += trimmed;
        self.dropped += dropped;
        self.marked += marked;
        self.acks += acks;
        self.nacks += nacks;
        self.timeouts += timeouts;
    }
}

/// Counters of the flows of one traffic that only RoCE has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RoceCounters {
    /// Congestion notifications that receivers sent.
    pub notifications: u64,
    /// Packets that arrived out of sequence and were discarded.
    pub out_of_sequence: u64,
}

impl RoceCounters {
    /// Adds the counters of another part.
    pub fn add(&mut self, other: &RoceCounters) {
        let RoceCounters {
            notifications,
            out_of_sequence,
        } = other;
        self.notifications += notifications;
        self.out_of_sequence += out_of_sequence;
    }
}

/// A complete flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct FlowRecord {
    /// When its message was submitted.
    pub start: Time,
    /// Sending node.
    pub source: u32,
    /// Its number there.
    pub number: u32,
    /// Receiving node.
    pub target: u32,
    /// The owner.
    pub traffic: u16,
    /// Bytes of payload.
    pub bytes: u64,
    /// When the acknowledgment of its last packet reached the sender.
    pub end: Time,
    /// Packets sent again.
    pub again: u32,
    /// Trimmed or missing packets reported to the sender.
    pub nacks: u32,
}
