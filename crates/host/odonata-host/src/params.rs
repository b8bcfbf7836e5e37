//! Inputs of the hosts: settings, jobs, what to record.

use crate::settings::Mpi;
use crate::{StageFile, StorageTier, TimelineParams};
use odonata_engine::Time;
use odonata_network::settings::Nic;
use odonata_storage::settings::Client;
use odonata_storage::{FaultPeriod, FileLayout, FileName, Locks, MetadataParams, Outage, SyncDepth};
use odonata_units::Bytes;
use odonata_workload::collective::Rules;
use odonata_workload::{Program, Synthetic};
use std::sync::Arc;

/// Parameters of everything above the fabric.
#[derive(Clone, Debug)]
pub struct HostParams {
    /// Costs and protocols of MPI calls.
    pub mpi: Mpi,
    /// Algorithms of collectives; see [`Collectives::rules`](crate::settings::Collectives::rules).
    pub rules: Rules,
    /// The tree of routers of each job, numbered as in the fabric's
    /// [`ReductionTrees`](odonata_network::ReductionTrees); empty without sums in routers.
    pub trees: Vec<Option<u32>>,
    /// The network interface; the hosts use its message delay and its hand-off.
    pub nic: Nic,
    /// Size of an I/O request, pull or acknowledgment.
    pub io_control_message: Bytes,
    /// Locks on byte ranges of files, if enabled.
    pub locks: Option<Locks>,
    /// How clients react when a storage server does not answer in time; `None`: they wait.
    pub client: Option<Client>,
    /// What the synchronization of a file waits for.
    pub sync: SyncDepth,
    /// Whether storage servers track which file owns which bytes, so that removing a file frees space.
    pub removes: bool,
    /// The tiers of storage servers, starting with the one that ranks use; empty if there is only that one.
    pub tiers: Arc<[StorageTier]>,
    /// Parameters of the metadata servers, if there are any.
    pub metadata: Option<MetadataParams>,
    /// Faults of metadata servers: server number and period.
    pub metadata_faults: Vec<(u32, FaultPeriod)>,
    /// Outages of servers or of single devices.
    pub outages: Vec<ServerOutage>,
    /// Ledgers of waiting time per pair of jobs, for locks and metadata, if enabled.
    pub ledger: Option<LedgerParams>,
    /// Whether ranks report their lost time; needs the ledgers of the fabric and of the servers.
    pub lost_time: bool,
    /// How many of the last waits of each rank are kept, with the place of the loss and the job that caused it.
    pub lost_time_path: u32,
    /// Interval of the time series of lost time, if requested.
    pub lost_time_interval: Option<Time>,
    /// Which single records to keep.
    pub records: RecordParams,
    /// Which timeline records to keep, if any.
    pub timeline: Option<TimelineParams>,
    /// Whether the fabric may end a run with wake-ups without effect; these do not count as part of the run.
    pub idle_wake_ups: bool,
    /// Seed of all random choices in the hosts.
    pub seed: u64,
}

impl HostParams {
    /// The outages of `server` as a whole, in order of time.
    pub(crate) fn outages_of(&self, server: u32) -> Vec<Outage> {
        let own = self.outages.iter();
        let own = own.filter(|outage| outage.server == server && outage.device.is_none());
        let mut outages: Vec<Outage> = own.map(|outage| outage.outage).collect();
        outages.sort_by_key(|outage| outage.from);
        outages
    }
}

/// The outage of a server or of one of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerOutage {
    /// The server: storage servers first, then metadata servers.
    pub server: u32,
    /// The device, by its number on the server; `None`: the whole server.
    pub device: Option<u32>,
    /// The period of the outage.
    pub outage: Outage,
}

/// Parameters of the ledgers of waiting time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerParams {
    /// Number of jobs.
    pub jobs: u16,
    /// Interval of the time series, if requested.
    pub interval: Option<Time>,
}

/// Limits of single records. Sums and histograms are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordParams {
    /// Maximum number of [`MessageRecord`](crate::MessageRecord)s.
    pub messages: u64,
    /// Maximum number of [`IoRecord`](crate::IoRecord)s.
    pub io: u64,
    /// Whether the arrival of messages of synthetic sources is an event. If not, their receivers count no messages, and
    /// a run saves one event per message; packets are counted either way.
    pub source_arrivals: bool,
    /// Whether to keep all [`MatchRecord`](crate::MatchRecord)s.
    pub matches: bool,
}

/// The work of the ranks of a job.
#[derive(Clone, Debug)]
pub enum JobProgram {
    /// A program, which waits for messages and files.
    Program(Arc<dyn Program>),
    /// Open-loop sources.
    Synthetic {
        /// What the sources send, to which ranks, and how often.
        source: Synthetic,
        /// Mean time between the messages of a rank.
        mean_gap: Time,
    },
}

impl JobProgram {
    /// Whether its ranks end without a stop signal.
    pub(crate) fn ends_by_itself(&self) -> bool {
        match self {
            JobProgram::Program(_) => true,
            JobProgram::Synthetic { source, .. } => source.messages.is_some() || source.stop.is_some(),
        }
    }
}

/// File access of the ranks of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// The number of its directory. Jobs with the same directory share their files.
    pub directory: u16,
    /// A hash of the name of the directory.
    pub key: u64,
    /// The placement of its files on servers.
    pub layout: FileLayout,
    /// Unacknowledged bytes that a rank may have when a write returns.
    pub write_behind: Bytes,
}

impl FileAccess {
    /// Own directory, each file on the server assigned to its rank, synchronous writes.
    pub fn own(directory: u16) -> FileAccess {
        FileAccess {
            directory,
            key: directory.into(),
            layout: FileLayout::Assigned,
            write_behind: Bytes::ZERO,
        }
    }

    /// The name of its file `number`.
    pub(crate) fn name(&self, number: u64) -> FileName {
        FileName {
            directory: self.directory,
            number,
        }
    }
}

/// A job and its placement on the machine.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its work.
    pub program: JobProgram,
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// The storage server of each rank; empty if the job has none.
    pub servers: Vec<u32>,
    /// Its file access.
    pub files: FileAccess,
    /// Input files to stage into its burst buffers.
    pub stage_in: Vec<StageFile>,
    /// Whether the job waits for the end of stage-in.
    pub stage_wait: bool,
    /// Whether its data are staged out after its end.
    pub stage_out: bool,
    /// Start time of its ranks; with `start_after`, the delay after the notice of those jobs' end.
    pub start: Time,
    /// Numbers of the jobs that must end before this one starts, without duplicates.
    pub start_after: Vec<u16>,
    /// Jobs whose end stops its sources, without duplicates; empty for a program.
    pub until: Vec<u16>,
}
