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
//! Q / R is that of the [latest](MOST_AHEAD) flows of a bottleneck, R + S the load of all flows with a bottleneck further
//! on. Until then the new flow takes nothing, and the flows ahead have its share. Flows that start together have no
//! backlog ahead of them. The buffers of a pipe count as one.

use super::blame::Behind;
use super::flight::Flight;
use super::max_min::Step;
use super::paths::{Network, Route};
use crate::Traffic;
use odonata_engine::{GrowableStore, Time};

/// Flows of a bottleneck that are looked at: they have about the same rate.
const MOST_AHEAD: usize = 8;

/// The flows ahead in the buffer behind a link.
#[derive(Clone, Copy, Default)]
struct Queue {
    /// Their backlog in bytes, and their rate.
    bytes: f64,
    through: f64,
}

impl Network<'_> {
    /// The wait of the first packet of a message on `route`; and the places, culprits and durations of the wait.
    /// `is_other`: a flow belongs to another queue (the backlog behind its own NIC is that of its own queue).
    /// `owner_of`: the owner of a flow, if waits are charged.
    pub(super) fn wait_ahead(
        &self,
        flights: &GrowableStore<Flight>,
        now: Time,
        route: &Route,
        is_other: impl Fn(&Flight) -> bool,
        owner_of: impl Fn(&Flight) -> Option<Traffic>,
    ) -> (Time, Vec<(Behind, f64)>) {
        let topology = self.routing.topology();
        let mut queues = vec![Queue::default(); route.steps.len()];
        // The place in the route, and the rate, of each flow ahead.
        let mut found = Vec::new();
        for (end, bottleneck) in route.steps.iter().enumerate() {
            for flow in self.rates.limited_by(bottleneck.link, MOST_AHEAD) {
                let mut flight = flights.get(flow as usize);
                if !is_other(&flight) || !flight.is_backlogged() {
                    continue;
                }
                flight.fill_buffers(now);
                let path = self.rates.path(flow);
                for of in path.skip_while(|step| step.link != bottleneck.link).skip(1) {
                    let is_same = |step: &Step| (step.link, step.level) == (of.link, of.level);
                    let Some(at) = route.steps[..end].iter().position(is_same) else {
                        continue;
                    };
                    queues[at].bytes += flight.backlog;
                    queues[at].through += flight.rate;
                    if let Some(owner) = owner_of(&flight) {
                        let link = bottleneck.link;
                        found.push((at, Behind { link, owner }, flight.rate));
                    }
                }
            }
        }
        let mut wait = 0.0;
        let waits = queues.iter().zip(&route.steps).map(|(ahead, step)| {
            let Some(class) = self
                .pipes
                .class_between(topology, step.link)
                .filter(|_| ahead.through > 0.0)
            else {
                return 0.0;
            };
            let buffer = self.params.link(class).buffer.0 as f64 * f64::from(self.pipes.members(step.link));
            let drained = self.rates.queued(step.link).max(ahead.through);
            let here = (ahead.bytes / ahead.through).min(buffer / drained) * f64::from(step.counted);
            wait += here;
            here
        });
        let waits: Vec<f64> = waits.collect();
        // Convert rates to times.
        let waits_for = found.into_iter().filter(|&(at, ..)| waits[at] > 0.0);
        let waits_for = waits_for.map(|(at, behind, rate)| (behind, waits[at] * rate / queues[at].through));
        (Time(wait as u64), waits_for.collect())
    }
}
