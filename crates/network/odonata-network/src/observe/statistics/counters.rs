//! Counters of links, nodes and traffic, and the cells of the time series.

use odonata_engine::Time;

/// Counters of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LinkStats {
    /// Payload bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Transmission time of the link.
    pub busy: Time,
    /// Time in which the buffers behind the link were exhausted (`observe/saturation.rs`), whether or not the link
    /// transmitted; at a NIC, time in which its packet queue was full.
    pub saturation: Time,
    /// Time in which exhausted buffers stalled the link. Output-queued: from the first packet that finds its queue full
    /// until the port next sends or receives a credit, as in CODES. Input-queued and pipelined: while the link is idle
    /// and a packet or flit for it lacks a credit. NIC: as `saturation`.
    pub stall: Time,
    /// Packets that met exhausted buffers.
    pub stalled: u64,
}

/// Counters of the packets received by one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NodeStats {
    /// Packets.
    pub packets: u64,
    /// Routers visited by the packets, summed.
    pub hops: u64,
    /// Latency of the packets from the start on the terminal link, summed.
    pub latency: Time,
    /// The largest latency.
    pub latency_max: Time,
    /// The smallest latency ([`Time::NEVER`] without packets).
    pub latency_min: Time,
    /// Digest over (arrival, source's packet) in order of arrival.
    pub digest: u64,
}

impl NodeStats {
    /// The packets of two interfaces together.
    pub(crate) fn join(self, other: NodeStats) -> NodeStats {
        NodeStats {
            packets: self.packets + other.packets,
            hops: self.hops + other.hops,
            latency: self.latency + other.latency,
            latency_max: self.latency_max.max(other.latency_max),
            latency_min: self.latency_min.min(other.latency_min),
            digest: self.digest ^ other.digest,
        }
    }

    pub(crate) const NONE: NodeStats = NodeStats {
        packets: 0,
        hops: 0,
        latency: Time::ZERO,
        latency_max: Time::ZERO,
        latency_min: Time::NEVER,
        digest: 0,
    };
}

/// Counters of one traffic (a job's MPI or I/O).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TrafficStats {
    /// Messages delivered.
    pub messages: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Routers visited, summed.
    pub hops: u64,
    /// Latency from the start on the terminal link, summed, in ps; the sum over all packets may exceed 64 bits.
    pub latency_ps: u128,
    /// Latency from the creation of the message, summed, in ps.
    pub latency_created_ps: u128,
    /// The largest latency.
    pub latency_max: Time,
    /// Packets that took a non-minimal path.
    pub nonminimal: u64,
    /// Bytes submitted to NICs.
    pub bytes_sent: u64,
}

impl TrafficStats {
    /// Adds the counters of another part.
    pub(crate) fn absorb(&mut self, part: TrafficStats) {
        self.messages += part.messages;
        self.packets += part.packets;
        self.bytes += part.bytes;
        self.hops += part.hops;
        self.latency_ps += part.latency_ps;
        self.latency_created_ps += part.latency_created_ps;
        self.latency_max = self.latency_max.max(part.latency_max);
        self.nonminimal += part.nonminimal;
        self.bytes_sent += part.bytes_sent;
    }
}

/// One cell of the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SeriesCell {
    /// Packets delivered (traffic) or sent (links).
    pub packets: u64,
    /// Bytes delivered or sent.
    pub bytes: u64,
    /// Latency of the packets, summed (traffic), or transmission time (links).
    pub time: Time,
}

impl SeriesCell {
    /// Adds the counts of another part.
    pub(crate) fn absorb(&mut self, part: SeriesCell) {
        self.packets += part.packets;
        self.bytes += part.bytes;
        self.time += part.time;
    }
}
