//! What is recorded for `odonata timeline`: the keys of the table `run.timeline`.

use std::collections::BTreeSet;

use odonata_units::{Problem, Time, within};
use schemars::JsonSchema;

use super::job::OtherJobs;

/// What is recorded individually for `odonata timeline`: the calls of ranks, their messages, the accesses of storage
/// servers, and the busiest links over time. Recording does not change the results.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields, expecting = "a table: {} records all")]
pub struct Timeline {
    /// Name of one or more jobs whose ranks are recorded; the name of an array means all of its jobs. Default: all
    /// jobs. (Synthetic traffic has no calls.)
    #[schemars(with = "Option<odonata_units::OneOrMany<String>>")]
    pub jobs: OtherJobs,
    /// Ranks of these jobs, e.g. [0, 1, 63]. Default: all.
    pub ranks: Option<Vec<u32>>,
    /// Records only every n-th of these ranks: those whose number in their job is a multiple of n.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub every: u32,
    /// Simulated time at which recording starts.
    pub from: Time,
    /// Simulated time at which recording ends. Default: the end of the run.
    pub until: Option<Time>,
    /// Maximum number of rows in each of the tables calls and accesses, and of steps from which flows and requests are
    /// derived (a message has three or four). Those that end first are kept; the others are only counted.
    #[default = 1_000_000]
    pub rows: u64,
    /// Number of links, the busiest ones, that are recorded over time, in the intervals of `run.series_interval`;
    /// without that setting there are none.
    #[default = 16]
    pub links: u32,
}

/// Maximum number of rows of a table: they are in memory until the end of the run.
const MOST_ROWS: u64 = 1_000_000_000;

impl Timeline {
    /// Checks the keys.
    ///
    /// # Errors
    /// A value is out of range.
    pub(super) fn check(&self) -> Result<(), Problem> {
        within("run.timeline.every", self.every, 1, u32::MAX)?;
        within("run.timeline.rows", self.rows, 1, MOST_ROWS)?;
        if self.ranks.as_ref().is_some_and(Vec::is_empty) {
            return Err(Problem::new(
                "run.timeline.ranks",
                "no rank",
                "numbers of ranks, from 0",
            ));
        }
        if let Some(until) = self.until
            && until <= self.from
        {
            let problem = format!("a period that begins at {} and ends at {until}", self.from);
            return Err(Problem::new(
                "run.timeline.until",
                problem,
                "a time after run.timeline.from",
            ));
        }
        Ok(())
    }

    /// The period.
    pub fn period(&self) -> (Time, Time) {
        (self.from, self.until.unwrap_or(Time::NEVER))
    }

    /// Whether each rank is recorded, for jobs with these numbers of ranks, in order.
    pub(crate) fn chosen(&self, ranks_of_jobs: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let listed: Option<BTreeSet<u32>> = (self.ranks.as_ref()).map(|ranks| ranks.iter().copied().collect());
        let mut chosen = Vec::new();
        for (number, ranks) in (0..).zip(ranks_of_jobs) {
            let job = self.jobs.binary_search(&number).is_ok();
            let rank = |rank: u32| listed.as_ref().is_none_or(|listed| listed.contains(&rank));
            chosen.extend((0..ranks).map(|number| job && number.is_multiple_of(self.every) && rank(number)));
        }
        chosen
    }
}
