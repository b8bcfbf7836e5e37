//! Reading the fabric: whether everything came home, statistics, the digest.

use crate::nic::Overflow;
use crate::observe::blame::{LinkCharge, WaitSeries, merge};
use crate::observe::statistics::{Histogram, LinkStats, NodeStats, Sample, SeriesCell, TrafficStats};
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::{Fabric, Message, Payload, Waited};
use odonata_engine::{RangeStore, Store, Time};

impl<P: Payload> Fabric<P> {
    /// Checks that everything is home: no packet or message is left, every credit is back. Whether every byte sent was
    /// delivered is for [`Measured::audit`](crate::Measured::audit) to say.
    ///
    /// # Errors
    /// Says what is missing and where.
    pub fn audit(&mut self) -> Result<(), String> {
        if self.shared.packets.live() > 0 {
            return Err(format!(
                "{} packets are still in the network",
                self.shared.packets.live()
            ));
        }
        if self.shared.messages.live() > 0 {
            return Err(format!("{} messages were not delivered", self.shared.messages.live()));
        }
        for link in 0..self.shared.flow.links.len() {
            self.shared
                .flow
                .count_credits::<odonata_engine::Plain>(link, Time::NEVER);
            let port = self.shared.flow.port(link);
            if port.used != 0 || port.waiting != 0 {
                return Err(format!(
                    "{} flits of credit of link {} are not home, {} packets wait for it",
                    port.used,
                    self.shared.flow.links.number(link),
                    port.waiting
                ));
            }
        }
        self.shared.flow.observers.contention.blame.ledger().audit()?;
        self.fluid.audit()
    }

    /// The messages that have been handed over and have not arrived, or that nobody has released.
    pub fn messages(&self) -> impl Iterator<Item = &Message<P>> {
        self.shared.messages.iter()
    }

    /// Packets and messages that are in the network now.
    pub fn in_flight(&self) -> (u32, u32) {
        (self.shared.packets.live(), self.shared.messages.live())
    }

    /// The routing.
    pub fn routing(&self) -> &Routing {
        &self.shared.routes.routing
    }

    /// The parameters.
    pub fn params(&self) -> &NetworkParams {
        &self.shared.setup.params
    }

    /// Statistics of this part's links: router ports in the topology's order, then the NICs.
    pub fn link_stats(&self) -> &Store<LinkStats> {
        self.shared.flow.observers.statistics.links()
    }

    /// Statistics of the nodes as receivers.
    pub fn node_stats(&self) -> &RangeStore<NodeStats> {
        self.shared.flow.observers.statistics.nodes()
    }

    /// Statistics per traffic.
    pub fn traffic_stats(&self) -> &Store<TrafficStats> {
        self.shared.flow.observers.statistics.traffic()
    }

    /// Packet latency per traffic, from its start on the terminal link and from creation.
    pub fn latencies(&self) -> (&Histogram, &Histogram) {
        self.shared.flow.observers.statistics.latencies()
    }

    /// The time series: per interval one cell per traffic, then one per link class.
    /// Cells in which nothing was counted are left out.
    pub fn series(&self) -> impl Iterator<Item = (usize, &SeriesCell)> + '_ {
        self.shared.flow.observers.statistics.series().iter()
    }

    /// What was counted in sampling period `period`; nothing unless [`Fabric::sample`] has been called.
    pub fn sampled(&self, period: u32) -> Sample {
        self.shared.flow.observers.statistics.sampled_in(period)
    }

    /// Until when the time series is kept: an interval that is short for the length of a run must not
    /// fill the memory.
    pub fn series_end(&self) -> Option<Time> {
        let own = self.shared.flow.observers.statistics.series_end();
        let waits = self.shared.flow.observers.contention.blame.ledger().series_end();
        let queues = self.shared.flow.observers.queues.end();
        let ends = own.into_iter().chain(waits).chain(queues);
        ends.chain(self.fluid.series_end()).min()
    }

    /// Who waited for whom at which link, in order of link, resource, victim, culprit; empty unless
    /// [`NetworkParams::blame`] is set.
    pub fn blame(&self) -> Vec<LinkCharge> {
        let flow = &self.shared.flow;
        let mut charges = flow.observers.contention.charges(&flow.links);
        charges.extend(self.fluid.charges());
        merge(&mut charges);
        charges
    }

    /// The same over time, if a time series is kept; what flows have waited apart from what packets have.
    pub fn blame_series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        self.shared
            .flow
            .observers
            .contention
            .blame
            .series()
            .chain(self.fluid.blame_series())
    }

    /// The waits of packets of `traffic` that have ended, added up one by one: what its charges must add up to.
    pub fn waited(&self, traffic: u16) -> Waited {
        self.shared.flow.observers.contention.blame.ledger().waited(traffic)
    }

    /// Ends the blame ledger at `now`, when a run ends before its packets have arrived.
    pub fn close_books(&mut self, now: Time) {
        self.pipelined.close_books(&mut self.shared.flow, now);
        self.shared.flow.close_waits(now);
        self.fluid.close_books(&self.shared.messages, now);
    }

    /// Packets delivered and routers visited by them.
    pub fn delivered(&self) -> (u64, u64) {
        self.traffic_stats()
            .iter()
            .fold((0, 0), |(p, h), t| (p + t.packets, h + t.hops))
    }

    /// Bytes of memory held by the fabric's state.
    pub fn memory(&self) -> usize {
        let shared = &self.shared;
        shared.flow.memory()
            + shared.packets.memory()
            + shared.messages.memory()
            + shared.boundary.reassembly.memory()
            + shared.remote.memory()
            + shared.classes.memory()
            + shared.congestion.memory()
            + self.input_queued.memory()
            + self.pipelined.memory()
            + self.nics.memory()
            + self.analytic.memory()
            + self.fluid.memory()
    }

    /// The first overflow in this part, if there was one; of several at one moment that at the lowest node.
    pub fn overflow_first(&self) -> Option<Overflow> {
        self.nics.overflow_first()
    }

    /// Bytes that are soon copied to a place of twice the size, because more messages or packets are under way than ever: before
    /// some 100,000 more are, or a sixteenth of them.
    pub fn growth_ahead(&self) -> usize {
        let soon = |touched: u32| (touched as usize / 16).max(1 << 17);
        let (messages, packets) = (&self.shared.messages, &self.shared.packets);
        messages.growth(soon(messages.touched())) + packets.growth(soon(packets.touched()))
    }

    /// Messages that wait at the NICs of this part, wholly or in part; and where most of them do, if any does: how many, at
    /// the NIC of which node.
    pub fn waiting_messages(&self) -> (u64, Option<(u32, u32)>) {
        let nodes = self.routing().topology().nodes_of_routers(self.processes());
        let first = nodes.map_or(0, |nodes| nodes.start);
        let (all, most) = self.nics.waiting_messages();
        (all, most.map(|(count, nic)| (count, first + nic)))
    }
}
