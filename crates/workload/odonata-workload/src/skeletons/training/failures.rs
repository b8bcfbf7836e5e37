//! Failures of a training and the iterations that it repeats.
//!
//! A failure strikes at the end of an iteration, before its checkpoint. All iterations since the last checkpoint are lost:
//! all ranks restart, read it, and execute these iterations again. Failures are known from the start, counted in executed
//! iterations, so a program remains a pure function of its position. With a mean of m iterations between failures, an
//! iteration succeeds with probability q = exp(-1 / m), and N iterations with checkpoints after every K take on average
//!
//! ```text
//! E = (N / K) (q^-K - 1) / (1 - q) executed iterations and (1 - q) E failures,
//! ```
//!
//! the expected number of trials up to K successes in a row, N / K times. It is Daly's M (exp(τ / M) - 1) N / τ for τ = K
//! and M = m, in whole iterations.

use odonata_units::{Filled, Number, Problem, Time, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TrainingParams;
use crate::skeletons::failures::Failures as Process;

/// Failures after which a training goes back to its last checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "TrainingFailures")]
pub struct Failures {
    /// Executed iterations before each failure, repeated ones included, in ascending order, e.g. [4, 11]. The last of
    /// them is lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
    /// Mean number of executed iterations between failures, in place of `after`: gaps are exponential. It is the mean time
    /// between failures over the time of an iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Mean time between failures of one rank in hours, in place of `mean`, which is then that time over the ranks and
    /// `iteration`. 16,384 GPUs with 419 unexpected interruptions in 54 days have 50,700 hours (A. Grattafiori et al., "The
    /// Llama 3 herd of models", 2024).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtbf_hours: Option<f64>,
    /// Time of an iteration that `mtbf_hours` assumes, e.g. "5 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<Time>,
    /// Seed of the gaps. Default: the seed of the scenario.
    #[serde(skip_serializing_if = "Filled::is_empty")]
    #[schemars(with = "Option<u64>")]
    pub seed: Filled<u64>,
    /// Time from a failure to the reading of the checkpoint.
    pub restart: Time,
}

/// Time of an iteration in the process of failures.
const ITERATION: u64 = 1_000_000_000;

/// Most failures, and most executions up to the last one.
const MOST_FAILURES: usize = 1 << 16;
const MOST: u32 = 1 << 24;

impl Failures {
    /// Mean number of executed iterations between failures of `ranks` ranks; `None` if they are listed.
    fn mean_of(&self, ranks: u32) -> Option<f64> {
        const PS_PER_HOUR: f64 = 3600e12;
        match (self.mtbf_hours, self.iteration) {
            (Some(hours), Some(iteration)) => Some(hours * PS_PER_HOUR / (f64::from(ranks) * iteration.0 as f64)),
            _ => self.mean,
        }
    }

    /// The first failure after `executed` iterations: how many are executed then. `mean` is [`mean_of`](Self::mean_of).
    fn next(&self, mean: Option<f64>, executed: u32) -> Option<u32> {
        match mean {
            None => {
                let place = self.after.partition_point(|&after| after <= executed);
                self.after.get(place).copied()
            }
            Some(mean) => {
                let process = Process::new(Time((mean * ITERATION as f64) as u64), *self.seed);
                let at = process.after(Time(u64::from(executed) * ITERATION));
                u32::try_from(at.0.div_ceil(ITERATION)).ok()
            }
        }
    }

    /// Checks the values of table `at`, and fills in the seed.
    pub(super) fn resolve(&mut self, at: &str, ranks: u32) -> Result<(), Problem> {
        self.seed.fill(0);
        let key = |name: &str| format!("{at}.{name}");
        let given = [
            ("after", !self.after.is_empty()),
            ("mean", self.mean.is_some()),
            ("mtbf_hours", self.mtbf_hours.is_some()),
        ];
        let given: Vec<&str> = given
            .into_iter()
            .filter(|&(_, given)| given)
            .map(|(name, _)| name)
            .collect();
        match given[..] {
            [] => {
                return Err(Problem::new(
                    at,
                    "no failure",
                    "after = [...], mean = ... or mtbf_hours = ...",
                ));
            }
            [_] => {}
            [first, second, ..] => {
                let problem = format!("both {first} and {second}");
                return Err(Problem::new(key(second), problem, "one of them"));
            }
        }
        match (self.mtbf_hours, self.iteration) {
            (Some(_), None | Some(Time::ZERO)) => {
                let problem = "mtbf_hours without the time of an iteration";
                return Err(Problem::new(key("iteration"), problem, "above 0 s"));
            }
            (None, Some(iteration)) => {
                let problem = format!("{iteration} without mtbf_hours");
                return Err(Problem::new(key("iteration"), problem, "none, or mtbf_hours"));
            }
            _ => {}
        }
        if let Some(mean) = self.mean_of(ranks).filter(|mean| !(0.01..=1e9).contains(mean)) {
            let name = if self.mean.is_some() { "mean" } else { "mtbf_hours" };
            let problem = format!("a mean of {} iterations", Number(mean));
            return Err(Problem::new(key(name), problem, "0.01 to 1e9 iterations"));
        }
        let ascends = self
            .after
            .iter()
            .zip(&self.after[1.min(self.after.len())..])
            .all(|(a, b)| a < b);
        if !ascends || self.after.first() == Some(&0) {
            let problem = format!("failures after {:?} iterations", self.after);
            return Err(Problem::new(key("after"), problem, "ascending numbers from 1 on"));
        }
        within(key("restart"), self.restart, Time::ZERO, Time::LONGEST)?;
        Ok(())
    }
}

/// An execution of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The iteration.
    pub iteration: u32,
    /// Whether a restart precedes it.
    pub restarts: bool,
    /// Whether a failure strikes at its end.
    pub fails: bool,
    /// Whether it is the first execution of all, or the last one.
    pub is_first: bool,
    /// See [`is_first`](Self::is_first).
    pub is_last: bool,
}

/// The executions of a training: stretches of iterations that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The first execution of each stretch, and its iteration.
    stretches: Vec<(u32, u32)>,
    executions: u32,
}

impl History {
    /// With failures of this number of ranks, up to the success of `iterations` iterations with a checkpoint after every
    /// `interval` of them, if that is not 0.
    fn new(failures: Option<(&Failures, u32)>, iterations: u32, interval: u32) -> Result<History, String> {
        let mean = failures.and_then(|(failures, ranks)| failures.mean_of(ranks));
        let mut stretches = vec![(0, 0)];
        let (mut first, mut iteration) = (0, 0);
        loop {
            let end = (iterations - iteration).saturating_add(first);
            let failure = failures.and_then(|(failures, _)| failures.next(mean, first));
            let Some(failure) = failure.filter(|&failure| failure <= end) else {
                let executions = end;
                return Ok(History { stretches, executions });
            };
            // The last one is lost, with its checkpoint.
            let complete = iteration + (failure - first) - 1;
            iteration = match interval {
                0 => 0,
                interval => complete - complete % interval,
            };
            first = failure;
            stretches.push((first, iteration));
            if first > MOST || stretches.len() > MOST_FAILURES {
                let reached = iteration + 1;
                return Err(format!(
                    "iteration {reached} of {iterations} is not reached after {} failures",
                    stretches.len() - 1
                ));
            }
        }
    }

    /// Execution `number`, from 0; `None` after the last one.
    pub fn execution(&self, number: u32) -> Option<Execution> {
        let place = self.stretches.partition_point(|&(first, _)| first <= number);
        let &(first, iteration) = self.stretches.get(place.checked_sub(1)?)?;
        (number < self.executions).then(|| Execution {
            iteration: iteration + (number - first),
            restarts: number == first && place > 1,
            fails: self.stretches.get(place).is_some_and(|&(next, _)| next == number + 1),
            is_first: number == 0,
            is_last: number + 1 == self.executions,
        })
    }

    /// Whether the result of execution `number` is lost with a failure.
    pub fn is_lost(&self, number: u32) -> bool {
        let place = self.stretches.partition_point(|&(first, _)| first <= number);
        let next = self.stretches.get(place);
        match (self.execution(number), next) {
            (Some(execution), Some(&(_, resumed))) => execution.iteration >= resumed,
            _ => false,
        }
    }

    /// Number of executions.
    pub fn executions(&self) -> u32 {
        self.executions
    }

    /// Number of failures.
    pub fn failures(&self) -> u32 {
        self.stretches.len() as u32 - 1
    }
}

impl TrainingParams {
    /// The executions of iterations; resolved.
    ///
    /// # Errors
    /// Failures are so frequent that the training does not end.
    pub fn history(&self) -> Result<History, String> {
        let failures = self.failures.as_ref().map(|failures| (failures, self.ranks_in_all()));
        History::new(failures, self.iterations, self.checkpoint_interval)
    }

    fn ranks_in_all(&self) -> u32 {
        u32::try_from(self.layout().ranks()).unwrap_or(u32::MAX)
    }

    /// Checks the failures.
    pub(super) fn resolve_failures(&mut self, at: &str) -> Result<(), Problem> {
        let ranks = self.ranks_in_all();
        let Some(failures) = &mut self.failures else {
            return Ok(());
        };
        let table = format!("{at}.failures");
        failures.resolve(&table, ranks)?;
        let last = failures.after.last().copied();
        let history =
            (self.history()).map_err(|problem| Problem::new(&table, problem, "rarer failures, or checkpoints"))?;
        match last {
            Some(last) if last > history.executions() => {
                let problem = format!("a failure after {last} executed iterations");
                let expected = format!("at most {}, after which the training has ended", history.executions());
                Err(Problem::new(format!("{table}.after"), problem, expected))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(after: &[u32], iterations: u32, interval: u32) -> History {
        let failures = Failures {
            after: after.to_vec(),
            ..Failures::default()
        };
        History::new(Some((&failures, 1)), iterations, interval).unwrap()
    }

    fn iterations(history: &History) -> Vec<u32> {
        (0..)
            .map_while(|number| history.execution(number))
            .map(|at| at.iteration)
            .collect()
    }

    #[test]
    fn iterations_since_the_last_checkpoint_are_repeated() {
        // Checkpoints after 2, 4, 6: the fifth fails, then its repetition, then the fourth of the rest.
        let found = history(&[5, 6, 10], 8, 2);
        assert_eq!(iterations(&found), [0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 6, 7]);
        let lost: Vec<u32> = (0..12).filter(|&number| found.is_lost(number)).collect();
        assert_eq!((lost, found.failures()), (vec![4, 5, 8, 9], 3));
        let flags = |number| found.execution(number).map(|at| (at.restarts, at.fails)).unwrap();
        assert_eq!(
            [4, 5, 6, 9, 10, 11].map(flags),
            [
                (false, true),
                (true, true),
                (true, false),
                (false, true),
                (true, false),
                (false, false)
            ]
        );
        // A checkpoint at which the failure strikes is not written; without checkpoints all begins anew.
        assert_eq!(iterations(&history(&[2], 3, 2)), [0, 1, 0, 1, 2]);
        assert_eq!(iterations(&history(&[3], 4, 0)), [0, 1, 2, 0, 1, 2, 3]);
        assert_eq!(iterations(&history(&[], 3, 1)), [0, 1, 2]);
    }

    /// E = (N / K) (q^-K - 1) / (1 - q), with q = exp(-1 / m), and (1 - q) E failures: means of 400 seeds within 3%.
    #[test]
    fn executions_and_failures_have_the_mean_of_the_closed_form() {
        for (mean, interval) in [(20.0, 5), (20.0, 20), (7.5, 4), (3.0, 1)] {
            let iterations = 10 * interval;
            let (mut executions, mut failures) = (0.0, 0.0);
            for seed in 0..400 {
                let drawn = Failures {
                    mean: Some(mean),
                    seed: Filled::new(seed),
                    ..Failures::default()
                };
                let history = History::new(Some((&drawn, 1)), iterations, interval).unwrap();
                executions += f64::from(history.executions()) / 400.0;
                failures += f64::from(history.failures()) / 400.0;
            }
            let q = (-1.0 / mean).exp();
            let expected = 10.0 * (q.powi(-(interval as i32)) - 1.0) / (1.0 - q);
            assert!((executions / expected - 1.0).abs() < 0.03, "{executions} {expected}");
            let expected = (1.0 - q) * expected;
            assert!((failures / expected - 1.0).abs() < 0.04, "{failures} {expected}");
        }
    }

    /// H hours between failures of a rank are H / (ranks x time of an iteration) iterations between those of all.
    #[test]
    fn a_time_between_failures_is_a_mean_of_iterations() {
        let by_time = Failures {
            mtbf_hours: Some(50.0),
            iteration: Some(Time::from_ns(4_500_000_000)),
            seed: Filled::new(7),
            ..Failures::default()
        };
        let by_mean = Failures {
            mean: Some(50.0 * 3600.0 / (1000.0 * 4.5)),
            seed: Filled::new(7),
            ..Failures::default()
        };
        assert_eq!(by_time.mean_of(1000), Some(40.0));
        let all = |failures: &Failures| History::new(Some((failures, 1000)), 500, 10).unwrap();
        assert_eq!(all(&by_time), all(&by_mean));
        assert!(all(&by_time).failures() > 5);
        let refused = |failures: Failures, key: &str| {
            let problem = failures.clone().resolve("failures", 1000).unwrap_err();
            assert_eq!(problem.key, format!("failures.{key}"));
        };
        refused(
            Failures {
                iteration: None,
                ..by_time.clone()
            },
            "iteration",
        );
        refused(
            Failures {
                mean: Some(1.0),
                ..by_time.clone()
            },
            "mtbf_hours",
        );
        refused(
            Failures {
                mtbf_hours: Some(1e-9),
                ..by_time.clone()
            },
            "mtbf_hours",
        );
        refused(
            Failures {
                mtbf_hours: None,
                mean: Some(40.0),
                ..by_time
            },
            "iteration",
        );
    }

    #[test]
    fn a_training_that_does_not_end_is_refused() {
        let drawn = Failures {
            mean: Some(1.0),
            seed: Filled::new(1),
            ..Failures::default()
        };
        assert!(
            History::new(Some((&drawn, 1)), 100, 0)
                .unwrap_err()
                .contains("is not reached")
        );
    }
}
