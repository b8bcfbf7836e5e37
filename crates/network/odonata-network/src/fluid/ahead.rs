//! The wait of a flow's first packet behind the backlog of other flows in buffers on its path.
//!
//! Backlogged flows fill the buffers upstream of their bottlenecks. A later packet for the same bottleneck queues
//! behind them. For a buffer of B bytes behind a link on a level:
//!
//! ```text
//! wait       Q / R (Little's law);  Q <= the backlog of the flows with a bottleneck on its path, whose rate there is R
//!            Q <= B R / (R + S), with S the rate of backlogged flows without a bottleneck on its path
//! ```
//!
//! Until then the new flow takes nothing, and the flows ahead have its share. Flows that start together have no backlog
//! ahead of them.

use super::Fluid;
use super::blame::Behind;
use super::paths::Route;
use crate::Payload;
use crate::fabric::Shared;
use odonata_engine::{NIL, Time};
use odonata_topology::Peer;

impl Fluid {
    /// The wait of the first packet of a message of `queue` on `route`; and the places, culprits and durations of the
    /// wait. The buffer behind its own NIC is not included: that backlog belongs to its own queue.
    pub(super) fn wait_ahead<P: Payload>(
        &self,
        shared: &Shared<P>,
        now: Time,
        queue: u32,
        route: &Route,
    ) -> (Time, Vec<(Behind, f64)>) {
        let (topology, is_blamed) = (shared.routes.routing.topology(), self.blame.is_on());
        let (mut wait, mut waits_for) = (0.0, Vec::new());
        for (at, (&link, &level)) in route.links.iter().zip(&route.levels).enumerate() {
            if link >= topology.ports() || !matches!(topology.peer(link), Peer::Router { .. }) {
                continue;
            }
            let beyond = &route.links[at + 1..];
            let (mut bytes, mut through, mut elsewhere) = (0.0, 0.0, 0.0);
            let before = waits_for.len();
            for flow in self.rates.flows_on(link, level) {
                let (mut flight, bottleneck) = (self.flights.get(flow as usize), self.rates.rate(flow).1);
                let of_others = flight.message != NIL && self.queue_of_flow(flow) != queue;
                if !of_others || bottleneck == NIL || bottleneck == link || !flight.is_backlogged() {
                    continue;
                }
                if beyond.contains(&bottleneck) {
                    flight.fill_buffers(now);
                    bytes += flight.backlog;
                    through += flight.rate;
                    if is_blamed {
                        let behind = Behind {
                            link: bottleneck,
                            owner: shared.messages.get(flight.message).traffic,
                        };
                        waits_for.push((behind, flight.rate));
                    }
                } else if (self.rates.path(flow).take_while(|step| step.link != link))
                    .any(|step| step.link == bottleneck)
                {
                    elsewhere += flight.rate;
                }
            }
            if through > 0.0 {
                let buffer = shared.setup.params.link(topology.class(link)).buffer.0 as f64;
                let here = (bytes / through).min(buffer / (through + elsewhere));
                wait += here;
                // Convert rates to times.
                waits_for[before..].iter_mut().for_each(|(_, of)| *of *= here / through);
            }
        }
        (Time(wait as u64), waits_for)
    }
}
