//! Reports on the fabric: the audit, statistics, the digest.

use crate::carrier::Carrier;
use crate::nic::Overflow;
use crate::observe::blame::{LinkCharge, WaitSeries, merge};
use crate::observe::statistics::{Histogram, LinkStats, NodeStats, Sample, SeriesCell, TrafficStats};
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::{Fabric, Message, Payload, Waited};
use odonata_engine::{Plain, RangeStore, Store, Time};

impl<P: Payload> Fabric<P> {
    /// Checks that no packet or message is left and every credit has returned.
    /// [`Measured::audit`](crate::Measured::audit) checks that every byte sent was delivered.
    ///
    /// # Errors
    /// Names what is missing, and where.
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
            let port = self.shared.flow.port::<Plain>(link);
            if port.used != 0 || port.waiting != 0 {
                return Err(format!(
                    "{} flits of credit of link {} are not home, {} packets wait for it",
                    port.used,
                    self.shared.flow.links.number(link),
                    port.waiting
                ));
            }
        }
        self.shared.flow.observers.audit()?;
        Carrier::<P>::audit(&self.carriers)
    }

    /// The submitted messages that have not arrived or have not been released.
    pub fn messages(&self) -> impl Iterator<Item = &Message<P>> {
        self.shared.messages.iter()
    }

    /// Number of packets and messages in the network now.
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
        self.shared.flow.observers.statistics().links()
    }

    /// Statistics of the nodes as receivers.
    pub fn node_stats(&self) -> &RangeStore<NodeStats> {
        self.shared.flow.observers.statistics().nodes()
    }

    /// Statistics per traffic.
    pub fn traffic_stats(&self) -> &Store<TrafficStats> {
        self.shared.flow.observers.statistics().traffic()
    }

    /// Packet latency per traffic, from its start on the terminal link and from creation.
    pub fn latencies(&self) -> (&Histogram, &Histogram) {
        self.shared.flow.observers.statistics().latencies()
    }

    /// The time series: per interval one cell per traffic, then one per link class. Empty cells are left out.
    pub fn series(&self) -> impl Iterator<Item = (usize, &SeriesCell)> + '_ {
        self.shared.flow.observers.statistics().series().iter()
    }

    /// The counts of sampling period `period`; empty unless [`Fabric::sample`] has been called.
    pub fn sampled(&self, period: u32) -> Sample {
        self.shared.flow.observers.statistics().sampled_in(period)
    }

    /// The end of the time series, which is bounded so that short intervals in a long run do not fill the memory.
    pub fn series_end(&self) -> Option<Time> {
        let ends = [
            self.shared.flow.observers.series_end(),
            self.carriers.fluid.series_end(),
        ];
        ends.into_iter().flatten().min()
    }

    /// Waits between traffics per link, sorted by link, resource, victim, culprit; empty unless
    /// [`NetworkParams::blame`] is set.
    pub fn blame(&self) -> Vec<LinkCharge> {
        let flow = &self.shared.flow;
        let mut charges = flow.observers.charges(&flow.links);
        charges.extend(self.carriers.fluid.charges());
        merge(&mut charges);
        charges
    }

    /// The same over time, if there is a time series; waits of flows and of packets are separate.
    pub fn blame_series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        let of_packets = self.shared.flow.observers.wait_series();
        of_packets.chain(self.carriers.fluid.blame_series())
    }

    /// The completed waits of packets of `traffic`, summed one by one: the charges must have the same sum.
    pub fn waited(&self, traffic: u16) -> Waited {
        self.shared.flow.observers.waited(traffic)
    }

    /// Closes the blame ledger at `now`, when a run ends before all packets have arrived.
    pub fn close_waits(&mut self, now: Time) {
        self.carriers.packets.router.run_ends(&mut self.shared.flow, now);
        self.shared.flow.run_ends(now);
        self.carriers.fluid.close_waits(&self.shared.messages, now);
    }

    /// Number of delivered packets and of routers that they visited.
    pub fn delivered(&self) -> (u64, u64) {
        self.traffic_stats()
            .iter()
            .fold((0, 0), |(p, h), t| (p + t.packets, h + t.hops))
    }

    /// Bytes of memory held by the fabric's state.
    pub fn memory(&self) -> usize {
        odonata_engine::Journalled::memory(self)
    }

    /// The first overflow in this part, if any; among several at one time that of the lowest node.
    pub fn overflow_first(&self) -> Option<Overflow> {
        self.carriers.packets.nics.overflow_first()
    }

    /// Bytes that will soon be copied to an allocation of twice the size, because the number of messages or packets
    /// approaches a new maximum: it is fewer than 131,072, or a sixteenth of the present number, away.
    pub fn growth_ahead(&self) -> usize {
        let soon = |touched: u32| (touched as usize / 16).max(1 << 17);
        let (messages, packets) = (&self.shared.messages, &self.shared.packets);
        messages.growth(soon(messages.touched())) + packets.growth(soon(packets.touched()))
    }

    /// Number of messages that wait at the NICs of this part, partly sent ones included; and the largest number at one
    /// NIC, with its node.
    pub fn waiting_messages(&self) -> (u64, Option<(u32, u32)>) {
        let nodes = self.routing().topology().nodes_of_routers(self.processes());
        let first = nodes.map_or(0, |nodes| nodes.start);
        let (all, most) = self.carriers.packets.nics.waiting_messages();
        (all, most.map(|(count, nic)| (count, first + nic)))
    }
}
