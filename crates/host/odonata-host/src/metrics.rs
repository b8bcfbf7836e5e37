//! Metrics and record types of the hosts.

use odonata_engine::{Digest, Time};
use odonata_storage::MetadataCall;
use odonata_workload::RankTimes;

/// The metrics of one rank.
///
/// Sums over messages and files are `u128` picoseconds, because sums over overlapping ones can exceed the 213 days of
/// 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankMetrics {
    /// Time during which it computes on at least one stream.
    pub compute: Time,
    /// End of the last computation that has begun.
    computing_until: Time,
    /// Time blocked in MPI calls of stream 0: sends, receives, collectives, waits completed by a message, and the costs
    /// of calls.
    pub mpi: Time,
    /// Time blocked in I/O calls of all streams: reads and writes from request to acknowledgment, and waits completed
    /// by a file transfer.
    pub io: Time,
    /// Start of its program or source, in simulated time.
    pub start: Option<Time>,
    /// End of its program, send of its last message, or stop of its source, in simulated time.
    pub end: Time,
    /// Whether it has ended.
    pub finished: bool,
    /// Messages sent, including those of collectives.
    pub sends: u64,
    /// Messages that have arrived.
    pub recvs: u64,
    /// Bytes sent in messages.
    pub bytes_sent: u64,
    /// Bytes of arrived messages.
    pub bytes_received: u64,
    /// Sum of the latencies of the arrived messages, from send call to arrival, in ps.
    pub latency_ps: u128,
    /// The longest of these latencies.
    pub latency_max: Time,
    /// Bytes written and acknowledged.
    pub bytes_written: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Reads and writes completed.
    pub io_operations: u64,
    /// Time of the first request; meaningless without any.
    pub io_first: Time,
    /// Time of the last acknowledgment; meaningless without any.
    pub io_last: Time,
    /// Sum over reads and writes, blocking or not, of the time from request to acknowledgment, in ps.
    pub io_duration_ps: u128,
    /// Answered metadata calls.
    pub metadata_calls: u64,
    /// Sum of their times from call to answer, in ps.
    pub metadata_ps: u128,
}

impl RankMetrics {
    /// Time from the start of its job to its end; zero if it has not ended.
    pub fn elapsed(&self, job_start: Time) -> Time {
        self.end.saturating_sub(job_start)
    }

    /// Begins a computation of `duration` on one of its streams at `now`, in the order of time.
    pub(crate) fn computes(&mut self, now: Time, duration: Time) {
        let (begin, end) = (now.max(self.computing_until), now + duration);
        self.compute += end.saturating_sub(begin);
        self.computing_until = self.computing_until.max(end);
    }

    /// Counts a read, a write or a call for metadata that has ended.
    pub(crate) fn io_ends(&mut self, record: &IoRecord) {
        let &IoRecord { bytes, start, end, .. } = record;
        match record.operation {
            IoOperation::Metadata(_) => {
                self.metadata_calls += 1;
                self.metadata_ps += u128::from((end - start).0);
                return;
            }
            IoOperation::Write => self.bytes_written += bytes,
            IoOperation::Read => self.bytes_read += bytes,
        }
        self.io_first = match self.io_operations {
            0 => start,
            _ => self.io_first.min(start),
        };
        self.io_last = end;
        self.io_operations += 1;
        self.io_duration_ps += u128::from((end - start).0);
    }

    /// Charges an operation with the times and messages of a part of its program.
    pub(crate) fn elapses(&mut self, times: &RankTimes) {
        let compute = times.compute.min(times.end);
        self.compute += compute;
        self.mpi += times.end - compute;
        self.sends += u64::from(times.sends);
        self.recvs += u64::from(times.recvs);
        self.bytes_sent += times.bytes_sent;
        self.bytes_received += times.bytes_received;
    }

    /// Removes the charged time of computations after `now`.
    pub(crate) fn computes_until(&mut self, now: Time) {
        self.compute = self.compute.saturating_sub(self.computing_until.saturating_sub(now));
        self.computing_until = self.computing_until.min(now);
    }

    /// Elapsed time minus computation: the time spent on communication and I/O.
    pub fn non_compute(&self, job_start: Time) -> Time {
        self.elapsed(job_start).saturating_sub(self.compute)
    }

    /// Mean message latency in ps, if any message has arrived.
    pub fn mean_latency_ps(&self) -> Option<f64> {
        (self.recvs > 0).then(|| self.latency_ps as f64 / self.recvs as f64)
    }

    pub(crate) fn results(&self, digest: &mut Digest) {
        let wide = |sum: u128| [sum as u64, (sum >> 64) as u64];
        for word in [
            self.compute.0,
            self.mpi.0,
            self.io.0,
            self.end.0,
            u64::from(self.finished),
            self.sends,
            self.recvs,
            self.bytes_sent,
            self.bytes_received,
            self.latency_max.0,
            self.io_first.0,
            self.io_last.0,
            self.bytes_written,
            self.bytes_read,
            self.io_operations,
        ] {
            digest.word(word);
        }
        for word in [wide(self.latency_ps), wide(self.io_duration_ps)].concat() {
            digest.word(word);
        }
        if self.metadata_calls > 0 {
            digest.word(self.metadata_calls);
            for word in wide(self.metadata_ps) {
                digest.word(word);
            }
        }
    }
}

/// The operation that a rank requests from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum IoOperation {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A call to a metadata server.
    Metadata(MetadataCall),
}

impl IoOperation {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            IoOperation::Read => "read",
            IoOperation::Write => "write",
            IoOperation::Metadata(call) => call.name(),
        }
    }

    /// The number in digests.
    pub(crate) fn number(self) -> u64 {
        match self {
            IoOperation::Read => 0,
            IoOperation::Write => 1,
            IoOperation::Metadata(call) => 2 + call as u64,
        }
    }
}

/// A read, write or metadata call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct IoRecord {
    /// Job.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// Storage server that holds the first byte, or the metadata server.
    pub server: u32,
    /// The operation.
    pub operation: IoOperation,
    /// File number in the job's directory.
    pub file: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Time at which the request left the rank.
    pub start: Time,
    /// Arrival time of the last acknowledgment and of all data read, over all servers involved.
    pub end: Time,
    /// First byte in the file; for a metadata call, the directory.
    pub offset: u64,
    /// Start of the data transfer: the first piece of a write left the rank, or that of a read arrived. Equal to `end`
    /// without data.
    pub first_byte: Time,
    /// Number of servers involved.
    pub servers: u32,
    /// Attempts that timed out.
    pub timeouts: u32,
}

/// An arrived message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct MessageRecord {
    /// Job.
    pub job: u16,
    /// Whether it belongs to the job's I/O; if so, one end is a storage server.
    pub io: bool,
    /// Sender: rank of the job, or server number.
    pub source: u32,
    /// Receiver: rank of the job, or server number.
    pub destination: u32,
    /// Whether the sender is a storage server. The receiver is one if `io` is true and this is false.
    pub from_server: bool,
    /// Payload in bytes.
    pub bytes: u64,
    /// Time of the send; for a rank, of the call.
    pub created: Time,
    /// Time from the send to the arrival.
    pub latency: Time,
}

/// A value reported by a program ([`OpKind::Report`](odonata_workload::OpKind::Report)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ReportRecord {
    /// Job.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// Number of earlier values of the rank; 0 for a program without memory, whose values are ordered by time.
    pub order: u32,
    /// Report number in the program.
    pub report: u32,
    /// Index of the value in the report.
    pub index: u32,
    /// The bits of the `f64` value.
    pub value: u64,
    /// Time of the report.
    pub time: Time,
}

/// The end of an iteration of a rank ([`OpKind::Mark`](odonata_workload::OpKind::Mark)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct IterationRecord {
    /// Job.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// Iteration, counted from 0.
    pub iteration: u32,
    /// Time of the end.
    pub time: Time,
}
