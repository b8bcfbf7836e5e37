//! Records: what is counted and recorded while a run goes on.

use crate::metrics::{IoRecord, IterationRecord, MessageRecord, RankMetrics, ReportRecord};
use crate::params::{HostParams, RecordParams};
use crate::timeline::TimelineLog;
use odonata_engine::{Mode, Rows, SparseStore, Store, Time};
use odonata_network::Histogram;

/// Metrics of the ranks of a part, its histograms, and its tables of records.
#[derive(Debug)]
pub(crate) struct Records {
    metrics: SparseStore<RankMetrics>,
    message_latency: Histogram,
    messages: Rows<MessageRecord>,
    io: Rows<IoRecord>,
    /// When the last of these messages and of these reads and writes has ended.
    ends: Store<Time>,
    iterations: Rows<IterationRecord>,
    reports: Rows<ReportRecord>,
    /// What ranks and servers do one by one, if that is asked for.
    pub(crate) timeline: TimelineLog,
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
    timeline,
});

/// Tables of which the first rows are kept.
#[derive(Clone, Copy)]
enum Table {
    Messages,
    Io,
}

impl Records {
    /// Of ranks with these metrics, and messages of so many numbers of traffic.
    pub(crate) fn new(metrics: SparseStore<RankMetrics>, traffics: usize, params: &HostParams) -> Self {
        Records {
            metrics,
            message_latency: Histogram::new(traffics),
            messages: Rows::new(),
            io: Rows::new(),
            ends: Store::filled(2, Time::ZERO),
            iterations: Rows::new(),
            reports: Rows::new(),
            timeline: TimelineLog::new(params.timeline.as_ref()),
            limits: params.records,
        }
    }

    /// What was measured at `rank`.
    #[inline]
    pub(crate) fn metrics(&self, rank: u32) -> &RankMetrics {
        self.metrics.get(rank)
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn edit_metrics<M: Mode>(&mut self, rank: u32) -> &mut RankMetrics {
        self.metrics.edit::<M>(rank)
    }

    /// What was measured at each rank.
    pub(crate) fn all_metrics(&self) -> impl Iterator<Item = (u32, &RankMetrics)> {
        self.metrics.iter()
    }

    /// A message has arrived, of traffic `traffic`; `record` makes its row, if it is kept.
    #[inline]
    pub(crate) fn add_message<M: Mode>(
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

    /// `rank` has read or written; `record` makes the row, if it is kept.
    pub(crate) fn add_io<M: Mode>(&mut self, end: Time, record: impl FnOnce() -> IoRecord) {
        let (rows, limit) = (self.io.as_slice().len(), self.limits.io);
        if self.keeps_row::<M>(Table::Io, rows, limit, end) {
            self.io.push::<M>(record());
        }
    }

    /// A rank has come to the end of an iteration.
    pub(crate) fn add_iteration<M: Mode>(&mut self, record: IterationRecord) {
        self.iterations.push::<M>(record);
    }

    /// A program has reported a value.
    pub(crate) fn add_report<M: Mode>(&mut self, record: ReportRecord) {
        self.reports.push::<M>(record);
    }

    /// Whether the next row of `table`, of something that has ended at `end`, may be one of the first `limit`, beside the
    /// `rows` that are there. Rows come nearly in the order of their ends: LPs may be at different times. What has ended
    /// with the last of so many is kept as well; which rows are the first is decided when all parts are put together.
    fn keeps_row<M: Mode>(&mut self, table: Table, rows: usize, limit: u64, end: Time) -> bool {
        let last = *self.ends.get(table as u32);
        if rows as u64 >= limit {
            return limit > 0 && end <= last;
        }
        if end > last {
            *self.ends.edit::<M>(table as u32) = end;
        }
        true
    }

    /// Message latency from call to arrival, per traffic.
    pub(crate) fn message_latency(&self) -> &Histogram {
        &self.message_latency
    }

    /// Messages, in the order of their arrival, up to the limit.
    pub(crate) fn messages(&self) -> &[MessageRecord] {
        self.messages.as_slice()
    }

    /// Reads and writes, in the order in which they ended, up to the limit.
    pub(crate) fn io(&self) -> &[IoRecord] {
        self.io.as_slice()
    }

    /// Ends of iterations, in the order in which they happened.
    pub(crate) fn iterations(&self) -> &[IterationRecord] {
        self.iterations.as_slice()
    }

    /// Values that programs have reported.
    pub(crate) fn reports(&self) -> &[ReportRecord] {
        self.reports.as_slice()
    }

    /// Bytes of memory held, without the tables.
    pub(crate) fn footprint(&self) -> usize {
        self.metrics.memory()
    }
}
