//! Open-loop sources: a rank that sends whether or not the network keeps up.
//!
//! One event per message, and none of the machinery of requests and matching. A message pays the
//! host's costs like any other.

use super::Hosts;
use super::event::{HostEvent, Outside};
use super::letter::{Kind, Letter};
use super::params::JobProgram;
use super::post::Shipment;
use odonata_engine::{Stream, Time};
use odonata_workload::Arrival;

/// The state of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceCell {
    pub(crate) destination: Stream,
    pub(crate) arrival: Stream,
    /// Messages sent.
    pub(crate) sent: u64,
}

impl Hosts {
    /// Starts the source of `rank`. Its first message comes after a gap like any other if gaps are
    /// exponential, which have no memory; if they are fixed, after a random share of one, so that the
    /// sources of a job do not send in step.
    pub(crate) fn start_source<X: Outside>(&mut self, x: &mut X, rank: u32) {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return;
        };
        let cell = self.sources.edit::<X>(job.first_source + (rank - job.first_rank));
        let gap = match source.arrival {
            Arrival::Exponential => source.arrival.gap(*mean_gap, cell.arrival.bits()),
            Arrival::Fixed => {
                let before = (cell.arrival.unit() * mean_gap.0 as f64) as u64;
                Time(mean_gap.0.saturating_sub(before).max(1))
            }
        };
        let none = source.messages == Some(0);
        let at = x.now() + gap;
        let stop = source.stop;
        self.next_generation(x, rank, at, none, stop);
    }

    /// Sends the next message of the source on `rank`.
    #[inline]
    pub(crate) fn generate<X: Outside>(&mut self, x: &mut X, rank: u32) {
        let place = self.places[rank as usize];
        let job = &self.jobs[usize::from(place.job)];
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return;
        };
        let cell = self.sources.edit::<X>(job.first_source + (rank - job.first_rank));
        let local = source
            .pattern
            .destination(rank - job.first_rank, job.ranks, cell.destination.bits());
        let gap = source.arrival.gap(*mean_gap, cell.arrival.bits());
        cell.sent += 1;
        let last = source.messages.is_some_and(|most| cell.sent >= most);
        let (bytes, stop, target) = (source.bytes, source.stop, job.first_rank + local);
        let metrics = self.metrics.edit::<X>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
        let shipment = Shipment {
            source: self.end_of_rank(rank),
            target: self.end_of_rank(target),
            bytes,
            traffic: Self::traffic(place.job, false),
            letter: Letter {
                kind: Kind::Source,
                to: target,
                from: rank,
                words: [0; 4],
            },
            software: self.send_software(bytes),
            notify_sent: false,
            notify_arrived: self.params.records.source_arrivals,
        };
        self.ship(x, shipment);
        let at = x.now() + gap;
        self.next_generation(x, rank, at, last, stop);
    }

    /// Schedules the next message, unless there is none.
    #[inline]
    fn next_generation<X: Outside>(&mut self, x: &mut X, rank: u32, at: Time, last: bool, stop: Option<Time>) {
        if !last && stop.is_none_or(|stop| at < stop) {
            x.schedule(self.places[rank as usize].lp, at, HostEvent::Generate { rank });
        } else {
            let metrics = self.metrics.edit::<X>(rank);
            metrics.finished = true;
            metrics.end = x.now();
        }
    }
}
