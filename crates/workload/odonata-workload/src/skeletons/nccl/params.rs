//! The keys of a collective of NCCL.

use odonata_units::{Bandwidth, Bytes, Filled, PerByte, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Nccl, pat, tuning};
use crate::Program;
use crate::skeletons::Parameters;

/// The collective of NCCL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "NcclCollective")]
pub enum NcclCollective {
    /// `ncclAllReduce`.
    #[default]
    AllReduce,
    /// `ncclAllGather`.
    AllGather,
    /// `ncclReduceScatter`.
    ReduceScatter,
    /// `ncclBroadcast`, from rank 0.
    Broadcast,
}

impl NcclCollective {
    pub(super) fn name(self) -> &'static str {
        match self {
            NcclCollective::AllReduce => "all-reduce",
            NcclCollective::AllGather => "all-gather",
            NcclCollective::ReduceScatter => "reduce-scatter",
            NcclCollective::Broadcast => "broadcast",
        }
    }
}

/// The algorithm of a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "NcclAlgorithm")]
pub enum NcclAlgorithm {
    /// A ring of all ranks.
    #[default]
    Ring,
    /// Two binary trees over the hosts per channel, through chains of the GPUs of a host.
    Tree,
    /// Sums in the switches of each host, and two binary trees per channel between hosts on each rail.
    Nvls,
    /// Sums in the switches of each host, and in those between hosts (SHARP), on each rail.
    Collnet,
    /// Parallel aggregated trees (PAT) of all-gathers and reduce-scatters with one GPU per host: a logarithm of steps where
    /// the blocks of many ranks fit into a chunk.
    Pat,
    /// NCCL's choice of rings, trees, switches of hosts and PAT, by its estimate of the time. Latencies are NCCL's as well.
    Auto,
}

impl NcclAlgorithm {
    /// Whether chunks go up and down trees, or through switches: each tree has streams of its own.
    pub(super) fn is_by_trees(self) -> bool {
        matches!(self, NcclAlgorithm::Tree | NcclAlgorithm::Nvls | NcclAlgorithm::Collnet)
    }
}

/// The protocol that signals the arrival of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "NcclProtocol")]
pub enum NcclProtocol {
    /// Chunks, each followed by a fence: full bandwidth, highest latency.
    #[default]
    Simple,
    /// A flag of 4 B for every 4 B of data: half of the bandwidth, lowest latency.
    Ll,
    /// A flag of 8 B for every 120 B of data. Needs links that keep 128 B together, like NVLink.
    Ll128,
    /// NCCL's choice, by its estimate of the time. Latencies are NCCL's as well.
    Auto,
}

impl NcclProtocol {
    /// Bytes sent for this number of data bytes.
    pub fn wire(self, bytes: u64) -> u64 {
        match self {
            NcclProtocol::Simple | NcclProtocol::Auto => bytes,
            NcclProtocol::Ll => bytes.div_ceil(4).saturating_mul(8),
            NcclProtocol::Ll128 => bytes.div_ceil(120).saturating_mul(128),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            NcclProtocol::Simple => "simple",
            NcclProtocol::Ll => "ll",
            NcclProtocol::Ll128 => "ll128",
            NcclProtocol::Auto => "auto",
        }
    }

    /// Latency of a step and base time of a call, in ns, and the chunk: for the simple protocol, four of the eight
    /// slots of a buffer of 4 MiB (`ALLREDUCE_CHUNKSTEPS`); for the others, a slot of 32 KiB or 600 KiB without its
    /// flags.
    fn defaults(self) -> (u64, u64, Bytes) {
        match self {
            NcclProtocol::Simple | NcclProtocol::Auto => (6_000, 8_400, Bytes::mib(2)),
            NcclProtocol::Ll => (1_000, 3_600, Bytes::kib(16)),
            NcclProtocol::Ll128 => (2_000, 10_000, Bytes(576_000)),
        }
    }
}

/// A collective of NCCL: `iterations` times computation and the collective, by rings or trees on several channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "NcclWorkload")]
pub struct NcclParams {
    /// Which collective.
    #[default(NcclCollective::AllReduce)]
    pub collective: NcclCollective,
    /// Data size as counted by nccl-tests, e.g. "1 GiB": the vector of an all-reduce or a broadcast, all blocks of an
    /// all-gather or a reduce-scatter. Required.
    #[serde(skip_serializing_if = "Filled::is_empty")]
    #[schemars(with = "Option<Bytes>")]
    pub bytes: Filled<Bytes>,
    /// Algorithm: all-reduces have all but "pat", all-gathers and reduce-scatters "ring" and "pat", broadcasts "ring".
    #[default(NcclAlgorithm::Ring)]
    pub algorithm: NcclAlgorithm,
    /// The protocol that signals the arrival of data.
    #[default(NcclProtocol::Simple)]
    pub protocol: NcclProtocol,
    /// Maximum number of channels, 1 to 64; fewer if a channel would have less than 32 KiB, NCCL's minimum for 512
    /// threads with 64 B each.
    #[schemars(range(min = 1, max = 64))]
    #[default = 8]
    pub channels: u32,
    /// Maximum data of a step on each channel. Default: by protocol, "2 MiB", LL "16 KiB", LL128 "576 kB".
    #[serde(skip_serializing_if = "Filled::is_empty")]
    #[schemars(with = "Option<Bytes>")]
    pub chunk: Filled<Bytes>,
    /// GPUs (consecutive ranks) of a host: rings visit all GPUs of a host before they leave it. The ranks must fill
    /// their hosts, unless they are on one.
    #[schemars(range(min = 1))]
    #[default = 8]
    pub gpus_per_host: u32,
    /// Time of a step in addition to its transfer. Default: by protocol, "6 us", LL "1 us", LL128 "2 us"; if NCCL chooses,
    /// NCCL's latency of NVLink.
    #[serde(skip_serializing_if = "Filled::is_empty")]
    #[schemars(with = "Option<Time>")]
    pub step_latency: Filled<Time>,
    /// Highest rate of a channel of a ring, which a thread block copies. Default: none; if NCCL chooses, an equal part of
    /// the links of a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_bandwidth: Option<Bandwidth>,
    /// Latency of the network that NCCL assumes for its choice, as the network's plugin states it, e.g. "35 us" for EFA of
    /// AWS. The simulated steps have that of the machine's links.
    pub network_latency: Time,
    /// Rate of a GPU's NVLinks in each direction that NCCL assumes for its choice. Default: 18 links of 20.6 GB/s.
    #[default(Bandwidth(18.0 * 20.6e9))]
    pub nvlink_bandwidth: Bandwidth,
    /// Rate of the network interface of each GPU that NCCL assumes for its choice.
    #[default(Bandwidth(50e9))]
    pub network_bandwidth: Bandwidth,
    /// Part of the rate of the links that sums in switches reach, above 0, at most 1. Default: 1; if NCCL chooses, its
    /// value for Hopper, 0.85.
    #[serde(skip_serializing_if = "Filled::is_empty")]
    #[schemars(with = "Option<f64>", range(max = 1))]
    pub nvls_efficiency: Filled<f64>,
    /// Base time of a call, before its first step. Default: by protocol, "8.4 us", LL "3.6 us", LL128 "10 us"; by
    /// switches (`algorithm = "nvls"`) "13 us".
    #[serde(skip_serializing_if = "Filled::is_empty")]
    #[schemars(with = "Option<Time>")]
    pub launch: Filled<Time>,
    /// Time of the reduction per byte. Default: two reads and a write at the 3.35 TB/s of an H100.
    #[default(REDUCTION)]
    pub reduction: PerByte,
    /// How often.
    #[default = 1]
    pub iterations: u32,
    /// Computation of each rank before each call, e.g. "50 ms".
    pub compute: Time,
}

/// Maximum number of channels: streams of one rank.
const MOST_CHANNELS: u32 = 64;

/// Two reads and a write of HBM3 at 3.35 TB/s (NVIDIA, "H100 tensor core GPU architecture", 2022).
const REDUCTION: PerByte = PerByte(0.9);

/// Base time of a call with in-switch reduction. With the two steps of a host, 6 us each, it is the 25 us of NCCL's own
/// estimate (`hwLat` of NVLS over NVLink in `src/graph/tuning.cc` of NCCL 2.20, whose `baseLat` is zero).
const NVLS_LAUNCH: Time = Time::from_ns(13_000);

/// Minimum data of a channel.
const LEAST_BYTES_PER_CHANNEL: u64 = 32 << 10;

impl Parameters for NcclParams {
    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        if self.bytes.is_empty() {
            let problem = "the key \"bytes\" is missing";
            return Err(Problem::new(at, problem, "a size such as \"1 GiB\""));
        }
        odonata_units::within(format!("{at}.channels"), self.channels, 1, MOST_CHANNELS)?;
        let gpus = odonata_units::within(format!("{at}.gpus_per_host"), self.gpus_per_host, 1, 1 << 20)?;
        self.check_algorithm(at)?;
        if ranks > gpus && !ranks.is_multiple_of(gpus) {
            let problem = format!("{ranks} ranks do not fill hosts of {gpus} GPUs");
            let expected = "a divisor of the ranks";
            return Err(Problem::new(format!("{at}.gpus_per_host"), problem, expected));
        }
        if let Some(&part) = self.nvls_efficiency.given()
            && !(part > 0.0 && part <= 1.0)
        {
            let problem = format!("{part} of the rate of the links");
            return Err(Problem::new(
                format!("{at}.nvls_efficiency"),
                problem,
                "above 0, at most 1",
            ));
        }
        self.choose(at, ranks)?;
        let (latency, launch, mut chunk) = self.protocol.defaults();
        if self.algorithm == NcclAlgorithm::Pat {
            chunk = pat::chunk(self);
        }
        self.step_latency.fill(Time::from_ns(latency));
        self.nvls_efficiency.fill(1.0);
        self.launch.fill(match self.algorithm {
            NcclAlgorithm::Nvls | NcclAlgorithm::Collnet => NVLS_LAUNCH,
            _ => Time::from_ns(launch),
        });
        if *self.chunk.fill(chunk) == Bytes::ZERO {
            return Err(Problem::new(format!("{at}.chunk"), "chunks of 0 B", "1 B at least"));
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(Nccl::new(ranks, self)?))
    }
}

impl NcclParams {
    /// Checks that the collective has the algorithm.
    fn check_algorithm(&self, at: &str) -> Result<(), Problem> {
        use NcclAlgorithm::{Auto, Pat, Ring};
        let (fits, expected) = match self.collective {
            NcclCollective::AllReduce => (self.algorithm != Pat, "another algorithm, such as \"ring\""),
            NcclCollective::AllGather | NcclCollective::ReduceScatter => (
                matches!(self.algorithm, Ring | Pat | Auto),
                "\"ring\", \"pat\" or \"auto\"",
            ),
            NcclCollective::Broadcast => (matches!(self.algorithm, Ring | Auto), "\"ring\" or \"auto\""),
        };
        let key = format!("{at}.algorithm");
        if !fits {
            let problem = format!("NCCL has no such {}", self.collective.name());
            return Err(Problem::new(key, problem, expected));
        }
        if self.algorithm != Pat {
            return Ok(());
        }
        if self.gpus_per_host > 1 {
            let problem = format!("parallel aggregated trees, and hosts of {} GPUs", self.gpus_per_host);
            return Err(Problem::new(
                format!("{at}.gpus_per_host"),
                problem,
                "1, or algorithm = \"ring\"",
            ));
        }
        if !matches!(self.protocol, NcclProtocol::Simple | NcclProtocol::Auto) {
            let problem = format!("parallel aggregated trees by the protocol {}", self.protocol.name());
            return Err(Problem::new(
                format!("{at}.protocol"),
                problem,
                "\"simple\" or \"auto\"",
            ));
        }
        Ok(())
    }

    /// Number of channels for the size.
    pub(super) fn channels_in_use(&self) -> u32 {
        (self.bytes.0 / LEAST_BYTES_PER_CHANNEL).clamp(1, u64::from(self.channels.max(1))) as u32
    }

    /// Replaces `auto` by NCCL's choice, with NCCL's latencies.
    fn choose(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        if self.algorithm != NcclAlgorithm::Auto && self.protocol != NcclProtocol::Auto {
            return Ok(());
        }
        if self.algorithm == NcclAlgorithm::Collnet {
            self.protocol = NcclProtocol::Simple;
            return Ok(());
        }
        let Some(choice) = tuning::choose(self, ranks) else {
            let problem = "NCCL sums in switches by the simple protocol, and in hosts of 2 to 8 GPUs";
            return Err(Problem::new(
                format!("{at}.algorithm"),
                problem,
                "another algorithm, such as \"auto\"",
            ));
        };
        (self.algorithm, self.protocol) = (choice.algorithm, choice.protocol);
        self.launch.fill(choice.launch);
        self.step_latency.fill(choice.step);
        if !self.algorithm.is_by_trees() && self.channel_bandwidth.is_none() {
            self.channel_bandwidth = Some(choice.channel_bandwidth);
        }
        self.nvls_efficiency.fill(tuning::NVLS_EFFICIENCY);
        Ok(())
    }
}
