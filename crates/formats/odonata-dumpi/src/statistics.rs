//! Statistics of a trace: calls, bytes and times, per rank and in total.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use odonata_trace_format::truncation;
use serde::Serialize;

use super::error::TraceError;
use super::label as l;
use super::rank_file::RankFile;
use super::record::{Arg, Record, call_name};
use super::set::TraceFiles;
use super::types::default_sizes;

/// Calls by name.
pub type CallCounts = BTreeMap<&'static str, u64>;

/// Point-to-point messages sent by a rank, without persistent ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SendStatistics {
    /// Messages.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// (destination, communicator, messages, bytes), with the rank's own numbers, in ascending order.
    pub by_dest_comm: Vec<(i32, i32, u64, u64)>,
    /// Messages by the bit length of their size in bytes: 0 for empty ones, `n` for 2^(n-1) to 2^n - 1.
    pub size_hist_bitlen: BTreeMap<u32, u64>,
}

/// Receives posted by a rank, without persistent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReceiveStatistics {
    /// Receives.
    pub count: u64,
    /// Size of their buffers, in bytes.
    pub max_bytes: u64,
    /// Receives from any source.
    pub any_source: u64,
}

/// Starts of persistent requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StartStatistics {
    /// Receives.
    pub recv: u64,
    /// Size of their buffers, in bytes.
    pub recv_bytes: u64,
    /// Sends.
    pub send: u64,
    /// Their bytes.
    pub send_bytes: u64,
}

/// Calls of one collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CollectiveStatistics {
    /// Calls.
    pub count: u64,
    /// Bytes given by this rank: one block for equal sizes, the sum for listed sizes. `None`: no data.
    pub send_bytes: Option<u64>,
}

/// Calls that move data of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileStatistics {
    /// Calls.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Statistics of one rank's file. Bytes are counts times the datatype sizes stated in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankStatistics {
    /// Name of the file.
    pub file: String,
    /// Its length.
    pub file_bytes: u64,
    /// Calls in its stream.
    pub records: u64,
    /// Calls by name.
    pub op_counts: CallCounts,
    /// Calls counted by the tracer.
    pub footer_calls: CallCounts,
    /// Counted calls from within another call, which have no record.
    pub footer_ignored: CallCounts,
    /// Name of the first call.
    pub first_op: Option<&'static str>,
    /// Name of the last call.
    pub last_op: Option<&'static str>,
    /// Start of the first call, in ns of the rank's clock.
    pub wall_first_enter_ns: Option<i64>,
    /// Return of the last call.
    pub wall_last_return_ns: Option<i64>,
    /// Time in calls, in ns.
    pub sum_in_mpi_ns: i64,
    /// Threads that called.
    pub threads: BTreeSet<u16>,
    /// Messages sent.
    pub sends: SendStatistics,
    /// Receives posted.
    pub recvs_posted: ReceiveStatistics,
    /// Persistent requests started; absent if there are none.
    #[serde(serialize_with = "starts")]
    pub persistent_starts: StartStatistics,
    /// Collectives.
    pub collectives: BTreeMap<&'static str, CollectiveStatistics>,
    /// File access.
    pub mpiio: BTreeMap<&'static str, FileStatistics>,
    /// Size of each datatype in bytes, by id.
    pub datatype_sizes: Vec<i32>,
    /// The rank.
    pub rank: u32,
    /// The damage of the file, if it was read anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

fn starts<S: serde::Serializer>(starts: &StartStatistics, serializer: S) -> Result<S::Ok, S::Error> {
    if *starts == StartStatistics::default() {
        return BTreeMap::<&str, u64>::new().serialize(serializer);
    }
    starts.serialize(serializer)
}

/// Statistics of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Name of the folder.
    pub name: String,
    /// Number of ranks.
    pub nranks: u32,
    /// Contents of the `.meta` file.
    pub meta: BTreeMap<String, String>,
    /// Calls of all ranks.
    pub total_records: u64,
    /// Calls by name.
    pub total_op_counts: CallCounts,
    /// Messages sent, without persistent ones.
    pub total_sends: u64,
    /// Their bytes.
    pub total_send_bytes: u64,
    /// Receives posted, without persistent ones.
    pub total_recvs_posted: u64,
    /// Starts of persistent requests.
    pub total_persistent_starts: u64,
    /// Collectives, counted at every rank.
    pub total_collective_calls: CallCounts,
    /// From the first call to the last return over all ranks, in ns, if their clocks agree.
    pub wall_span_ns: i64,
    /// The longest span of one rank.
    pub max_rank_span_ns: i64,
    /// The damage of truncated files that were read anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// The ranks.
    pub ranks: Vec<RankStatistics>,
}

impl Statistics {
    /// Reads all files of a trace once.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(files: &TraceFiles) -> Result<Statistics, TraceError> {
        let mut ranks = Vec::with_capacity(files.ranks.len());
        for (rank, path) in (0..).zip(&files.ranks) {
            ranks.push(RankStatistics::of(files, path, rank)?);
        }
        let folder = files.ranks.first().and_then(|path| path.parent());
        let mut total_op_counts = CallCounts::new();
        let mut total_collective_calls = CallCounts::new();
        for rank in &ranks {
            for (name, count) in &rank.op_counts {
                *total_op_counts.entry(name).or_default() += count;
            }
            for (name, calls) in &rank.collectives {
                *total_collective_calls.entry(name).or_default() += calls.count;
            }
        }
        let first = ranks.iter().filter_map(|rank| rank.wall_first_enter_ns).min();
        let last = ranks.iter().filter_map(|rank| rank.wall_last_return_ns).max();
        let damages: Vec<&String> = ranks.iter().filter_map(|rank| rank.incomplete.as_ref()).collect();
        let damage = truncation(&damages, ranks.len());
        let span = |first: Option<i64>, last: Option<i64>| last.unwrap_or(0).saturating_sub(first.unwrap_or(0));
        Ok(Statistics {
            name: folder
                .and_then(Path::file_name)
                .map_or(String::new(), |name| name.to_string_lossy().into_owned()),
            nranks: ranks.len() as u32,
            meta: files.meta.clone(),
            total_records: ranks.iter().map(|rank| rank.records).sum(),
            total_op_counts,
            total_sends: ranks.iter().map(|rank| rank.sends.count).sum(),
            total_send_bytes: ranks.iter().map(|rank| rank.sends.bytes).sum(),
            total_recvs_posted: ranks.iter().map(|rank| rank.recvs_posted.count).sum(),
            total_persistent_starts: ranks
                .iter()
                .map(|rank| rank.persistent_starts.recv + rank.persistent_starts.send)
                .sum(),
            total_collective_calls,
            wall_span_ns: span(first, last),
            max_rank_span_ns: ranks
                .iter()
                .map(|rank| span(rank.wall_first_enter_ns, rank.wall_last_return_ns))
                .max()
                .unwrap_or(0),
            damage,
            ranks,
        })
    }
}

impl RankStatistics {
    /// Reads the file of `rank`, one of `files`, once.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(files: &TraceFiles, path: &Path, rank: u32) -> Result<RankStatistics, TraceError> {
        let mut file = RankFile::open(path, files.incomplete)?.cancelled_by(&files.cancellation);
        let mut counter = Counter::default();
        let (mut sizes, mut calls, mut ignored) = (default_sizes().to_vec(), CallCounts::new(), CallCounts::new());
        if let Some(trailer) = file.trailer() {
            if !trailer.sizes.is_empty() {
                sizes.clone_from(&trailer.sizes);
            }
            if let Some(footer) = &trailer.footer {
                (calls, ignored) = (named(&footer.calls), named(&footer.ignored));
            }
        }
        counter.sizes = sizes;
        file.for_each(path, |record| counter.count(record))?;
        let Counter {
            mut statistics,
            calls: counts,
            sends,
            sizes,
            ..
        } = counter;
        statistics.op_counts = named(&counts);
        statistics.records = counts.iter().map(|&count| u64::from(count)).sum();
        statistics.sends.by_dest_comm = sends
            .into_iter()
            .map(|((dest, comm), (messages, bytes))| (dest, comm, messages, bytes))
            .collect();
        statistics.sends.by_dest_comm.sort_unstable();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(RankStatistics {
            file: name.unwrap_or_default(),
            file_bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            footer_calls: calls,
            footer_ignored: ignored,
            datatype_sizes: sizes,
            rank,
            incomplete: file.damage(path).map(|damage| damage.to_string()),
            ..statistics
        })
    }
}

fn named(counts: &[u32]) -> CallCounts {
    let named = (0..).zip(counts).filter(|(_, count)| **count > 0);
    named
        .map(|(label, &count)| (call_name(label), u64::from(count)))
        .collect()
}

#[derive(Default)]
struct Counter {
    statistics: RankStatistics,
    calls: Vec<u32>,
    sizes: Vec<i32>,
    sends: HashMap<(i32, i32), (u64, u64)>,
    /// Whether it is a send, and its bytes.
    persistent: HashMap<i32, (bool, u64)>,
}

impl Counter {
    fn bytes(&self, count: i32, datatype: i32) -> u64 {
        let size = self.sizes.get(usize::from(datatype as u16)).copied().unwrap_or(0);
        u64::from(count.max(0) as u32) * u64::from(size.max(0) as u32)
    }

    fn send(&mut self, record: &Record) {
        let bytes = self.bytes(record.int(Arg::Count), record.int(Arg::Type));
        let pair = (record.int(Arg::Dest), record.int(Arg::Comm));
        let (messages, sum) = self.sends.entry(pair).or_default();
        (*messages, *sum) = (*messages + 1, *sum + bytes);
        let sends = &mut self.statistics.sends;
        sends.count += 1;
        sends.bytes += bytes;
        *sends
            .size_hist_bitlen
            .entry(u64::BITS - bytes.leading_zeros())
            .or_default() += 1;
    }

    fn receive(&mut self, record: &Record, count: Arg, datatype: Arg) {
        let bytes = self.bytes(record.int(count), record.int(datatype));
        let receives = &mut self.statistics.recvs_posted;
        receives.count += 1;
        receives.max_bytes += bytes;
        receives.any_source += u64::from(record.int(Arg::Source) == -1);
    }

    fn start(&mut self, request: i32) {
        let starts = &mut self.statistics.persistent_starts;
        match self.persistent.get(&request) {
            Some((true, bytes)) => {
                starts.send += 1;
                starts.send_bytes += bytes;
            }
            Some((false, bytes)) => {
                starts.recv += 1;
                starts.recv_bytes += bytes;
            }
            None => {}
        }
    }

    fn count(&mut self, record: &Record) {
        let label = usize::from(record.label);
        if label >= super::table::CALLS {
            return; // an instrumented function
        }
        if self.calls.is_empty() {
            self.calls.resize(super::table::CALLS, 0);
        }
        self.calls[label] = self.calls[label].saturating_add(1);
        let name = call_name(record.label);
        let s = &mut self.statistics;
        s.first_op.get_or_insert(name);
        s.last_op = Some(name);
        s.threads.insert(record.thread);
        if let Some(span) = record.wall {
            s.wall_first_enter_ns.get_or_insert(span.start);
            s.wall_last_return_ns = Some(span.stop);
            s.sum_in_mpi_ns = s.sum_in_mpi_ns.saturating_add(span.stop - span.start);
        }
        self.count_transfer(record, name);
    }

    fn count_transfer(&mut self, record: &Record, name: &'static str) {
        match record.label {
            l::SEND | l::BSEND | l::SSEND | l::RSEND | l::ISEND | l::IBSEND | l::ISSEND | l::IRSEND => {
                self.send(record)
            }
            l::RECV | l::IRECV => self.receive(record, Arg::Count, Arg::Type),
            l::SENDRECV => {
                self.send(record);
                self.receive(record, Arg::Rcount, Arg::Rtype);
            }
            l::SENDRECV_REPLACE => {
                self.send(record);
                self.receive(record, Arg::Count, Arg::Type);
            }
            l::SEND_INIT | l::BSEND_INIT | l::SSEND_INIT | l::RSEND_INIT | l::RECV_INIT => {
                let bytes = self.bytes(record.int(Arg::Count), record.int(Arg::Type));
                self.persistent
                    .insert(record.int(Arg::Req), (record.label != l::RECV_INIT, bytes));
            }
            l::START => self.start(record.int(Arg::Req)),
            l::STARTALL => record.list(Arg::Reqs).iter().for_each(|&request| self.start(request)),
            l::FILE_READ_AT..=l::FILE_IWRITE
            | l::FILE_READ_SHARED..=l::FILE_WRITE_ORDERED
            | l::FILE_READ_AT_ALL_BEGIN
            | l::FILE_WRITE_AT_ALL_BEGIN
            | l::FILE_READ_ALL_BEGIN
            | l::FILE_WRITE_ALL_BEGIN
            | l::FILE_READ_ORDERED_BEGIN
            | l::FILE_WRITE_ORDERED_BEGIN => {
                let bytes = self.bytes(record.int(Arg::Count), record.int(Arg::Type));
                let calls = self.statistics.mpiio.entry(name).or_default();
                *calls = FileStatistics {
                    count: calls.count + 1,
                    bytes: calls.bytes + bytes,
                };
            }
            _ => {
                let Some(bytes) = self.given(record) else { return };
                let calls = self.statistics.collectives.entry(name).or_default();
                calls.count += 1;
                if let Some(bytes) = bytes {
                    calls.send_bytes = Some(calls.send_bytes.unwrap_or(0) + bytes);
                }
            }
        }
    }

    /// Bytes that the rank gives in a collective, if the call is one, and if it has data.
    fn given(&self, record: &Record) -> Option<Option<u64>> {
        let plain = || self.bytes(record.int(Arg::Count), record.int(Arg::Type));
        let root = || record.int(Arg::Rank) == record.int(Arg::Root);
        let sum = |list: Arg, datatype: Arg| {
            let counts = record.list(list).iter();
            counts.map(|&count| self.bytes(count, record.int(datatype))).sum()
        };
        Some(Some(match record.label {
            l::BARRIER => return Some(None),
            l::BCAST | l::REDUCE | l::ALLREDUCE | l::SCAN | l::EXSCAN => plain(),
            l::ALLGATHER | l::ALLGATHERV | l::ALLTOALL => plain(),
            l::GATHER | l::GATHERV => self.bytes(record.int(Arg::Scount), record.int(Arg::Stype)),
            l::SCATTER if root() => self.bytes(record.int(Arg::Scount), record.int(Arg::Stype)),
            l::SCATTERV if root() => sum(Arg::Scounts, Arg::Stype),
            l::SCATTER | l::SCATTERV => 0,
            l::ALLTOALLV => sum(Arg::Counts, Arg::Type),
            l::REDUCE_SCATTER => sum(Arg::Rcounts, Arg::Type),
            l::ALLTOALLW => {
                let pairs = record.list(Arg::Counts).iter().zip(record.list(Arg::Types));
                pairs.map(|(&count, &datatype)| self.bytes(count, datatype)).sum()
            }
            _ => return None,
        }))
    }
}
