//! What the hosts count and record.

use odonata_engine::{Digest, Time};
use odonata_storage::MetadataCall;

/// What was measured at one rank.
///
/// Sums over messages and files are `u128` picoseconds, because those of overlapping ones can exceed
/// the 213 days of 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankMetrics {
    /// Time in which it computes, on one stream or on several at once.
    pub compute: Time,
    /// When the last of the computations that have begun ends.
    computing_until: Time,
    /// Time blocked in MPI calls of stream 0: sends, receives, collectives, waits that were completed
    /// by a message, and the costs of calls.
    pub mpi: Time,
    /// Time blocked in I/O calls of all streams: reads and writes from request to acknowledgement,
    /// and waits that were completed by a file transfer.
    pub io: Time,
    /// When its program or source started; simulated time.
    pub start: Option<Time>,
    /// When its program ended, or its last message was sent (a source that was told to stop: when it was told);
    /// simulated time.
    pub end: Time,
    /// Whether it came to its end.
    pub finished: bool,
    /// Messages sent, those of collectives included.
    pub sends: u64,
    /// Messages that have arrived.
    pub recvs: u64,
    /// Bytes sent in messages.
    pub bytes_sent: u64,
    /// Bytes that have arrived in messages.
    pub bytes_received: u64,
    /// From send call to arrival, summed over the messages that have arrived, in ps.
    pub latency_ps: u128,
    /// The longest of them.
    pub latency_max: Time,
    /// Bytes written and acknowledged.
    pub bytes_written: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Reads and writes completed.
    pub io_operations: u64,
    /// When the first of them was requested; meaningless without any.
    pub io_first: Time,
    /// When the last of them was acknowledged; meaningless without any.
    pub io_last: Time,
    /// From request to acknowledgement, summed over reads and writes, blocking or not, in ps.
    pub io_duration_ps: u128,
    /// Calls that metadata servers have answered.
    pub metadata_calls: u64,
    /// From call to answer, summed over these, in ps.
    pub metadata_ps: u128,
}

impl RankMetrics {
    /// From the start of its job to its end; zero if it has not ended.
    pub fn elapsed(&self, job_start: Time) -> Time {
        self.end.saturating_sub(job_start)
    }

    /// A computation of this `duration` begins on one of its streams at `now`, no earlier than those before it.
    pub(crate) fn computes(&mut self, now: Time, duration: Time) {
        let (begin, end) = (now.max(self.computing_until), now + duration);
        self.compute += end.saturating_sub(begin);
        self.computing_until = self.computing_until.max(end);
    }

    /// Takes back what has been booked of computations that go on after `now`.
    pub(crate) fn computes_until(&mut self, now: Time) {
        self.compute = self.compute.saturating_sub(self.computing_until.saturating_sub(now));
        self.computing_until = self.computing_until.min(now);
    }

    /// Elapsed time less computation: the time that communication and I/O cost.
    pub fn non_compute(&self, job_start: Time) -> Time {
        self.elapsed(job_start).saturating_sub(self.compute)
    }

    /// Mean message latency in ps, if any has arrived.
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

/// What a rank asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum IoOperation {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A call that a metadata server answers.
    Metadata(MetadataCall),
}

impl IoOperation {
    /// Its name, as tables have it.
    pub const fn name(self) -> &'static str {
        match self {
            IoOperation::Read => "read",
            IoOperation::Write => "write",
            IoOperation::Metadata(call) => call.name(),
        }
    }

    /// Its number in digests.
    pub(crate) fn number(self) -> u64 {
        match self {
            IoOperation::Read => 0,
            IoOperation::Write => 1,
            IoOperation::Metadata(call) => 2 + call as u64,
        }
    }
}

/// A read or write, or a call for metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct IoRecord {
    /// Job.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// Storage server that has the first byte; the metadata server that was asked.
    pub server: u32,
    /// What was asked.
    pub operation: IoOperation,
    /// File of the job's directory.
    pub file: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// When the request left the rank.
    pub start: Time,
    /// When the acknowledgement, and all data of a read, were back: the last of them where several servers took part.
    pub end: Time,
    /// First byte within the file; of a call for metadata, its directory.
    pub offset: u64,
    /// When the first data went: the first piece of a write left the rank, that of a read arrived. The end, without data.
    pub first_byte: Time,
    /// Servers that took part.
    pub servers: u32,
    /// Tries of its requests that were not answered in time.
    pub timeouts: u32,
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct MessageRecord {
    /// Job.
    pub job: u16,
    /// Whether it belongs to the job's I/O; then one end is a storage server.
    pub io: bool,
    /// Sender: rank of the job, or number of the server.
    pub source: u32,
    /// Receiver: rank of the job, or number of the server.
    pub destination: u32,
    /// Whether the sender is a storage server. The receiver is one if `io` holds and this does not.
    pub from_server: bool,
    /// Payload in bytes.
    pub bytes: u64,
    /// When it was sent: the call of a rank.
    pub created: Time,
    /// From then to its arrival.
    pub latency: Time,
}

/// A value that a program has reported ([`OpKind::Report`](odonata_workload::OpKind::Report)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ReportRecord {
    /// Job.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// How many values of the rank came before; 0 where the program has no memory, whose values have the order of their times.
    pub order: u32,
    /// Report of the program.
    pub report: u32,
    /// Value of the report.
    pub index: u32,
    /// The bits of the value.
    pub value: u64,
    /// When.
    pub time: Time,
}

/// The end of an iteration of a rank ([`OpKind::Mark`](odonata_workload::OpKind::Mark)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct IterationRecord {
    /// Job.
    pub job: u16,
    /// Rank of the job.
    pub rank: u32,
    /// Iteration, from 0.
    pub iteration: u32,
    /// When it ended.
    pub time: Time,
}
