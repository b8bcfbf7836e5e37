//! Jobs as they are written.

use std::borrow::Cow;
use std::fmt;

use odonata_units::{Bytes, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

use crate::scenario::choices::Arrival;
use crate::scenario::workload::{Checkpoint, Cosmoflow, Milc, Nekbone, Stencil};

/// A job.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name, different from that of every other job. Default: that of the workload.
    pub name: Option<String>,
    /// Number of ranks, 1 to 16,777,216.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub ranks: u32,
    /// Ranks on one node; rank r is on the job's node number r / ranks_per_node. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub ranks_per_node: u32,
    /// Simulated time at which the job starts. Default: "0 s".
    #[serde(default)]
    pub start: Time,
    /// Which nodes the job gets. Jobs that name their nodes get them first, the others follow in the order of the file.
    /// Default: "contiguous".
    #[serde(default)]
    pub placement: Placement,
    /// What the job does.
    pub workload: Workload,
}

fn one() -> u32 {
    1
}

/// Which nodes a job gets.
#[derive(Clone, Debug, Default)]
pub enum Placement {
    /// The lowest free compute nodes.
    #[default]
    Contiguous,
    /// Random free compute nodes.
    Random,
    /// Named by exactly one of the keys.
    Table(PlacementTable),
}

/// Nodes by name: `{ nodes = [...] }`, `{ clients = [...] }` or `{ file = "...", slot = 0 }`.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementTable {
    /// Node numbers, counted over the machine, one per node of the job: ranks / ranks_per_node, rounded up.
    pub nodes: Option<Vec<u32>>,
    /// The same, counted over compute nodes only: storage servers are left out.
    pub clients: Option<Vec<u32>>,
    /// A CSV file with a header and the columns slot, rank, terminal (node number); relative to the scenario's folder.
    pub file: Option<String>,
    /// The rows of the file that count: those with this slot. Default: 0.
    pub slot: Option<u32>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlacementName {
    Contiguous,
    Random,
}

impl<'de> Deserialize<'de> for Placement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PlacementVisitor;
        impl<'de> Visitor<'de> for PlacementVisitor {
            type Value = Placement;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"contiguous\", \"random\", { nodes = [...] }, { clients = [...] } or { file = \"...\" }")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Placement, E> {
                let name: StrDeserializer<'_, E> = name.into_deserializer();
                Ok(match PlacementName::deserialize(name)? {
                    PlacementName::Contiguous => Placement::Contiguous,
                    PlacementName::Random => Placement::Random,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Placement, A::Error> {
                PlacementTable::deserialize(MapAccessDeserializer::new(map)).map(Placement::Table)
            }
        }
        deserializer.deserialize_any(PlacementVisitor)
    }
}

impl JsonSchema for Placement {
    fn schema_name() -> Cow<'static, str> {
        "Placement".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<PlacementTable>();
        json_schema!({
            "description": "Which nodes a job gets.",
            "default": "contiguous",
            "oneOf": [
                { "const": "contiguous", "description": "The lowest free compute nodes." },
                { "const": "random", "description": "Random free compute nodes." },
                table,
            ],
        })
    }
}

/// What a job does: exactly one of these, with its parameters, e.g. `{ milc = {} }`.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// MILC's solver: nearest neighbours in a 4-D torus, small all-reduces.
    Milc(Milc),
    /// Nekbone: 26 neighbours in a 3-D mesh, small all-reduces.
    Nekbone(Nekbone),
    /// Periodic checkpoints to a common file.
    Checkpoint(Checkpoint),
    /// Training of CosmoFlow: a file per rank and step, large all-reduces.
    Cosmoflow(Cosmoflow),
    /// Halo exchange on a grid of 1 to 4 dimensions.
    Stencil(Stencil),
    /// Synthetic traffic: to all other ranks alike.
    Uniform(Uniform),
    /// Synthetic traffic: to all ranks of the next group, the worst case of minimal routing on a dragonfly.
    NextGroup(NextGroup),
    /// Synthetic traffic: each rank to one other.
    Permutation(Permutation),
}

macro_rules! synthetic {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// What each rank offers, as a fraction of the terminal link's bandwidth: above 0, at most 1. This or
            /// `mean_interval` is required.
            #[schemars(range(min = 0, max = 1))]
            pub load: Option<f64>,
            /// Mean time between the messages of a rank, e.g. "500 us"; instead of `load`.
            pub mean_interval: Option<Time>,
            /// Size of a message. Default: one packet.
            pub bytes: Option<Bytes>,
            /// How the times between the messages of a rank are distributed.
            pub arrival: Arrival,
            /// Messages that each rank sends. This, `stop` or the run's `time_limit` is required.
            #[schemars(range(min = 1))]
            pub messages: Option<u64>,
            /// Simulated time at and after which no message starts. Default: the run's `time_limit`.
            pub stop: Option<Time>,
        }
    };
}

synthetic! {
    /// Synthetic traffic to all other ranks alike; sources do not wait for the network.
    Uniform {}
}

synthetic! {
    /// Synthetic traffic to all ranks of the next group of ranks; the last sends to the first. Sources do not wait for
    /// the network.
    NextGroup {
        /// Consecutive ranks that make a group. Default: as many as a group of the machine has room for (with the
        /// job's ranks_per_node, storage servers left out).
        ranks_per_group: Option<u32>,
    }
}

synthetic! {
    /// Synthetic traffic of each rank to one other, all different; sources do not wait for the network.
    Permutation {
        /// The target of each rank. Default: drawn from the seed, uniformly from the cyclic permutations.
        targets: Option<Vec<u32>>,
    }
}
