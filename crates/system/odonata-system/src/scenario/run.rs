//! How long to run, what to record, and on how many cores: the keys of the table `run`.
//!
//! How a run is distributed over the cores of a computer does not affect its results or their digest.

use std::borrow::Cow;
use std::fmt;

use odonata_units::{Bytes, Filled, Problem, Time, WallTime, positive, within};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use super::error::nearest;
use super::timeline::Timeline;

/// How long to run, what to record, and on how many cores.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Simulated time at which the run ends even if jobs have not ended. Default: none; the run ends when all jobs
    /// have.
    pub time_limit: Option<Time>,
    /// Maximum memory of a process of the run, e.g. "8 GiB". A scenario that certainly needs more is refused; a run
    /// that exceeds the limit ends as `out-of-memory`, with the results up to then. Default: nine tenths of the memory
    /// available at the start, including the limits of control groups and of the address space.
    pub memory_limit: Option<Bytes>,
    /// Maximum number of messages recorded individually; if there are more, histograms replace the rows. With 0,
    /// synthetic sources also skip the check at each arrival: their messages are then counted as packets only, without
    /// message latency.
    #[default = 1_000_000]
    pub message_rows: u64,
    /// Maximum number of I/O operations recorded individually; if there are more, histograms replace the rows.
    #[default = 1_000_000]
    pub io_rows: u64,
    /// Interval of the time series of links and jobs, e.g. "1 ms". Default: no series.
    pub series_interval: Option<Time>,
    /// Links whose queues are recorded over time, by their ends: "r3>r7" from router 3 to router 7, "n5>r1" from node 5, "r3>*" all
    /// that leave router 3, "*>n5" what leads to node 5. How full the buffer of each virtual channel is, how many packets wait for
    /// it, and how long the link stalls, in the intervals of `series_interval` (table queue_series). At most 1024 links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue_links: Vec<String>,
    /// Records individual events of ranks, storage servers and links for `odonata timeline`; `{}` records all ranks for
    /// the whole run. Default: nothing is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Whether every wait of a packet or I/O request is charged to the job that caused it (tables blame and
    /// blame_series). Default: true if there is more than one job.
    pub blame: Filled<bool>,
    /// Charges the waits at routers of only one in this many packets, drawn at random, and multiplies them by this
    /// number: an estimate that costs less than charging all waits. At most 1024; with 1, the default, all waits are
    /// charged exactly. Waits of messages at NICs and of requests at servers are always charged. Not available with
    /// `lost_time` or pipelined routers.
    #[default = 1]
    pub blame_sampling: u32,
    /// Whether to compute how much later each job ends because of its waits, and which jobs caused this: waits are
    /// propagated along dependencies (table lost_time; by iteration, lost_time_iterations; with `series_interval` over
    /// time, lost_time_series). Needs `blame`.
    pub lost_time: bool,
    /// Number of the last waits of every rank to keep, with the causing job and the location (table lost_time_path):
    /// `odonata explain` derives from them the chain of waits that determines a job's end. At most 1000000; 0: none.
    /// Needs `lost_time`.
    pub lost_time_path: u32,
    /// Whether each job is also run alone, on the same nodes and servers; the table slowdown compares the two runs.
    /// With a single job, nothing more is run. Alone, a job with `start_after` starts at its `start`, and traffic with
    /// `until` sends for as long as it did in the shared run.
    pub baselines: bool,
    /// The scheduler: "auto", "sequential", "conservative" or "optimistic". Results do not depend on this, nor on
    /// `threads`, `parts` and `optimism`.
    pub scheduler: Scheduler,
    /// Maximum number of threads of each process; if `scheduler` is given, all of them work. "auto": one per core that
    /// the process may use; simultaneous baseline runs divide them among themselves.
    pub threads: Threads,
    /// How schedulers divide the machine: a number of parts, `{ first_routers = [0, 96, ...] }`, or "auto". A router is
    /// never separated from its nodes, and groups are divided only if there are more parts than groups.
    pub parts: Parts,
    /// Bounds of the optimistic scheduler.
    pub optimism: Optimism,
    /// Wall time between two snapshots of the run, e.g. "10 min", from which `odonata run --resume` continues after the
    /// computer has failed. They are kept beside the result folder until it is complete. Default: none.
    pub checkpoint_interval: Option<WallTime>,
}

/// Maximum number of threads of a process: more than any current computer has, and low enough to catch typing errors.
const MOST_THREADS: u32 = 4_096;

/// Maximum sampling interval of packets: the sample must remain meaningful.
const MOST_PACKETS_PER_SAMPLE: u32 = 1_024;

/// Maximum number of waits of a rank that are kept.
const MOST_WAITS: u32 = 1_000_000;

/// Minimum memory for rolling back events.
const LEAST_JOURNAL: Bytes = Bytes::mib(1);

impl Run {
    /// Checks the keys, for a machine of `routers` routers.
    ///
    /// # Errors
    /// A value is out of range.
    pub(super) fn check(&self, routers: u32) -> Result<(), Problem> {
        if let Some(limit) = self.time_limit {
            positive("run.time_limit", limit)?;
        }
        if let Some(interval) = self.series_interval {
            positive("run.series_interval", interval)?;
        }
        if let Some(timeline) = &self.timeline {
            timeline.check()?;
        }
        within("run.blame_sampling", self.blame_sampling, 1, MOST_PACKETS_PER_SAMPLE)?;
        within("run.lost_time_path", self.lost_time_path, 0, MOST_WAITS)?;
        if let Some(interval) = self.checkpoint_interval
            && interval.0 <= 0.0
        {
            let problem = format!("{interval} is not positive");
            let expected = "a wall time such as \"10 min\"";
            return Err(Problem::new("run.checkpoint_interval", problem, expected));
        }
        if self.memory_limit == Some(Bytes::ZERO) {
            let expected = "a size such as \"8 GiB\"";
            return Err(Problem::new(
                "run.memory_limit",
                "the limit leaves no memory for the run",
                expected,
            ));
        }
        if let Threads::Count(count) = self.threads {
            within("run.threads", count, 1, MOST_THREADS)?;
        }
        match &self.parts {
            Parts::Count(count) if *count > routers => {
                let problem = format!("{count} parts of {routers} routers");
                let error = Problem::new("run.parts", problem, format!("1 to {routers}"));
                return Err(error.hint("a part has at least one router, with all its nodes"));
            }
            Parts::Listed(listed) => first_routers(&listed.first_routers, routers)?,
            Parts::Auto | Parts::Count(_) => {}
        }
        if self.optimism.events_per_round == 0 {
            let problem = "a round needs at least one event";
            return Err(Problem::new("run.optimism.events_per_round", problem, "at least 1"));
        }
        if self.optimism.journal < LEAST_JOURNAL {
            let problem = format!("{} are too few to roll back events", self.optimism.journal);
            return Err(Problem::new("run.optimism.journal", problem, "at least 1 MiB"));
        }
        Ok(())
    }

    /// Distributes the run as `other` is distributed.
    pub(crate) fn spread_as(&mut self, other: &Run) {
        self.scheduler = other.scheduler;
        self.threads = other.threads;
        self.parts.clone_from(&other.parts);
        self.optimism = other.optimism;
    }
}

/// The scheduler. All give equal results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Sequential for the first second; then the run tries parts on several threads, and keeps them if they save a
    /// quarter of the wall time. `odonata check` reports the parts, and the run the choice.
    #[default]
    Auto,
    /// One event after the other; part by part if the machine is larger than the caches of a core.
    Sequential,
    /// Parts of the machine advance in parallel, each as far as no other can influence it: windows as long as the
    /// shortest delay between two parts (Chandy and Misra 1979; Lubachevsky 1989).
    Conservative,
    /// Parts of the machine advance in parallel and speculatively; events that were handled too early are rolled back
    /// (Time Warp, Jefferson 1985).
    Optimistic,
}

impl Scheduler {
    /// The name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Auto => "auto",
            Scheduler::Sequential => "sequential",
            Scheduler::Conservative => "conservative",
            Scheduler::Optimistic => "optimistic",
        }
    }
}

/// Number of threads of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One per core that the process may use.
    #[default]
    Auto,
    /// So many.
    Count(u32),
}

/// Parts of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// Chosen from the number of threads, cache sizes and the groups of the machine.
    #[default]
    Auto,
    /// This many parts, as equal as possible.
    Count(u32),
    /// These.
    Listed(ListedParts),
}

/// Parts by their first routers: `{ first_routers = [0, 96, 192] }`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedParts {
    /// The first router of each part, ascending from 0; a part ends where the next one begins.
    pub first_routers: Vec<u32>,
}

/// Bounds of the optimistic scheduler. They limit how far it runs ahead, and so determine its speed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema, smart_default::SmartDefault,
)]
#[serde(default, deny_unknown_fields)]
pub struct Optimism {
    /// A part goes beyond its window only until it has handled this many events in the round, including those of
    /// earlier rounds that may still have to be rolled back.
    #[schemars(range(min = 1))]
    #[default = 128]
    pub events_per_round: u32,
    /// Maximum memory of a process for rolling back events; at least 1 MiB.
    #[default(Bytes::mib(256))]
    pub journal: Bytes,
}

impl<'de> Deserialize<'de> for Threads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ThreadsVisitor;
        impl Visitor<'_> for ThreadsVisitor {
            type Value = Threads;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a positive whole number or \"auto\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Threads, E> {
                auto(text, &self).map(|()| Threads::Auto)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Threads, E> {
                count(number, &self).map(Threads::Count)
            }
        }
        deserializer.deserialize_any(ThreadsVisitor)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor;
        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Parts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a positive whole number, \"auto\" or { first_routers = [...] }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Parts, E> {
                auto(text, &self).map(|()| Parts::Auto)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Parts, E> {
                count(number, &self).map(Parts::Count)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Parts, A::Error> {
                ListedParts::deserialize(MapAccessDeserializer::new(map)).map(Parts::Listed)
            }
        }
        deserializer.deserialize_any(PartsVisitor)
    }
}

/// Accepts "auto" and nothing else.
fn auto<E: Error>(text: &str, expected: &dyn serde::de::Expected) -> Result<(), E> {
    if text == "auto" {
        return Ok(());
    }
    let hint = nearest(text, ["auto"]).map_or(String::new(), |hint| format!("; {hint}"));
    let expected = format!("{expected}{hint}");
    Err(E::invalid_value(Unexpected::Str(text), &expected.as_str()))
}

fn count<E: Error>(number: i64, expected: &dyn serde::de::Expected) -> Result<u32, E> {
    match u32::try_from(number) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(E::invalid_value(Unexpected::Signed(number), expected)),
    }
}

impl Serialize for Threads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Threads::Auto => serializer.serialize_str("auto"),
            Threads::Count(count) => serializer.serialize_u32(*count),
        }
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Parts::Auto => serializer.serialize_str("auto"),
            Parts::Count(count) => serializer.serialize_u32(*count),
            Parts::Listed(parts) => parts.serialize(serializer),
        }
    }
}

impl JsonSchema for Threads {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Threads".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "auto", "type": "string" }, { "type": "integer", "minimum": 1 }] })
    }
}

impl JsonSchema for Parts {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Parts".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<ListedParts>();
        json_schema!({
            "anyOf": [{ "const": "auto", "type": "string" }, { "type": "integer", "minimum": 1 }, table],
        })
    }
}

/// Checks that the parts that begin at `first` cover the machine, in order.
fn first_routers(first: &[u32], routers: u32) -> Result<(), Problem> {
    let key = "run.parts.first_routers";
    if first.is_empty() {
        return Err(Problem::new(key, "no part", "the first router of each part, from 0"));
    }
    for (at, &router) in first.iter().enumerate() {
        let key = format!("{key}.{at}");
        let least = at.checked_sub(1).map_or(0, |before| first[before] + 1);
        if at == 0 && router != 0 {
            let problem = format!("routers below {router} belong to no part");
            return Err(Problem::new(key, problem, "0 as the first router of the first part"));
        }
        if router >= routers {
            let problem = format!("there is no router {router}");
            return Err(Problem::new(key, problem, format!("{least} to {}", routers - 1)));
        }
        if router < least {
            let problem = format!(
                "a part that begins at router {router} follows one that begins at {}",
                least - 1
            );
            return Err(Problem::new(key, problem, format!("{least} to {}", routers - 1)));
        }
    }
    Ok(())
}
