//! Records: the counters and rows that every run collects, as an instrument.

use crate::context::Uses;
use crate::io::facts::IoObserver;
use crate::layout::Layout;
use crate::metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics, ReportRecord};
use crate::observe::{IterationEnd, MessageArrival, Observer};
use crate::params::{HostParams, RecordParams};
use crate::payload::Payload;
use crate::rank::activity::Activity;
use crate::send::traffic_of;
use crate::timeline::Charge;
use crate::timeline::call::charge;
use odonata_engine::{NIL, Rows, SparseStore, Store, Time};
use odonata_network::Histogram;
use odonata_storage::{RequestHeader, Requester, StorageRequest};
use odonata_workload::{Access, RankTimes};

/// Metrics of the ranks of a part, its histograms, and its tables of records.
#[derive(Debug)]
pub(crate) struct Records {
    metrics: SparseStore<RankMetrics>,
    message_latency: Histogram,
    messages: Rows<MessageRecord>,
    io: Rows<IoRecord>,
    /// End time of the last kept message, and of the last kept read or write.
    ends: Store<Time>,
    iterations: Rows<IterationRecord>,
    reports: Rows<ReportRecord>,
    limits: RecordParams,
}
odonata_engine::journalled!(Records {
    metrics,
    message_latency,
    messages,
    io,
    ends,
    iterations,
    reports,
});

/// Tables with a limit on their rows.
#[derive(Clone, Copy)]
enum Table {
    Messages,
    Io,
}

impl Observer for Records {
    /// Counts it, unless it carries no data of a program: the protocol of MPI, of jobs, of locks.
    #[inline]
    fn message_arrives<M: Uses>(&mut self, arrival: &MessageArrival<'_>) {
        let &MessageArrival {
            layout,
            payload,
            bytes,
            created,
            now,
        } = arrival;
        // A rank of its job; none where a server asks the lower tier.
        let of_job = |header: RequestHeader| match header.client.requester() {
            Requester::Rank(rank) => rank - layout.job(header.owner).first_rank,
            Requester::Server(_) => NIL,
        };
        let latency = now - created;
        let (job, io, from_server, source, destination) = match *payload {
            Payload::Rts { .. }
            | Payload::Cts { .. }
            | Payload::Ack { .. }
            | Payload::Access {
                access: Access::Get, ..
            }
            | Payload::Lock { .. }
            | Payload::Unlock { .. }
            | Payload::Epoch { .. }
            | Payload::JobControl { .. }
            | Payload::JobEnded { .. }
            | Payload::LockRevoke { .. }
            | Payload::LockReturn { .. } => return,
            Payload::Eager { from, to, .. }
            | Payload::RendezvousData { from, to, .. }
            | Payload::Access { from, to, .. }
            | Payload::Fetched { from, to, .. }
            | Payload::Synthetic { from, to } => {
                let metrics = self.metrics.edit::<M>(to);
                metrics.recvs += 1;
                metrics.bytes_received += bytes;
                metrics.latency_ps += u128::from(latency.0);
                metrics.latency_max = metrics.latency_max.max(latency);
                let job = layout.place(to).job;
                let first = layout.job(job).first_rank;
                (job, false, false, from - first, to - first)
            }
            Payload::Request {
                server,
                request: StorageRequest { header, .. },
            }
            | Payload::WriteData { server, header, .. } => (header.owner, true, false, of_job(header), server),
            Payload::Pull { server, header, .. }
            | Payload::ReadData { server, header, .. }
            | Payload::Response { server, header, .. } => (header.owner, true, true, server, of_job(header)),
        };
        self.add_message::<M>(traffic_of(job, io), (created, latency), || MessageRecord {
            job,
            io,
            source,
            destination,
            from_server,
            bytes,
            created,
            latency,
        });
    }

    #[inline]
    fn data_are_sent<M: Uses>(&mut self, rank: u32, bytes: u64) {
        let metrics = self.metrics.edit::<M>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
    }

    #[inline]
    fn activity_ends<M: Uses>(&mut self, _: &Layout, activity: &Activity, for_io: bool, now: Time) {
        let Activity { op, rank, since, .. } = activity;
        let time = now - *since;
        match charge(op, for_io) {
            Charge::Mpi if time > Time::ZERO => self.metrics.edit::<M>(*rank).mpi += time,
            Charge::Io if time > Time::ZERO => self.metrics.edit::<M>(*rank).io += time,
            _ => {}
        }
    }

    #[inline]
    fn rank_computes<M: Uses>(&mut self, rank: u32, now: Time, duration: Time) {
        self.metrics.edit::<M>(rank).computes(now, duration);
    }

    #[inline]
    fn part_elapses<M: Uses>(&mut self, rank: u32, times: &RankTimes) {
        self.metrics.edit::<M>(rank).elapses(times);
    }

    #[inline]
    fn rank_starts<M: Uses>(&mut self, rank: u32, _: u16, now: Time) {
        self.metrics.edit::<M>(rank).start = Some(now);
    }

    #[inline]
    fn program_ends<M: Uses>(&mut self, rank: u32, end: Time) {
        let metrics = self.metrics.edit::<M>(rank);
        metrics.finished = true;
        metrics.end = end;
    }

    #[inline]
    fn iteration_ends<M: Uses>(&mut self, end: &IterationEnd) {
        self.iterations.push::<M>(IterationRecord {
            job: end.job,
            rank: end.local,
            iteration: end.iteration,
            time: end.now,
        });
    }

    fn value_is_reported<M: Uses>(&mut self, record: &ReportRecord) {
        self.reports.push::<M>(*record);
    }
}

impl IoObserver for Records {
    fn file_call_ends<M: Uses>(&mut self, rank: u32, record: &IoRecord) {
        self.metrics.edit::<M>(rank).io_ends(record);
        let (rows, limit) = (self.io.as_slice().len(), self.limits.io);
        if self.keeps_row::<M>(Table::Io, rows, limit, record.end) {
            self.io.push::<M>(*record);
        }
    }
}

impl Records {
    /// For ranks with these metrics, and messages of `traffics` traffic classes.
    pub(crate) fn new(metrics: SparseStore<RankMetrics>, traffics: usize, params: &HostParams) -> Self {
        Records {
            metrics,
            message_latency: Histogram::new(traffics),
            messages: Rows::new(),
            io: Rows::new(),
            ends: Store::filled(2, Time::ZERO),
            iterations: Rows::new(),
            reports: Rows::new(),
            limits: params.records,
        }
    }

    #[inline]
    pub(crate) fn metrics(&self, rank: u32) -> &RankMetrics {
        self.metrics.get(rank)
    }

    pub(crate) fn all_metrics(&self) -> impl Iterator<Item = (u32, &RankMetrics)> {
        self.metrics.iter()
    }

    /// Counts an arrived message of traffic class `traffic`; `record` makes its row if the table keeps it.
    #[inline]
    fn add_message<M: Uses>(
        &mut self,
        traffic: u16,
        (created, latency): (Time, Time),
        record: impl FnOnce() -> MessageRecord,
    ) {
        self.message_latency.record::<M>(usize::from(traffic), latency);
        let (rows, limit) = (self.messages.as_slice().len(), self.limits.messages);
        if self.keeps_row::<M>(Table::Messages, rows, limit, created + latency) {
            self.messages.push::<M>(record());
        }
    }

    /// Whether the next row of `table`, which ended at `end`, may be one of the first `limit` rows, given the `rows`
    /// kept so far. Rows arrive nearly in the order of their ends, since LPs may be at different times. Rows that end
    /// together with the last one within the limit are kept as well; the merge of all parts selects the first ones.
    fn keeps_row<M: Uses>(&mut self, table: Table, rows: usize, limit: u64, end: Time) -> bool {
        let last = *self.ends.get(table as u32);
        if rows as u64 >= limit {
            return limit > 0 && end <= last;
        }
        if end > last {
            *self.ends.edit::<M>(table as u32) = end;
        }
        true
    }

    /// Message latency from call to arrival, per traffic class.
    pub(crate) fn message_latency(&self) -> &Histogram {
        &self.message_latency
    }

    /// Messages in the order of arrival, up to the limit.
    pub(crate) fn messages(&self) -> &[MessageRecord] {
        self.messages.as_slice()
    }

    /// Reads and writes in the order of their ends, up to the limit.
    pub(crate) fn io(&self) -> &[IoRecord] {
        self.io.as_slice()
    }

    /// Ends of iterations, in order.
    pub(crate) fn iterations(&self) -> &[IterationRecord] {
        self.iterations.as_slice()
    }

    pub(crate) fn reports(&self) -> &[ReportRecord] {
        self.reports.as_slice()
    }
}
