//! The state of a run that stands still: its progress, and whether it can continue.

use super::Simulation;
use crate::build::Plan;
use odonata_engine::{PartView, Time};
use odonata_host::JobStatuses;
use odonata_machine::{Event, Machine};
use serde::{Deserialize, Serialize};

/// The progress of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Progress {
    /// Whether nothing is left to do.
    pub finished: bool,
    /// Simulated time, seconds.
    pub simulated_s: f64,
    /// Events handled.
    pub events: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Routers visited by packets.
    pub packet_hops: u64,
    /// Messages delivered by the network, MPI and I/O.
    pub messages: u64,
    /// Estimated completed share of the run, if known.
    pub fraction: Option<f64>,
}

/// What the parts looked at show about a run that stands still.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Look {
    packets: u64,
    packet_hops: u64,
    messages: u64,
    pub(super) jobs: JobStatuses,
    /// Arrival of the last flit at a pipelined router, if the run was halted.
    pub(super) last_arrival: Option<Time>,
    /// Whether an event is pending that has an effect.
    counts: bool,
    /// Whether anything is pending or under way other than sources that send until stopped, and their messages.
    goes_on: bool,
    /// Reads and writes under way.
    pub(super) file_transfers: u64,
    /// Storage servers that drain.
    pub(super) drains: u64,
}

impl Look {
    /// Adds one part; if the run was halted, its events until `halted` have been handled.
    pub(super) fn at(&mut self, part: PartView<'_, Machine>, halted: Option<Time>) {
        let Machine { fabric, hosts } = part.model;
        let (packets, hops) = fabric.delivered();
        self.packets += packets;
        self.packet_hops += hops;
        self.messages += fabric.traffic_stats().iter().map(|t| t.messages).sum::<u64>();
        self.jobs = match std::mem::take(&mut self.jobs) {
            none if none == JobStatuses::default() => hosts.job_statuses(),
            known => known.join(hosts.job_statuses()),
        };
        // Flits that arrive at pipelined routers have no event of their own.
        self.jobs.last_event = self.jobs.last_event.max(fabric.last_arrival());
        let arrived = halted.and_then(|until| fabric.last_arrival_until(until));
        self.last_arrival = self.last_arrival.max(arrived);
        self.file_transfers += hosts.file_transfers();
        self.drains += hosts.servers().draining();
        if !hosts.may_be_endless() {
            return;
        }
        let mut parcels = part.remote_events.peekable();
        self.counts |= parcels.peek().is_some();
        self.goes_on |= parcels.any(|event| event.message().is_some_and(|message| !message.content.is_synthetic()))
            || fabric.messages().any(|message| !message.content.is_synthetic());
        for event in part.events {
            match event {
                Event::Host(event) => {
                    self.counts |= !hosts.is_without_effect(event);
                    self.goes_on |= hosts.is_progress(event);
                }
                // A wake-up has no effect where no packet is under way.
                Event::Fabric(event) => self.counts |= !event.is_wake_up() || fabric.in_flight() != (0, 0),
            }
            if self.counts && self.goes_on {
                break;
            }
        }
    }

    /// Combines what two sets of parts show.
    pub(super) fn join(self, other: Look) -> Look {
        Look {
            packets: self.packets + other.packets,
            packet_hops: self.packet_hops + other.packet_hops,
            messages: self.messages + other.messages,
            jobs: self.jobs.join(other.jobs),
            last_arrival: self.last_arrival.max(other.last_arrival),
            counts: self.counts | other.counts,
            goes_on: self.goes_on | other.goes_on,
            file_transfers: self.file_transfers + other.file_transfers,
            drains: self.drains + other.drains,
        }
    }

    /// Whether nothing that is left has an effect that matters to the outcome.
    pub(super) fn is_over(&self, plan: &Plan) -> bool {
        !self.counts || (!self.goes_on && !plan.waiting_jobs(&self.jobs).is_empty())
    }

    /// Where `run` stands.
    pub(super) fn progress(&self, run: &Simulation) -> Progress {
        let now = run.now(self);
        let limit = run.scenario.run.time_limit;
        let by_time = limit.map(|limit| now.0 as f64 / limit.0.max(1) as f64);
        Progress {
            finished: run.is_over(),
            simulated_s: now.seconds(),
            events: run.scheduler.events(),
            packets: self.packets,
            packet_hops: self.packet_hops,
            messages: self.messages,
            fraction: by_time.or(Some(
                self.jobs
                    .progress_fraction()
                    .max(run.expected_share(self.packets, self.messages)),
            )),
        }
    }
}
