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

/// Maximum number of ranks of all jobs together; each rank takes memory before the first event.
pub(in crate::scenario) const MOST_RANKS: u64 = 1 << 24;

/// A job.
///
/// Keys that are not serialized exist only in the written form: when a scenario is resolved, an array becomes its jobs,
/// and a program or trace becomes the workload.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "A job.")]
pub struct Job {
    /// Name, different from that of every other job. Default: that of the workload, or "phases".
    #[schemars(with = "Option<String>")]
    pub name: Filled<String>,
    /// Makes an array of this many jobs, named NAME-0, NAME-1, ...; each gets its own nodes. Default: one job, NAME.
    #[schemars(range(min = 1, max = 30_000))]
    #[serde(skip_serializing_if = "in_another_key")]
    pub count: Option<u32>,
    /// Delay between the starts of consecutive jobs of the array, e.g. "1 ms". Default: "0 s".
    #[serde(skip_serializing_if = "in_another_key")]
    pub stagger: Option<Time>,
    /// Number of ranks, 1 to 16,777,216. Required, except for a trace, which defines its own number.
    #[schemars(range(min = 1, max = 16_777_216))]
    #[schemars(with = "Option<u32>")]
    pub ranks: Filled<u32>,
    /// Ranks on one node; rank r is on the job's node number r / ranks_per_node. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub ranks_per_node: u32,
    /// Simulated time at which the job starts; with `start_after`, the delay after the last message that reports an end
    /// has arrived. A table such as `{ at = "1 ms", jitter = "10 us" }` draws the start from the seed, uniformly
    /// between `at` and `at` + `jitter`; each job of an array draws its own. Default: "0 s".
    #[serde(default)]
    pub start: Start,
    /// Name of one or more jobs that must end before this one starts; the name of an array means all of its jobs. Their
    /// ends are reported by messages over the network. Default: none.
    #[schemars(with = "Option<OneOrMany<String>>")]
    pub start_after: OtherJobs,
    /// For synthetic traffic: name of one or more jobs; the traffic stops when messages have reported that all of them
    /// ended. Default: none.
    #[schemars(with = "Option<OneOrMany<String>>")]
    pub until: OtherJobs,
    /// How often each rank runs the workload, one run after the other. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// Which nodes the job gets. Jobs that list their nodes get them first; the others follow in the order of the file.
    /// Default: "contiguous".
    #[serde(default)]
    #[schemars(transform = default_of_its_type)]
    pub placement: PlacementRule,
    /// The traffic classes of the job's messages, by name. Default: the first of `network.traffic_classes`.
    #[serde(default, skip_serializing_if = "JobClasses::are_first")]
    pub traffic_class: JobClasses,
    /// How the job's messages are simulated. Packets of some jobs and flows of others compete for the bandwidth of
    /// links; messages of the analytic model do not affect other messages. Default: `network.fidelity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
    /// The job's files: their location, sharing with other jobs, and when writes complete.
    #[serde(default, skip_serializing_if = "JobFiles::are_defaults")]
    pub io: JobFiles,
    /// Weight of the job at storage servers that are shared by weight (`storage.manager.sharing = "weighted"`), 0.001
    /// to 1,000. Default: 1.
    #[serde(default = "unit", skip_serializing_if = "is_unit")]
    #[schemars(range(min = 0.001, max = 1000), transform = default_of_its_type)]
    pub io_weight: f64,
    /// A coNCePTuaL program, instead of a workload: its file, relative to the scenario's folder.
    #[serde(skip_serializing_if = "in_another_key")]
    pub program: Option<String>,
    /// For a coNCePTuaL program: whether text for an unknown back end (BACKEND EXECUTES) is skipped with a warning
    /// instead of being refused. Default: false.
    #[serde(skip_serializing_if = "in_another_key")]
    pub ignore_unknown_backend: Option<bool>,
    /// A Python generator function that yields the operations of a rank: "FILE.py:FUNCTION", the file relative to the
    /// scenario's folder. Loading a scenario runs the file.
    #[serde(skip_serializing_if = "in_another_key")]
    pub python: Option<String>,
    /// Command-line arguments of a coNCePTuaL program, e.g. ["--reps", "5"], or arguments of a Python function, e.g. {
    /// rounds = 5 }. Default: none.
    #[serde(skip_serializing_if = "in_another_key")]
    pub args: Option<Arguments>,
    /// What the job runs: a workload, or a list of workloads to run one after the other (phases, which must not include
    /// synthetic traffic). Exactly one of `workload`, `program`, `python` and `trace` is required.
    #[schemars(with = "Option<OneOrMany<WorkloadTable>>")]
    pub workload: Filled<Workload>,
    /// A recorded or written program to replay: the file or folder of a trace, in any format that `odonata trace info`
    /// reads, or a program folder (NAME.program); relative to the scenario's folder.
    #[serde(skip_serializing_if = "in_another_key")]
    pub trace: Option<String>,
    /// For a trace: the factor by which its compute times are multiplied, 0 to 1,000,000. Default: 1.
    #[serde(skip_serializing_if = "in_another_key")]
    pub compute_scale: Option<f64>,
    /// For a trace: replay incomplete files as far as they go, e.g. those of a program that crashed. Default: false,
    /// such a trace is refused.
    #[serde(default, skip_serializing_if = "in_another_key")]
    #[schemars(extend("default" = false))]
    pub incomplete_trace: bool,
    /// Index, from 0, of the table that defines the job; the jobs of an array have the same one.
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

/// The default is documented at the type.
fn default_of_its_type(schema: &mut Schema) {
    schema.remove("default");
}

fn in_another_key<T>(_: &T) -> bool {
    true
}

/// Other jobs: one or more names, and their ascending positions in the list of all jobs.
pub type OtherJobs = Named<OneOrMany<String>, Vec<u16>>;

impl Job {
    /// The directory of the job's files.
    pub fn directory(&self) -> &str {
        self.io.directory.as_deref().unwrap_or(&self.name)
    }

    /// Number of nodes that the job occupies.
    pub fn nodes(&self) -> u32 {
        self.ranks.div_ceil(self.ranks_per_node)
    }

    /// Whether this is synthetic traffic whose duration depends on other jobs: it sends until they have ended, or it
    /// starts after them and stops at a fixed time.
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
    /// A list, as on a command line.
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
    /// The directory of the job's files. A file is identified by its directory and its number in it: jobs with the same
    /// directory share their files. Default: the job's name, so that no other job shares its files.
    pub directory: Option<String>,
    /// Which servers hold the files of the directory. Jobs with the same directory have the same layout. Default:
    /// `storage.layout`.
    pub layout: Option<Layout>,
    /// Which server the ranks on one of the job's compute nodes use, where the layout does not determine it: any rule
    /// of `storage.assignment` except a list. Default: `storage.assignment`.
    pub assignment: Option<Assignment>,
    /// Number of bytes that a rank may have written without acknowledgment when a write returns. Default:
    /// `storage.write_behind`.
    pub write_behind: Option<Bytes>,
    /// Input files to copy from the file system into the job's buffers before it starts, e.g. `[{ file = 0, bytes = "10
    /// GB" }]`; of a shared file, each rank requests an equal part. Needs tiers. Default: none.
    pub stage_in: Vec<StageIn>,
    /// Whether the job waits for all of these files before it starts. Otherwise it starts at once and reads from the
    /// buffers what has arrived. Default: true.
    pub stage_wait: Option<bool>,
    /// Whether all data of the job in the tiers is written to the file system when the job has ended, whatever the
    /// policy of each tier is. Needs tiers. Default: false.
    pub stage_out: bool,
}

/// An input file that is copied into the buffers of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageIn {
    /// Its number in the directory of the job.
    #[serde(default)]
    pub file: u64,
    /// First byte to copy.
    #[serde(default)]
    pub offset: Bytes,
    /// Number of bytes to copy, at least 1 B.
    pub bytes: Bytes,
    /// Whether every rank copies a file of its own: rank r copies number `file` + r. Default: false, all ranks copy the
    /// same file together.
    #[serde(default)]
    pub per_rank: bool,
}

impl JobFiles {
    /// Whether all settings have their defaults.
    pub fn are_defaults(&self) -> bool {
        *self == JobFiles::default()
    }
}

/// The traffic classes of a job: `{ mpi = "latency", io = "bulk" }`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobClasses {
    /// Class of its MPI messages and its synthetic traffic. Default: the first class.
    pub mpi: Named<String, u8>,
    /// Class of its file access, in both directions. Default: the first class.
    pub io: Named<String, u8>,
}

impl JobClasses {
    /// Whether all of the job's traffic is in the first class.
    pub fn are_first(&self) -> bool {
        [&self.mpi, &self.io]
            .iter()
            .all(|class| class.number().is_none_or(|&number| number == 0))
    }
}
