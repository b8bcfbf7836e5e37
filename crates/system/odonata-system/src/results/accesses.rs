//! The table `accesses`: the individual operations of devices and drains of storage servers.

use super::row::row;
use super::sources::Sources;
use odonata_engine::NIL;
use odonata_host::AccessRecord;
use odonata_storage::AccessKind;

row! {
    /// One row per access of a storage server's device, and per transfer of its drain, that ended within the run and
    /// overlapped the period of run.timeline, up to its rows.
    "accesses" => pub struct AccessRow {
        /// Storage server.
        server: u64,
        /// Device, counted within the server; for a transfer, the device with the data.
        device: u64,
        /// write, read (for a request), fetch (read for the drain) or drain (the transfer to the external file system).
        kind: &'static str,
        /// Name of the job that owns the data.
        job: String,
        /// Rank in the job that made the request; -1: the drain.
        rank: i64,
        /// Size.
        #[unit = "bytes"]
        bytes: u64,
        /// When it joined the device's queue, simulated time; for a transfer, when it began.
        #[unit = "s"]
        joined_s: f64,
        /// When it began.
        #[unit = "s"]
        begin_s: f64,
        /// When it ended.
        #[unit = "s"]
        end_s: f64,
        /// Space in use on the device at its end, before it frees any.
        #[unit = "bytes"]
        used_bytes: u64,
        /// Memory in use at its end, before it frees any.
        #[unit = "bytes"]
        memory_bytes: u64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<AccessRow> {
    let row = |access: &AccessRecord| AccessRow {
        server: u64::from(access.server),
        device: u64::from(access.device),
        kind: match access.kind {
            AccessKind::Write => "write",
            AccessKind::Read => "read",
            AccessKind::Fetch => "fetch",
            AccessKind::Drain => "drain",
        },
        job: from.scenario.jobs[usize::from(access.job)].name.to_string(),
        rank: match access.client {
            NIL => -1,
            client => i64::from(from.hosts.job_of(client).1),
        },
        bytes: access.bytes,
        joined_s: access.joined.seconds(),
        begin_s: access.begin.seconds(),
        end_s: access.end.seconds(),
        used_bytes: access.used,
        memory_bytes: access.memory,
    };
    from.hosts.timeline.accesses.iter().map(row).collect()
}
