//! The table `links`: traffic of each link.

use super::row::row;
use super::sources::{Sources, ends};
use odonata_network::LinkStats;

row! {
    /// One row per direction of every link.
    "links" => pub struct LinkRow {
        /// Number of the link.
        link: u64,
        /// Its ends: n = node, r = router; n3.1: interface 1 of node 3, with machine.interfaces.
        name: String,
        /// terminal, local, column or global.
        class: &'static str,
        /// node or router.
        source_kind: &'static str,
        /// Number of the sending node or router.
        source: u64,
        /// node or router.
        target_kind: &'static str,
        /// Number of the receiving node or router.
        target: u64,
        /// Payload sent.
        #[unit = "bytes"]
        bytes: u64,
        /// Packets sent.
        packets: u64,
        /// Time in which the link transmits.
        #[unit = "s"]
        busy_s: f64,
        /// Time in which the downstream buffers were exhausted, whether or not the link transmitted (docs/model.md).
        #[unit = "s"]
        saturation_s: f64,
        /// Time in which exhausted buffers stalled the link (docs/model.md).
        #[unit = "s"]
        stalled_s: f64,
        /// Packets that met exhausted buffers.
        stalled_packets: u64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<LinkRow> {
    let n = from.fabric.links();
    let mut rows = Vec::with_capacity(n as usize);
    for (link, ends) in (0..n).filter_map(|link| Some((link, ends(from.topology, link)?))) {
        let s: LinkStats = *from.fabric.link(link);
        rows.push(LinkRow {
            link: u64::from(link),
            name: ends.name(),
            class: ends.class.name(),
            source_kind: ends.source.0,
            source: u64::from(ends.source.1),
            target_kind: ends.target.0,
            target: u64::from(ends.target.1),
            bytes: s.bytes,
            packets: s.packets,
            busy_s: s.busy.seconds(),
            saturation_s: s.saturation.seconds(),
            stalled_s: s.stall.seconds(),
            stalled_packets: s.stalled,
        });
    }
    rows
}
