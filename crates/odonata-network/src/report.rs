//! Reading the fabric: whether everything came home, statistics, the digest.

use crate::blame::{LinkCharge, WaitSeries};
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::sampling::Sample;
use crate::stats::{Histogram, LinkStats, MOST_SERIES_CELLS, NodeStats, SeriesCell, TrafficStats};
use crate::{Fabric, Message, Waited};
use odonata_engine::{Store, Time, Windowed};
use odonata_topology::LinkClass;

impl Fabric {
    /// Checks that everything is home: no packet or message is left, every credit is back. Whether every byte sent was
    /// delivered is for [`Measured::audit`](crate::Measured::audit) to say.
    ///
    /// # Errors
    /// Says what is missing and where.
    pub fn audit(&mut self) -> Result<(), String> {
        if self.packets.live() > 0 {
            return Err(format!("{} packets are still in the network", self.packets.live()));
        }
        if self.messages.live() > 0 {
            return Err(format!("{} messages were not delivered", self.messages.live()));
        }
        for link in 0..self.flow.links.len() {
            self.flow.harvest::<odonata_engine::Plain>(link, Time::NEVER);
            let port = self.flow.ports.get(link);
            if port.used != 0 || port.waiting != 0 {
                return Err(format!(
                    "{} flits of credit of link {} are not home, {} packets wait for it",
                    port.used,
                    self.flow.links.number(link),
                    port.waiting
                ));
            }
        }
        self.flow.books.ledger().audit()?;
        Ok(())
    }

    /// The messages that have been handed over and have not arrived, or that nobody has released.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }

    /// Packets and messages that are in the network now.
    pub fn in_flight(&self) -> (u32, u32) {
        (self.packets.live(), self.messages.live())
    }

    /// The routing.
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// The parameters.
    pub fn params(&self) -> &NetworkParams {
        &self.params
    }

    /// Statistics of this part's links: router ports in the topology's order, then the NICs.
    pub fn link_stats(&self) -> &Store<LinkStats> {
        &self.links
    }

    /// Statistics of the nodes as receivers.
    pub fn node_stats(&self) -> &Windowed<NodeStats> {
        &self.nodes
    }

    /// Statistics per traffic.
    pub fn traffic_stats(&self) -> &Store<TrafficStats> {
        &self.traffic
    }

    /// Packet latency per traffic, from its start on the terminal link and from creation.
    pub fn latencies(&self) -> (&Histogram, &Histogram) {
        (&self.latency, &self.latency_created)
    }

    /// The time series: per interval one cell per traffic, then one per link class.
    /// Cells in which nothing was counted are left out.
    pub fn series(&self) -> impl Iterator<Item = (usize, &SeriesCell)> + '_ {
        self.series.iter()
    }

    /// What was counted in sampling period `period`; nothing unless [`Fabric::sample`] has been called.
    pub fn sampled(&self, period: u32) -> Sample {
        self.sampler.sample(period)
    }

    /// Until when the time series is kept: an interval that is short for the length of a run must not
    /// fill the memory.
    pub fn series_end(&self) -> Option<Time> {
        let width = usize::from(self.params.traffics) + LinkClass::ALL.len();
        let own = self
            .params
            .series
            .map(|interval| Time(interval.0.saturating_mul((MOST_SERIES_CELLS / width) as u64)));
        let waits = self.flow.books.ledger().series_end();
        own.into_iter().chain(waits).min()
    }

    /// Who waited for whom at which link, in order of link, resource, victim, culprit; empty unless
    /// [`NetworkParams::blame`] is set.
    pub fn blame(&self) -> Vec<LinkCharge> {
        self.flow.charges()
    }

    /// The same over time, if a time series is kept.
    pub fn blame_series(&self) -> impl Iterator<Item = WaitSeries> + '_ {
        self.flow.books.ledger().series().map(|charge| WaitSeries {
            start: charge.start,
            place: charge.place,
            resource: charge.cause,
            victim: charge.victim,
            culprit: charge.culprit,
            time: charge.time,
        })
    }

    /// The waits of `traffic` that have ended, added up one by one: what its charges must add up to.
    pub fn waited(&self, traffic: u16) -> Waited {
        self.flow.books.ledger().waited(traffic)
    }

    /// Ends the books at `now`, when a run ends before its packets have arrived.
    pub fn close_books(&mut self, now: Time) {
        self.flow.close_books(now);
    }

    /// Packets delivered and routers visited by them.
    pub fn delivered(&self) -> (u64, u64) {
        self.traffic
            .iter()
            .fold((0, 0), |(p, h), t| (p + t.packets, h + t.hops))
    }

    /// Bytes of memory held by the fabric's state.
    pub fn memory(&self) -> usize {
        self.flow.ports.memory()
            + self.flow.vcs.memory()
            + self.flow.shelves.memory()
            + self.flow.credits.memory()
            + self.flow.flits.memory()
            + self.flow.books.memory()
            + self.inputs.memory()
            + self.clocked.memory()
            + self.packets.memory()
            + self.messages.memory()
            + self.arrivals.memory()
            + self.board.memory()
            + self.nics.memory()
            + self.shares.memory()
            + self.control.memory()
            + self.links.memory()
            + self.nodes.memory()
    }
}
