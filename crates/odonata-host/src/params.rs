//! What the hosts are built from: settings, jobs, what to record.

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
    /// The network interface; of the hosts are its message delay and its hand-off.
    pub nic: Nic,
    /// Size of a request, pull or acknowledgement of I/O.
    pub io_control_message: Bytes,
    /// Locks on ranges of files, if there are any.
    pub locks: Option<Locks>,
    /// What clients do where a storage server does not answer in time; `None`: they wait.
    pub client: Option<Client>,
    /// What the synchronization of a file waits for.
    pub sync: SyncDepth,
    /// Whether storage servers know which bytes are whose, so that the removal of a file frees some.
    pub removes: bool,
    /// The tiers of storage servers, the first one that ranks use among them; empty where there is no other.
    pub tiers: Arc<[StorageTier]>,
    /// What metadata servers work with, if there are any.
    pub metadata: Option<MetadataParams>,
    /// Faults of metadata servers: the number of each, and when.
    pub metadata_faults: Vec<(u32, FaultPeriod)>,
    /// When servers, or devices of theirs, are away.
    pub outages: Vec<ServerOutage>,
    /// Books of who waited for whom for locks and metadata, if they are kept.
    pub books: Option<BookParams>,
    /// Whether ranks say what they have lost; needs the fabric's and the servers' books.
    pub lost_time: bool,
    /// How many of the last waits of each rank are kept, with where and to whom they were lost.
    pub lost_time_path: u32,
    /// Interval in which it is booked what is lost, if that is asked for.
    pub lost_time_interval: Option<Time>,
    /// What is recorded one by one.
    pub records: RecordParams,
    /// What is recorded one by one for a timeline, if anything.
    pub timeline: Option<TimelineParams>,
    /// Whether the fabric may have wake-ups without effect at the end of a run, which are no part of it then.
    pub idle_wake_ups: bool,
    /// Seed of all random choices of the hosts.
    pub seed: u64,
}

impl HostParams {
    /// When `server` is away as a whole, in order.
    pub(crate) fn outages_of(&self, server: u32) -> Vec<Outage> {
        let own = self.outages.iter();
        let own = own.filter(|outage| outage.server == server && outage.device.is_none());
        let mut outages: Vec<Outage> = own.map(|outage| outage.outage).collect();
        outages.sort_by_key(|outage| outage.from);
        outages
    }
}

/// A while in which a server is away, or a device of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerOutage {
    /// The server: storage servers first, metadata servers behind them.
    pub server: u32,
    /// The device, by its number there; `None`: the whole server.
    pub device: Option<u32>,
    /// When.
    pub outage: Outage,
}

/// How books of who waited for whom are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookParams {
    /// Jobs.
    pub jobs: u16,
    /// Interval of the time series, if there is one.
    pub interval: Option<Time>,
}

/// What is recorded one by one. Sums and histograms are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordParams {
    /// Most [`MessageRecord`](crate::MessageRecord)s.
    pub messages: u64,
    /// Most [`IoRecord`](crate::IoRecord)s.
    pub io: u64,
    /// Whether the messages of synthetic sources are looked at on arrival. If not, receivers of such
    /// traffic count nothing, and a run saves an event per message; packets are counted either way.
    pub source_arrivals: bool,
    /// Whether there are [`MatchRecord`](crate::MatchRecord)s, all of them.
    pub matches: bool,
}

/// What the ranks of a job do.
#[derive(Clone, Debug)]
pub enum JobProgram {
    /// A program that waits for messages and files.
    Program(Arc<dyn Program>),
    /// Open-loop sources.
    Synthetic {
        /// What they send, where to, and how often.
        source: Synthetic,
        /// Mean time between the messages of a rank.
        mean_gap: Time,
    },
}

/// How the ranks of a job access files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// The directory of its files, by its number. Jobs with the same one share their files.
    pub directory: u16,
    /// A hash of its name.
    pub key: u64,
    /// Which servers its files are on.
    pub layout: FileLayout,
    /// Bytes that a rank may have written and not yet acknowledged when a write returns.
    pub write_behind: Bytes,
}

impl FileAccess {
    /// In a directory of its own, on the server of each rank, waiting for acknowledgements.
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

/// A job, with its place on the machine.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// What it does.
    pub program: JobProgram,
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// The storage server of each rank; empty if the job has none.
    pub servers: Vec<u32>,
    /// How it accesses files.
    pub files: FileAccess,
    /// Input files that are brought to its buffers.
    pub stage_in: Vec<StageFile>,
    /// Whether it starts when they are there.
    pub stage_wait: bool,
    /// Whether its data go down when it has ended.
    pub stage_out: bool,
    /// When its ranks start; with `start_after`, how long after they hear of those jobs' end.
    pub start: Time,
    /// Jobs, by their numbers, that must have ended before it starts; each once.
    pub start_after: Vec<u16>,
    /// Jobs whose end stops its sources; each once, and none for a program.
    pub until: Vec<u16>,
}
