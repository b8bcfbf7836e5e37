//! MPI settings: the keys of the table `mpi`, as written and as resolved.

use odonata_units::{Bandwidth, Bytes, PerByte, Problem, Time, UnitError, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use odonata_network::settings::Jitter;
use odonata_workload::collective::choice::{
    AlgorithmSizes, Allgather, Allreduce, Alltoall, Alltoallv, Barrier, Broadcast, Gather, Reduce, ReduceScatter, Scan,
    Scatter,
};
use odonata_workload::collective::{Kind, Library, Rules};

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

/// Costs and protocols of MPI calls, algorithms of collectives. A message of b bytes reaches the network interface
/// `send_overhead` + `send_delay` + b x `send_per_byte` after its call. Only `send_overhead` occupies the rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mpi {
    /// Delay between a send call and the network interface; does not occupy the rank.
    pub send_delay: Time,
    /// Additional delay per byte of the message, for example for a copy: "0.55 ns/B".
    pub send_per_byte: PerByte,
    /// Time that a send call occupies the rank (o of LogP).
    pub send_overhead: Time,
    /// Time that completing a receive occupies the rank (o of LogP). A call that waits for several receives handles
    /// each message on arrival, so that only handling that does not overlap with waiting prolongs the call.
    pub recv_overhead: Time,
    /// Random delay of each call, uniform in a range. Default: none.
    pub call_jitter: Option<Jitter>,
    /// Latency of messages between ranks of one node; positive.
    pub local_latency: Time,
    /// Bandwidth of each message between ranks of one node; concurrent messages do not share it.
    pub local_bandwidth: Bandwidth,
    /// Size of the largest message that is sent without waiting for its receive (eager). Longer messages wait for it
    /// (rendezvous). "none": all messages are eager.
    #[serde(deserialize_with = "eager_threshold")]
    #[schemars(with = "EagerThreshold")]
    pub eager_threshold: Option<Bytes>,
    /// Size of the two control messages of a rendezvous.
    pub rendezvous_control: Bytes,
    /// Whether the data of a rendezvous skip the delay `send_per_byte`, as with remote DMA.
    pub rendezvous_zero_copy: bool,
    /// When the MPI library does its part of a rendezvous or of a non-blocking collective.
    pub progress: Progress,
    /// Algorithms of collectives.
    pub collectives: Collectives,
}

impl Default for Mpi {
    fn default() -> Self {
        Mpi {
            send_delay: Time::from_ns(300),
            send_per_byte: PerByte::ZERO,
            send_overhead: Time::from_ns(200),
            recv_overhead: Time::from_ns(200),
            call_jitter: None,
            local_latency: Time::from_ns(300),
            local_bandwidth: Bandwidth::gib_per_s(16.0),
            eager_threshold: Some(Bytes::kib(16)),
            rendezvous_control: Bytes(64),
            rendezvous_zero_copy: false,
            progress: Progress::Asynchronous,
            collectives: Collectives::default(),
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
        if c.segment.0 > u64::from(u32::MAX) {
            let problem = format!("segments of {} are too long", c.segment);
            return Err(Problem::new("mpi.collectives.segment", problem, "less than 4 GiB"));
        }
        if c.window == 0 {
            let problem = "an all-to-all that posts no messages never ends";
            return Err(Problem::new("mpi.collectives.window", problem, "at least 1"));
        }
        self.call_jitter
            .map_or(Ok(()), |jitter| jitter.check("mpi.call_jitter"))?;
        positive("mpi.local_latency", self.local_latency).map(|_| ())
    }
}

fn eager_threshold<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    EagerThreshold::deserialize(deserializer).map(|EagerThreshold(bytes)| bytes)
}

/// The written form of the eager threshold; `None`: all messages are eager.
struct EagerThreshold(Option<Bytes>);

impl<'de> Deserialize<'de> for EagerThreshold {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::{Error, IntoDeserializer, Unexpected, Visitor};
        struct ThresholdVisitor;
        impl Visitor<'_> for ThresholdVisitor {
            type Value = EagerThreshold;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a size such as \"16 KiB\", or \"none\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<EagerThreshold, E> {
                if text == "none" {
                    return Ok(EagerThreshold(None));
                }
                text.parse()
                    .map(|bytes| EagerThreshold(Some(bytes)))
                    .map_err(|error: UnitError| {
                        let hint = error.hint.map_or(String::new(), |hint| format!("; {hint}"));
                        let wanted = format!("{}, or \"none\"{hint}", error.expected);
                        E::invalid_value(Unexpected::Str(&error.value), &wanted.as_str())
                    })
            }
            // Rejects a number without a unit with the error message for sizes.
            fn visit_i64<E: Error>(self, number: i64) -> Result<EagerThreshold, E> {
                Bytes::deserialize(number.into_deserializer()).map(|bytes| EagerThreshold(Some(bytes)))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<EagerThreshold, E> {
                Bytes::deserialize(number.into_deserializer()).map(|bytes| EagerThreshold(Some(bytes)))
            }
        }
        deserializer.deserialize_any(ThresholdVisitor)
    }
}

impl JsonSchema for EagerThreshold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EagerThreshold".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let size = generator.subschema_for::<Bytes>();
        schemars::json_schema!({ "anyOf": [{ "const": "none" }, size] })
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

impl Collectives {
    /// The decision rules for the algorithm of each collective.
    pub fn rules(&self) -> Rules {
        let sizes = AlgorithmSizes {
            segment: self.segment.0 as u32,
            window: self.window,
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
