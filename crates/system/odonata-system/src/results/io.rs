//! The tables `io` and `files`: individual reads and writes, and totals per file.

use super::row::row;
use super::sources::Sources;
use odonata_host::{IoOperation, IoRecord};
use std::collections::{BTreeMap, BTreeSet};

row! {
    /// One row per read or write, and per call of a metadata server, up to run.io_rows rows.
    "io" => pub struct IoRow {
        /// Name of the job.
        job: String,
        /// Rank in the job.
        rank: u64,
        /// Storage server with the first byte; for a metadata call, the metadata server, as in the table metadata.
        server: u64,
        /// read, write, or a call of a metadata server: open, create, stat, close, unlink, sync, mkdir, rmdir.
        operation: &'static str,
        /// File number, in the directory of the job (jobs.io.directory).
        file: u64,
        /// First byte within the file; 0 for a call of a metadata server.
        #[unit = "bytes"]
        offset_bytes: u64,
        /// Size of the operation.
        #[unit = "bytes"]
        bytes: u64,
        /// Number of storage servers involved.
        servers: u64,
        /// Attempts of its requests that timed out (storage.client).
        timeouts: u64,
        /// When it was requested, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// When its first data moved: for a write, when the first piece left the rank; for a read, when it arrived.
        /// Without data, the time of the acknowledgment.
        #[unit = "s"]
        first_byte_s: f64,
        /// When its acknowledgment arrived, and all data of a read; from several servers, the last one.
        #[unit = "s"]
        end_s: f64,
    }
}

row! {
    /// One row per file, over the reads and writes in the table io (up to run.io_rows rows).
    "files" => pub struct FileRow {
        /// Directory (jobs.io.directory); by default the name of the job.
        directory: String,
        /// File number in the directory.
        file: u64,
        /// Reads and writes.
        operations: u64,
        /// Bytes written.
        #[unit = "bytes"]
        bytes_written: u64,
        /// Bytes read.
        #[unit = "bytes"]
        bytes_read: u64,
        /// Largest offset read or written, exclusive.
        #[unit = "bytes"]
        size_bytes: u64,
        /// Ranks that wrote.
        writers: u64,
        /// Ranks that read.
        readers: u64,
        /// Jobs with accesses to it.
        jobs: u64,
        /// Storage servers with a part of it.
        servers: u64,
        /// When the first of its operations was requested, simulated time.
        #[unit = "s"]
        first_s: f64,
        /// When the last of them was acknowledged.
        #[unit = "s"]
        last_s: f64,
    }
}

fn is_metadata(record: &IoRecord) -> bool {
    matches!(record.operation, IoOperation::Metadata(_))
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<IoRow> {
    let mut records = from.hosts.io.clone();
    records.sort_unstable_by_key(|r| (r.start, r.job, r.rank, r.file, r.offset));
    let row = |r: IoRecord| IoRow {
        job: from.scenario.jobs[usize::from(r.job)].name.to_string(),
        rank: u64::from(r.rank),
        server: u64::from(r.server),
        operation: r.operation.name(),
        file: r.file,
        offset_bytes: if is_metadata(&r) { 0 } else { r.offset },
        bytes: r.bytes,
        servers: u64::from(r.servers),
        timeouts: u64::from(r.timeouts),
        start_s: r.start.seconds(),
        first_byte_s: r.first_byte.seconds(),
        end_s: r.end.seconds(),
    };
    records.into_iter().map(row).collect()
}

/// The totals of a file.
#[derive(Default)]
struct File {
    row: FileRow,
    writers: BTreeSet<(u16, u32)>,
    readers: BTreeSet<(u16, u32)>,
    servers: BTreeSet<u32>,
}

pub(super) fn file_rows(from: &Sources<'_>) -> Vec<FileRow> {
    let jobs = &from.scenario.jobs;
    let servers = from.placement.servers.len() as u32;
    let layouts: Vec<_> = (jobs.iter())
        .map(|job| (servers > 0).then(|| from.scenario.layout_of_files(job, servers)))
        .collect();
    let mut files: BTreeMap<(&str, u64), File> = BTreeMap::new();
    for r in from.hosts.io.iter().filter(|record| !is_metadata(record)) {
        let job = usize::from(r.job);
        let name = (jobs[job].directory(), r.file);
        let File {
            row,
            writers,
            readers,
            servers,
        } = files.entry(name).or_default();
        let (start, end) = (r.start.seconds(), r.end.seconds());
        if row.operations == 0 {
            (row.directory, row.file, row.first_s) = (name.0.to_string(), r.file, start);
        }
        row.operations += 1;
        let (bytes, ranks) = match r.operation == IoOperation::Write {
            true => (&mut row.bytes_written, writers),
            false => (&mut row.bytes_read, readers),
        };
        *bytes += r.bytes;
        ranks.insert((r.job, r.rank));
        row.size_bytes = row.size_bytes.max(r.offset.saturating_add(r.bytes));
        (row.first_s, row.last_s) = (row.first_s.min(start), row.last_s.max(end));
        if let Some(layout) = &layouts[job] {
            let parts = layout.parts(r.file, (r.offset, r.bytes), r.server);
            servers.extend(parts.map(|part| part.server));
        }
    }
    let finish = |file: File| FileRow {
        writers: file.writers.len() as u64,
        readers: file.readers.len() as u64,
        jobs: file
            .writers
            .iter()
            .chain(&file.readers)
            .map(|(job, _)| job)
            .collect::<BTreeSet<_>>()
            .len() as u64,
        servers: file.servers.len() as u64,
        ..file.row
    };
    files.into_values().map(finish).collect()
}
