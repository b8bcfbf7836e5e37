//! Checkpoint and restart under failures: the time to solution of a job (J. T. Daly, "A higher order estimate of the
//! optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22(3), 2006).
//!
//! ```text
//! plan ──> compute (interval) ──> write ──> commit ──> plan ...
//!   │            failure │            │ failure
//!   │                    v            v
//!   └── commit <── read <── restart <─┘   of the last checkpoint that is complete
//!                  │    ^
//!                  └────┘ some of it is lost: the one before it, or the beginning
//! ```
//!
//! Failures are a Poisson process of mean gap M over simulated time, drawn from the seed: they strike the job in any
//! state, restarts included. Rank 0 decides what happens next and broadcasts it in tags of messages along a binomial
//! tree, so all ranks agree on whether a checkpoint is complete: it is if rank 0 has passed the barrier after it before
//! the failure. A failure during computation strikes at once; during a write or a read it strikes at the end of the
//! current record.
//!
//! If storage servers fail, a restart reads the surviving data. Rank 0 gathers along the tree whether any rank has lost
//! data; if so, all ranks go back to the previous checkpoint, or to the beginning.

mod optimum;
mod program;
mod state;

use odonata_units::{Bytes, Filled, Problem, Time, positive, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CheckpointFile, OfJob, Parameters};
use crate::Program;

pub use optimum::{Optimum, expected_time, first_order, higher_order};
pub use program::CheckpointRestart;
pub use state::reports;

/// Longest of its times: 2^62 ps, the longest run.
const LONGEST: Time = Time(1 << 62);
/// Shortest mean time between failures.
const SHORTEST_MTTI: Time = Time(1_000_000);

/// A job that writes checkpoints, fails and restarts from the last one, until its work is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "CheckpointRestart")]
pub struct CheckpointRestartParams {
    /// Computation of each rank up to the solution, without checkpoints and failures.
    #[default(Time::from_seconds(3_600.0))]
    pub work: Time,
    /// Mean time to interrupt of the whole job, at least "1 us": gaps between failures are exponential.
    #[default(Time::from_seconds(86_400.0))]
    pub mtti: Time,
    /// Size of one checkpoint of the whole job; every rank has an equal share, rounded down. Two checkpoints are kept:
    /// if storage servers fail and the last one is lost, a restart reads the previous one.
    #[default(Bytes(1_000_000_000_000))]
    pub total: Bytes,
    /// Whether all ranks write to one file, or each to its own.
    #[default(CheckpointFile::PerRank)]
    pub file: CheckpointFile,
    /// Size of one write or read, at least 1 B; the last one of a rank may be shorter.
    #[default(Bytes::mib(16))]
    pub record: Bytes,
    /// Computation between two checkpoints. Default: the optimum.
    pub interval: Option<Time>,
    /// Daly's formula for the interval, if no interval is given.
    #[default(Optimum::HigherOrder)]
    pub optimum: Optimum,
    /// Time of a checkpoint in that formula. Default: measured on a checkpoint that the job writes before it begins to
    /// compute.
    pub checkpoint_time: Option<Time>,
    /// Time from a failure to the reading of the checkpoint: the restart of the job.
    pub restart: Time,
    /// Seed of the failures. Default: the seed of the scenario.
    pub seed: Filled<u64>,
    /// Number of failures after which the job gives up, which is an error of the run.
    #[default = 10_000]
    pub most_failures: u32,
    /// Whether a checkpoint is complete only when every rank has synchronized its file (`fsync`), and it is committed
    /// (`storage.sync`). Default: false.
    pub fsync: bool,
}

impl CheckpointRestartParams {
    /// The interval by the formula for a checkpoint time of `checkpoint`.
    fn optimum_of(&self, checkpoint: Time) -> Time {
        let (delta, mtti) = (checkpoint.seconds(), self.mtti.seconds());
        let seconds = match self.optimum {
            Optimum::FirstOrder => first_order(delta, mtti),
            Optimum::HigherOrder => higher_order(delta, mtti),
        };
        Time::from_seconds(seconds).max(Time(1))
    }

    /// The interval, if known before the first checkpoint.
    fn known_interval(&self) -> Option<Time> {
        self.interval
            .or_else(|| self.checkpoint_time.map(|time| self.optimum_of(time)))
    }
}

impl Parameters for CheckpointRestartParams {
    fn of_job(&mut self, job: OfJob) {
        self.seed.fill(job.seed);
    }

    fn resolve(&mut self, at: &str, _: u32) -> Result<(), Problem> {
        let key = |name: &str| format!("{at}.{name}");
        self.seed.fill(0);
        positive(key("work"), self.work)?;
        within(key("work"), self.work, Time(1), LONGEST)?;
        within(key("mtti"), self.mtti, SHORTEST_MTTI, LONGEST)?;
        within(key("restart"), self.restart, Time::ZERO, LONGEST)?;
        for (name, time) in [("interval", self.interval), ("checkpoint_time", self.checkpoint_time)] {
            if let Some(time) = time {
                positive(key(name), time)?;
                within(key(name), time, Time(1), LONGEST)?;
            }
        }
        if self.record == Bytes::ZERO {
            return Err(Problem::new(key("record"), "records of 0 B", "at least 1 B"));
        }
        if self.interval.is_some() && self.checkpoint_time.is_some() {
            let problem = "both an interval and the checkpoint time, which gives the optimal interval";
            return Err(Problem::new(key("checkpoint_time"), problem, "one of them"));
        }
        Ok(())
    }

    fn program(&self, ranks: u32) -> Result<Box<dyn Program>, String> {
        Ok(Box::new(CheckpointRestart::new(ranks, self.clone())?))
    }

    fn does_io(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[path = "checkpoint_restart/tests.rs"]
mod tests;
