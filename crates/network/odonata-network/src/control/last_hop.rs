//! The rate of flows to an overloaded node, computed by the last router before it; see [`congestion`](super::congestion).

use super::flow_table::{Ends, FlowTable};
use crate::features::Uses;
use crate::flow::{Link, Links};
use crate::params::NetworkParams;
use odonata_engine::{NIL, Store, Time};

/// The least part of their rate that flows keep while a backlog drains.
const DRAINING: f64 = 1.0 / 8.0;

/// Number of packets at its rate after which a flow without a packet has ended.
const IDLE: f64 = 4.0;

/// The state of the last link before a node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Edge {
    /// R.
    rate: f64,
    /// The lowest rate that a tracked flow may have been told.
    lowest: f64,
    /// Start of the period; [`Time::NEVER`]: no flow is limited.
    since: Time,
    /// Bytes sent since then, and bytes that waited then.
    sent: u64,
    waiting: u64,
    /// Time since then for which the link idled although packets waited; and when it last became free with packets
    /// waiting.
    idled: Time,
    free_at: Time,
    /// The first of the tracked flows, and their number n.
    flows: u32,
    count: u32,
}

impl Edge {
    const IDLE: Edge = Edge {
        rate: 1.0,
        lowest: 1.0,
        since: Time::NEVER,
        sent: 0,
        waiting: 0,
        idled: Time::ZERO,
        free_at: Time::NEVER,
        flows: NIL,
        count: 0,
    };
}

/// The last links before the nodes of a part; empty without this control.
#[derive(Debug)]
pub(super) struct LastHops {
    threshold: u64,
    interval: Time,
    /// Bytes of a full packet.
    packet: u32,
    /// By node of the part.
    edges: Store<Edge>,
    flows: FlowTable,
}
odonata_engine::journalled!(LastHops { edges, flows });

/// A packet for the node behind terminal port `port`, with `waiting` bytes behind it or before it.
#[derive(Clone, Copy)]
pub(super) struct Passage {
    pub(super) port: u32,
    pub(super) source: u32,
    pub(super) class: u8,
    pub(super) waiting: u64,
}

impl LastHops {
    /// Bytes per node while no flow is tracked.
    pub(super) const BYTES_PER_NODE: usize = size_of::<Edge>() + FlowTable::BYTES_PER_NODE;

    /// `nodes` is 0 without this control.
    pub(super) fn new(params: &NetworkParams, nodes: usize) -> LastHops {
        let (threshold, interval) = match nodes {
            0 => (0, Time::ZERO),
            _ => (params.congestion.threshold.0, *params.congestion.interval),
        };
        LastHops {
            threshold,
            interval,
            packet: params.packet as u32,
            edges: Store::filled(nodes, Edge::IDLE),
            flows: FlowTable::new(nodes),
        }
    }

    /// A packet comes to the last router and waits. Returns the rate for its flow if that is limited.
    pub(super) fn packet_waits<M: Uses>(&mut self, links: &Links, passage: Passage, now: Time) -> Option<f64> {
        let (nic, link) = (links.nic(links.get(passage.port).far), links.get(passage.port));
        self.advance::<M>(nic, &link, passage.waiting, now);
        if self.edges.get(nic).since == Time::NEVER {
            if passage.waiting <= self.threshold {
                return None;
            }
            *self.edges.edit::<M>(nic) = Edge {
                since: now,
                waiting: passage.waiting,
                ..Edge::IDLE
            };
        }
        self.tell::<M>(nic, passage, now)
    }

    /// A packet of `bytes` starts on the last link, after it `came`: if not, it has been reported by
    /// [`packet_waits`](Self::packet_waits). Returns the rate for its flow if that is limited and its source does not
    /// know it.
    pub(super) fn packet_leaves<M: Uses>(
        &mut self,
        links: &Links,
        passage: Passage,
        (bytes, came): (u32, bool),
        now: Time,
    ) -> Option<f64> {
        let (nic, link) = (links.nic(links.get(passage.port).far), links.get(passage.port));
        self.advance::<M>(nic, &link, passage.waiting, now);
        let told = match came {
            true => self.packet_waits::<M>(links, passage, now),
            false => None,
        };
        if self.edges.get(nic).since != Time::NEVER {
            self.edges.edit::<M>(nic).sent += u64::from(bytes);
        }
        told
    }

    /// A packet with transmission time `occupied` leaves terminal port `port` free at `free_at`; `waits`: other packets
    /// still wait for it.
    pub(super) fn link_is_free<M: Uses>(
        &mut self,
        links: &Links,
        port: u32,
        occupied: Time,
        (free_at, waits): (Time, bool),
    ) {
        let nic = links.nic(links.get(port).far);
        let edge = self.edges.get(nic);
        if edge.since == Time::NEVER {
            return;
        }
        let idled = match edge.free_at {
            Time::NEVER => Time::ZERO,
            before => (free_at.saturating_sub(occupied)).saturating_sub(before),
        };
        let edge = self.edges.edit::<M>(nic);
        edge.idled += idled;
        edge.free_at = if waits { free_at } else { Time::NEVER };
    }

    /// The flows to the node behind `port` whose sources know less than half of their rate now, with that rate: their
    /// sources are told, without waiting for their next packets.
    pub(super) fn laggards<M: Uses>(&mut self, links: &Links, port: u32, waiting: u64) -> Vec<(u32, u8, f64)> {
        let nic = links.nic(links.get(port).far);
        let edge = *self.edges.get(nic);
        if edge.count == 0 || self.rate_for(&edge, waiting) < 2.0 * edge.lowest {
            return Vec::new();
        }
        let rate = self.rate_for(&edge, waiting);
        let (mut found, mut lowest, mut at) = (Vec::new(), 1.0f64, edge.flows);
        while at != NIL {
            let flow = *self.flows.get(at);
            if 2.0 * flow.told <= rate {
                self.flows.edit::<M>(at).told = rate;
                found.push((flow.ends.source, flow.ends.class, rate));
            }
            lowest = lowest.min(self.flows.get(at).told);
            at = flow.next;
        }
        self.edges.edit::<M>(nic).lowest = lowest;
        if edge.rate >= 1.0 && waiting <= self.threshold {
            self.end::<M>(nic);
        }
        found
    }

    /// Tracks the flow of a packet. Returns its rate if that is less than the link's.
    fn tell<M: Uses>(&mut self, nic: u32, passage: Passage, now: Time) -> Option<f64> {
        let ends = Ends {
            source: passage.source,
            nic,
            class: passage.class,
        };
        let mut flow = self.flows.find(ends);
        if flow == NIL {
            let edge = self.edges.edit::<M>(nic);
            flow = self.flows.insert::<M>(ends, now, edge.flows);
            edge.flows = flow;
            edge.count += 1;
            // The new flow has its share of the rate of the others.
            let count = f64::from(edge.count);
            edge.rate = (edge.rate * (count - 1.0) / count).max(1.0 / count);
        }
        let edge = *self.edges.get(nic);
        let rate = self.rate_for(&edge, passage.waiting);
        let flow = self.flows.edit::<M>(flow);
        (flow.last, flow.told) = (now, rate);
        if rate < edge.lowest {
            self.edges.edit::<M>(nic).lowest = rate;
        }
        (rate < 1.0).then_some(rate)
    }

    /// The rate for each flow while `waiting` bytes wait: less than R if that is more than the threshold.
    fn rate_for(&self, edge: &Edge, waiting: u64) -> f64 {
        let excess = waiting.saturating_sub(self.threshold) as f64;
        let packets = 2.0 * f64::from(edge.count.max(1)) * f64::from(self.packet);
        edge.rate * (1.0 - excess / packets).max(DRAINING)
    }

    /// Ends the period if it has lasted long enough.
    fn advance<M: Uses>(&mut self, nic: u32, link: &Link, waiting: u64, now: Time) {
        let edge = *self.edges.get(nic);
        if edge.since == Time::NEVER {
            return;
        }
        let packet = link.serialization(self.packet).0 as f64;
        let period = (2.0 * packet / edge.rate).max(self.interval.0 as f64);
        let elapsed = (now - edge.since).0 as f64;
        if elapsed < period {
            return;
        }
        // The time of 1,000,000 bytes is accurate enough: on the fastest links a packet may take no time.
        let per_byte = link.serialization(1_000_000).0 as f64 / 1e6;
        let could = ((elapsed - edge.idled.0 as f64) / per_byte).max(1.0);
        let came = edge.sent as f64 + waiting as f64 - edge.waiting as f64;
        let change = (0.5 * (could - came) / could).clamp(-0.5, 0.5);
        let mut rate = edge.rate;
        if change < 0.0 || waiting <= self.threshold {
            rate *= 1.0 + change;
        }
        let (flows, gone) = self.flows.prune::<M>(edge.flows, |flow| {
            now - flow.last > Time((IDLE * packet / flow.told) as u64)
        });
        let count = edge.count - gone;
        if count > 0 {
            // The others share what the flows that have ended had.
            rate *= f64::from(edge.count) / f64::from(count);
        }
        let changed = self.edges.edit::<M>(nic);
        changed.rate = rate.clamp(1.0 / f64::from(count.max(1)), 1.0);
        (changed.since, changed.sent, changed.waiting, changed.idled) = (now, 0, waiting, Time::ZERO);
        (changed.flows, changed.count) = (flows, count);
        if count == 0 {
            *changed = Edge::IDLE;
        }
    }

    /// Ends the control of the flows to a node.
    fn end<M: Uses>(&mut self, nic: u32) {
        self.flows.prune::<M>(self.edges.get(nic).flows, |_| true);
        *self.edges.edit::<M>(nic) = Edge::IDLE;
    }
}
