//! Open-loop sources: ranks that send regardless of whether the network keeps up.
//!
//! A source needs one event per message, and neither requests nor matching. A message takes the software delays of the
//! host like any other. Its event is the end of these delays, when it joins the queue of the network interface, so no
//! second event is needed.

use crate::layout::Layout;
use crate::params::{HostParams, JobProgram};
use crate::send::Transport;
use crate::settings::Mpi;
use odonata_engine::{Mode, SparseStore, Stream, Time};

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Source {
    destination: Stream,
    arrival: Stream,
    sent: u64,
    /// Creation time of the next message, before the software delays; [`Time::NEVER`] after the end.
    next: Time,
    /// Start of the source; [`Time::NEVER`] before.
    started: Time,
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
            started: Time::NEVER,
            stopped_at: Time::NEVER,
        }
    }
}

/// A message that a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceMessage {
    /// Receiver, numbered over all jobs.
    pub(crate) target: u32,
    pub(crate) bytes: u64,
    /// Before the software delays.
    pub(crate) created: Time,
    /// Whether it takes the network even to its own node.
    pub(crate) over_the_network: bool,
}

/// What follows a message of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextMessage {
    /// The next message joins the queue of the network interface at this time.
    At(Time),
    /// There is none: the rank ends at this time.
    End(Time),
}

/// The sources on the ranks of a part.
#[derive(Debug)]
pub(crate) struct Sources {
    layout: Layout,
    mpi: Mpi,
    /// Of the network interface, per message.
    message_delay: Time,
    sources: SparseStore<Source>,
}
odonata_engine::journalled!(Sources { sources });

impl Sources {
    pub(crate) fn new(params: &HostParams, layout: Layout, sources: SparseStore<Source>) -> Self {
        Sources {
            layout,
            mpi: params.mpi.clone(),
            message_delay: params.nic.message_delay,
            sources,
        }
    }

    /// Whether the source on `rank` has stopped; one of its events may still be pending.
    #[inline]
    pub(crate) fn is_stopped(&self, rank: u32) -> bool {
        let source = self.sources.get(rank);
        source.next >= source.stopped_at
    }

    /// Starts the source of `rank` at [`Arrival::first`](odonata_workload::Arrival::first); `None` if it has none.
    pub(crate) fn start<M: Mode>(&mut self, now: Time, rank: u32, transport: &mut Transport) -> Option<NextMessage> {
        let job = self.layout.job_of(rank);
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return None;
        };
        let local = rank - job.first_rank;
        let cell = self.sources.edit::<M>(rank);
        cell.started = now;
        let gap = source.arrival.first(now, *mean_gap, cell.arrival.bits());
        let none = source.messages == Some(0) || !source.sends(local, job.ranks);
        let at = match source.bursts {
            None => now + gap,
            Some(bursts) => bursts.after(now, now, gap),
        };
        let (bytes, stop) = (source.bytes, source.stop);
        Some(self.next::<M>(now, rank, (now, at), (bytes, none, stop), transport))
    }

    /// The next message of the source on `rank`, and what follows.
    #[inline]
    pub(crate) fn generate<M: Mode>(
        &mut self,
        now: Time,
        rank: u32,
        transport: &mut Transport,
    ) -> Option<(SourceMessage, NextMessage)> {
        let job = self.layout.job_of(rank);
        let JobProgram::Synthetic { source, mean_gap } = &job.program else {
            return None;
        };
        let cell = self.sources.edit::<M>(rank);
        let local = rank - job.first_rank;
        let target = source.destination(local, job.ranks, cell.destination.bits(), cell.sent);
        let gap = source.arrival.gap(*mean_gap, cell.arrival.bits());
        cell.sent += 1;
        let last = source.messages.is_some_and(|most| cell.sent >= most);
        let created = cell.next;
        let message = SourceMessage {
            target: job.first_rank + target,
            bytes: source.bytes,
            created,
            over_the_network: source.itself,
        };
        let at = match source.bursts {
            None => created + gap,
            Some(bursts) => bursts.after(cell.started, created, gap),
        };
        let (bytes, stop) = (source.bytes, source.stop);
        let next = self.next::<M>(now, rank, (created, at), (bytes, last, stop), transport);
        Some((message, next))
    }

    /// When the message of `bytes` created at `at` joins the queue, if there is one; the previous message was created at
    /// `before`, and may have been the `last`.
    #[inline]
    fn next<M: Mode>(
        &mut self,
        now: Time,
        rank: u32,
        (before, at): (Time, Time),
        (bytes, last, stop): (u64, bool, Option<Time>),
        transport: &mut Transport,
    ) -> NextMessage {
        let cell = self.sources.edit::<M>(rank);
        let end = match last || stop.is_some_and(|stop| at >= stop) {
            true => Some(before),
            false => (at >= cell.stopped_at).then(|| cell.stopped_at.max(before)),
        };
        if let Some(end) = end {
            cell.next = Time::NEVER;
            return NextMessage::End(end);
        }
        cell.next = at;
        let hand_off = transport.hand_off::<M>(rank);
        let joins = at + self.mpi.send_software(bytes) + self.message_delay + hand_off;
        // Jitter must not let a message overtake the previous one.
        let soon = Time(now.0 + 1);
        NextMessage::At(joins.max(soon))
    }

    /// Whether the source of `rank` has sent its last message, or was stopped.
    pub(crate) fn has_ended(&self, rank: u32) -> bool {
        let source = self.sources.get(rank);
        source.started != Time::NEVER && source.next == Time::NEVER
    }

    /// Stops the source of `rank`, which has not ended. Returns whether it ends now: a source that has not started does
    /// not, nor does one with a pending message that was created before.
    pub(crate) fn stop<M: Mode>(&mut self, rank: u32, now: Time) -> bool {
        let cell = self.sources.edit::<M>(rank);
        cell.stopped_at = now;
        let ends = cell.started != Time::NEVER && cell.next >= now;
        if ends {
            cell.next = Time::NEVER;
        }
        ends
    }
}
