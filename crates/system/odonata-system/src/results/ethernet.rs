//! The tables of an Ethernet: what flows sent, lost and sent again; what links marked, trimmed, dropped and paused; and
//! complete flows.

use super::row::row;
use super::sources::{CLASSES, Sources, ends};
use odonata_network::{RoceCounters, TransportCounters};

row! {
    /// One row per job and kind of traffic with messages; only with network.fidelity = "ethernet". At the end of a run
    /// that completes, packets = delivered_packets.
    "ethernet" => pub struct EthernetRow {
        /// Name of the job.
        job: String,
        /// mpi or io.
        traffic: &'static str,
        /// Flows whose last acknowledgment has arrived; each message is one.
        flows: u64,
        /// Packets sent for the first time.
        packets: u64,
        /// Payload of these.
        #[unit = "bytes"]
        bytes: u64,
        /// Packets sent again.
        resent_packets: u64,
        /// Payload of these.
        #[unit = "bytes"]
        resent_bytes: u64,
        /// Packets that arrived whole for the first time.
        delivered_packets: u64,
        /// Payload of these.
        #[unit = "bytes"]
        delivered_bytes: u64,
        /// Packets that arrived again.
        duplicate_packets: u64,
        /// Packets that switches trimmed to their header.
        trimmed_packets: u64,
        /// Packets that switches dropped.
        dropped_packets: u64,
        /// Packets that arrived with a mark.
        marked_packets: u64,
        /// Acknowledgments sent.
        acknowledgments: u64,
        /// Reports of trimmed or missing packets sent.
        negative_acknowledgments: u64,
        /// Timeouts of senders.
        timeouts: u64,
        /// Congestion notifications of DCQCN that receivers sent.
        congestion_notifications: u64,
        /// Packets that arrived out of sequence and were discarded (go-back-N).
        out_of_sequence_packets: u64,
    }
}

row! {
    /// One row per direction of every link; only with network.fidelity = "ethernet".
    "ethernet_links" => pub struct EthernetLinkRow {
        /// Number of the link, as in the table links.
        link: u64,
        /// Its ends: n = node, r = router.
        name: String,
        /// Packets with data that have left.
        data_packets: u64,
        /// Packets without data that have left.
        control_packets: u64,
        /// Bytes on the wire, headers included.
        #[unit = "bytes"]
        wire_bytes: u64,
        /// Packets marked when they left.
        marked_packets: u64,
        /// Packets trimmed at this output.
        trimmed_packets: u64,
        /// Packets dropped at this output.
        dropped_packets: u64,
        /// Most bytes of data that waited at this output.
        #[unit = "bytes"]
        queue_max_bytes: u64,
        /// Pauses that the sender of this link sent for the opposite direction.
        pauses: u64,
        /// Time for which this link was paused.
        #[unit = "s"]
        paused_s: f64,
    }
}

row! {
    /// One row per flow whose last acknowledgment has arrived; only with network.ethernet.record_flows.
    "ethernet_flows" => pub struct EthernetFlowRow {
        /// Name of the job.
        job: String,
        /// mpi or io.
        traffic: &'static str,
        /// Number of the sending node.
        source: u64,
        /// Number of the receiving node.
        target: u64,
        /// Payload.
        #[unit = "bytes"]
        bytes: u64,
        /// When its message was submitted, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// Time until the last acknowledgment has arrived at the sender.
        #[unit = "s"]
        completion_s: f64,
        /// Packets sent again.
        resent_packets: u64,
        /// Trimmed or missing packets reported to the sender.
        trimmed_packets: u64,
    }
}

/// Name of the job and kind of traffic.
fn owner(from: &Sources<'_>, traffic: usize) -> (String, &'static str) {
    let job = from.scenario.jobs.get(traffic / 2);
    (
        job.map_or(String::new(), |job| job.name.to_string()),
        CLASSES[traffic % 2],
    )
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<EthernetRow> {
    let counted = from.fabric.ethernet.iter().zip(&from.fabric.roce).enumerate();
    let with_packets = counted.filter(|(_, (counted, _))| counted.packets > 0);
    let row = |(number, (counted, roce)): (usize, (&TransportCounters, &RoceCounters))| {
        let (job, traffic) = owner(from, number);
        EthernetRow {
            job,
            traffic,
            flows: counted.flows,
            packets: counted.packets,
            bytes: counted.bytes,
            resent_packets: counted.again,
            resent_bytes: counted.again_bytes,
            delivered_packets: counted.delivered,
            delivered_bytes: counted.delivered_bytes,
            duplicate_packets: counted.duplicates,
            trimmed_packets: counted.trimmed,
            dropped_packets: counted.dropped,
            marked_packets: counted.marked,
            acknowledgments: counted.acks,
            negative_acknowledgments: counted.nacks,
            timeouts: counted.timeouts,
            congestion_notifications: roce.notifications,
            out_of_sequence_packets: roce.out_of_sequence,
        }
    };
    with_packets.map(row).collect()
}

pub(super) fn link_rows(from: &Sources<'_>) -> Vec<EthernetLinkRow> {
    let counted = from.fabric.ethernet_ports.iter().chain(&from.fabric.ethernet_nics);
    let row = |(link, counted): (u32, &odonata_network::PortCounters)| {
        let ends = ends(from.topology, link)?;
        Some(EthernetLinkRow {
            link: u64::from(link),
            name: ends.name(),
            data_packets: counted.data,
            control_packets: counted.control,
            wire_bytes: counted.bytes,
            marked_packets: counted.marked,
            trimmed_packets: counted.trimmed,
            dropped_packets: counted.dropped,
            queue_max_bytes: counted.most,
            pauses: counted.pauses,
            paused_s: counted.paused.seconds(),
        })
    };
    (0..).zip(counted).filter_map(row).collect()
}

pub(super) fn flow_rows(from: &Sources<'_>) -> Vec<EthernetFlowRow> {
    let row = |flow: &odonata_network::FlowRecord| {
        let (job, traffic) = owner(from, usize::from(flow.traffic));
        EthernetFlowRow {
            job,
            traffic,
            source: u64::from(flow.source / from.topology.interfaces()),
            target: u64::from(flow.target / from.topology.interfaces()),
            bytes: flow.bytes,
            start_s: flow.start.seconds(),
            completion_s: flow.end.saturating_sub(flow.start).seconds(),
            resent_packets: u64::from(flow.again),
            trimmed_packets: u64::from(flow.nacks),
        }
    };
    from.fabric.ethernet_flows.iter().map(row).collect()
}
