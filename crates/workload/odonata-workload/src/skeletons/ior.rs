//! IOR, the parallel I/O benchmark (github.com/hpc/ior), with its own parameter names.
//!
//! A task writes and reads `segmentCount` blocks of `blockSize`, in transfers of `transferSize`. In a per-task file
//! (N-N) task `r` has transfer `j` of segment `i` at `i b + j t`; in a shared file (N-1) at `i N b + r b + j t`, which
//! is *segmented* with one segment, and *strided* with several. One repetition is, for each access (write, check of
//! written data, read):
//!
//! ```text
//! pause, (unlink,) barrier, [0] open [1] (barrier) [2] transfers, fsync [3] (barrier) [4] close [5] barrier
//! ```
//!
//! and after all of them, without `keepFile`, `[0] unlink, barrier [5]`: each task removes its own file, the first task
//! a shared one. With `keepFile`, a repetition removes the files of the previous repetition, or of an earlier test in a
//! list, before it writes them again, unless `useExistingTestFile` is set. The effect of a removal on space is in
//! `odonata-storage`.
//!
//! With a deadline (`-D`), a task's transfers of an access end after the first one that ends later, or at the number
//! written in the same test. With `stoneWallingWearOut`, the tasks then find the largest number of transfers of all,
//! and each continues up to it.
//!
//! IOR reads its clock at the numbers, and so does the table `ior`: open, access and close each last from the first
//! task's start to the last one's end; the bandwidth is all bytes over the time from the first [0] to the last [5].

mod collective;
mod flags;
mod program;
mod stonewall;

use std::borrow::Cow;
use std::fmt;

use odonata_units::{Bytes, Filled, Problem, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{OfJob, Parameters};
use crate::Program;

pub use program::{Access, IorProgram, TIMERS, TRANSFERRED, report_of, report_of_removal};

/// The interface used by IOR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IorApi {
    /// Each task reads and writes independently.
    #[default]
    #[serde(rename = "POSIX")]
    Posix,
    /// Like POSIX; collective calls are possible.
    #[serde(rename = "MPIIO")]
    Mpiio,
}

/// IOR with its own parameter names. The defaults are IOR's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "IorParameters")]
pub struct IorParams {
    /// Interface (-a): "POSIX" or "MPIIO".
    #[default(IorApi::Posix)]
    pub api: IorApi,
    /// Size of one read or write (-t), e.g. "1 MiB".
    #[default(Bytes::kib(256))]
    pub transfer_size: Bytes,
    /// Contiguous bytes of a task in a segment (-b), a multiple of the transfer.
    #[default(Bytes::mib(1))]
    pub block_size: Bytes,
    /// Number of segments (-s), at least 1.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub segment_count: u32,
    /// A file for each task (-F), N-N; otherwise all tasks share one, N-1.
    pub file_per_proc: bool,
    /// Whether it writes (-w). Default: if neither it nor readFile, checkWrite and checkRead are given, both write and read.
    pub write_file: Filled<bool>,
    /// Whether it reads (-r).
    pub read_file: Filled<bool>,
    /// Whether written data is read again and compared (-W); takes time, but is not reported.
    pub check_write: bool,
    /// Whether read data is compared (-R); the comparison takes no time, so it is a read.
    pub check_read: bool,
    /// Transfers in random order (-z): within a task's file, or over all tasks in a shared file.
    pub random_offset: bool,
    /// Tasks read the data of a task taskPerNodeOffset nodes further on (-C).
    pub reorder_tasks: bool,
    /// Offset in nodes (-Q).
    #[default = 1]
    pub task_per_node_offset: u32,
    /// Each task reads the data of a random task (-Z), at least taskPerNodeOffset nodes away.
    pub reorder_tasks_random: bool,
    /// Seed of the random tasks (-X); below 0, repetitions differ.
    pub reorder_tasks_random_seed: i64,
    /// Whether writing ends with fsync (-e).
    pub fsync: bool,
    /// Whether each write ends with fsync (-Y).
    pub fsync_per_write: bool,
    /// Collective transfers (-c), with api = "MPIIO".
    pub collective: bool,
    /// Ranks that access the file in collective transfers (ROMIO's hint cb_nodes), spread evenly. Default: one per
    /// node.
    #[schemars(range(min = 1))]
    pub cb_nodes: Filled<u32>,
    /// Buffer of each of these ranks (ROMIO's hint cb_buffer_size).
    #[default(Bytes::mib(16))]
    pub cb_buffer_size: Bytes,
    /// Barriers between open, access and close (-g).
    pub intra_test_barriers: bool,
    /// Number of repetitions (-i), at least 1.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub repetitions: u32,
    /// Whether each repetition has separate files (-m); otherwise it overwrites those of the previous one.
    pub multi_file: bool,
    /// Whether files are kept (-k). Otherwise they are removed at the end of each repetition, after all timed parts.
    pub keep_file: bool,
    /// Whether files left by the previous repetition (keepFile, without multiFile) are overwritten (-E); otherwise they
    /// are removed before the write.
    pub use_existing_test_file: bool,
    /// Pause before each access (-d).
    pub inter_test_delay: Time,
    /// Each task begins no transfer this long after its first one (-D); "0 s": no deadline. A read after a write of the
    /// same test is limited to the written data.
    pub deadline_for_stonewalling: Time,
    /// Whether, after the deadline, all tasks continue up to the largest number of transfers of any task (-O
    /// stoneWallingWearOut=1).
    pub stone_walling_wear_out: bool,
    /// Number of transfers after which a task stops (-O stoneWallingWearOutIterations); 0: no limit.
    pub stone_walling_wear_out_iterations: u32,
    /// File in which a write with stoneWallingWearOut stores the number of transfers of a task, which limits later
    /// reads with the same name (-O stoneWallingStatusFile): for tests of one list, with keepFile.
    pub stone_walling_status_file: String,
    /// Name of the files (-o): tests of a list with the same name access the same files.
    #[default("testFile".into())]
    pub test_file: String,
    /// Tasks (-N). Default, and the only possible value: the ranks of the job.
    pub num_tasks: Filled<u32>,
    /// Tasks of a node. Default: the ranks of the job on a node.
    #[schemars(range(min = 1))]
    pub tasks_per_node: Filled<u32>,
    /// Seed of random offsets. Default: the seed of the scenario.
    pub random_seed: Filled<u64>,
}

/// IOR in a scenario: its command line, e.g. "-w -r -t 1m -b 16m -s 4 -F", or a table of its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Ior(pub IorParams);

impl<'de> Deserialize<'de> for Ior {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineOrTable;
        impl<'de> Visitor<'de> for LineOrTable {
            type Value = Ior;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the command line of ior, such as \"-w -t 1m -b 16m\", or a table of its parameters")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Ior, E> {
                flags::parse(text).map(|line| Ior(line.params)).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Ior, A::Error> {
                IorParams::deserialize(MapAccessDeserializer::new(map)).map(Ior)
            }
        }
        deserializer.deserialize_any(LineOrTable)
    }
}

impl JsonSchema for Ior {
    fn schema_name() -> Cow<'static, str> {
        "Ior".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<IorParams>();
        json_schema!({ "anyOf": [{ "type": "string", "description": "The command line of ior." }, table] })
    }
}

impl Ior {
    /// Flags of the command line `text` without effect, with reasons; empty for an invalid line.
    pub fn flags_without_effect(text: &str) -> Vec<String> {
        flags::parse(text).map_or_else(|_| Vec::new(), |line| line.without_effect)
    }
}

impl Parameters for Ior {
    fn of_job(&mut self, job: OfJob) {
        self.0.tasks_per_node.fill(job.ranks_per_node);
        self.0.random_seed.fill(job.seed);
    }

    fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        let p = &mut self.0;
        let key = |name: &str| format!("{at}.{name}");
        let given = p.write_file.given().is_some() || p.read_file.given().is_some() || p.check_write || p.check_read;
        p.write_file.fill(!given);
        p.read_file.fill(!given);
        p.tasks_per_node.fill(1);
        p.random_seed.fill(0);
        if *p.num_tasks.fill(ranks) != ranks {
            let problem = format!("{} tasks in a job of {ranks} ranks", *p.num_tasks);
            return Err(
                Problem::new(key("numTasks"), problem, format!("{ranks}, or no such key"))
                    .hint("the key ranks of the job sets their number"),
            );
        }
        if *p.tasks_per_node == 0 {
            return Err(Problem::new(key("tasksPerNode"), "no task on a node", "at least 1"));
        }
        let (transfer, block) = (p.transfer_size.0, p.block_size.0);
        if transfer == 0 {
            return Err(Problem::new(key("transferSize"), "transfers of 0 B", "at least 1 B"));
        }
        if block == 0 || !block.is_multiple_of(transfer) {
            let problem = format!(
                "a block of {} is not a multiple of a transfer of {}",
                p.block_size, p.transfer_size
            );
            return Err(Problem::new(
                key("blockSize"),
                problem,
                "a multiple of transferSize (-t), at least one",
            ));
        }
        for (name, count) in [("segmentCount", p.segment_count), ("repetitions", p.repetitions)] {
            if count == 0 {
                return Err(Problem::new(key(name), "0 is out of range", "at least 1"));
            }
        }
        if p.reorder_tasks && p.reorder_tasks_random {
            let problem = "both reorderTasks (-C) and reorderTasksRandom (-Z)";
            return Err(Problem::new(key("reorderTasksRandom"), problem, "one of them"));
        }
        if p.random_offset && !p.file_per_proc && (p.reorder_tasks || p.reorder_tasks_random) {
            let problem = "random offsets (-z) in a shared file with reordered tasks";
            return Err(Problem::new(
                key("randomOffset"),
                problem,
                "one of them, or filePerProc (-F)",
            ));
        }
        if p.collective && p.api != IorApi::Mpiio {
            return Err(Problem::new(
                key("collective"),
                "collective transfers (-c) with POSIX",
                "api = \"MPIIO\" (-a)",
            ));
        }
        if p.collective && (p.random_offset || p.reorder_tasks_random || p.deadline_for_stonewalling > Time::ZERO) {
            let problem = "collective transfers (-c) with random offsets (-z), random tasks (-Z) or a deadline (-D)";
            return Err(Problem::new(key("collective"), problem, "without them"));
        }
        if p.stone_walling_wear_out && p.deadline_for_stonewalling == Time::ZERO {
            return Err(Problem::new(
                key("stoneWallingWearOut"),
                "stonewalling wear-out without a deadline",
                "deadlineForStonewalling (-D)",
            ));
        }
        let has_status = !p.stone_walling_status_file.is_empty();
        if has_status && !p.keep_file {
            return Err(Problem::new(
                key("stoneWallingStatusFile"),
                "a status file of tests that remove their files",
                "keepFile (-k)",
            ));
        }
        if has_status && *p.write_file && !p.stone_walling_wear_out {
            return Err(Problem::new(
                key("stoneWallingStatusFile"),
                "a status file of a write whose tasks stop after different numbers of transfers",
                "stoneWallingWearOut (-O stoneWallingWearOut=1)",
            ));
        }
        let aggregators = *p.cb_nodes.fill(ranks.div_ceil(*p.tasks_per_node).max(1));
        if aggregators == 0 || aggregators > ranks {
            let problem = format!("{aggregators} of {ranks} tasks access the file");
            return Err(Problem::new(key("cbNodes"), problem, format!("1 to {ranks}")));
        }
        if p.cb_buffer_size == Bytes::ZERO {
            return Err(Problem::new(key("cbBufferSize"), "a buffer of 0 B", "at least 1 B"));
        }
        let file = u128::from(block) * u128::from(p.segment_count) * u128::from(ranks);
        if file > 1 << 62 {
            let problem = format!("{file} B in all");
            return Err(Problem::new(
                key("blockSize"),
                problem,
                "2^62 B at most: block x segments x tasks",
            ));
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(IorProgram::new(ranks, self.0.clone())?))
    }

    fn does_io(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[path = "ior/tests.rs"]
mod tests;
