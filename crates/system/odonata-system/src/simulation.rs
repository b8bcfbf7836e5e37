//! A run: built from a scenario, advanced in slices of wall time, ended with exactly one outcome.

mod finish;
mod look;
mod overload;
mod results;
mod save;
mod start;
mod trial;

pub use look::Progress;
pub use results::Results;
pub use start::Others;

use crate::build::{self, Plan};
use crate::cost::{Meter, cpu_time};
use crate::memory::{self, Exceeded, Need, Spread, Watch};
use crate::placement::Placement;
use crate::process_group::ProcessGroup;
use crate::scenario::resolved::Fidelity;
use crate::scenario::{InputError, Problem, Resolved, Scenario};
use crate::schedule::{self, Resources};
use crate::snapshot::Layout;
use crate::warnings::{Warning, warnings};
use look::Look;
use odonata_engine::{HALT_GRID, Pause, Scheduler, ThreadFigures, Time};
use odonata_host::Interrupt;
use odonata_machine::Machine;
use odonata_network::Fidelities;
use start::share_of;
pub(crate) use start::{ranges, start};
use std::time::{Duration, Instant};
use trial::Pace;

/// Events between two checks of the clock: a few milliseconds. Fewer if they take longer than [`LONG_SLICE`], e.g. when
/// programs are computed outside the simulator.
const SLICE: u64 = 1 << 16;
const LEAST_SLICE: u64 = 1 << 4;
const LONG_SLICE: Duration = Duration::from_millis(100);

/// Simulated time between two checks of whether a run with endless traffic can end, 134 us; a multiple of the engine's
/// [`HALT_GRID`](odonata_engine::HALT_GRID).
const LOOK_EVERY: Time = Time(1 << 27);

/// A run under way.
pub struct Simulation {
    scenario: Resolved,
    placement: Placement,
    plan: Plan,
    schedule: schedule::Plan,
    /// The cost of the run until its alternatives are tried, and of its build.
    pace: Pace,
    built: Duration,
    /// The trial of several threads, if they did not pay.
    threads_tried: Option<ThreadFigures>,
    scheduler: Box<dyn Scheduler<Machine>>,
    group: ProcessGroup,
    interrupt: Interrupt,
    /// Events between two checks of the clock.
    slice: u64,
    pause: Option<Pause>,
    /// Simulated time of the last check of whether anything other than endless traffic is left.
    checked: Time,
    progress: Progress,
    meter: Meter,
    warnings: Vec<Warning>,
    watch: Watch,
    /// Whether slices are adapted to the clock, and the memory is monitored.
    looks_around: bool,
    /// Whether any process reached its memory limit, which all processes know; and the excess, if this one did.
    out_of_memory: bool,
    exceeded: Option<Exceeded>,
}

impl Simulation {
    /// Builds the machine and starts its jobs.
    ///
    /// # Errors
    /// Inconsistencies that the scenario alone did not reveal.
    pub fn new(scenario: Scenario) -> Result<Self, InputError> {
        Simulation::with(scenario, Others::default(), None)
    }

    /// Builds the run in one of several processes that share it. Collective, like all methods that change anything.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), or the other processes cannot be reached.
    pub fn shared(scenario: Scenario, others: Others) -> Result<Self, InputError> {
        Simulation::with(scenario, others, None)
    }

    /// Builds the run with the division of a saved run.
    fn with(scenario: Scenario, others: Others, layout: Option<&Layout>) -> Result<Self, InputError> {
        let meter = Meter::start();
        let mut warnings = warnings(&scenario);
        let Scenario {
            resolved,
            placement,
            document,
        } = scenario;
        let locate = |text: String| document.locate(Problem::new("", text, ""));
        let Others {
            transport,
            mut group,
            interrupt,
        } = others;
        let (process, processes) = group.place();
        let available = memory::available(resolved.run.memory_limit);
        let mut spread = Spread {
            parts: 1,
            processes: processes as u64,
        };
        let fits = Need::least(&resolved, spread).refuse(&available);
        // The result may differ between processes.
        let all_fit = group.all(fits.is_ok()).map_err(locate)?;
        fits.map_err(|problem| document.locate(problem))?;
        if !all_fit {
            return Err(locate(
                "another process has too little memory for its part of the run".into(),
            ));
        }
        let plan = Plan::new(&resolved, &placement).map_err(locate)?;
        let plan = plan.interrupted_by(interrupt.clone());
        let mut planned = resolved.clone();
        if let Some(layout) = layout {
            layout.ask_for(&mut planned.run);
        }
        // All processes make the same plan.
        let cores = group.least(u64::from(Resources::here().cores)).map_err(locate)?;
        let resources = Resources {
            cores: cores as u32,
            processes: processes as u32,
        };
        let mut schedule = schedule::plan(&planned, &placement, plan.topology(), resources)
            .map_err(|problem| document.locate(problem))?;
        if layout.is_some() {
            // A trial would begin at the beginning of the run.
            schedule.alternatives.clear();
        }
        let here = share_of(&schedule, process, processes).map_err(locate)?;
        spread.parts = ranges(&schedule, here.clone()).len() as u64;
        let vcs = build::virtual_channels(&resolved, plan.routing());
        let need = Need::probable(&resolved, vcs, &schedule.estimate, spread, available.taken);
        warnings.extend(need.doubt(&available));
        let parts = plan.parts(&ranges(&schedule, here.clone()));
        let scheduler = start(&schedule, here.start, parts, transport).map_err(locate)?;
        let mut this = Simulation {
            scenario: resolved,
            placement,
            scheduler,
            group,
            interrupt,
            slice: SLICE,
            schedule,
            pace: Pace::default(),
            built: meter.spent().wall,
            threads_tried: None,
            plan,
            pause: None,
            checked: Time::ZERO,
            progress: Progress::default(),
            meter,
            warnings,
            watch: Watch::new(&available),
            looks_around: true,
            out_of_memory: false,
            exceeded: None,
        };
        this.progress = this.look().progress(&this);
        Ok(this)
    }

    /// Wall time of the run before this process resumed it.
    pub fn earlier_wall(&self) -> Duration {
        self.meter.earlier().wall
    }

    /// The scenario that runs.
    pub fn scenario(&self) -> &Resolved {
        &self.scenario
    }

    /// What in the scenario is probably unintended.
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

    /// Simulates until the end without checking the clock or the memory in use: the instruction count of such a run is
    /// reproducible even on a busy machine.
    pub fn advance_blindly(&mut self) -> Progress {
        self.looks_around = false;
        if let Err(text) = self.run_for(|| true) {
            self.pause = Some(Pause::Lost(text));
        }
        self.looks_around = true;
        self.progress = self.look().progress(self);
        self.progress.clone()
    }

    /// Simulates until the end, or until `more` is false in any process.
    fn run_for(&mut self, more: impl Fn() -> bool) -> Result<(), String> {
        while !self.is_over() {
            let until = self.until();
            let pause = self.run_slice(until);
            // No pending events means the end only if no process has unfinished work.
            if !self.group.all(!self.interrupt.was_raised())? {
                break;
            }
            self.pause = match pause {
                Pause::Budget => None,
                // Only events without an effect that matters are left.
                Pause::TimeLimit if self.may_be_endless() && self.look_everywhere()?.is_over(&self.plan) => {
                    Some(Pause::Idle)
                }
                Pause::TimeLimit if until < self.limit() => {
                    self.checked = until;
                    None
                }
                pause => Some(pause),
            };
            if self.looks_around {
                let scheduler = &mut self.scheduler;
                self.exceeded = self.watch.look(|| {
                    let mut bytes = 0;
                    scheduler.view(&mut |part| bytes += part.model.fabric.growth_ahead() as u64);
                    bytes
                });
            }
            if self.pause.is_none() && self.exceeded.is_none() {
                self.try_alternatives();
            }
            let [more, fits] = self.group.all_of([more(), self.exceeded.is_none()])?;
            // A run that ends anyway needs no more memory.
            self.out_of_memory = !fits && self.pause.is_none();
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// Handles some events, up to `until`.
    fn run_slice(&mut self, until: Time) -> Pause {
        let (begin, cpu_begin) = (Instant::now(), cpu_time());
        let pause = self.scheduler.run(until, self.slice);
        let (_, processes) = self.group.place();
        // All processes must request the same number.
        if processes == 1 && self.looks_around {
            let wall = begin.elapsed();
            if !self.schedule.alternatives.is_empty() {
                let cost = (wall, cpu_time().saturating_sub(cpu_begin));
                self.pace.passed(self.scheduler.now(), cost);
            }
            if wall > LONG_SLICE {
                self.slice = (self.slice / 4).max(LEAST_SLICE);
            } else if wall < LONG_SLICE / 4 {
                self.slice = (self.slice * 2).min(SLICE);
            }
        }
        pause
    }

    /// Whether the run is over.
    fn is_over(&self) -> bool {
        self.pause.is_some() || self.out_of_memory
    }

    /// Whether there are sources that send until stopped, so that a run may have events forever.
    fn may_be_endless(&self) -> bool {
        self.scenario.jobs.iter().any(|job| !job.until.is_empty())
    }

    /// Simulated time of the next check of whether anything other than endless traffic is left. It does not depend on
    /// wall time, so that the run always ends at the same event.
    fn until(&self) -> Time {
        match self.may_be_endless() {
            true => Time(((self.checked.0 + 1) / LOOK_EVERY.0 + 1).saturating_mul(LOOK_EVERY.0) - 1).min(self.limit()),
            false => self.limit(),
        }
    }

    /// When the run ends even if its jobs have not ended.
    fn limit(&self) -> Time {
        self.scenario.run.time_limit.unwrap_or(Time::LONGEST).min(Time::LONGEST)
    }

    /// Looks at the parts of this process.
    fn look(&mut self) -> Look {
        let mut look = Look::default();
        let halted = matches!(self.pause, Some(Pause::Halted(_))).then(|| {
            // All events before the next multiple of the grid are handled.
            Time((self.scheduler.now().0 / HALT_GRID.0 + 1) * HALT_GRID.0 - 1)
        });
        self.scheduler.view(&mut |part| look.at(part, halted));
        look
    }

    /// Looks at all parts.
    fn look_everywhere(&mut self) -> Result<Look, String> {
        let look = self.look();
        let looks = self.group.share(look)?;
        Ok(looks.into_iter().reduce(Look::join).unwrap_or_default())
    }

    /// The simulated time: that of the last event with an effect, or the limit if the run has reached it.
    fn now(&self, look: &Look) -> Time {
        match self.pause {
            Some(Pause::TimeLimit) => self.limit(),
            Some(Pause::Idle) => look.jobs.last_event.unwrap_or(self.scheduler.now()),
            // Only flits from other parts have events of their own.
            Some(Pause::Halted(_)) => look.last_arrival.max(Some(self.scheduler.now())).unwrap_or_default(),
            _ => self.scheduler.now(),
        }
    }

    /// The delivered share of the expected packets, or of the messages if some messages are no packets; 0 if the operations
    /// could not all be counted. A run that delivers more than expected stays below 1.
    fn expected_share(&self, packets: u64, messages: u64) -> f64 {
        const MOST: f64 = 0.95;
        let estimate = &self.schedule.estimate;
        let (delivered, expected) = match self.scenario.fidelities() {
            Fidelities::Same(Fidelity::Packet) => (packets, estimate.packets()),
            _ => (messages, estimate.messages()),
        };
        if expected > 0.0 && !estimate.at_least() {
            (delivered as f64 / expected).min(MOST)
        } else {
            0.0
        }
    }

    /// The progress of the run when it was last advanced.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}
