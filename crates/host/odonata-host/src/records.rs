//! Records: counters and rows that a run collects.

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
    /// End time of the last kept message, and of the last kept read or write.
    ends: Store<Time>,
    iterations: Rows<IterationRecord>,
    reports: Rows<ReportRecord>,
    /// Single actions of ranks and servers, if requested.
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

/// Tables with a limit on their rows.
#[derive(Clone, Copy)]
enum Table {
    Messages,
    Io,
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
            timeline: TimelineLog::new(params.timeline.as_ref()),
            limits: params.records,
        }
    }

    #[inline]
    pub(crate) fn metrics(&self, rank: u32) -> &RankMetrics {
        self.metrics.get(rank)
    }

    #[inline]
    pub(crate) fn edit_metrics<M: Mode>(&mut self, rank: u32) -> &mut RankMetrics {
        self.metrics.edit::<M>(rank)
    }

    /// Counts a message of `bytes` that `rank` sends.
    #[inline]
    pub(crate) fn count_send<M: Mode>(&mut self, rank: u32, bytes: u64) {
        let metrics = self.metrics.edit::<M>(rank);
        metrics.sends += 1;
        metrics.bytes_sent += bytes;
    }

    pub(crate) fn all_metrics(&self) -> impl Iterator<Item = (u32, &RankMetrics)> {
        self.metrics.iter()
    }

    /// Counts an arrived message of traffic class `traffic`; `record` makes its row if the table keeps it.
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

    /// Counts a read or write that ended at `end`; `record` makes its row if the table keeps it.
    pub(crate) fn add_io<M: Mode>(&mut self, end: Time, record: impl FnOnce() -> IoRecord) {
        let (rows, limit) = (self.io.as_slice().len(), self.limits.io);
        if self.keeps_row::<M>(Table::Io, rows, limit, end) {
            self.io.push::<M>(record());
        }
    }

    /// Records the end of an iteration of a rank.
    pub(crate) fn add_iteration<M: Mode>(&mut self, record: IterationRecord) {
        self.iterations.push::<M>(record);
    }

    pub(crate) fn add_report<M: Mode>(&mut self, record: ReportRecord) {
        self.reports.push::<M>(record);
    }

    /// Whether the next row of `table`, which ended at `end`, may be one of the first `limit` rows, given the `rows`
    /// kept so far. Rows arrive nearly in the order of their ends, since LPs may be at different times. Rows that end
    /// together with the last one within the limit are kept as well; the merge of all parts selects the first ones.
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
