//! The resolved scenario: every default filled in, every check passed. A simulation is built from it
//! and nothing else, and it is saved with the results.

mod machine;
mod python;
mod trace;

use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, Bytes, PerByte, Time, WallTime};
use serde::Serialize;

pub use super::choices::{
    Algorithm, Allgather, Allreduce, Alltoall, Alltoallv, Arrangement, Arrival, Assignment, Barrier, Broadcast,
    CheckpointOffset, ClassVcs, Comparison, CosmoflowIo, DeadlockCheck, Divert, Gather, GridStep, InputQueues,
    Knowledge, Library, Position, Progress, Reach, Reduce, ReduceScatter, RouterModel, Scan, Scatter, Selection,
    Switching, Turn, Up, VcRule, Vcs, Via,
};
use super::clock::Clock;
use super::layout::Layout;
pub use super::parallel::{ListedParts, Optimism, Parallel, Parts, Scheduler, Threads};
pub use super::pipeline::{Allocator, Arbitration, Pipeline};
pub use super::workload::{Checkpoint, Cosmoflow, Milc, Nekbone, Stencil};
pub use machine::*;
pub use python::{Python, PythonMaker, PythonSource, provide_python};
pub use trace::Trace;

/// A scenario, ready to be simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resolved {
    /// Name of the scenario; the file's stem if it has none.
    pub name: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// The preset below the user's keys.
    pub preset: Option<String>,
    /// How long to run and what to record.
    pub run: Run,
    /// The machine's graph.
    pub machine: Machine,
    /// Where its nodes are; follows from `machine`.
    #[serde(skip)]
    pub layout: Layout,
    /// Links, routers, routing.
    pub network: Network,
    /// The interface between a node and its router.
    pub nic: Nic,
    /// Costs of MPI calls, algorithms of collectives.
    pub mpi: Mpi,
    /// Storage servers; `None`: the machine has none, and no job does I/O.
    pub storage: Option<Storage>,
    /// The jobs, in the order of the file; at least one.
    pub jobs: Vec<Job>,
}

/// The part of a scenario that is there without jobs: a machine and its network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hardware {
    /// Name of the scenario; the file's stem if it has none.
    pub name: String,
    /// The preset below the user's keys.
    pub preset: Option<String>,
    /// The machine's graph.
    pub machine: Machine,
    /// Where its nodes are; follows from `machine`.
    #[serde(skip)]
    pub layout: Layout,
    /// Links, routers, routing.
    pub network: Network,
}

/// How long to run and what to record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The run ends here even if jobs have not; `None`: when all jobs have ended.
    pub time_limit: Option<Time>,
    /// Most messages that are recorded one by one; above, histograms.
    pub message_rows: u64,
    /// Most I/O operations that are recorded one by one; above, histograms.
    pub io_rows: u64,
    /// Interval of the time series; `None`: no series.
    pub series_interval: Option<Time>,
    /// Whether every wait of a packet or I/O request is charged to the job it waited for.
    pub blame: bool,
    /// Whether each job also runs alone; whoever starts the runs looks at it, a single run does not.
    pub baselines: bool,
    /// How the run is spread over cores; nothing that is measured depends on it.
    #[serde(flatten)]
    pub parallel: Parallel,
    /// Wall time between two snapshots; `None`: there are none. Whoever advances the run looks at it.
    pub checkpoint_interval: Option<WallTime>,
}

/// Links, routers, routing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// Largest packet; at least one flit.
    pub packet: Bytes,
    /// Unit of buffer space and of cut-through.
    pub flit: Bytes,
    /// How a packet crosses a router.
    pub switching: Switching,
    /// Where packets wait.
    pub router: RouterModel,
    /// Which packets of an input buffer compete, in an input-queued router.
    pub input_queues: InputQueues,
    /// Latency of a router's pipeline.
    pub router_delay: Time,
    /// The stages of pipelined routers.
    pub pipeline: Pipeline,
    /// The link classes.
    pub links: Links,
    /// How paths are chosen.
    pub routing: Routing,
    /// The traffic classes; none: one for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic_classes: Vec<TrafficClass>,
    /// Congestion control between the ends of the network.
    #[serde(skip_serializing_if = "CongestionControl::is_none")]
    pub congestion_control: CongestionControl,
    /// Length of a cycle, where the scenario counts in cycles; nothing depends on it any more.
    pub clock: Option<Clock>,
}

/// A traffic class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficClass {
    /// Name; unique in the scenario.
    pub name: String,
    /// Part of a link, 0.001 to 1.
    pub share: f64,
    /// Classes of a higher priority always go first.
    pub priority: i32,
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CongestionControl {
    /// None.
    None,
    /// Ports mark packets, and their sources slow down.
    Ecn {
        /// A packet is marked if more than this waits behind it.
        threshold: Bytes,
        /// The part of its rate that a flow loses, between 0 and 1.
        decrease: f64,
        /// Least time between two such losses.
        interval: Time,
        /// From nothing to the rate of the link.
        recovery: Time,
    },
    /// The router in front of a node slows down those who send to it.
    PerFlow {
        /// What may wait there without anybody being slowed down.
        threshold: Bytes,
        /// Least time between two changes of the rate.
        interval: Time,
        /// From nothing to the rate of the link.
        recovery: Time,
    },
}

impl CongestionControl {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == CongestionControl::None
    }
}

/// The link classes of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Links {
    /// Node to router and back.
    pub terminal: Link,
    /// Between routers of a group.
    pub local: Link,
    /// Between groups.
    pub global: Link,
    /// The second kind between routers of a group.
    pub column: Link,
}

impl Links {
    /// The parameters of links of `class`.
    pub fn of(&self, class: LinkClass) -> &Link {
        match class {
            LinkClass::Terminal => &self.terminal,
            LinkClass::Local => &self.local,
            LinkClass::Global => &self.global,
            LinkClass::Column => &self.column,
        }
    }
}

/// One class of links.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Transfer rate of one direction.
    pub bandwidth: Bandwidth,
    /// Time of flight; positive.
    pub latency: Time,
    /// Buffer at the receiving end, per virtual channel; at least one packet.
    pub buffer: Bytes,
    /// How long a credit takes back; positive.
    pub credit_delay: Time,
}

/// How paths are chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Routing {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Which loads the source router knows; only of UGAL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<Knowledge>,
    /// When and how late routers tell their group of their global ports; only of global and piggyback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_interval: Option<Time>,
    /// See `knowledge_interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_delay: Option<Time>,
    /// When a global port is congested: load over the mean of the router's; only of piggyback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_factor: Option<f64>,
    /// And load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_threshold: Option<Bytes>,
    /// How the way up is chosen; only of fat trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Up>,
    /// What a non-minimal path goes through; this and the following are there where the algorithm takes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Load of the minimal port up to which no packet leaves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// Factor on the load of the non-minimal port; above 1 favours minimal paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// How threshold and bias are taken together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Whether loads count times hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weigh_hops: Option<bool>,
    /// Non-minimal paths that are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,
    /// Which of several open ports an adaptive packet takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Over what a second router of the source group may divert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divert: Option<Divert>,
    /// How virtual channels are assigned to hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vc_rule: Option<VcRule>,
    /// Virtual channels per port; `None`: as many as the algorithm needs.
    pub vcs: Option<Vcs>,
    /// What happens to a routing that can deadlock.
    pub deadlock_check: DeadlockCheck,
}

/// The interface between a node and its router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nic {
    /// From a message's hand-over to the interface until it joins the interface's queue.
    pub message_delay: Time,
    /// Packets prepared ahead of the terminal link, 1 to 16.
    pub queue: u32,
    /// What the interface sends at most; `None`: what its link can.
    pub rate: Option<Bandwidth>,
    /// Random delay of each hand-off between host software and interface.
    pub handoff: Option<Jitter>,
}

/// A delay that is uniform in `min..=max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Jitter {
    /// Least delay.
    pub min: Time,
    /// Greatest delay; not less than `min`.
    pub max: Time,
}

/// Costs and protocols of MPI calls, algorithms of collectives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mpi {
    /// From a send call to the interface; does not occupy the rank.
    pub send_delay: Time,
    /// The part of it that grows with the message: the copy.
    pub send_per_byte: PerByte,
    /// Time that a send call occupies the rank.
    pub send_overhead: Time,
    /// Time that completing a receive occupies the rank.
    pub recv_overhead: Time,
    /// Random delay of each call.
    pub call_jitter: Option<Jitter>,
    /// Latency between ranks of one node.
    pub local_latency: Time,
    /// Rate between ranks of one node.
    pub local_bandwidth: Bandwidth,
    /// Longer messages go by rendezvous; `None`: none does.
    pub eager_threshold: Option<Bytes>,
    /// Size of the control messages of a rendezvous.
    pub rendezvous_control: Bytes,
    /// Whether the data of a rendezvous leave without the copy.
    pub rendezvous_zero_copy: bool,
    /// When the MPI library does protocol work.
    pub progress: Progress,
    /// Algorithms of collectives.
    pub collectives: Collectives,
}

/// Algorithms of collectives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Collectives {
    /// Whose decisions `auto` means.
    pub library: Library,
    /// Algorithm of barriers.
    pub barrier: Barrier,
    /// Algorithm of broadcasts.
    pub broadcast: Broadcast,
    /// Algorithm of reductions to one rank.
    pub reduce: Reduce,
    /// Algorithm of all-reduces.
    pub allreduce: Allreduce,
    /// Algorithm of gathers.
    pub gather: Gather,
    /// Algorithm of scatters.
    pub scatter: Scatter,
    /// Algorithm of all-gathers.
    pub allgather: Allgather,
    /// Algorithm of all-gathers of blocks of different sizes.
    pub allgatherv: Allgather,
    /// Algorithm of reduce-scatters.
    pub reduce_scatter: ReduceScatter,
    /// Algorithm of reduce-scatters of equal blocks.
    pub reduce_scatter_block: ReduceScatter,
    /// Algorithm of inclusive scans.
    pub scan: Scan,
    /// Algorithm of exclusive scans.
    pub exscan: Scan,
    /// Algorithm of all-to-alls of equal blocks.
    pub alltoall: Alltoall,
    /// Algorithm of all-to-alls of listed sizes.
    pub alltoallv: Alltoallv,
    /// Size of the messages of a pipeline whose algorithm is named; zero cuts nothing.
    pub segment: Bytes,
    /// Messages that a scattered all-to-all that is named posts at once.
    pub window: u32,
    /// `auto` of MPICH: all-reduces of at most so many bytes double recursively.
    pub allreduce_recursive_doubling_up_to: Bytes,
    /// `auto` of MPICH: broadcasts of fewer bytes take the binomial tree.
    pub broadcast_binomial_below: Bytes,
    /// `auto` of MPICH: on fewer ranks every broadcast takes the binomial tree.
    pub broadcast_min_ranks: u32,
    /// `auto` of MPICH: longer broadcasts on a power of two of ranks gather by recursive doubling below so many bytes.
    pub broadcast_recursive_doubling_below: Bytes,
}

/// Storage servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Storage {
    /// Which nodes they are.
    pub nodes: ServerNodes,
    /// Which server a compute node uses.
    pub assignment: Assignment,
    /// What a server does with a request.
    pub manager: Manager,
    /// The device of a server.
    pub device: Device,
    /// How a server empties itself; `None`: what is written stays.
    pub drain: Option<Drain>,
}

/// Which nodes are storage servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerNodes {
    /// The same number in every group.
    PerGroup {
        /// Servers per group.
        count: u32,
        /// Which nodes of the group.
        position: Position,
    },
    /// All nodes of these routers of every group, numbered in the group; in the order of nodes.
    Routers(Vec<u32>),
    /// Node numbers; server `s` is the `s`-th of the list.
    List(Vec<u32>),
}

impl ServerNodes {
    /// The node of each server.
    pub fn nodes(&self, layout: &Layout) -> Vec<u32> {
        match self {
            ServerNodes::List(list) => list.clone(),
            ServerNodes::Routers(routers) => layout.nodes_of_routers_of_groups(routers),
            ServerNodes::PerGroup { count, position } => layout
                .groups_with_nodes()
                .flat_map(|group| (0..*count).map(move |server| (layout.nodes_of_group(group), server)))
                .map(|(nodes, server)| match position {
                    Position::First => nodes.start + server,
                    Position::Last => nodes.end - 1 - server,
                })
                .collect(),
        }
    }
}

/// What a server does with a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manager {
    /// Size of the pieces that data move in.
    pub block: Bytes,
    /// Pieces of one request that may be in flight together.
    pub pieces_in_flight: u32,
    /// Memory for pieces in transit; at least one block.
    pub memory: Bytes,
    /// Size of a request, pull or acknowledgement message.
    pub control_message: Bytes,
    /// Whether every file is an object of its own on the device; if not, all requests access object 0 from 0.
    pub object_per_file: bool,
}

/// The device of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// How long an access takes.
    pub model: DeviceModel,
    /// Space on the device.
    pub capacity: Bytes,
}

/// How long an access of a device takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceModel {
    /// A rate, a fixed overhead, and a seek where an access does not continue the last one.
    Rate(RateDevice),
}

/// A device with fixed rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateDevice {
    /// Rate of reads.
    pub read: Bandwidth,
    /// Rate of writes.
    pub write: Bandwidth,
    /// Fixed time per access.
    pub overhead: Time,
    /// Added where an access does not continue the last one.
    pub seek: Time,
    /// How far behind the last byte an access may start and still continue it.
    pub seek_window: Bytes,
}

/// How a server empties itself into the external file system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drain {
    /// Rate towards the file system.
    pub bandwidth: Bandwidth,
    /// From a block's last byte to its acknowledgement.
    pub latency: Time,
    /// Space in use above which the server drains; at most the capacity.
    pub threshold: Bytes,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// Name; unique in the scenario.
    pub name: String,
    /// The table `[[jobs]]` that it comes from, counted from 0: those of an array share one.
    pub entry: u32,
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Ranks on one node, at least 1.
    pub ranks_per_node: u32,
    /// When the job starts, or how long after the news that the jobs of `start_after` have ended.
    pub start: Time,
    /// Jobs, by their position in the list of all, that must have ended before it starts.
    pub start_after: Vec<u16>,
    /// Jobs whose end stops its synthetic traffic.
    pub until: Vec<u16>,
    /// How often the workload runs.
    pub repeat: u32,
    /// Which nodes it gets; the nodes themselves are in [`Placement`](crate::placement::Placement).
    pub placement: PlacementRule,
    /// The classes of its traffic.
    #[serde(skip_serializing_if = "JobClasses::are_first")]
    pub traffic_class: JobClasses,
    /// What it does.
    pub workload: Workload,
}

/// The traffic classes of a job, by their position in the list of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobClasses {
    /// Of its MPI messages and its synthetic traffic.
    pub mpi: u8,
    /// Of its file access.
    pub io: u8,
}

impl JobClasses {
    /// Whether all of it is of the first class.
    pub fn are_first(&self) -> bool {
        *self == JobClasses::default()
    }
}

impl Job {
    /// Nodes that the job occupies.
    pub fn nodes(&self) -> u32 {
        self.ranks.div_ceil(self.ranks_per_node)
    }

    /// Whether it is synthetic traffic whose time depends on other jobs: it sends until they have ended, or starts
    /// after them and stops at a time.
    pub fn ends_with_others(&self) -> bool {
        let Workload::Synthetic(traffic) = &self.workload else {
            return false;
        };
        !self.until.is_empty() || (!self.start_after.is_empty() && traffic.stop.is_some())
    }
}

/// Which nodes a job gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementRule {
    /// The lowest free compute nodes.
    Contiguous,
    /// Random free compute nodes.
    Random,
    /// Random routers; all free compute nodes of a router before those of the next.
    RandomRouter,
    /// Random groups; all free compute nodes of a group, in order, before those of the next.
    RandomGroup,
    /// These nodes, numbered over the machine.
    Nodes(Vec<u32>),
    /// These compute nodes, numbered with servers left out.
    Clients(Vec<u32>),
    /// Those that a CSV file names.
    File {
        /// Path of the file, as found from the scenario's folder.
        path: String,
        /// The rows that count: those with this number in column `slot`.
        slot: u32,
    },
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// The MILC skeleton.
    Milc(Milc),
    /// The Nekbone skeleton.
    Nekbone(Nekbone),
    /// Checkpoints of a parallel job.
    Checkpoint(Checkpoint),
    /// The CosmoFlow skeleton.
    Cosmoflow(Cosmoflow),
    /// Halo exchange on a grid.
    Stencil(Stencil),
    /// A recorded program.
    Trace(Trace),
    /// Open-loop synthetic traffic.
    Synthetic(Synthetic),
    /// These, one after the other; no synthetic traffic and no phases among them.
    Phases(Vec<Workload>),
    /// A program in coNCePTuaL.
    Program(ProgramFile),
    /// Python generators.
    Python(Python),
}

/// A program in coNCePTuaL, with all that it was read from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramFile {
    /// Path of the file, as found from the scenario's folder.
    pub path: String,
    /// Its command-line arguments.
    pub args: Vec<String>,
    /// What its random choices follow from: the scenario's seed.
    pub seed: u64,
    /// Its text.
    pub source: String,
    /// The texts of the files that it reads, by their names in the program.
    pub files: std::collections::BTreeMap<String, String>,
}

/// Open-loop synthetic traffic: every rank sends whether or not the network keeps up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Synthetic {
    /// Where messages go.
    pub pattern: Pattern,
    /// Whether the pattern was asked for as the worst case of the machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worst_case: bool,
    /// Size of a message.
    pub bytes: Bytes,
    /// Mean time between the messages of a rank; positive.
    pub mean_interval: Time,
    /// How these times are distributed.
    pub arrival: Arrival,
    /// Length of a cycle, with arrivals at the starts of cycles.
    pub period: Option<Time>,
    /// What is set of a Markov chain, with arrivals while it is on.
    pub on_off: Option<OnOff>,
    /// Bursts; `None`: never silent.
    pub bursts: Option<Bursts>,
    /// Whether ranks send to themselves, and within their node, through the router.
    #[serde(rename = "self")]
    pub itself: bool,
    /// Messages per rank; `None`: until something else ends it.
    pub messages: Option<u64>,
    /// No message starts at or after this simulated time; `None`: until something else ends it.
    pub stop: Option<Time>,
}

/// Probabilities per cycle of a source that is modulated by a Markov chain, two of three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OnOff {
    /// From off to on.
    pub alpha: Option<f64>,
    /// From on to off.
    pub beta: Option<f64>,
    /// Of a message while it is on.
    pub r1: Option<f64>,
}

/// Bursts of synthetic traffic, from the start of the job on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bursts {
    /// Length of a burst; positive.
    pub on: Time,
    /// Silence between bursts; positive.
    pub off: Time,
}

/// Where synthetic messages go.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// To all other ranks alike.
    Uniform,
    /// To all ranks of the next group alike.
    NextGroup {
        /// Consecutive ranks that make a group.
        ranks_per_group: u32,
    },
    /// Each rank to one other.
    Permutation {
        /// The target of each rank.
        targets: Vec<u32>,
    },
    /// To the neighbours on a grid.
    Neighbours {
        /// Ranks along each dimension; `None`: balanced.
        dims: Option<Vec<u32>>,
        /// Dimensions of the balanced grid.
        dimensions: u32,
        /// Whether the grid is a torus.
        wrap: bool,
        /// Which ranks are neighbours.
        reach: Reach,
        /// Which of them gets the next message.
        turn: Turn,
    },
    /// A share of the traffic to the hot ranks, the rest to all others alike.
    HotSpot {
        /// The hot ranks.
        targets: Vec<u32>,
        /// The share.
        share: f64,
    },
    /// All others to the targets.
    Incast {
        /// The targets.
        targets: Vec<u32>,
    },
    /// To all others in turn.
    AllToAll,
    /// Nearly half-way around every dimension of a grid.
    Tornado {
        /// Ranks along each dimension; `None`: a ring.
        dims: Option<Vec<u32>>,
    },
    /// Rows and columns of a square swapped.
    Transpose,
    /// All bits inverted.
    BitComplement,
    /// Bits in reverse order.
    BitReverse,
    /// Bits rotated left by one.
    Shuffle,
    /// Bits rotated right by one.
    BitRotation,
    /// To the same place in either half.
    Asymmetric,
    /// To the rank so many further on.
    Shift {
        /// How many.
        by: u32,
    },
    /// To the same place at another router of a grid.
    Grid {
        /// Which router.
        step: GridStep,
        /// Routers along each dimension; `None`: a square.
        dims: Option<Vec<u32>>,
        /// Consecutive ranks of a router.
        ranks_per_router: u32,
    },
}
