//! The host side as it is written: network interface and MPI.

use odonata_units::{Bandwidth, Bytes, PerByte, Time, UnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::choices::{
    Allgather, Allreduce, Alltoall, Alltoallv, Barrier, Broadcast, Gather, Library, Progress, Reduce, ReduceScatter,
    Scan, Scatter,
};

/// The interface between a node and its router.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nic {
    /// Time from the moment a message is handed to the interface until it joins the interface's queue.
    pub message_delay: Time,
    /// Packets that the interface prepares ahead of the terminal link, 1 to 16.
    #[schemars(range(min = 1, max = 16))]
    pub queue: u32,
    /// What the interface sends at most, e.g. "2 GB/s". Default: what its link can.
    pub rate: Option<Bandwidth>,
    /// Random delay, uniform in a range, of each hand-off between host software and interface. Default: none.
    pub handoff: Option<Jitter>,
}

impl Default for Nic {
    fn default() -> Self {
        Nic {
            message_delay: Time::from_ns(10),
            queue: 8,
            rate: None,
            handoff: None,
        }
    }
}

/// A random delay, uniform from `min` to `max`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Least delay, e.g. "0.5 ns".
    pub min: Time,
    /// Greatest delay, not less than `min`, e.g. "1 ns".
    pub max: Time,
}

/// Costs and protocols of MPI calls, algorithms of collectives. A message of b bytes reaches the interface `send_overhead` +
/// `send_delay` + b x `send_per_byte` after its call, of which only `send_overhead` occupies the rank.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mpi {
    /// From a send call to the interface; does not occupy the rank.
    pub send_delay: Time,
    /// The part of this delay that grows with the message, such as a copy, e.g. "0.55 ns/B".
    pub send_per_byte: PerByte,
    /// Time that a send call occupies the rank (o of LogP).
    pub send_overhead: Time,
    /// Time that completing a receive occupies the rank (o of LogP).
    pub recv_overhead: Time,
    /// Random delay, uniform in a range, of each call. Default: none.
    pub call_jitter: Option<Jitter>,
    /// Latency of messages between ranks of one node; positive.
    pub local_latency: Time,
    /// Bandwidth of messages between ranks of one node; each has all of it, however many there are.
    pub local_bandwidth: Bandwidth,
    /// Largest message that is sent at once, before its receive is there; longer ones wait for it (rendezvous).
    /// "none": all are sent at once.
    pub eager_threshold: EagerThreshold,
    /// Size of the two control messages of a rendezvous.
    pub rendezvous_control: Bytes,
    /// Whether the data of a rendezvous leave without the delay `send_per_byte`, as by remote DMA.
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
            eager_threshold: EagerThreshold::UpTo(Bytes::kib(16)),
            rendezvous_control: Bytes(64),
            rendezvous_zero_copy: false,
            progress: Progress::Asynchronous,
            collectives: Collectives::default(),
        }
    }
}

/// Largest message that is sent before its receive is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EagerThreshold {
    /// There is none: all messages are.
    None,
    /// So many bytes.
    UpTo(Bytes),
}

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
                    return Ok(EagerThreshold::None);
                }
                text.parse().map(EagerThreshold::UpTo).map_err(|error: UnitError| {
                    let hint = error.hint.map_or(String::new(), |hint| format!("; {hint}"));
                    let wanted = format!("{}, or \"none\"{hint}", error.expected);
                    E::invalid_value(Unexpected::Str(&error.value), &wanted.as_str())
                })
            }
            // A number without unit: refused in the words for sizes.
            fn visit_i64<E: Error>(self, number: i64) -> Result<EagerThreshold, E> {
                Bytes::deserialize(number.into_deserializer()).map(EagerThreshold::UpTo)
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<EagerThreshold, E> {
                Bytes::deserialize(number.into_deserializer()).map(EagerThreshold::UpTo)
            }
        }
        deserializer.deserialize_any(ThresholdVisitor)
    }
}

impl Serialize for EagerThreshold {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EagerThreshold::None => serializer.serialize_str("none"),
            EagerThreshold::UpTo(bytes) => bytes.serialize(serializer),
        }
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

/// Algorithms of collectives. "auto" chooses as the `library` does: MPICH (Thakur, Rabenseifner, Gropp, IJHPCA 19(1),
/// 2005), whose thresholds are below, or Open MPI (Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007). Gathers and
/// scatters of blocks of different sizes are always linear.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Collectives {
    /// Whose decisions "auto" means.
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
    /// Size of the messages of a pipeline whose algorithm is named; "0 B" cuts nothing. "auto" chooses its own.
    pub segment: Bytes,
    /// Messages that a "scattered" all-to-all that is named posts at once, at least 1. "auto" posts 32.
    #[schemars(range(min = 1))]
    pub window: u32,
    /// "auto" of MPICH: all-reduces of at most this size double recursively, longer ones reduce-scatter and all-gather.
    pub allreduce_recursive_doubling_up_to: Bytes,
    /// "auto" of MPICH: broadcasts below this size take the binomial tree.
    pub broadcast_binomial_below: Bytes,
    /// "auto" of MPICH: on fewer ranks every broadcast takes the binomial tree.
    pub broadcast_min_ranks: u32,
    /// "auto" of MPICH: longer broadcasts on a power of two of ranks gather by recursive doubling below this size; all
    /// others gather around a ring.
    pub broadcast_recursive_doubling_below: Bytes,
}

impl Default for Collectives {
    fn default() -> Self {
        let rules = odonata_workload::collective::Rules::default();
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
            segment: Bytes(64 << 10),
            window: 32,
            allreduce_recursive_doubling_up_to: Bytes(rules.allreduce_recursive_doubling_up_to),
            broadcast_binomial_below: Bytes(rules.broadcast_binomial_below),
            broadcast_min_ranks: rules.broadcast_min_ranks,
            broadcast_recursive_doubling_below: Bytes(rules.broadcast_recursive_doubling_below),
        }
    }
}
