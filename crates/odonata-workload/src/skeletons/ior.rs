//! IOR, the parallel I/O benchmark (github.com/hpc/ior), with the names of its own parameters.
//!
//! A task writes and reads `segmentCount` blocks of `blockSize`, in transfers of `transferSize`. In a file of its own (N-N) task
//! `r` has transfer `j` of segment `i` at `i b + j t`; in a shared file (N-1) at `i N b + r b + j t`, which is *segmented* with one
//! segment, and *strided* with several. One repetition is, for each access (write, check of what was written, read):
//!
//! ```text
//! pause, barrier, [0] open [1] (barrier) [2] transfers, fsync [3] (barrier) [4] close [5] barrier
//! ```
//!
//! At the numbers IOR looks at its clock, and so does the table `ior`: open, access and close are each from the first task's
//! start to the last one's end, the bandwidth is all bytes over the time from the first [0] to the last [5].

mod collective;
mod flags;

use std::borrow::Cow;
use std::fmt;

use odonata_units::{Bytes, Filled, Problem, SplitMix64, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{OfJob, Parameters, barrier, fsync};
use crate::permutation::Permutation;
use crate::program::{Seen, check_length};
use crate::{Cursor, Op, OpKind, Program};
use collective::CollectiveCall;

/// The interface that IOR uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IorApi {
    /// Each task reads and writes by itself.
    #[default]
    #[serde(rename = "POSIX")]
    Posix,
    /// The same; collective calls are possible.
    #[serde(rename = "MPIIO")]
    Mpiio,
}

/// IOR by its own names. The defaults are IOR's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "IorParameters")]
pub struct IorParams {
    /// Interface (-a): "POSIX" or "MPIIO".
    pub api: IorApi,
    /// Size of one read or write (-t), e.g. "1 MiB".
    pub transfer_size: Bytes,
    /// Contiguous bytes of a task in a segment (-b), a multiple of the transfer.
    pub block_size: Bytes,
    /// Number of segments (-s), at least 1.
    #[schemars(range(min = 1))]
    pub segment_count: u32,
    /// A file for each task (-F), N-N; otherwise all share one, N-1.
    pub file_per_proc: bool,
    /// Whether it writes (-w). Default: if neither it nor readFile, checkWrite and checkRead are given, both write and read.
    pub write_file: Filled<bool>,
    /// Whether it reads (-r).
    pub read_file: Filled<bool>,
    /// Whether what was written is read again to be compared (-W); takes time, and no part in the report.
    pub check_write: bool,
    /// Whether what is read is compared (-R); the comparison takes no time here, so that it is a read.
    pub check_read: bool,
    /// Transfers in random order (-z): of a task in its own file, of all tasks in a shared one.
    pub random_offset: bool,
    /// Tasks read what one so many nodes further on wrote (-C): taskPerNodeOffset of them.
    pub reorder_tasks: bool,
    /// How many nodes further on (-Q).
    pub task_per_node_offset: u32,
    /// Each task reads what a random one wrote (-Z), at least taskPerNodeOffset nodes away.
    pub reorder_tasks_random: bool,
    /// What that follows from (-X); below 0, repetitions differ.
    pub reorder_tasks_random_seed: i64,
    /// Whether writing ends with fsync (-e).
    pub fsync: bool,
    /// Whether each write does (-Y).
    pub fsync_per_write: bool,
    /// Collective transfers (-c), with api = "MPIIO".
    pub collective: bool,
    /// Ranks that access the file in collective transfers, ROMIO's hint cb_nodes, spread evenly. Default: one per node.
    #[schemars(range(min = 1))]
    pub cb_nodes: Filled<u32>,
    /// Buffer of each of them, ROMIO's hint cb_buffer_size.
    pub cb_buffer_size: Bytes,
    /// Barriers between open, access and close (-g).
    pub intra_test_barriers: bool,
    /// How often everything is done (-i), at least 1.
    #[schemars(range(min = 1))]
    pub repetitions: u32,
    /// Whether each repetition has files of its own (-m); otherwise it writes over those of the one before.
    pub multi_file: bool,
    /// Whether files stay (-k). No file is removed here, so that it changes nothing.
    pub keep_file: bool,
    /// Pause before each access (-d).
    pub inter_test_delay: Time,
    /// Each task begins no transfer that much after its first one (-D); "0 s": never.
    pub deadline_for_stonewalling: Time,
    /// Tasks (-N). Default, and all that is possible: the ranks of the job.
    pub num_tasks: Filled<u32>,
    /// Tasks of a node. Default: the ranks of the job on a node.
    #[schemars(range(min = 1))]
    pub tasks_per_node: Filled<u32>,
    /// What random offsets follow from. Default: the seed of the scenario.
    pub random_seed: Filled<u64>,
}

impl Default for IorParams {
    fn default() -> Self {
        IorParams {
            api: IorApi::Posix,
            transfer_size: Bytes::kib(256),
            block_size: Bytes::mib(1),
            segment_count: 1,
            file_per_proc: false,
            write_file: Filled::EMPTY,
            read_file: Filled::EMPTY,
            check_write: false,
            check_read: false,
            random_offset: false,
            reorder_tasks: false,
            task_per_node_offset: 1,
            reorder_tasks_random: false,
            reorder_tasks_random_seed: 0,
            fsync: false,
            fsync_per_write: false,
            collective: false,
            cb_nodes: Filled::EMPTY,
            cb_buffer_size: Bytes::mib(16),
            intra_test_barriers: false,
            repetitions: 1,
            multi_file: false,
            keep_file: false,
            inter_test_delay: Time::ZERO,
            deadline_for_stonewalling: Time::ZERO,
            num_tasks: Filled::EMPTY,
            tasks_per_node: Filled::EMPTY,
            random_seed: Filled::EMPTY,
        }
    }
}

/// IOR in a scenario: its command line as it is, e.g. "-w -r -t 1m -b 16m -s 4 -F", or a table of its parameters.
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
    /// What changes nothing of the command line `text`: each flag, with why; nothing of one that is wrong.
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
                    .hint("how many there are is the key ranks of the job"),
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
                "a block of {} is no multiple of a transfer of {}",
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
            let problem = "random offsets (-z) in a shared file, and tasks in another order";
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

/// What a task does with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It writes.
    Write,
    /// It reads what was written, to compare.
    Check,
    /// It reads.
    Read,
}

impl Access {
    const ALL: [Access; 3] = [Access::Write, Access::Check, Access::Read];
}

/// Times of an access that a task reports.
pub const TIMERS: u32 = 6;
/// The one after the transfers, whose value is the bytes that the task has moved.
pub const TRANSFERRED: u32 = 3;

/// The report that a task brings at `timer` of its writes or its reads.
pub const fn report_of(write: bool, timer: u32) -> u32 {
    timer + if write { 0 } else { TIMERS }
}

/// Steps of an access.
const STEPS: u32 = 15;

/// The ranks of IOR.
#[derive(Clone, Debug)]
pub struct IorProgram {
    ranks: u32,
    params: IorParams,
}

impl IorProgram {
    /// The program on `ranks` ranks, of parameters that are resolved.
    ///
    /// # Errors
    /// There are no ranks, or too many transfers to number the operations.
    pub fn new(ranks: u32, params: IorParams) -> Result<Self, String> {
        if ranks == 0 {
            return Err("the job has no ranks".into());
        }
        let program = IorProgram { ranks, params };
        let transfers = program.transfers();
        let each = match program.collective() {
            true => program.call(Access::Write, 0, 0).most_operations(),
            false => 2,
        };
        let access = transfers.saturating_mul(each).saturating_add(STEPS.into());
        check_length(program.params.repetitions, access.saturating_mul(3).saturating_add(1))?;
        Ok(program)
    }

    /// Transfers of a task.
    fn transfers(&self) -> u64 {
        self.params.block_size.0 / self.params.transfer_size.0 * u64::from(self.params.segment_count)
    }

    /// Whether tasks of one file access it together.
    fn collective(&self) -> bool {
        self.params.collective && !self.params.file_per_proc
    }

    fn does(&self, access: Access) -> bool {
        match access {
            Access::Write => *self.params.write_file,
            Access::Check => self.params.check_write,
            Access::Read => *self.params.read_file || self.params.check_read,
        }
    }

    /// By how many tasks what `rank` reads is from its own.
    fn shift(&self, rank: u32, access: Access, repetition: u32) -> u32 {
        let IorParams {
            reorder_tasks,
            reorder_tasks_random,
            reorder_tasks_random_seed: seed,
            task_per_node_offset: nodes,
            ..
        } = self.params;
        let per_node = u64::from(*self.params.tasks_per_node);
        let ranks = u64::from(self.ranks);
        let shift = match access {
            Access::Write => 0,
            Access::Check if reorder_tasks => 2 * per_node % ranks,
            Access::Read if reorder_tasks => u64::from(nodes) * per_node % ranks,
            Access::Read if reorder_tasks_random => {
                let of_job = ranks.div_ceil(per_node);
                let least = (u64::from(nodes).min(of_job - 1) * per_node).min(ranks - 1);
                let again = if seed < 0 { u64::from(repetition) } else { 0 };
                let mut draws = SplitMix64::named(seed.unsigned_abs(), [again, rank.into()]);
                least + ((u128::from(draws.next_u64()) * u128::from(ranks - least)) >> 64) as u64
            }
            Access::Check | Access::Read => 0,
        };
        shift as u32
    }

    /// The file that `rank` opens.
    fn file(&self, rank: u32, access: Access, repetition: u32) -> u64 {
        let number = if self.params.multi_file {
            u64::from(repetition)
        } else {
            0
        };
        match self.params.file_per_proc {
            false => number,
            true => {
                let owner = (u64::from(rank) + u64::from(self.shift(rank, access, repetition))) % u64::from(self.ranks);
                number * u64::from(self.ranks) + owner
            }
        }
    }

    /// Where transfer `index` of `rank` is.
    fn offset(&self, rank: u32, access: Access, repetition: u32, index: u64) -> u64 {
        let (transfer, block) = (self.params.transfer_size.0, self.params.block_size.0);
        let all = self.transfers();
        let ranks = u64::from(self.ranks);
        if self.params.random_offset {
            // As with IOR, all tasks have the same order in files of their own, and writes and reads have different ones.
            let names = [u64::from(repetition), u64::from(access == Access::Read)];
            let place = match self.params.file_per_proc {
                true => Permutation::new(all, *self.params.random_seed, names).at(index),
                false => {
                    let of_file = Permutation::new(all * ranks, *self.params.random_seed, names);
                    of_file.at(u64::from(rank) * all + index)
                }
            };
            return place * transfer;
        }
        let per_block = block / transfer;
        let (segment, within) = (index / per_block, index % per_block * transfer);
        match self.params.file_per_proc {
            true => segment * block + within,
            false => {
                let pretended = (u64::from(rank) + u64::from(self.shift(rank, access, repetition))) % ranks;
                (segment * ranks + pretended) * block + within
            }
        }
    }

    /// Collective transfer number `index`.
    fn call(&self, access: Access, repetition: u32, index: u64) -> CollectiveCall {
        let (transfer, block) = (self.params.transfer_size.0, self.params.block_size.0);
        let per_block = block / transfer;
        CollectiveCall {
            ranks: self.ranks,
            aggregators: *self.params.cb_nodes,
            buffer: self.params.cb_buffer_size.0,
            write: access == Access::Write,
            file: self.file(0, Access::Write, repetition),
            base: index / per_block * u64::from(self.ranks) * block + index % per_block * transfer,
            stride: block,
            bytes: transfer,
            shift: self.shift(0, access, repetition),
        }
    }

    /// Transfer number `words[2]` of `rank`; `None` after the last.
    fn transfer(&self, rank: u32, access: Access, words: &mut [u32; 5], wall: bool) -> Option<OpKind> {
        let [repetition, _, index, round, step] = words;
        let write = access == Access::Write;
        let all = self.transfers();
        if self.collective() {
            while u64::from(*index) < all {
                let call = self.call(access, *repetition, u64::from(*index));
                if let Some(op) = call.next(rank, round, step) {
                    return Some(op);
                }
                *index += 1;
            }
            return None;
        }
        let file = self.file(rank, access, *repetition);
        // After a write, its fsync.
        if *step == 1 {
            *step = 0;
            return Some(fsync(file));
        }
        if u64::from(*index) >= all || wall {
            return None;
        }
        let offset = self.offset(rank, access, *repetition, u64::from(*index));
        let bytes = self.params.transfer_size.0;
        *index += 1;
        *step = u32::from(write && self.params.fsync_per_write);
        Some(match write {
            true => OpKind::Write { file, offset, bytes },
            false => OpKind::Read { file, offset, bytes },
        })
    }

    /// The operation at step `at` of an access, if it has one; the transfers are one step.
    fn step(&self, rank: u32, access: Access, at: u32, words: &mut [u32; 5]) -> Option<OpKind> {
        let p = &self.params;
        let report = |timer: u32, value: f64| {
            (access != Access::Check).then_some(OpKind::Report {
                report: report_of(access == Access::Write, timer),
                index: 0,
                value,
            })
        };
        let file = self.file(rank, access, words[0]);
        match at {
            0 => (access != Access::Check && p.inter_test_delay > Time::ZERO).then_some(OpKind::Compute {
                duration: p.inter_test_delay,
            }),
            1 | 14 => Some(barrier()),
            2 => report(0, 0.0),
            3 => Some(OpKind::Open { file }),
            4 => report(1, 0.0),
            5 | 10 => p.intra_test_barriers.then(barrier),
            6 => report(2, 0.0),
            // 7 are the transfers.
            8 => (access == Access::Write && p.fsync).then_some(fsync(file)),
            9 => {
                let moved = u64::from(words[2]) * p.transfer_size.0;
                words[2] = 0;
                report(TRANSFERRED, moved as f64)
            }
            11 => report(4, 0.0),
            12 => Some(OpKind::Close { file }),
            _ => report(5, 0.0),
        }
    }

    /// The next operation of `rank`, whose transfers began at `started` by the clock `now`.
    fn find(&self, rank: u32, words: &mut [u32; 5], now: Option<Time>, started: &mut u64) -> Option<OpKind> {
        loop {
            if words[0] >= self.params.repetitions {
                return None;
            }
            let stage = words[1] as usize;
            let (access, at) = (stage / STEPS as usize, (stage % STEPS as usize) as u32);
            let Some(&access) = Access::ALL.get(access) else {
                let iteration = words[0];
                (words[0], words[1]) = (words[0] + 1, 0);
                return Some(OpKind::Mark { iteration });
            };
            if !self.does(access) {
                words[1] += STEPS;
                continue;
            }
            if at == 7 {
                let now = now.map_or(0, |now| now.0);
                if words[2] == 0 && words[4] == 0 {
                    *started = now;
                }
                let deadline = self.params.deadline_for_stonewalling.0;
                let wall = deadline > 0 && now.saturating_sub(*started) > deadline;
                if let Some(op) = self.transfer(rank, access, words, wall) {
                    return Some(op);
                }
                words[1] += 1;
                continue;
            }
            words[1] += 1;
            if let Some(op) = self.step(rank, access, at, words) {
                return Some(op);
            }
        }
    }
}

impl Program for IorProgram {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        if rank >= self.ranks {
            return None;
        }
        cursor.advance(|words| self.find(rank, words, None, &mut 0))
    }

    fn memory(&self) -> usize {
        usize::from(self.params.deadline_for_stonewalling > Time::ZERO)
    }

    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        let Some(started) = seen.memory.first_mut() else {
            return self.next(rank, cursor);
        };
        if rank >= self.ranks {
            return None;
        }
        let now = seen.now;
        cursor.advance(|words| self.find(rank, words, now, started))
    }

    fn clock(&self) -> Option<String> {
        (self.memory() > 0).then(|| "deadlineForStonewalling of IOR".into())
    }

    fn describe(&self) -> String {
        let IorParams {
            transfer_size,
            block_size,
            segment_count,
            file_per_proc,
            repetitions,
            ..
        } = self.params;
        let files = if file_per_proc {
            "a file per task"
        } else {
            "a shared file"
        };
        let does = [(Access::Write, "writes"), (Access::Read, "reads")];
        let does: Vec<&str> = (does.into_iter().filter(|(access, _)| self.does(*access)))
            .map(|(_, word)| word)
            .collect();
        format!(
            "IOR, {} ranks, {files}, {repetitions} times {} of {segment_count} x {block_size} in transfers of {transfer_size}",
            self.ranks,
            does.join(" and ")
        )
    }
}

#[cfg(test)]
#[path = "ior/tests.rs"]
mod tests;
