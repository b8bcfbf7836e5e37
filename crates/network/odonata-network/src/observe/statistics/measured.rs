//! Measurements of a fabric: counters without the state that produced them, to be joined from its parts.

use super::{Histogram, LinkStats, NodeStats, Sampled, SeriesCell, TrafficStats};
use crate::observe::blame::{LinkCharge, WaitSeries};
use crate::observe::queues::QueueSeries;
use odonata_engine::{Digest, Time};
use odonata_ethernet::{FlowRecord, PortCounters, RoceCounters, TransportCounters};
use std::collections::BTreeMap;

/// All measurements of a part of the fabric, or of the whole fabric.
///
/// Ports, nodes and NICs are those of the part's routers, in order. Parts are joined in the order of their routers
/// ([`join`](Self::join)); in the complete result every list is numbered as in the topology.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// The routers' ports.
    pub ports: Vec<LinkStats>,
    /// The NICs' links.
    pub nics: Vec<LinkStats>,
    /// The nodes as receivers.
    pub nodes: Vec<NodeStats>,
    /// Per traffic.
    pub traffic: Vec<TrafficStats>,
    /// Packet latency per traffic, from its start on the terminal link.
    pub latency: Histogram,
    /// The same from the creation of the message.
    pub latency_created: Histogram,
    /// The time series: per interval one cell per traffic, then one per link class. Empty cells are left out.
    pub series: BTreeMap<usize, SeriesCell>,
    /// Transmissions of router ports in the intervals with a record of each link: number of the interval, port, counts.
    /// Not in the digest.
    pub link_series: Vec<(u32, u32, SeriesCell)>,
    /// Waits between traffics per link, sorted by link, resource, victim, culprit.
    pub blame: Vec<LinkCharge>,
    /// The same over time.
    pub(crate) waits: BTreeMap<WaitName, Time>,
    /// The sampling periods, if sampling is on.
    pub sampled: Option<Sampled>,
    /// Flow traffic on the links of the machine, router ports first, then NICs; empty without flows, or while another
    /// part keeps it.
    pub(crate) flows: Vec<LinkStats>,
    /// The queues of the recorded links, sorted by link and channel.
    pub queues: Vec<QueueSeries>,
    /// Counters of Ethernet: of router ports, of NICs, and by traffic; empty without it.
    pub ethernet_ports: Vec<PortCounters>,
    /// Those of NICs.
    pub ethernet_nics: Vec<PortCounters>,
    /// Those of flows, by traffic.
    pub ethernet: Vec<TransportCounters>,
    /// The same of RoCE alone.
    pub roce: Vec<RoceCounters>,
    /// The complete flows of Ethernet, if they are recorded.
    pub ethernet_flows: Vec<FlowRecord>,
    /// Bytes of memory used by the state.
    pub memory: u64,
}

/// Start of an interval, place, resource, victim, culprit.
pub(crate) type WaitName = (Time, u8, u8, u16, u16);

impl Measured {
    /// Joins the measurements of parts, given in the order of their routers; `None` without parts.
    pub fn join(parts: impl IntoIterator<Item = Measured>) -> Option<Measured> {
        parts.into_iter().reduce(Measured::with).map(Measured::in_order)
    }

    fn with(mut self, next: Measured) -> Measured {
        self.absorb(next);
        self
    }

    /// Adds up the charges of a name, and sorts what is recorded by link.
    fn in_order(mut self) -> Measured {
        // The ledger line of a buffer is kept in the part of the buffer, that of a link in the part of its sender; both
        // are charged to the link.
        crate::observe::blame::merge(&mut self.blame);
        self.count_flows();
        self.ethernet_flows.sort_unstable();
        self.queues.sort_by_key(|queue| (queue.link, queue.vc));
        self.link_series
            .sort_unstable_by_key(|&(interval, port, _)| (interval, port));
        self
    }

    /// Adds the flow traffic on links to the packet traffic, once all parts are joined; not yet for those of one
    /// process.
    pub(crate) fn count_flows(&mut self) {
        if self.flows.len() != self.ports.len() + self.nics.len() {
            return;
        }
        let own = self.ports.iter_mut().chain(&mut self.nics);
        for (link, flows) in own.zip(std::mem::take(&mut self.flows)) {
            link.bytes += flows.bytes;
            link.packets += flows.packets;
            link.busy += flows.busy;
        }
    }

    pub(crate) fn count_wait(&mut self, name: WaitName, time: Time) {
        let sum = self.waits.entry(name).or_insert(Time::ZERO);
        *sum = Time(sum.0.wrapping_add(time.0));
    }

    fn absorb(&mut self, next: Measured) {
        let ports = self.ports.len() as u32;
        let of_next = next.link_series.into_iter();
        self.link_series
            .extend(of_next.map(|(interval, port, cell)| (interval, ports + port, cell)));
        self.ports.extend(next.ports);
        self.nics.extend(next.nics);
        self.nodes.extend(next.nodes);
        self.flows.extend(next.flows);
        for (sum, part) in self.traffic.iter_mut().zip(next.traffic) {
            sum.absorb(part);
        }
        self.latency.absorb(&next.latency);
        self.latency_created.absorb(&next.latency_created);
        for (cell, value) in next.series {
            self.series.entry(cell).or_default().absorb(value);
        }
        for (name, time) in next.waits {
            self.count_wait(name, time);
        }
        self.blame.extend(next.blame);
        self.queues.extend(next.queues);
        self.ethernet_ports.extend(next.ethernet_ports);
        self.ethernet_nics.extend(next.ethernet_nics);
        for (sum, part) in self.ethernet.iter_mut().zip(&next.ethernet) {
            sum.add(part);
        }
        for (sum, part) in self.roce.iter_mut().zip(&next.roce) {
            sum.add(part);
        }
        self.ethernet_flows.extend(next.ethernet_flows);
        match (&mut self.sampled, next.sampled) {
            (Some(sum), Some(part)) => sum.absorb(part),
            (sum, part) => *sum = sum.take().or(part),
        }
        self.memory += next.memory;
    }

    /// Counters of link `link`: the number of a router port, or, after all ports, of a node.
    pub fn link(&self, link: u32) -> &LinkStats {
        let link = link as usize;
        match link.checked_sub(self.ports.len()) {
            None => &self.ports[link],
            Some(node) => &self.nics[node],
        }
    }

    /// Number of links.
    pub fn links(&self) -> u32 {
        (self.ports.len() + self.nics.len()) as u32
    }

    /// Waits between traffics over time, sorted by interval and place.
    pub fn blame_series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        self.waits
            .iter()
            .map(|(&(start, place, resource, victim, culprit), &time)| WaitSeries {
                start,
                place,
                resource,
                victim,
                culprit,
                time,
            })
    }

    /// Checks that every byte submitted to a NIC was delivered.
    ///
    /// # Errors
    /// Names the traffic with missing bytes.
    pub fn audit(&self) -> Result<(), String> {
        for (i, traffic) in self.traffic.iter().enumerate() {
            if traffic.bytes != traffic.bytes_sent {
                return Err(format!(
                    "traffic {i}: {} of {} bytes were delivered",
                    traffic.bytes, traffic.bytes_sent
                ));
            }
        }
        Ok(())
    }

    /// The packets received by these interfaces of a node.
    pub fn packets_of(&self, interfaces: std::ops::Range<u32>) -> NodeStats {
        let each = &self.nodes[interfaces.start as usize..interfaces.end as usize];
        each.iter().copied().reduce(NodeStats::join).unwrap_or(NodeStats::NONE)
    }

    /// Adds every result to a digest.
    pub fn results(&self, digest: &mut Digest) {
        for l in self.ports.iter().chain(&self.nics) {
            for word in [l.bytes, l.packets, l.busy.0, l.saturation.0, l.stalled] {
                digest.word(word);
            }
        }
        for n in &self.nodes {
            for word in [
                n.packets,
                n.hops,
                n.latency.0,
                n.latency_max.0,
                n.latency_min.0,
                n.digest,
            ] {
                digest.word(word);
            }
        }
        for t in &self.traffic {
            for word in [
                t.messages,
                t.packets,
                t.bytes,
                t.hops,
                t.latency_ps as u64,
                t.latency_created_ps as u64,
                t.latency_max.0,
                t.nonminimal,
            ] {
                digest.word(word);
            }
            for sum in [t.latency_ps, t.latency_created_ps] {
                if let high @ 1.. = (sum >> 64) as u64 {
                    digest.word(high);
                }
            }
        }
        self.latency.results(digest);
        self.latency_created.results(digest);
        for (&cell, value) in &self.series {
            for word in [cell as u64, value.packets, value.bytes, value.time.0] {
                digest.word(word);
            }
        }
        if let Some(sampled) = &self.sampled {
            sampled.results(digest);
        }
        for port in self.ethernet_ports.iter().chain(&self.ethernet_nics) {
            digest.data(port);
        }
        for traffic in &self.ethernet {
            digest.data(traffic);
        }
        for (traffic, counted) in self.roce.iter().enumerate() {
            if *counted != RoceCounters::default() {
                digest.data(&(traffic, counted));
            }
        }
        for charge in &self.blame {
            let culprit = charge.culprit.map_or(u64::MAX, u64::from);
            let names = u64::from(charge.victim) << 8 | u64::from(charge.resource);
            for word in [u64::from(charge.link), names, culprit, charge.time.0] {
                digest.word(word);
            }
        }
    }
}
