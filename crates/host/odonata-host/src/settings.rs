//! MPI settings: the keys of the table `mpi`, as written and as resolved.

use odonata_units::{Bandwidth, Bytes, PerByte, Problem, Time, UnitError, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use odonata_network::settings::{Jitter, RateAbove};
use odonata_workload::collective::choice::{
    AlgorithmSizes, Allgather, Allreduce, Alltoall, Alltoallv, Barrier, Broadcast, Gather, Reduce, ReduceScatter, Scan,
    Scatter,
};
use odonata_workload::collective::{Kind, Library, OffloadLimits, Rules};

/// When the MPI library of a rank does its protocol work: it answers a request to send, sends the data of a granted
/// one, advances a non-blocking collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// Immediately, by a progress thread or by the network interface.
    #[default]
    Asynchronous,
    /// During MPI calls of the rank: immediately while it is in one, otherwise when it enters the next.
    InCalls,
}

/// The form of the rendezvous of long messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RendezvousForm {
    /// The receiver answers the request to send, and the sender's library sends the data. The send is complete when the
    /// data have left.
    #[default]
    Put,
    /// The receiver's library reads the data from the sender's memory (remote DMA get), without work of the sender's
    /// processor. The send is complete when the receiver's notice of the end arrives.
    Get,
}

/// A named set of keys of the table `mpi`: costs and protocols of an MPI library on the network that it was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MpiLibrary {
    /// Open MPI 4.1 with UCX on InfiniBand HDR.
    OpenmpiUcx,
    /// Cray MPICH 8.1 with libfabric on Slingshot 11.
    CrayMpichOfi,
    /// MPICH: the defaults of this table.
    Mpich,
    /// Fujitsu MPI 4.0 on Tofu Interconnect D.
    Fujitsu,
}

/// A source of operating-system noise: a detour in each period, such as a timer interrupt or a daemon, takes the processor
/// from a rank. It prolongs computation and the overheads of calls, and delays calls; while the rank waits, it costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Time in which there is one detour, at least 1 us.
    pub period: Time,
    /// Duration of a detour, or its mean; all sources together take at most half of the time.
    pub duration: Time,
    /// Distribution of the durations. Default: "fixed".
    #[serde(default)]
    pub durations: NoiseDurations,
    /// When in its period a detour begins. Default: "random".
    #[serde(default)]
    pub timing: NoiseTiming,
}

/// Distribution of the durations of detours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseDurations {
    /// All are equal.
    #[default]
    Fixed,
    /// Exponential, at most a period.
    Exponential,
}

/// When in its period a detour begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseTiming {
    /// At a time that is drawn for every detour of every rank, uniformly.
    #[default]
    Random,
    /// At the same time in each period, which is drawn for every rank.
    Periodic,
    /// At the beginning, on all ranks: coscheduled daemons.
    Synchronized,
}

impl Noise {
    /// Largest number of sources.
    pub const MOST: usize = 8;

    /// Checks the sources of `mpi.noise`.
    ///
    /// # Errors
    /// There are too many, a period is too short, or they take too much of the processor.
    fn check(sources: &[Noise]) -> Result<(), Problem> {
        if sources.len() > Noise::MOST {
            let problem = format!("{} sources", sources.len());
            return Err(Problem::new("mpi.noise", problem, format!("at most {}", Noise::MOST)));
        }
        let mut share = 0.0;
        for (index, source) in sources.iter().enumerate() {
            if source.period < Time::from_ns(1_000) {
                let problem = format!("a detour every {}", source.period);
                return Err(Problem::new(
                    format!("mpi.noise.{index}.period"),
                    problem,
                    "at least 1 us",
                ));
            }
            positive(format!("mpi.noise.{index}.duration"), source.duration)?;
            share += source.duration.0 as f64 / source.period.0 as f64;
            if share > 0.5 {
                let problem = format!("detours take {:.0}% of the time", 100.0 * share);
                let expected = "at most 50% of the time, of all sources";
                return Err(Problem::new(format!("mpi.noise.{index}.duration"), problem, expected));
            }
        }
        Ok(())
    }
}

/// Costs and protocols of MPI calls, algorithms of collectives. A message of b bytes reaches the network interface
/// `send_delay` + b x `send_per_byte` after its call, an eager one b x `send_overhead_per_byte` later. Meanwhile the call
/// occupies the rank for `send_overhead`, and b x `send_overhead_per_byte` more if the message is eager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mpi {
    /// The MPI library whose costs and protocols apply: a named set of keys of this table, below the keys of the preset
    /// and of the file. `odonata presets mpi-NAME` shows a set with its sources. Default: none.
    pub library: Option<MpiLibrary>,
    /// Delay between a send call and the network interface; does not occupy the rank.
    pub send_delay: Time,
    /// Additional delay per byte of the message, for example for a copy: "0.55 ns/B".
    pub send_per_byte: PerByte,
    /// Time that a send call occupies the rank (o of LogP).
    pub send_overhead: Time,
    /// Time that completing a receive occupies the rank (o of LogP). A call that waits for several receives handles
    /// each message on arrival, so that only handling that does not overlap with waiting prolongs the call.
    pub recv_overhead: Time,
    /// Time per byte that the send call of an eager message occupies the rank, for a copy into a buffer of the library
    /// (O of LogGOPS). Messages over the network only.
    pub send_overhead_per_byte: PerByte,
    /// Time per byte that completing the receive of an eager message occupies the rank, for a copy out of a buffer of the
    /// library (O of LogGOPS). Messages over the network only.
    pub recv_overhead_per_byte: PerByte,
    /// Messages over the network longer than this are fetched from memory by the interface, which takes `fetch_delay`;
    /// shorter ones are written to the interface with the command. "none": nothing is fetched separately.
    #[serde(deserialize_with = "size_or_none")]
    #[schemars(with = "SizeOrNone")]
    pub inline_up_to: Option<Bytes>,
    /// Additional delay of an eager message longer than `inline_up_to`; does not occupy the rank.
    pub fetch_delay: Time,
    /// Time that the begin of a collective occupies the rank: checks, choice of the algorithm, buffers.
    pub collective_overhead: Time,
    /// Rate at which a collective sums received data with its own, e.g. "10 GB/s" of vector. Default: sums take no time.
    pub reduce_rate: Option<Bandwidth>,
    /// Other rates for longer sums, by increasing size, e.g. [{ above = "8 MiB", rate = "5 GB/s" }].
    pub reduce_rates: Vec<RateAbove>,
    /// Rate of the local copies of a collective: of its input, of blocks that an algorithm packs or reorders, e.g. "10
    /// GB/s". Default: copies take no time.
    pub copy_rate: Option<Bandwidth>,
    /// Other rates for longer copies, by increasing size, e.g. [{ above = "16 MiB", rate = "5 GB/s" }].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copy_rates: Vec<RateAbove>,
    /// Random delay of each call, uniform in a range. Default: none.
    pub call_jitter: Option<Jitter>,
    /// Sources of operating-system noise, at most 8, e.g. [{ period = "10 ms", duration = "25 us" }]. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<Noise>,
    /// Latency of messages between ranks of one node; positive.
    pub local_latency: Time,
    /// Bandwidth of each message between ranks of one node; concurrent messages do not share it.
    pub local_bandwidth: Bandwidth,
    /// Size of the largest message that is sent without waiting for its receive (eager). Longer messages wait for it
    /// (rendezvous). "none": all messages are eager.
    #[serde(deserialize_with = "size_or_none")]
    #[schemars(with = "SizeOrNone")]
    pub eager_threshold: Option<Bytes>,
    /// Eager messages over the network that are longer than this complete at the sender when the acknowledgment of the
    /// receiver's interface arrives; up to this size, when they have left. "none": all when they have left.
    #[serde(deserialize_with = "size_or_none")]
    #[schemars(with = "SizeOrNone")]
    pub acknowledged_above: Option<Bytes>,
    /// The form of the rendezvous: the side that moves the data.
    pub rendezvous: RendezvousForm,
    /// Size of control messages: of the rendezvous, and acknowledgments.
    pub rendezvous_control: Bytes,
    /// Delay of the answers of a rendezvous (clear to send, read request, notice of the end) and of acknowledgments,
    /// in place of `send_delay`. Default: `send_delay`.
    pub control_delay: Option<Time>,
    /// Whether the data of a rendezvous skip the delay `send_per_byte`, as with remote DMA.
    pub rendezvous_zero_copy: bool,
    /// When the MPI library does its part of a rendezvous or of a non-blocking collective.
    pub progress: Progress,
    /// Algorithms of collectives.
    pub collectives: Collectives,
    /// Collectives that network interfaces take over, where `collectives` selects "offload".
    pub offload: Offload,
}

impl Default for Mpi {
    fn default() -> Self {
        Mpi {
            library: None,
            send_delay: Time::from_ns(300),
            send_per_byte: PerByte::ZERO,
            send_overhead: Time::from_ns(200),
            recv_overhead: Time::from_ns(200),
            send_overhead_per_byte: PerByte::ZERO,
            recv_overhead_per_byte: PerByte::ZERO,
            inline_up_to: None,
            fetch_delay: Time::ZERO,
            collective_overhead: Time::ZERO,
            reduce_rate: None,
            reduce_rates: Vec::new(),
            copy_rate: None,
            copy_rates: Vec::new(),
            call_jitter: None,
            noise: Vec::new(),
            local_latency: Time::from_ns(300),
            local_bandwidth: Bandwidth::gib_per_s(16.0),
            eager_threshold: Some(Bytes::kib(16)),
            acknowledged_above: None,
            rendezvous: RendezvousForm::Put,
            rendezvous_control: Bytes(64),
            control_delay: None,
            rendezvous_zero_copy: false,
            progress: Progress::Asynchronous,
            collectives: Collectives::default(),
            offload: Offload::default(),
        }
    }
}

impl Mpi {
    /// Checks conditions beyond the type of each value.
    ///
    /// # Errors
    /// A value is out of range.
    pub fn check(&self) -> Result<(), Problem> {
        let c = &self.collectives;
        odonata_units::within("mpi.offload.radix".to_owned(), self.offload.radix, 1, 1 << 20)?;
        if c.segment.0 > u64::from(u32::MAX) {
            let problem = format!("segments of {} are too long", c.segment);
            return Err(Problem::new("mpi.collectives.segment", problem, "less than 4 GiB"));
        }
        if c.window == 0 {
            let problem = "an all-to-all that posts no messages never ends";
            return Err(Problem::new("mpi.collectives.window", problem, "at least 1"));
        }
        if !self.reduce_rates.is_empty() && self.reduce_rate.is_none() {
            let problem = "rates of long sums without that of others";
            return Err(Problem::new("mpi.reduce_rates", problem, "with mpi.reduce_rate"));
        }
        if !self.copy_rates.is_empty() && self.copy_rate.is_none() {
            let problem = "rates of long copies without that of others";
            return Err(Problem::new("mpi.copy_rates", problem, "with mpi.copy_rate"));
        }
        RateAbove::check(&self.reduce_rates, "mpi.reduce_rates")?;
        RateAbove::check(&self.copy_rates, "mpi.copy_rates")?;
        Noise::check(&self.noise)?;
        self.call_jitter
            .map_or(Ok(()), |jitter| jitter.check("mpi.call_jitter"))?;
        positive("mpi.local_latency", self.local_latency).map(|_| ())
    }
}

impl Mpi {
    /// The time that a sum of `bytes` with received data takes.
    pub(crate) fn reduction(&self, bytes: u64) -> Time {
        let rate = RateAbove::of(&self.reduce_rates, bytes).or(self.reduce_rate);
        rate.map_or(Time::ZERO, |rate| rate.time_for(Bytes(bytes)))
    }

    /// The time that a local copy of `bytes` takes.
    pub(crate) fn copy(&self, bytes: u64) -> Time {
        let rate = RateAbove::of(&self.copy_rates, bytes).or(self.copy_rate);
        rate.map_or(Time::ZERO, |rate| rate.time_for(Bytes(bytes)))
    }

    /// Whether sums or copies of collectives take time.
    #[inline]
    pub(crate) fn has_local_work(&self) -> bool {
        self.reduce_rate.is_some() || self.copy_rate.is_some()
    }
}

fn size_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    SizeOrNone::deserialize(deserializer).map(|SizeOrNone(bytes)| bytes)
}

/// The written form of a size that may be "none".
struct SizeOrNone(Option<Bytes>);

impl<'de> Deserialize<'de> for SizeOrNone {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::{Error, IntoDeserializer, Unexpected, Visitor};
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = SizeOrNone;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a size such as \"16 KiB\", or \"none\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<SizeOrNone, E> {
                if text == "none" {
                    return Ok(SizeOrNone(None));
                }
                text.parse()
                    .map(|bytes| SizeOrNone(Some(bytes)))
                    .map_err(|error: UnitError| {
                        let hint = error.hint.map_or(String::new(), |hint| format!("; {hint}"));
                        let wanted = format!("{}, or \"none\"{hint}", error.expected);
                        E::invalid_value(Unexpected::Str(&error.value), &wanted.as_str())
                    })
            }
            // Rejects a number without a unit with the error message for sizes.
            fn visit_i64<E: Error>(self, number: i64) -> Result<SizeOrNone, E> {
                Bytes::deserialize(number.into_deserializer()).map(|bytes| SizeOrNone(Some(bytes)))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<SizeOrNone, E> {
                Bytes::deserialize(number.into_deserializer()).map(|bytes| SizeOrNone(Some(bytes)))
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

impl JsonSchema for SizeOrNone {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SizeOrNone".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let size = generator.subschema_for::<Bytes>();
        schemars::json_schema!({ "anyOf": [{ "const": "none" }, size] })
    }
}

/// Barriers and small all-reduces by the network interfaces, as by the collective engines of Aries (B. Alverson et al., "Cray
/// XC series network", 2012). Ranks form a tree. An interface waits for its rank and for the messages of its children,
/// and sends one to its parent; the result comes back the same way. Only the call and its end occupy the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Offload {
    /// Maximum number of children of an interface; assumed.
    #[schemars(range(min = 1))]
    pub radix: u32,
    /// Time in which an interface combines the messages of its children, or passes a result on; assumed.
    pub delay: Time,
    /// Largest vector of an all-reduce; longer ones fall back to the library's choice. Default: the data of a packet of
    /// Aries.
    pub up_to: Bytes,
    /// Trees of each interface. Communicators with lower numbers have one, and the world, number 0, is the first; the
    /// others fall back to the library's choice.
    pub trees: u32,
}

impl Default for Offload {
    fn default() -> Self {
        Offload {
            radix: 32,
            delay: Time::from_ns(100),
            up_to: Bytes(64),
            trees: 1,
        }
    }
}

/// Algorithms of collectives. "auto" chooses like the selected `library`: MPICH (Thakur, Rabenseifner, Gropp, IJHPCA
/// 19(1), 2005), whose thresholds are keys below, or Open MPI (Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007).
/// Gathers and scatters of blocks of different sizes are always linear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Collectives {
    /// The MPI library whose decisions "auto" follows.
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
    /// Segment size of pipelined algorithms that are selected by name, here or by a workload; "0 B" disables
    /// segmentation. "auto" chooses its own.
    pub segment: Bytes,
    /// Messages that a "scattered" all-to-all posts at a time, at least 1, if it is selected by name, here or by a
    /// workload. "auto" posts 32.
    #[schemars(range(min = 1))]
    pub window: u32,
    /// "auto" of MPICH: all-reduces up to this size use recursive doubling, longer ones reduce-scatter and all-gather.
    /// MPICH 3.4 to 4.3 use "8 B", CODES "80 KiB".
    pub allreduce_recursive_doubling_up_to: Bytes,
    /// "auto" of MPICH: broadcasts below this size use the binomial tree.
    pub broadcast_binomial_below: Bytes,
    /// "auto" of MPICH: with fewer ranks, every broadcast uses the binomial tree.
    pub broadcast_min_ranks: u32,
    /// "auto" of MPICH: longer broadcasts below this size on a power-of-two number of ranks gather by recursive
    /// doubling; all others gather around a ring.
    pub broadcast_recursive_doubling_below: Bytes,
}

impl Default for Collectives {
    fn default() -> Self {
        let rules = Rules::default();
        Collectives {
            library: Library::default(),
            barrier: Barrier::Auto,
            broadcast: Broadcast::Auto,
            reduce: Reduce::Auto,
            allreduce: Allreduce::Auto,
            gather: Gather::Auto,
            scatter: Scatter::Auto,
            allgather: Allgather::Auto,
            allgatherv: Allgather::Auto,
            reduce_scatter: ReduceScatter::Auto,
            reduce_scatter_block: ReduceScatter::Auto,
            scan: Scan::Auto,
            exscan: Scan::Auto,
            alltoall: Alltoall::Auto,
            alltoallv: Alltoallv::Auto,
            segment: Bytes(u64::from(rules.sizes.segment)),
            window: rules.sizes.window,
            allreduce_recursive_doubling_up_to: Bytes(rules.allreduce_recursive_doubling_up_to),
            broadcast_binomial_below: Bytes(rules.broadcast_binomial_below),
            broadcast_min_ranks: rules.broadcast_min_ranks,
            broadcast_recursive_doubling_below: Bytes(rules.broadcast_recursive_doubling_below),
        }
    }
}

impl Mpi {
    /// The decision rules for the algorithm of each collective.
    pub fn rules(&self) -> Rules {
        self.collectives.rules(&self.offload)
    }
}

impl Collectives {
    fn rules(&self, offload: &Offload) -> Rules {
        let sizes = AlgorithmSizes {
            segment: self.segment.0 as u32,
            window: self.window,
            radix: offload.radix,
        };
        let named = [
            (Kind::Barrier, self.barrier.algorithm(sizes)),
            (Kind::Broadcast, self.broadcast.algorithm(sizes)),
            (Kind::Reduce, self.reduce.algorithm(sizes)),
            (Kind::Allreduce, self.allreduce.algorithm(sizes)),
            (Kind::Gather, self.gather.algorithm(sizes)),
            (Kind::Scatter, self.scatter.algorithm(sizes)),
            (Kind::Allgather, self.allgather.algorithm(sizes)),
            (Kind::Allgatherv, self.allgatherv.algorithm(sizes)),
            (Kind::ReduceScatter, self.reduce_scatter.algorithm(sizes)),
            (Kind::ReduceScatterBlock, self.reduce_scatter_block.algorithm(sizes)),
            (Kind::Scan, self.scan.algorithm(sizes)),
            (Kind::Exscan, self.exscan.algorithm(sizes)),
            (Kind::Alltoall, self.alltoall.algorithm(sizes)),
            (Kind::Alltoallv, self.alltoallv.algorithm(sizes)),
        ];
        let rules = Rules {
            library: self.library,
            allreduce_recursive_doubling_up_to: self.allreduce_recursive_doubling_up_to.0,
            broadcast_binomial_below: self.broadcast_binomial_below.0,
            broadcast_min_ranks: self.broadcast_min_ranks,
            broadcast_recursive_doubling_below: self.broadcast_recursive_doubling_below.0,
            sizes,
            offload: OffloadLimits {
                up_to: offload.up_to.0,
                trees: offload.trees,
                routers_up_to: None,
            },
            ..Rules::default()
        };
        named
            .into_iter()
            .fold(rules, |rules, (kind, algorithm)| match algorithm {
                Some(algorithm) => rules.with(kind, algorithm),
                None => rules,
            })
    }
}
