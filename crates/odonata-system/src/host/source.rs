//! Open-loop sources: a rank that sends whether or not the network keeps up.
//!
//! One event per message, and none of the machinery of requests and matching. A message pays the
//! host's costs like any other; its event is the moment at which they are paid and it joins the
//! interface's queue, so that no second one is needed for that.

use super::Hosts;
use super::event::{HostEvent, Outside};
use super::letter::{Kind, Letter, words};
use super::params::JobProgram;
use super::post::{Shipment, draw};
use odonata_engine::{Stream, Time};
use odonata_network::Message;

/// The state of a source.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SourceCell {
    pub(crate) destination: Stream,
    pub(crate) arrival: Stream,
    /// Messages sent.
    pub(crate) sent: u64,
    /// When the next one is created, before the host's costs.
    pub(crate) next: Time,
    /// When it was told to stop.
    pub(crate) told: Time,
}

impl Hosts {
    /// Starts the source of `rank`, as [`Arrival::first`](odonata_workload::Arrival::first) says. A rank whose pattern
    /// has no destination for it ends at once.
    pub(crate) fn start_source<X: Outside>(&mut self, x: &mut X, rank: u32) {
        let job = &self.jobs[usize::from(self.places[rank as usize].job)];
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return;
        };
        let local = rank - job.first_rank;
        let cell = self.sources.edit::<X>(rank);
        let now = x.now();
        let gap = source.arrival.first(now, *mean_gap, cell.arrival.bits());
        let none = source.messages == Some(0) || !source.sends(local, job.ranks);
        let at = match source.bursts {
            None => now + gap,
            Some(bursts) => bursts.after(now, now, gap),
        };
        let (bytes, stop) = (source.bytes, source.stop);
        self.next_generation(x, rank, (now, at), bytes, none, stop);
    }

    /// Whether the source on `rank` has ended, when it was told, with an event still to come.
    #[inline]
    pub(crate) fn is_void(&self, rank: u32) -> bool {
        let cell = self.sources.get(rank);
        cell.next >= cell.told
    }

    /// Sends the next message of the source on `rank`.
    #[inline]
    pub(crate) fn generate<X: Outside>(&mut self, x: &mut X, rank: u32) {
        let place = self.places[rank as usize];
        let job = &self.jobs[usize::from(place.job)];
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return;
        };
        let start = self.metrics.get(rank).start.unwrap_or(Time::ZERO);
        let cell = self.sources.edit::<X>(rank);
        let local = rank - job.first_rank;
        let target = source.destination(local, job.ranks, cell.destination.bits(), cell.sent);
        let gap = source.arrival.gap(*mean_gap, cell.arrival.bits());
        cell.sent += 1;
        let last = source.messages.is_some_and(|most| cell.sent >= most);
        let (bytes, stop, target) = (source.bytes, source.stop, job.first_rank + target);
        let over_the_network = source.itself;
        let created = cell.next;
        let next = match source.bursts {
            None => created + gap,
            Some(bursts) => bursts.after(start, created, gap),
        };
        let metrics = self.metrics.edit::<X>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
        let letter = Letter {
            kind: Kind::Source,
            to: target,
            from: rank,
            words: words(&[]),
        };
        let (here, there) = (self.end_of_rank(rank), self.end_of_rank(target));
        let traffic = Self::traffic(place.job, false);
        let notify_arrived = self.params.records.source_arrivals;
        if here.node == there.node && !over_the_network {
            let shipment = Shipment {
                source: here,
                target: there,
                bytes,
                traffic,
                letter,
                created,
                software: Time::ZERO,
                notify_sent: false,
                notify_arrived,
            };
            self.ship(x, shipment);
        } else {
            let mut message = Message::new(here.node, there.node, bytes, traffic, created, letter.pack());
            (message.notify_sent, message.notify_arrived) = (false, notify_arrived);
            x.submit_now(message);
        }
        self.next_generation(x, rank, (created, next), bytes, last, stop);
    }

    /// Schedules the message created at `at`, unless there is none; the last one was created at `before`.
    #[inline]
    fn next_generation<X: Outside>(
        &mut self,
        x: &mut X,
        rank: u32,
        (before, at): (Time, Time),
        bytes: u64,
        last: bool,
        stop: Option<Time>,
    ) {
        if last || stop.is_some_and(|stop| at >= stop) {
            self.end_rank(x, rank, before);
            return;
        }
        let place = self.places[rank as usize];
        let cell = self.sources.edit::<X>(rank);
        if at >= cell.told {
            let told = cell.told;
            self.end_rank(x, rank, told.max(before));
            return;
        }
        cell.next = at;
        let stream = self.end_of_rank(rank).stream;
        let handoff = draw::<X>(&mut self.streams, stream, self.params.nic_handoff);
        let joins = at + self.send_software(bytes) + self.params.nic_message_delay + handoff;
        // Jitter must not let a message overtake the one before.
        let soon = Time(x.now().0 + 1);
        x.schedule(place.lp, joins.max(soon), HostEvent::Generate { rank });
    }

    /// The source of `rank` is told to stop. A message that has been created still goes, and the source
    /// ends with it; one that would be created from now on is not.
    pub(crate) fn stop_source<X: Outside>(&mut self, x: &mut X, rank: u32) {
        let now = x.now();
        let cell = self.sources.edit::<X>(rank);
        cell.told = now;
        let metrics = self.metrics.get(rank);
        let silent = cell.next >= now;
        if metrics.start.is_some() && !metrics.finished && silent {
            self.end_rank(x, rank, now);
        }
    }
}
