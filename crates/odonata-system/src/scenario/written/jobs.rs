//! Jobs as they are written.

use std::borrow::Cow;
use std::fmt;

use odonata_units::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::list::OneOrMany;
use super::traffic::{
    AllToAll, Asymmetric, BitComplement, BitReverse, BitRotation, Grid, HotSpot, Incast, Neighbours, NextGroup,
    Permutation, Shift, Shuffle, Tornado, Transpose, Uniform, WorstCase,
};
use crate::scenario::workload::{Checkpoint, Cosmoflow, Milc, Nekbone, Stencil};

/// A job.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name, different from that of every other job. Default: that of the workload, or "phases".
    pub name: Option<String>,
    /// Makes an array of so many jobs, named NAME-0, NAME-1, ...; each gets its own nodes. Default: one job, NAME.
    #[schemars(range(min = 1, max = 30_000))]
    pub count: Option<u32>,
    /// From the start of one job of the array to that of the next, e.g. "1 ms". Default: "0 s".
    pub stagger: Option<Time>,
    /// Number of ranks, 1 to 16,777,216. Required, except for a trace, which has its own.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub ranks: Option<u32>,
    /// Ranks on one node; rank r is on the job's node number r / ranks_per_node. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub ranks_per_node: u32,
    /// Simulated time at which the job starts; with `start_after`, the delay after the news has come. Default: "0 s".
    #[serde(default)]
    pub start: Time,
    /// Name of a job, or of several, that must have ended before this one starts; the name of an array stands for all
    /// of its jobs. The news travels as messages over the network. Default: none.
    pub start_after: Option<OneOrMany<String>>,
    /// For synthetic traffic: name of a job, or of several, after whose end it stops, as soon as it is told by message.
    /// Default: none.
    pub until: Option<OneOrMany<String>>,
    /// How often the workload runs, one after the other on each rank. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// Which nodes the job gets. Jobs that name their nodes get them first, the others follow in the order of the file.
    /// Default: "contiguous".
    #[serde(default)]
    pub placement: Placement,
    /// The traffic classes of the job's messages, by name. Default: the first of `network.traffic_classes`.
    #[serde(default)]
    pub traffic_class: JobClasses,
    /// A program in coNCePTuaL, instead of a workload: its file, relative to the scenario's folder.
    pub program: Option<String>,
    /// A generator function in Python that yields the operations of a rank, "FILE.py:FUNCTION", the file relative to the
    /// scenario's folder. Loading a scenario runs the file.
    pub python: Option<String>,
    /// Command-line arguments of a program in coNCePTuaL, e.g. ["--reps", "5"], or arguments of a Python function, e.g.
    /// { rounds = 5 }. Default: none.
    pub args: Option<Arguments>,
    /// What the job does, or a list of what it does, one after the other (phases; no synthetic traffic among them).
    /// Exactly one of `workload`, `program`, `python` and `trace` is required.
    pub workload: Option<OneOrMany<Workload>>,
    /// A program in files that is replayed: the folder of a DUMPI trace, or its .meta file, or a program folder
    /// (NAME.program); relative to the scenario's folder.
    pub trace: Option<String>,
    /// For a trace: what its times of computation are multiplied by, 0 to 1,000,000. Default: 1.
    pub compute_scale: Option<f64>,
}

fn one() -> u32 {
    1
}

/// Arguments of a program.
#[derive(Clone, Debug)]
pub enum Arguments {
    /// As on a command line.
    List(Vec<String>),
    /// By name.
    Table(serde_json::Map<String, serde_json::Value>),
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgumentsVisitor;
        impl<'de> Visitor<'de> for ArgumentsVisitor {
            type Value = Arguments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts, or a table")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Arguments, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Arguments::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arguments, A::Error> {
                serde_json::Map::deserialize(MapAccessDeserializer::new(map)).map(Arguments::Table)
            }
        }
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

impl JsonSchema for Arguments {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "object" }] })
    }
}

/// The traffic classes of a job: `{ mpi = "latency", io = "bulk" }`.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobClasses {
    /// Of its MPI messages and its synthetic traffic. Default: the first class.
    pub mpi: Option<String>,
    /// Of its file access, in both directions. Default: the first class.
    pub io: Option<String>,
}

/// Which nodes a job gets.
#[derive(Clone, Debug, Default)]
pub enum Placement {
    /// The lowest free compute nodes.
    #[default]
    Contiguous,
    /// Random free compute nodes.
    Random,
    /// Random routers; all free compute nodes of a router before those of the next.
    RandomRouter,
    /// Random groups; all free compute nodes of a group, in order, before those of the next.
    RandomGroup,
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
    RandomRouter,
    RandomGroup,
}

impl<'de> Deserialize<'de> for Placement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PlacementVisitor;
        impl<'de> Visitor<'de> for PlacementVisitor {
            type Value = Placement;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"contiguous\", \"random\", \"random-router\", \"random-group\", { nodes = [...] }, { clients = [...] } or { file = \"...\" }")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Placement, E> {
                let name: StrDeserializer<'_, E> = name.into_deserializer();
                Ok(match PlacementName::deserialize(name)? {
                    PlacementName::Contiguous => Placement::Contiguous,
                    PlacementName::Random => Placement::Random,
                    PlacementName::RandomRouter => Placement::RandomRouter,
                    PlacementName::RandomGroup => Placement::RandomGroup,
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
                {
                    "const": "random-router",
                    "description": "Random routers; all free compute nodes of a router before those of the next.",
                },
                {
                    "const": "random-group",
                    "description": "Random groups; all free compute nodes of a group, in order, before those of the next.",
                },
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
    /// Synthetic traffic: to the neighbours on a grid of 1 to 4 dimensions.
    Neighbours(Neighbours),
    /// Synthetic traffic: a share of it to few ranks, the rest to all others alike.
    HotSpot(HotSpot),
    /// Synthetic traffic: all to one rank, or to few.
    Incast(Incast),
    /// Synthetic traffic: each rank to all others in turn.
    AllToAll(AllToAll),
    /// Synthetic traffic: nearly half-way around every dimension of a grid.
    Tornado(Tornado),
    /// Synthetic traffic: rows and columns of a square swapped.
    Transpose(Transpose),
    /// Synthetic traffic: to the rank with all bits inverted.
    BitComplement(BitComplement),
    /// Synthetic traffic: to the rank with the bits in reverse order.
    BitReverse(BitReverse),
    /// Synthetic traffic: to the rank with the bits rotated left by one.
    Shuffle(Shuffle),
    /// Synthetic traffic: to the rank with the bits rotated right by one.
    BitRotation(BitRotation),
    /// Synthetic traffic: to the two ranks of the same place in the lower and the upper half.
    Asymmetric(Asymmetric),
    /// Synthetic traffic: to the rank so many further on.
    Shift(Shift),
    /// Synthetic traffic: to the same place at another router of a grid: neighbour, diagonal, transpose, ...
    Grid(Grid),
    /// Synthetic traffic: what is worst for minimal routing on this machine.
    WorstCase(WorstCase),
}
