//! The trial of another plan: a run that has lasted a second is repeated from its beginning under an alternative of its
//! plan, and continues with it if it gets as far in less time.
//!
//! Both runs handle the same simulated time, so their costs compare directly. An alternative with more threads must save
//! [`ThreadTrial::LEAST_GAIN`] of the elapsed time. It is dropped halfway if it has not done so until then. Results do not
//! depend on the choice.

use super::{Simulation, ranges, start};
use crate::cost::cpu_time;
use crate::schedule::Plan;
use odonata_engine::{Pause, Scheduler, SingleProcess, ThreadFigures, ThreadTrial, Time};
use odonata_machine::Machine;
use std::time::{Duration, Instant};

/// The shortest run before its trials.
const FIRST: Duration = Duration::from_secs(1);
/// Events between two comparisons.
const SLICE: u64 = 1 << 16;

/// Elapsed time and CPU time.
type Cost = (Duration, Duration);

/// The cost of a run at each simulated time that it has reached.
#[derive(Debug, Default)]
pub(super) struct Pace {
    marks: Vec<(Time, Cost)>,
}

impl Pace {
    fn end(&self) -> Cost {
        self.marks.last().map_or_else(Cost::default, |&(_, cost)| cost)
    }

    /// Records that the run went on to `now` at this cost.
    pub(super) fn passed(&mut self, now: Time, (clock, cpu): Cost) {
        let before = self.end();
        self.marks.push((now, (before.0 + clock, before.1 + cpu)));
    }

    /// The cost of another run until `now`, relative to this run.
    fn compare(&self, now: Time, spent: Cost) -> (f64, f64) {
        let (clock, cpu) = self.at(now);
        let ratio = |value: Duration, base: Duration| value.as_secs_f64() / base.as_secs_f64().max(1e-9);
        (ratio(spent.0, clock), ratio(spent.1, cpu))
    }

    /// The cost of this run until `now`.
    fn at(&self, now: Time) -> Cost {
        let next = self.marks.partition_point(|&(time, _)| time < now);
        self.marks.get(next).map_or_else(|| self.end(), |&(_, cost)| cost)
    }

    /// Whether another run at `now` is halfway, by its elapsed time or by that of this run.
    fn is_halfway(&self, now: Time, spent: Cost) -> bool {
        2 * self.at(now).0.max(spent.0) >= self.end().0
    }
}

/// Another run, up to the simulated time of this one, or up to halfway.
struct Trial {
    scheduler: Box<dyn Scheduler<Machine>>,
    /// Relative elapsed time and CPU time.
    clock: f64,
    cpu: f64,
}

/// Whether the relative elapsed time of a trial of `plan` is worth it.
fn pays(plan: &Plan, clock: f64) -> bool {
    let least = if plan.threads > 1 { ThreadTrial::LEAST_GAIN } else { 0.0 };
    clock <= 1.0 - least
}

impl Simulation {
    /// Tries the alternatives of the plan once the run has lasted a second, and at least as long as its build; takes the
    /// first that pays.
    pub(super) fn try_alternatives(&mut self) {
        if self.schedule.alternatives.is_empty() || self.pace.end().0 < FIRST.max(self.built) {
            return;
        }
        for other in std::mem::take(&mut self.schedule.alternatives) {
            if !self.may_pay(&other) || !self.watch.has_room_for_another() {
                continue;
            }
            let Some(Trial { scheduler, clock, cpu }) = self.repeat(&other) else {
                return;
            };
            if pays(&other, clock) {
                let saved = 100.0 * (1.0 - clock);
                (self.scheduler, self.schedule) = (scheduler, other);
                let reason = format!("the beginning of the run took {saved:.0}% less elapsed time than otherwise");
                self.schedule.reasons.push(reason);
                return;
            }
            if other.threads > 1 {
                let (fewer, more) = (1, other.threads as usize);
                self.threads_tried = Some(ThreadFigures {
                    threads: fewer,
                    share: 1.0,
                    trials: 1,
                    trial: Some(ThreadTrial {
                        fewer,
                        more,
                        clock,
                        cpu,
                    }),
                });
            }
        }
    }

    /// Clusters lose to a single queue only if most of them have no event in most windows.
    fn may_pay(&self, other: &Plan) -> bool {
        let figures = self.scheduler.figures();
        other.threads > 1 || figures.events < figures.rounds.saturating_mul(figures.parts as u64)
    }

    /// Repeats the run under `other`; `None` if something ends it.
    fn repeat(&self, other: &Plan) -> Option<Trial> {
        let until = self.scheduler.now();
        let parts = self.plan.parts(&ranges(other, 0..other.partition.len()));
        let mut scheduler = start(other, 0, parts, Box::new(SingleProcess)).ok()?;
        let (begin, cpu_begin) = (Instant::now(), cpu_time());
        loop {
            let pause = scheduler.run(until, SLICE);
            let is_over = matches!(pause, Pause::Idle | Pause::TimeLimit);
            if self.interrupt.was_raised() || !(is_over || pause == Pause::Budget) {
                return None;
            }
            let spent = (begin.elapsed(), cpu_time().saturating_sub(cpu_begin));
            let now = if is_over { until } else { scheduler.now() };
            let (clock, cpu) = self.pace.compare(now, spent);
            if is_over || (self.pace.is_halfway(now, spent) && !pays(other, clock)) {
                return Some(Trial { scheduler, clock, cpu });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use crate::scenario::resolved::Scheduler as Kind;

    /// A run that is planned to try parts on two threads, with some events handled.
    fn begun() -> Simulation {
        let text = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\n\
                    global_ports_per_router = 2\n[run]\nthreads = 2\nmessage_rows = 0\n[[jobs]]\nranks = 72\n\
                    workload.uniform = { bytes = \"4 KiB\", load = 0.1, messages = 500 }\n";
        let mut run = Simulation::new(scenario::load(text, "scenario.toml", &[], None, "").unwrap()).unwrap();
        assert_eq!(run.schedule.alternatives.len(), 1);
        run.advance(Duration::ZERO);
        assert!(!run.is_over() && run.scheduler.events() > 0);
        run
    }

    fn ended(mut run: Simulation) -> String {
        while !run.advance(Duration::from_secs(1)).finished {}
        run.finish(false).digest
    }

    /// Planted: the run has taken an hour so far, or there is nothing to try.
    #[test]
    fn a_run_goes_on_from_a_trial_that_pays_with_the_same_results() {
        let mut run = begun();
        let hour = Duration::from_secs(3600);
        run.pace = Pace {
            marks: vec![(run.scheduler.now(), (hour, hour))],
        };
        run.try_alternatives();
        assert_eq!((run.schedule.scheduler, run.schedule.threads), (Kind::Conservative, 2));
        assert!(run.schedule.alternatives.is_empty() && run.threads_tried.is_none());
        let mut alone = begun();
        alone.schedule.alternatives.clear();
        alone.try_alternatives();
        assert_eq!(alone.schedule.scheduler, Kind::Sequential);
        assert_eq!(ended(run), ended(alone));
    }

    /// Planted: the run has reached the present in no time, and taken a second for the time after it.
    #[test]
    fn a_run_goes_on_after_a_trial_that_does_not_pay() {
        let mut run = begun();
        let now = run.scheduler.now();
        run.pace = Pace {
            marks: vec![
                (now, (Duration::from_nanos(1), Duration::from_nanos(1))),
                (Time(now.0 + 1), (Duration::from_secs(1), Duration::from_secs(1))),
            ],
        };
        let before = run.scheduler.events();
        run.try_alternatives();
        assert_eq!(
            (run.schedule.scheduler, run.scheduler.events()),
            (Kind::Sequential, before)
        );
        let figures = run.threads_tried.expect("two threads were tried");
        assert!(figures.threads == 1 && !figures.trial.unwrap().pays(), "{figures:?}");
        assert_eq!(ended(run), {
            let mut alone = begun();
            alone.schedule.alternatives.clear();
            ended(alone)
        });
    }

    /// A run of 100 ms per microsecond, of which another takes a half or the double.
    #[test]
    fn runs_are_compared_at_the_same_simulated_time_from_halfway_on() {
        let ms = |n| (Duration::from_millis(n), Duration::from_millis(2 * n));
        let mut pace = Pace::default();
        for step in 1..=10 {
            pace.passed(Time::from_ns(1_000 * step), ms(100));
        }
        assert_eq!(pace.end(), ms(1_000));
        let at = |us: u64, spent| {
            let now = Time::from_ns(1_000 * us);
            (pace.is_halfway(now, ms(spent)), pace.compare(now, ms(spent)).0)
        };
        assert_eq!(at(4, 200), (false, 0.5));
        assert_eq!(at(5, 250), (true, 0.5));
        assert_eq!(at(10, 500), (true, 0.5));
        // A slow run is halfway by its own time.
        assert_eq!(at(2, 400), (false, 2.0));
        assert_eq!(at(3, 600), (true, 2.0));
    }
}
