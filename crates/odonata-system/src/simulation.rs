//! A run: built from a scenario, advanced in slices of wall time, ended in exactly one outcome.

mod finish;
mod look;
mod results;
mod save;
mod start;

pub use look::Progress;
pub use results::Results;
pub use start::Others;

use crate::build::Plan;
use crate::company::Company;
use crate::cost::Meter;
use crate::machine::Machine;
use crate::placement::Placement;
use crate::scenario::{InputError, Problem, Resolved, Scenario};
use crate::schedule::{self, Resources};
use crate::snapshot::Layout;
use crate::warnings::{Warning, warnings};
use look::Look;
use odonata_engine::{Pause, Scheduler, Time};
use start::share_of;
pub(crate) use start::{ranges, start};
use std::time::{Duration, Instant};

/// Events between two looks at the clock: a few milliseconds.
const SLICE: u64 = 1 << 16;

/// Simulated time between two looks at whether a run with endless traffic can end, 134 us; a multiple of the engine's
/// [`HALT_GRID`](odonata_engine::HALT_GRID).
const LOOK_EVERY: Time = Time(1 << 27);

/// A run under way.
pub struct Simulation {
    scenario: Resolved,
    placement: Placement,
    plan: Plan,
    schedule: schedule::Plan,
    scheduler: Box<dyn Scheduler<Machine>>,
    company: Company,
    pause: Option<Pause>,
    /// Until when it has been looked at whether anything but traffic without end is left.
    checked: Time,
    progress: Progress,
    meter: Meter,
    warnings: Vec<Warning>,
}

impl Simulation {
    /// Builds the machine and starts its jobs.
    ///
    /// # Errors
    /// What does not fit together, as far as it could not be told from the scenario alone.
    pub fn new(scenario: Scenario) -> Result<Self, InputError> {
        Simulation::with(scenario, Others::default(), None)
    }

    /// The same in one of several processes that share the run. Collective, like all methods that change anything.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), or that the others cannot be reached.
    pub fn shared(scenario: Scenario, others: Others) -> Result<Self, InputError> {
        Simulation::with(scenario, others, None)
    }

    /// The same, divided like a run that was saved.
    fn with(scenario: Scenario, others: Others, layout: Option<&Layout>) -> Result<Self, InputError> {
        let meter = Meter::start();
        let warnings = warnings(&scenario);
        let Scenario {
            resolved,
            placement,
            document,
        } = scenario;
        let locate = |text: String| document.locate(Problem::new("", text, ""));
        let plan = Plan::new(&resolved, &placement).map_err(locate)?;
        let mut planned = resolved.clone();
        if let Some(layout) = layout {
            planned.run.parallel = layout.parallel(&resolved.run.parallel);
        }
        let Others { transport, mut company } = others;
        let (process, processes) = company.place();
        // All make the same plan.
        let cores = company.least(u64::from(Resources::here().cores)).map_err(locate)?;
        let resources = Resources {
            cores: cores as u32,
            processes: processes as u32,
        };
        let schedule = schedule::plan(&planned, &placement, plan.topology(), resources)
            .map_err(|problem| document.locate(problem))?;
        let here = share_of(&schedule, process, processes).map_err(locate)?;
        let parts = plan.parts(&ranges(&schedule, here.clone()));
        let scheduler = start(&schedule, here.start, parts, transport).map_err(locate)?;
        let mut this = Simulation {
            scenario: resolved,
            placement,
            scheduler,
            company,
            schedule,
            plan,
            pause: None,
            checked: Time::ZERO,
            progress: Progress::default(),
            meter,
            warnings,
        };
        this.progress = this.look().progress(&this);
        Ok(this)
    }

    /// Wall time that the run had taken before this process went on with it.
    pub fn earlier_wall(&self) -> Duration {
        self.meter.earlier().wall
    }

    /// The scenario that runs.
    pub fn scenario(&self) -> &Resolved {
        &self.scenario
    }

    /// What of the scenario is probably not meant.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Simulates for about `wall` of real time, or to the end.
    pub fn advance(&mut self, wall: Duration) -> Progress {
        let begin = Instant::now();
        if let Err(text) = self.run_for(|| begin.elapsed() < wall) {
            self.pause = Some(Pause::Lost(text));
        }
        self.progress = self.look().progress(self);
        self.progress.clone()
    }

    /// Simulates until the end, or until `more` does not hold in all processes.
    fn run_for(&mut self, more: impl Fn() -> bool) -> Result<(), String> {
        while self.pause.is_none() {
            let until = self.until();
            self.pause = match self.scheduler.run(until, SLICE) {
                Pause::Budget => None,
                // Nothing but events that do nothing, or that help nobody, is left.
                Pause::TimeLimit if self.may_be_endless() && self.look_everywhere()?.is_over(&self.plan) => {
                    Some(Pause::Idle)
                }
                Pause::TimeLimit if until < self.limit() => {
                    self.checked = until;
                    None
                }
                pause => Some(pause),
            };
            if !self.company.all(more())? {
                break;
            }
        }
        Ok(())
    }

    /// Whether there are sources that send until they are told, so that a run may have events for ever.
    fn may_be_endless(&self) -> bool {
        self.scenario.jobs.iter().any(|job| !job.until.is_empty())
    }

    /// Until when to run before the next look at whether anything but traffic without end is left: a matter of
    /// simulated time, so that the run ends at the same event however it is advanced.
    fn until(&self) -> Time {
        match self.may_be_endless() {
            true => Time(((self.checked.0 + 1) / LOOK_EVERY.0 + 1).saturating_mul(LOOK_EVERY.0) - 1).min(self.limit()),
            false => self.limit(),
        }
    }

    /// When the run ends even if its jobs have not.
    fn limit(&self) -> Time {
        self.scenario.run.time_limit.unwrap_or(Time::LONGEST).min(Time::LONGEST)
    }

    /// Looks at the parts of this process.
    fn look(&mut self) -> Look {
        let mut look = Look::default();
        self.scheduler.view(&mut |part| look.at(part));
        look
    }

    /// Looks at all parts.
    fn look_everywhere(&mut self) -> Result<Look, String> {
        let look = self.look();
        let looks = self.company.share(look)?;
        Ok(looks.into_iter().reduce(Look::join).unwrap_or_default())
    }

    /// The simulated time: that of the last event that did something, or the limit if the run has come to it.
    fn now(&self, last_event: Option<Time>) -> Time {
        match self.pause {
            Some(Pause::TimeLimit) => self.limit(),
            Some(Pause::Idle) => last_event.unwrap_or(self.scheduler.now()),
            _ => self.scheduler.now(),
        }
    }

    /// Where the run stood when it was last advanced.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}
