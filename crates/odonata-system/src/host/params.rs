//! What the hosts are built from: costs of software, jobs, what to record.

use odonata_engine::Time;
use odonata_units::Bandwidth;
use odonata_workload::collective::Rules;
use odonata_workload::{Program, Synthetic};
use std::sync::Arc;

/// A delay that is uniform between two times, both included.
pub type Jitter = Option<(Time, Time)>;

/// Parameters of everything above the fabric.
#[derive(Clone, Debug)]
pub struct HostParams {
    /// Costs of MPI calls, algorithms of collectives.
    pub mpi: MpiParams,
    /// Messages between I/O clients and storage servers.
    pub io: IoParams,
    /// Time that the network interface takes for each message before the message joins its queue.
    pub nic_message_delay: Time,
    /// Random delay of each message that is handed to the network interface.
    pub nic_handoff: Jitter,
    /// What is recorded one by one.
    pub records: RecordParams,
    /// Whether events of the fabric may look again in vain at the end of a run, which are no part of it then.
    pub looks_in_vain: bool,
    /// Seed of all random choices of the hosts.
    pub seed: u64,
}

/// When the MPI library of a rank does protocol work: answers a matched RTS, sends data on a CTS, goes on with
/// a non-blocking collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// At once, whatever the rank does.
    #[default]
    Asynchronous,
    /// While the rank is inside an MPI call, or on entering the next.
    InCalls,
}

/// Costs and protocols of MPI calls.
#[derive(Clone, Debug)]
pub struct MpiParams {
    /// From a send call to the network interface, without the copy; does not occupy the rank.
    pub send_delay: Time,
    /// The copy: picoseconds per byte on top of `send_delay`; does not occupy the rank either.
    pub send_ps_per_byte: f64,
    /// Time that a send call occupies the rank. Runs beside `send_delay`, which is the whole way of the
    /// message to the interface.
    pub send_overhead: Time,
    /// Time that the rank is occupied for each receive that completes a wait.
    pub recv_overhead: Time,
    /// Random delay of each MPI or I/O call, before it takes effect; occupies the rank.
    pub call_jitter: Jitter,
    /// Latency between ranks of one node, which do not use the fabric.
    pub local_latency: Time,
    /// Rate between ranks of one node.
    pub local_bandwidth: Bandwidth,
    /// Messages of more bytes go by rendezvous; `u64::MAX`: none but those of synchronous sends.
    pub eager_threshold: u64,
    /// Size of the control messages of a rendezvous (RTS, CTS) in bytes.
    pub rendezvous_control: u64,
    /// Whether the data of a rendezvous are sent without the copy.
    pub zero_copy: bool,
    /// When protocol work is done.
    pub progress: Progress,
    /// Algorithms of collectives.
    pub rules: Rules,
}

/// Messages between I/O clients and storage servers.
#[derive(Clone, Debug)]
pub struct IoParams {
    /// Size of a request, pull or acknowledgement in bytes.
    pub control_bytes: u64,
    /// Software before the network interface, for control messages and data; nothing is copied.
    pub send_delay: Time,
}

/// What is recorded one by one. Sums and histograms are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordParams {
    /// Most [`MessageRecord`](super::MessageRecord)s.
    pub messages: u64,
    /// Most [`IoRecord`](super::IoRecord)s.
    pub io: u64,
    /// Whether the messages of synthetic sources are looked at on arrival. If not, receivers of such
    /// traffic count nothing, and a run saves an event per message; packets are counted either way.
    pub source_arrivals: bool,
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
    /// When its ranks start; with `start_after`, how long after they hear of those jobs' end.
    pub start: Time,
    /// Jobs, by their numbers, that must have ended before it starts; each once.
    pub start_after: Vec<u16>,
    /// Jobs whose end stops its sources; each once, and none for a program.
    pub until: Vec<u16>,
}
