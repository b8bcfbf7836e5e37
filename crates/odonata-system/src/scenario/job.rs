//! Jobs: the keys of the tables `[[jobs]]`.

use std::borrow::Cow;
use std::fmt;

use odonata_network::settings::Fidelity;
use odonata_storage::Layout;
use odonata_storage::settings::Assignment;
use odonata_units::{Bytes, Filled, OneOrMany, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::named::Named;
use super::start::Start;
use super::workload::{Workload, WorkloadTable};
use crate::placement::PlacementRule;

/// A job.
///
/// A key that is not serialised says how the job is written and is part of another once it is resolved: an array becomes its
/// jobs, a program or trace the workload.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "A job.")]
pub struct Job {
    /// Name, different from that of every other job. Default: that of the workload, or "phases".
    #[schemars(with = "Option<String>")]
    pub name: Filled<String>,
    /// Makes an array of so many jobs, named NAME-0, NAME-1, ...; each gets its own nodes. Default: one job, NAME.
    #[schemars(range(min = 1, max = 30_000))]
    #[serde(skip_serializing_if = "in_another_key")]
    pub count: Option<u32>,
    /// From the start of one job of the array to that of the next, e.g. "1 ms". Default: "0 s".
    #[serde(skip_serializing_if = "in_another_key")]
    pub stagger: Option<Time>,
    /// Number of ranks, 1 to 16,777,216. Required, except for a trace, which has its own.
    #[schemars(range(min = 1, max = 16_777_216))]
    #[schemars(with = "Option<u32>")]
    pub ranks: Filled<u32>,
    /// Ranks on one node; rank r is on the job's node number r / ranks_per_node. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub ranks_per_node: u32,
    /// Simulated time at which the job starts; with `start_after`, the delay after the news has come. As a table, e.g. `{ at =
    /// "1 ms", jitter = "10 us" }`, the seed draws it, uniform from `at` to `at` + `jitter`; jobs of an array each draw their own.
    /// Default: "0 s".
    #[serde(default)]
    pub start: Start,
    /// Name of a job, or of several, that must have ended before this one starts; the name of an array stands for all
    /// of its jobs. The news travels as messages over the network. Default: none.
    #[schemars(with = "Option<OneOrMany<String>>")]
    pub start_after: OtherJobs,
    /// For synthetic traffic: name of a job, or of several, after whose end it stops, as soon as it is told by message.
    /// Default: none.
    #[schemars(with = "Option<OneOrMany<String>>")]
    pub until: OtherJobs,
    /// How often the workload runs, one after the other on each rank. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// Which nodes the job gets. Jobs that name their nodes get them first, the others follow in the order of the file.
    /// Default: "contiguous".
    #[serde(default)]
    #[schemars(transform = default_of_its_type)]
    pub placement: PlacementRule,
    /// The traffic classes of the job's messages, by name. Default: the first of `network.traffic_classes`.
    #[serde(default, skip_serializing_if = "JobClasses::are_first")]
    pub traffic_class: JobClasses,
    /// How its messages are carried: the packets of some jobs and the flows of others take bandwidth of links from each other; messages
    /// that go by the analytic model leave all others alone. Default: `network.fidelity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
    /// The job's files: their place, the jobs that share them, and the completion of writes.
    #[serde(default, skip_serializing_if = "JobFiles::are_defaults")]
    pub io: JobFiles,
    /// Share of the storage servers where they are shared by weight (`storage.manager.sharing = "weighted"`), 0.001 to
    /// 1,000. Default: 1.
    #[serde(default = "unit", skip_serializing_if = "is_unit")]
    #[schemars(range(min = 0.001, max = 1000), transform = default_of_its_type)]
    pub io_weight: f64,
    /// A program in coNCePTuaL, instead of a workload: its file, relative to the scenario's folder.
    #[serde(skip_serializing_if = "in_another_key")]
    pub program: Option<String>,
    /// For a program in coNCePTuaL: passes over text for a back end that is not known (BACKEND EXECUTES), with a warning,
    /// instead of refusing it. Default: false.
    #[serde(skip_serializing_if = "in_another_key")]
    pub ignore_unknown_backend: Option<bool>,
    /// A generator function in Python that yields the operations of a rank, "FILE.py:FUNCTION", the file relative to the
    /// scenario's folder. Loading a scenario runs the file.
    #[serde(skip_serializing_if = "in_another_key")]
    pub python: Option<String>,
    /// Command-line arguments of a program in coNCePTuaL, e.g. ["--reps", "5"], or arguments of a Python function, e.g.
    /// { rounds = 5 }. Default: none.
    #[serde(skip_serializing_if = "in_another_key")]
    pub args: Option<Arguments>,
    /// What the job does, or a list of what it does, one after the other (phases; no synthetic traffic among them).
    /// Exactly one of `workload`, `program`, `python` and `trace` is required.
    #[schemars(with = "Option<OneOrMany<WorkloadTable>>")]
    pub workload: Filled<Workload>,
    /// A program in files that is replayed: the folder of a DUMPI trace, or its .meta file, a GOAL schedule, or a program folder
    /// (NAME.program); relative to the scenario's folder.
    #[serde(skip_serializing_if = "in_another_key")]
    pub trace: Option<String>,
    /// For a trace: what its times of computation are multiplied by, 0 to 1,000,000. Default: 1.
    #[serde(skip_serializing_if = "in_another_key")]
    pub compute_scale: Option<f64>,
    /// For a DUMPI trace: replay what there is of files that are not whole, as those of a program that died. Default:
    /// false, such a trace is refused.
    #[serde(default, skip_serializing_if = "in_another_key")]
    #[schemars(extend("default" = false))]
    pub incomplete_trace: bool,
    /// The table that it comes from, counted from 0: the jobs of an array share one.
    #[serde(skip_deserializing)]
    #[schemars(skip)]
    pub entry: u32,
}

fn one() -> u32 {
    1
}

fn unit() -> f64 {
    1.0
}

fn is_unit(weight: &f64) -> bool {
    *weight == 1.0
}

/// The default is said with the type.
fn default_of_its_type(schema: &mut Schema) {
    schema.remove("default");
}

fn in_another_key<T>(_: &T) -> bool {
    true
}

/// Other jobs: by name, one or several, and by their positions in the list of all, ascending.
pub type OtherJobs = Named<OneOrMany<String>, Vec<u16>>;

impl Job {
    /// The directory of its files.
    pub fn directory(&self) -> &str {
        self.io.directory.as_deref().unwrap_or(&self.name)
    }

    /// Nodes that the job occupies.
    pub fn nodes(&self) -> u32 {
        self.ranks.div_ceil(self.ranks_per_node)
    }

    /// Whether it is synthetic traffic whose time depends on other jobs: it sends until they have ended, or starts
    /// after them and stops at a time.
    pub fn ends_with_others(&self) -> bool {
        let Workload::Synthetic(traffic) = &*self.workload else {
            return false;
        };
        !self.until.is_empty() || (!self.start_after.is_empty() && traffic.stop.is_some())
    }
}

/// Arguments of a program.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
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

/// The files of a job.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobFiles {
    /// The directory of the job's files. A file is named by its directory and its number there: jobs with the same directory
    /// share their files. Default: the job's name, so that its files are its own.
    pub directory: Option<String>,
    /// Which servers the files of the directory are on. Jobs with the same directory have the same layout. Default:
    /// `storage.layout`.
    pub layout: Option<Layout>,
    /// Which server the ranks on a compute node of the job use, where the layout does not say it: any rule of
    /// `storage.assignment` but a list. Default: `storage.assignment`.
    pub assignment: Option<Assignment>,
    /// Bytes that a rank may have written and not yet acknowledged when a write returns. Default: `storage.write_behind`.
    pub write_behind: Option<Bytes>,
    /// Input files that are brought from the file system into the job's buffers before it starts, e.g. `[{ file = 0, bytes = "10 GB"
    /// }]`; of a shared file every rank asks for its equal part. Needs tiers. Default: none.
    pub stage_in: Vec<StageIn>,
    /// Whether the job starts when all of them are there. If not, it starts at once, and reads what has come. Default: true.
    pub stage_wait: Option<bool>,
    /// Whether all that is of the job in a tier goes down when the job has ended, whatever the policy of the tier says. Needs
    /// tiers. Default: false.
    pub stage_out: bool,
}

/// An input file that is brought into the buffers of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageIn {
    /// Its number in the directory of the job.
    #[serde(default)]
    pub file: u64,
    /// First byte that is brought.
    #[serde(default)]
    pub offset: Bytes,
    /// How many bytes of it, at least 1 B.
    pub bytes: Bytes,
    /// Whether every rank brings a file of its own, rank r number `file` + r. Default: false, all ranks bring the same one together.
    #[serde(default)]
    pub per_rank: bool,
}

impl JobFiles {
    /// Whether nothing is said of them.
    pub fn are_defaults(&self) -> bool {
        *self == JobFiles::default()
    }
}

/// The traffic classes of a job: `{ mpi = "latency", io = "bulk" }`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobClasses {
    /// Of its MPI messages and its synthetic traffic. Default: the first class.
    pub mpi: Named<String, u8>,
    /// Of its file access, in both directions. Default: the first class.
    pub io: Named<String, u8>,
}

impl JobClasses {
    /// Whether all of it is of the first class.
    pub fn are_first(&self) -> bool {
        [&self.mpi, &self.io]
            .iter()
            .all(|class| class.number().is_none_or(|&number| number == 0))
    }
}
