//! Open-loop sources: ranks that send regardless of whether the network keeps up.
//!
//! A source needs one event per message, and neither requests nor matching. A message takes the software delays of the
//! host like any other. Its event is the end of these delays, when it joins the queue of the network interface, so no
//! second event is needed.

use crate::Hosts;
use crate::context::HostContext;
use crate::event::HostEvent;
use crate::params::JobProgram;
use crate::payload::Payload;
use crate::send::{SendRequest, traffic_of};
use odonata_engine::{Mode, SparseStore, Stream, Time};
use odonata_network::Message;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Source {
    destination: Stream,
    arrival: Stream,
    sent: u64,
    /// Creation time of the next message, before the software delays.
    next: Time,
    /// Time of the stop signal.
    stopped_at: Time,
}

impl Source {
    /// A source that draws destinations and times from these streams.
    pub(crate) fn new(destination: Stream, arrival: Stream) -> Self {
        Source {
            destination,
            arrival,
            sent: 0,
            next: Time::ZERO,
            stopped_at: Time::NEVER,
        }
    }
}

/// The sources on the ranks of a part.
#[derive(Debug)]
pub(crate) struct Sources {
    sources: SparseStore<Source>,
}
odonata_engine::journalled!(Sources { sources });

impl Sources {
    pub(crate) fn new(sources: SparseStore<Source>) -> Self {
        Sources { sources }
    }

    /// Whether the source on `rank` has stopped; one of its events may still be pending.
    #[inline]
    pub(crate) fn is_stopped(&self, rank: u32) -> bool {
        let source = self.sources.get(rank);
        source.next >= source.stopped_at
    }

    fn edit<M: Mode>(&mut self, rank: u32) -> &mut Source {
        self.sources.edit::<M>(rank)
    }
}

impl Hosts {
    /// Starts the source of `rank` at [`Arrival::first`](odonata_workload::Arrival::first). A rank without a
    /// destination in its pattern ends immediately.
    pub(crate) fn start_source<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let job = self.layout.job_of(rank);
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return;
        };
        let local = rank - job.first_rank;
        let cell = self.sources.edit::<C>(rank);
        let now = ctx.now();
        let gap = source.arrival.first(now, *mean_gap, cell.arrival.bits());
        let none = source.messages == Some(0) || !source.sends(local, job.ranks);
        let at = match source.bursts {
            None => now + gap,
            Some(bursts) => bursts.after(now, now, gap),
        };
        let (bytes, stop) = (source.bytes, source.stop);
        self.next_generation(ctx, rank, (now, at), bytes, none, stop);
    }

    /// Sends the next message of the source on `rank`.
    #[inline]
    pub(crate) fn generate<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let place = self.layout.place(rank);
        let job = self.layout.job(place.job);
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return;
        };
        let start = self.records.metrics(rank).start.unwrap_or(Time::ZERO);
        let cell = self.sources.edit::<C>(rank);
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
        let metrics = self.records.edit_metrics::<C>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
        let payload = Payload::Synthetic { from: rank, to: target };
        let (here, there) = (self.layout.endpoint_of_rank(rank), self.layout.endpoint_of_rank(target));
        let traffic = traffic_of(place.job, false);
        let notify_arrived = self.params.records.source_arrivals;
        if here.node == there.node && !over_the_network {
            let request = SendRequest {
                source: here,
                target: there,
                bytes,
                traffic,
                payload,
                created,
                software: Time::ZERO,
                notify_sent: false,
                notify_arrived,
            };
            self.send(ctx, request);
        } else {
            let mut message = Message::new(here.node, there.node, bytes, traffic, created, payload);
            (message.notify_sent, message.notify_arrived) = (false, notify_arrived);
            ctx.submit_now(message);
        }
        self.next_generation(ctx, rank, (created, next), bytes, last, stop);
    }

    /// Schedules the message created at `at`, if there is one; the previous message was created at `before`.
    #[inline]
    fn next_generation<C: HostContext>(
        &mut self,
        ctx: &mut C,
        rank: u32,
        (before, at): (Time, Time),
        bytes: u64,
        last: bool,
        stop: Option<Time>,
    ) {
        if last || stop.is_some_and(|stop| at >= stop) {
            self.end_rank(ctx, rank, before);
            return;
        }
        let place = self.layout.place(rank);
        let cell = self.sources.edit::<C>(rank);
        if at >= cell.stopped_at {
            let stopped_at = cell.stopped_at;
            self.end_rank(ctx, rank, stopped_at.max(before));
            return;
        }
        cell.next = at;
        let nic = &self.params.nic;
        let (message_delay, handoff) = (nic.message_delay, nic.handoff);
        let handoff = self.transport.draw::<C>(rank, handoff);
        let joins = at + self.params.mpi.send_software(bytes) + message_delay + handoff;
        // Jitter must not let a message overtake the previous one.
        let soon = Time(ctx.now().0 + 1);
        ctx.schedule(place.lp, joins.max(soon), HostEvent::Generate { rank });
    }

    /// Stops the source of `rank`. A message that was created before is still sent and ends the source; no further
    /// message is created.
    pub(crate) fn stop_source<C: HostContext>(&mut self, ctx: &mut C, rank: u32) {
        let now = ctx.now();
        let cell = self.sources.edit::<C>(rank);
        cell.stopped_at = now;
        let metrics = self.records.metrics(rank);
        let silent = cell.next >= now;
        if metrics.start.is_some() && !metrics.finished && silent {
            self.end_rank(ctx, rank, now);
        }
    }
}
