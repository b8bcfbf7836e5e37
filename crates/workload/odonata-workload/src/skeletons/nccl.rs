//! Collectives of NCCL: several concurrent channels, chunk by chunk, with one of its protocols.
//!
//! A *channel* is a separate ring of all ranks with a part of the data. It moves its part in *loops* of at most one
//! chunk per rank, one loop after the other; a step of a loop sends a chunk, receives one, and reduces it if required.
//! Z. Hu, S. Shen, T. Bonato, S. Jeaugey et al., "Demystifying NCCL: an in-depth analysis of GPU communication
//! protocols and algorithms", 2025. For n bytes on p ranks
//!
//! | collective | steps of a loop | bytes of a step, over all loops of a channel | reducing steps |
//! |---|---|---|---|
//! | all-reduce | 2 (p - 1) | n / (p C) | the first p - 1 |
//! | all-gather | p - 1 | n / (p C) | none |
//! | reduce-scatter | p - 1 | n / (p C) | all |
//! | broadcast | one per chunk on its way around the ring, pipelined | n / C | none |
//!
//! With one channel and one chunk, an all-reduce takes 2 (p - 1) (α + β n / p) (P. Patarasuk, X. Yuan, JPDC 69(2),
//! 2009), a broadcast of k chunks (p - 1) (α + β n / k), and for each chunk after the first the same without the
//! network latency.
//!
//! The ring of channel c enters every host at GPU c and passes its GPUs in descending order, wrapping around; it leaves
//! the host for GPU c of the next one, so each channel has its own rail if packets are routed by PXN.
//!
//! | protocol | bytes sent for n bytes of data | latency of a step |
//! |---|---|---|
//! | simple | n | 6 us |
//! | LL: flags of 4 B after every 4 B | 8 ceil(n / 4) | 1 us |
//! | LL128: 120 B of a line of 128 B | 128 ceil(n / 120) | 2 us |
//!
//! All-reduces use rings, or double binary trees and the switches of hosts (`tree.rs`). `tuning.rs` is NCCL's choice.
//!
//! Latencies are from table I of that paper. The base time of a call is NCCL's own estimate for its rings (`baseLat` in
//! `src/graph/tuning.cc` of NCCL 2.11).
//!
//! Channels are streams of a rank; joins of four at a time end a call. If the rate of a channel is limited, a step takes
//! latency + bytes / rate at least, whatever share of the links is free: then the latencies of the channels do not
//! overlap with each other's transfers, and the ring takes the 2 (p - 1) (latency + n / (p C rate)) of NCCL's estimate.

use odonata_units::{Bandwidth, Bytes, Filled, PerByte, Problem, Time, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::op::PROC_NULL;
use crate::program::check_length;
use crate::{After, Comm, Cursor, Op, OpId, OpKind, Program, Source, Tag};

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
    fn name(self) -> &'static str {
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
    /// NCCL's choice of the first three, by its estimate of the time. Latencies are NCCL's as well.
    Auto,
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

    fn name(self) -> &'static str {
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
    /// Algorithm of an all-reduce; other collectives use rings.
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
        let is_of_all = matches!(self.algorithm, NcclAlgorithm::Ring | NcclAlgorithm::Auto);
        if !is_of_all && self.collective != NcclCollective::AllReduce {
            let problem = format!("{} goes around rings only", self.collective.name());
            return Err(Problem::new(format!("{at}.algorithm"), problem, "\"ring\""));
        }
        odonata_units::within(format!("{at}.channels"), self.channels, 1, MOST_CHANNELS)?;
        let gpus = odonata_units::within(format!("{at}.gpus_per_host"), self.gpus_per_host, 1, 1 << 20)?;
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
        let (latency, launch, chunk) = self.protocol.defaults();
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
    /// Number of channels for the size.
    fn channels_in_use(&self) -> u32 {
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
        if self.algorithm == NcclAlgorithm::Ring && self.channel_bandwidth.is_none() {
            self.channel_bandwidth = Some(choice.channel_bandwidth);
        }
        self.nvls_efficiency.fill(tuning::NVLS_EFFICIENCY);
        Ok(())
    }
}

/// Rings of NCCL.
///
/// An iteration: the base time of a call, with the computation before it; the steps, by loop, step and channel, each a
/// concurrent send and receive and the time of the step; joins of four channels; mark. [`Cursor::words`]: iteration,
/// loop, step, next part of the step, number of the operation that began the call.
#[derive(Clone, Debug)]
pub struct Nccl {
    ranks: u32,
    params: NcclParams,
    channels: u32,
    gpus: u32,
    /// Loops of a channel, and steps of a loop.
    loops: u32,
    steps: u32,
    /// Operations of a step of a channel: its pace, if that is limited, its transfer, and its time, if nonzero or after a
    /// pace.
    parts: u32,
}

impl Nccl {
    /// The program on `ranks` ranks; `params` are resolved.
    ///
    /// # Errors
    /// There are no ranks or no iterations, or too many operations.
    pub fn new(ranks: u32, params: &NcclParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        let bytes = params.bytes.0;
        let channels = params.channels_in_use();
        let gpus = params.gpus_per_host.min(ranks).max(1);
        let by_trees = params.algorithm != NcclAlgorithm::Ring;
        let longest = bytes.div_ceil(u64::from(if by_trees { 2 * channels } else { channels }));
        let blocks = match params.collective {
            NcclCollective::Broadcast => 1,
            _ if by_trees => 1,
            _ => u64::from(ranks),
        };
        let loops = longest.div_ceil(blocks.saturating_mul(params.chunk.0.max(1))).max(1);
        let around = u64::from(ranks - 1);
        let (loops, steps) = match params.collective {
            _ if ranks == 1 => (1, 0),
            _ if by_trees => (loops, 1),
            NcclCollective::AllReduce => (loops, 2 * around),
            NcclCollective::AllGather | NcclCollective::ReduceScatter => (loops, around),
            // A chunk is forwarded while the next one arrives.
            NcclCollective::Broadcast => (1, loops + 1),
        };
        let timed = *params.step_latency > Time::ZERO || params.reduction != PerByte::default();
        // The end of a step waits for its pace.
        let parts = if params.channel_bandwidth.is_some() {
            3
        } else {
            1 + u32::from(timed)
        };
        let mut nccl = Nccl {
            ranks,
            params: params.clone(),
            channels,
            gpus,
            loops: 1,
            steps: steps as u32,
            parts,
        };
        let each = loops.saturating_mul(steps).saturating_mul(nccl.operations_of_a_step());
        check_length(params.iterations, each.saturating_add(2 * u64::from(channels) + 2))?;
        nccl.loops = loops as u32;
        Ok(nccl)
    }

    /// Number of channels in use.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Position of `rank` in the ring of `channel`, from 0; a host's GPUs come in descending order from that of the
    /// channel, wrapping around.
    fn position(&self, channel: u32, rank: u32) -> u32 {
        let (host, gpu) = (rank / self.gpus, rank % self.gpus);
        host * self.gpus + (channel % self.gpus + self.gpus - gpu) % self.gpus
    }

    /// The rank at `position` of the ring of `channel`.
    fn rank_at(&self, channel: u32, position: u32) -> u32 {
        let (host, place) = (position / self.gpus, position % self.gpus);
        host * self.gpus + (channel % self.gpus + self.gpus - place) % self.gpus
    }

    /// Bytes of block `block` of `blocks` of the part of loop `turn` of `turns`, of `channel`.
    fn block(&self, channel: u32, turn: (u32, u32), block: (u32, u32)) -> u64 {
        self.piece(&[(channel, self.channels), turn, block])
    }

    /// Bytes of a nested part: each cut is (index, number of parts).
    fn piece(&self, cuts: &[(u32, u32)]) -> u64 {
        cuts.iter().fold(self.params.bytes.0, |bytes, &(index, count)| {
            let before = |index: u32| (u128::from(bytes) * u128::from(index) / u128::from(count)) as u64;
            before(index + 1) - before(index)
        })
    }

    /// Sends and receives of a rank in a step: (rank, bytes of data) each.
    fn transfer(&self, rank: u32, channel: u32, turn: u32, step: u32) -> [(u32, u64); 2] {
        let p = self.ranks;
        let own = self.position(channel, rank);
        let right = self.rank_at(channel, (own + 1) % p);
        let left = self.rank_at(channel, (own + p - 1) % p);
        if self.params.collective == NcclCollective::Broadcast {
            let chunks = self.steps - 1;
            let after_root = (own + p - self.position(channel, 0)) % p;
            let size = |chunk: u32| self.block(channel, (chunk, chunks), (0, 1));
            let sends = step > 0 && after_root + 1 < p;
            let receives = step < chunks && after_root > 0;
            return [
                if sends { (right, size(step - 1)) } else { (PROC_NULL, 0) },
                if receives { (left, size(step)) } else { (PROC_NULL, 0) },
            ];
        }
        // Blocks advance by one position per step; in the second round they are complete.
        let (gather, step) = (step / (p - 1), step % (p - 1));
        let given = (own + p - step + gather) % p;
        let got = (given + p - 1) % p;
        let size = |block: u32| self.block(channel, (turn, self.loops), (block, p));
        [(right, size(given)), (left, size(got))]
    }

    /// Time of a step in addition to its transfer, for this number of received data bytes.
    fn time(&self, step: u32, got: u64) -> Time {
        let reduces = match self.params.collective {
            NcclCollective::AllReduce => step < self.ranks - 1,
            NcclCollective::ReduceScatter => true,
            NcclCollective::AllGather | NcclCollective::Broadcast => false,
        };
        let summing = if reduces { got } else { 0 };
        *self.params.step_latency + self.params.reduction.time_for(Bytes(summing))
    }
}

/// Places of an iteration except its steps.
const CALL: u32 = 0;
const STEPS: u32 = 1;

impl Nccl {
    /// Place after the steps of an iteration of rings.
    fn steps_end(&self) -> u32 {
        STEPS + self.channels * self.parts
    }

    /// Place after the joins of an iteration of rings: that of its mark.
    fn joins_end(&self) -> u32 {
        let joins = match self.steps {
            0 => 0,
            _ => self.channels.div_ceil(After::MOST as u32),
        };
        self.steps_end() + joins
    }
}

impl Program for Nccl {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Enough for all channels to proceed, some steps ahead of each other.
    fn look_ahead(&self) -> u32 {
        if self.params.algorithm == NcclAlgorithm::Ring {
            (8 * self.channels * self.parts).max(256)
        } else {
            // The next call begins when this one has ended. The first chunk of switches between hosts has more operations.
            let chunks = match self.params.algorithm {
                NcclAlgorithm::Collnet => tree::AHEAD,
                _ => tree::AHEAD.min(self.loops),
            };
            (chunks * self.blocks() * self.slots_of_a_chunk()).max(256)
        }
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if self.params.algorithm != NcclAlgorithm::Ring {
            return self.next_of_trees(rank, cursor);
        }
        let [mut iteration, mut turn, mut step, mut place, mut call] = cursor.words;
        if rank >= self.ranks || iteration >= self.params.iterations {
            return None;
        }
        let id = OpId(cursor.op);
        let (steps_end, joins_end) = (self.steps_end(), self.joins_end());
        if place == STEPS && self.steps == 0 {
            place = steps_end;
        }
        let (mut stream, mut after) = (0, After::NONE);
        let kind = if place == CALL {
            call = cursor.op;
            place = STEPS;
            OpKind::Compute {
                duration: self.params.compute + *self.params.launch,
            }
        } else if place < steps_end {
            let (channel, part) = ((place - STEPS) / self.parts, (place - STEPS) % self.parts);
            let [(to, give), (from, get)] = self.transfer(rank, channel, turn, step);
            stream = channel as u16;
            let pace = self.params.channel_bandwidth;
            let is_first = turn == 0 && step == 0;
            let kind = match (part, pace) {
                (0, Some(rate)) => {
                    // Beside the transfer, on a stream of its own, from the end of the channel's previous step.
                    stream += self.channels as u16;
                    let before = match is_first {
                        true => call,
                        false => cursor.op + self.parts - 1 - self.channels * self.parts,
                    };
                    after = After::ops(&[OpId(before)]);
                    let most = self.params.protocol.wire(give.max(get));
                    OpKind::Compute {
                        duration: rate.time_for(Bytes(most)),
                    }
                }
                (0, None) | (1, Some(_)) => {
                    if is_first {
                        after = After::ops(&[OpId(call)]);
                    }
                    OpKind::Sendrecv {
                        to,
                        send_tag: channel,
                        send_bytes: self.params.protocol.wire(give),
                        from: Source::Rank(from),
                        recv_tag: Tag::Is(channel),
                        recv_bytes: self.params.protocol.wire(get),
                        comm: Comm::WORLD,
                    }
                }
                _ => {
                    if pace.is_some() {
                        after = After::ops(&[OpId(cursor.op - 2)]);
                    }
                    OpKind::Compute {
                        duration: self.time(step, get),
                    }
                }
            };
            place += 1;
            if place == steps_end && (turn + 1, step + 1) != (self.loops, self.steps) {
                place = STEPS;
                (turn, step) = match step + 1 {
                    next if next < self.steps => (turn, next),
                    _ => (turn + 1, 0),
                };
            }
            kind
        } else if place < joins_end {
            let join = place - steps_end;
            let first = cursor.op - join - self.channels * self.parts;
            let mut last = [OpId(0); After::MOST];
            let mut count = 0;
            for channel in (After::MOST as u32 * join..self.channels).take(After::MOST) {
                last[count] = OpId(first + (channel + 1) * self.parts - 1);
                count += 1;
            }
            after = After::from_slice(&last[..count]).unwrap_or(After::NONE);
            place += 1;
            OpKind::Compute { duration: Time::ZERO }
        } else {
            let mark = OpKind::Mark { iteration };
            (iteration, turn, step, place) = (iteration + 1, 0, 0, CALL);
            mark
        };
        cursor.words = [iteration, turn, step, place, call];
        cursor.op += 1;
        Some(Op {
            id,
            stream,
            after,
            kind,
        })
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.params.iterations)
    }

    fn describe(&self) -> String {
        let NcclParams {
            collective,
            bytes,
            algorithm,
            protocol,
            iterations,
            ..
        } = &self.params;
        let by = match algorithm {
            NcclAlgorithm::Ring | NcclAlgorithm::Auto => "rings",
            NcclAlgorithm::Tree => "double binary trees",
            NcclAlgorithm::Nvls => "the switches of hosts",
            NcclAlgorithm::Collnet => "the switches of hosts and those between them",
        };
        format!(
            "NCCL {} of {} by {by}, {} ranks, {}, {} channels in {} steps, protocol {}",
            collective.name(),
            **bytes,
            self.ranks,
            counted(*iterations, "iteration"),
            self.channels,
            u64::from(self.loops) * u64::from(self.steps),
            protocol.name(),
        )
    }
}

mod call;
mod tree;
mod tuning;

#[cfg(test)]
mod tests;
