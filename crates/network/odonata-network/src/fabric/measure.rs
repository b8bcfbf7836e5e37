//! What a fabric has measured, read from its instruments.

use crate::Payload;
use crate::fabric::Fabric;
use crate::observe::blame::WaitSeries;
use crate::observe::queues::QueueSeries;
use crate::observe::statistics::{LinkStats, Measured};
use odonata_engine::{Digest, Plain};
use std::collections::BTreeMap;

impl<P: Payload> Fabric<P> {
    /// The measurements of this part so far.
    pub fn measured(&self) -> Measured {
        let (flow, observers) = (&self.shared.flow, &self.shared.flow.observers);
        let stats = observers.statistics();
        let of_links = (0..).zip(stats.links().iter());
        let of_links = of_links.map(|(link, counted)| LinkStats {
            saturation: if link < flow.links.ports {
                observers.saturation_of(link)
            } else {
                counted.stall
            },
            ..*counted
        });
        let links: Vec<LinkStats> = of_links.collect();
        let (ports, nics) = links.split_at(self.shared.flow.links.ports as usize);
        let (latency, latency_created) = stats.latencies();
        let name = |wait: &WaitSeries| (wait.start, wait.place, wait.resource, wait.victim, wait.culprit);
        let mut measured = Measured {
            ports: ports.to_vec(),
            nics: nics.to_vec(),
            nodes: stats.nodes().iter().copied().collect(),
            traffic: stats.traffic().iter().copied().collect(),
            latency: latency.copied(),
            latency_created: latency_created.copied(),
            series: stats.series().iter().map(|(cell, &value)| (cell, value)).collect(),
            link_series: stats.link_series().collect(),
            blame: self.blame(),
            waits: BTreeMap::new(),
            sampled: stats.sampled(),
            flows: self.carriers.fluid.link_stats(self.shared.routes.routing.topology()),
            queues: self.queues(),
            ethernet_ports: Vec::new(),
            ethernet_nics: Vec::new(),
            ethernet: Vec::new(),
            roce: Vec::new(),
            ethernet_flows: Vec::new(),
            memory: self.memory() as u64,
        };
        self.carriers.ethernet.measure(&mut measured);
        measured.count_flows();
        self.blame_series()
            .for_each(|wait| measured.count_wait(name(&wait), wait.time));
        measured
    }

    /// The recorded queues, with the credits that are still in flight.
    fn queues(&self) -> Vec<QueueSeries> {
        let flow = &self.shared.flow;
        flow.observers.queue_series(|see| {
            for link in 0..flow.links.len() {
                let first = flow.links.first_vc::<Plain>(link);
                flow.each_credit(link, |due, vc, flits| see(first + u32::from(vc), u32::from(flits), due));
            }
        })
    }

    /// Adds every result of an undivided fabric to a digest.
    pub fn results(&self, digest: &mut Digest) {
        self.measured().results(digest);
    }
}
