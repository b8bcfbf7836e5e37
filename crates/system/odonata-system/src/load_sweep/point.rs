//! One point of a latency-load curve.

use super::LoadSweep;
use super::booksim::BookSim;
use super::method::{Judge, Method, Span, Verdict, Window};
use super::periods::{Periods, mean};
use crate::build::Plan;
use crate::memory::{self, Need, Spread, Watch};
use crate::placement::Placement;
use crate::scenario::resolved::{self, Resolved, Threads, Workload};
use crate::scenario::{InputError, Problem};
use crate::schedule::{self, Resources};
use crate::simulation;
use cpu_time::ThreadTime;
use odonata_engine::{Pause, Scheduler, SingleProcess};
use odonata_machine::Machine;
use odonata_network::{HALT_QUEUE, Measured, Sample, Sampling, find_deadlock};
use odonata_units::{Number, Time};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Events between two checks of the clock.
const SLICE: u64 = 1 << 15;

/// Maximum number of periods that wait for measured packets.
const MOST_DRAINING: u32 = 10_000;

/// Number of packets, and load, for measuring the idle network.
const FEW: u64 = 200;
const NEARLY_ZERO: f64 = 0.01;

/// A measurement in progress.
pub struct Point {
    load: f64,
    offered_bytes: f64,
    /// Payload bytes that all senders together can offer per period.
    full: f64,
    sampling: Sampling,
    method: Method,
    judge: Box<dyn Judge>,
    window: Window,
    run: Run,
    ended: u32,
    outcome: Option<Outcome>,
    watch: Watch,
    cpu: Duration,
    wall: Duration,
}

/// The end of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// In a steady state.
    Stable,
    /// The network does not sustain this load, with the reason.
    Saturated(String),
    /// Another event ended the run.
    Failed(String),
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PointProgress {
    /// Whether it has ended.
    pub finished: bool,
    /// Sampling periods over.
    pub periods: u32,
    /// Whether the network is warm.
    pub warm: bool,
    /// Simulated time, seconds.
    pub simulated_s: f64,
    /// Packets delivered.
    pub packets: u64,
}

/// Latencies in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// Mean, from the creation of the message to the arrival of the packet's tail.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Median; null: beyond the histogram (1,000 cycles).
    pub p50: Option<f64>,
    /// 99th percentile; likewise.
    pub p99: Option<f64>,
    /// Largest.
    pub max: f64,
    /// Mean, from the start on the terminal link: without the software's cost of a send and the wait in the source.
    pub network_mean: f64,
    /// Half-width of the 95% confidence interval of the mean, if the method computes one.
    pub half_width: Option<f64>,
}

/// The results of a point. Rates are fractions of the terminal link's bandwidth per sending rank.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PointResult {
    /// The offered load.
    pub offered: f64,
    /// The load created in the measured periods.
    pub created: f64,
    /// The load ejected in them.
    pub accepted: f64,
    /// Whether the network is saturated; latencies are then those of arrived packets, without a steady state.
    pub saturated: bool,
    /// The reason for saturation, or for a missing result.
    pub reason: Option<String>,
    /// Whether something other than saturation ended the run.
    pub failed: bool,
    /// Whether the method's stopping rule was met, rather than its bound on the periods.
    pub converged: bool,
    /// Latencies in nanoseconds; null: no packet arrived.
    pub latency_ns: Option<Latency>,
    /// Latencies in clock cycles, if there is a clock.
    pub latency_cycles: Option<Latency>,
    /// Routers visited per packet, including those of source and destination.
    pub hops: Option<f64>,
    /// Number of measured packets.
    pub packets: u64,
    /// Periods before the measured ones.
    pub warmup_periods: u32,
    /// Measured periods.
    pub measured_periods: u32,
    /// Length of a period, nanoseconds.
    pub period_ns: f64,
    /// Total simulated time, seconds.
    pub simulated_s: f64,
    /// Total simulated clock cycles, if there is a clock.
    pub simulated_cycles: Option<f64>,
    /// Events handled.
    pub events: u64,
    /// CPU seconds.
    pub cpu_s: f64,
    /// Seconds on the clock.
    pub wall_s: f64,
}

/// The scenario of `sweep` at `load`.
fn at_load(sweep: &LoadSweep, load: f64) -> Result<Resolved, InputError> {
    if !(load > 0.0 && load <= 1.0) {
        let problem = Problem::new("", format!("the load is {}", Number(load)), "above 0, at most 1");
        return Err(InputError {
            file: "--loads".into(),
            ..sweep.scenario.document.locate(problem)
        });
    }
    let mut resolved = sweep.scenario.resolved.clone();
    let bandwidth = *resolved.network.links.terminal.bandwidth;
    let job = &mut resolved.jobs[sweep.job];
    let Workload::Synthetic(traffic) = &*job.workload else {
        return Err(sweep.error("no synthetic traffic".into(), "a pattern"));
    };
    let Some(traffic) = traffic.with_load(load, bandwidth) else {
        let problem = format!("messages of {} at a load of {}", traffic.bytes, Number(load));
        return Err(sweep.error(problem, "longer messages, or a higher load"));
    };
    traffic
        .traffic(*job.ranks, false)
        .map_err(|problem| sweep.error(format!("at a load of {}: {problem}", Number(load)), ""))?;
    job.workload = Workload::Synthetic(traffic).into();
    Ok(resolved)
}

/// A machine under traffic, in the number of parts that runs fastest on one thread.
struct Run {
    /// Present until the run is stopped.
    scheduler: Option<Box<dyn Scheduler<Machine>>>,
    /// From then on.
    parts: Vec<Machine>,
    /// Counts of each completed period, as of the last [`look`](Self::look).
    samples: Vec<Sample>,
    events: u64,
    now: Time,
}

impl Run {
    /// The machine of `resolved`, with its packets sampled.
    fn new(
        sweep: &LoadSweep,
        mut resolved: Resolved,
        placement: &Placement,
        sampling: Sampling,
    ) -> Result<Run, InputError> {
        // Several points run concurrently.
        resolved.run.threads = Threads::Count(1);
        let wrong = |problem: String| sweep.error(problem, "");
        let plan = Plan::new(&resolved, placement).map_err(wrong)?;
        let resources = Resources { cores: 1, processes: 1 };
        let schedule = schedule::plan(&resolved, placement, plan.topology(), resources)
            .map_err(|problem| sweep.scenario.document.locate(problem))?;
        let mut parts = plan.parts(&simulation::ranges(&schedule, 0..schedule.partition.len()));
        for part in &mut parts {
            part.fabric.sample(sampling);
        }
        let scheduler = simulation::start(&schedule, 0, parts, Box::new(SingleProcess)).map_err(wrong)?;
        Ok(Run {
            scheduler: Some(scheduler),
            parts: Vec::new(),
            samples: Vec::new(),
            events: 0,
            now: Time::ZERO,
        })
    }

    /// Continues until `until`, or for about `budget` events. Not after a stop.
    fn run(&mut self, until: Time, budget: u64) -> Pause {
        let Some(scheduler) = &mut self.scheduler else {
            return Pause::Idle;
        };
        let pause = scheduler.run(until, budget);
        (self.events, self.now) = (scheduler.events(), scheduler.now());
        pause
    }

    /// Stops the run and returns the parts.
    fn stop(&mut self) -> &[Machine] {
        if let Some(scheduler) = self.scheduler.take() {
            self.parts = scheduler.into_parts();
        }
        &self.parts
    }

    /// Bytes that upcoming growth will copy.
    fn growth_ahead(&mut self) -> u64 {
        let mut bytes = 0;
        self.each(|part| bytes += part.fabric.growth_ahead() as u64);
        bytes
    }

    fn each(&mut self, mut see: impl FnMut(&Machine)) {
        match &mut self.scheduler {
            Some(scheduler) => scheduler.view(&mut |part| see(part.model)),
            None => self.parts.iter().for_each(see),
        }
    }

    /// Reads the counts of the first `periods`.
    fn look(&mut self, periods: u32) {
        let mut samples = vec![Sample::default(); periods as usize];
        self.each(|part| {
            for (k, sum) in (0..).zip(samples.iter_mut()) {
                *sum = sum.plus(part.fabric.sampled(k));
            }
        });
        self.samples = samples;
    }

    /// Packets delivered so far.
    fn delivered(&mut self) -> u64 {
        let mut sum = 0;
        self.each(|part| sum += part.fabric.delivered().0);
        sum
    }
}

/// Number of the traffic of messages of job `job`.
fn traffic_of(job: usize) -> u16 {
    2 * job as u16
}

/// Mean latency of the first packets of `sweep` in a nearly idle network.
pub(super) fn zero_load(sweep: &LoadSweep) -> Result<Time, InputError> {
    let mut resolved = at_load(sweep, NEARLY_ZERO)?;
    // The stopping point, and so the answer, depends on the scheduler.
    resolved.run.scheduler = resolved::Scheduler::Sequential;
    resolved.run.parts = resolved::Parts::Count(1);
    let sampling = Sampling {
        traffic: traffic_of(sweep.job),
        period: Time::LONGEST,
        periods: 1,
        histograms: 0,
        cycle: None,
    };
    let mut run = Run::new(sweep, resolved, &sweep.scenario.placement, sampling)?;
    loop {
        let pause = run.run(Time::LONGEST, 256);
        run.look(1);
        let sample = run.samples[0];
        if sample.delivered >= FEW || (pause != Pause::Budget && sample.delivered > 0) {
            return Ok(Time((mean(sample.latency, sample.delivered) as u64).max(1)));
        }
        if pause != Pause::Budget || run.events > 50_000_000 {
            return Err(sweep.error("no packet arrives".into(), "traffic over the network"));
        }
    }
}

/// The counts of a run at the end of a period.
struct Seen<'a> {
    samples: &'a [Sample],
    period: Time,
    cycle: Option<Time>,
}

impl Periods for Seen<'_> {
    fn ended(&self) -> u32 {
        self.samples.len() as u32
    }
    fn period(&self) -> Time {
        self.period
    }
    fn sample(&self, k: u32) -> Sample {
        self.samples[k as usize]
    }
    fn cycle(&self) -> Option<Time> {
        self.cycle
    }
}

impl Point {
    pub(super) fn new(sweep: &LoadSweep, load: f64) -> Result<Point, InputError> {
        let resolved = at_load(sweep, load)?;
        let Workload::Synthetic(traffic) = &*resolved.jobs[sweep.job].workload else {
            return Err(sweep.error("no synthetic traffic".into(), "a pattern"));
        };
        let packets = (traffic.bytes.0.div_ceil(resolved.network.packet.0)).max(1) as f64;
        let per_s = f64::from(sweep.senders) * packets / traffic.mean_interval.seconds();
        let (period, most, judge): (Time, u32, Box<dyn Judge>) = match &sweep.method {
            Method::Steady(steady) => {
                let idle = sweep.zero_load.unwrap_or(Time(1));
                let set = steady.sample_period.and_then(|period| period.time(sweep.cycle()));
                let period = set.unwrap_or_else(|| steady.period(idle, per_s));
                (
                    period,
                    steady.max_warmup + steady.max_periods,
                    Box::new(steady.judge(idle)),
                )
            }
            Method::BookSim(booksim) => {
                let time = |span: Span| span.time(sweep.cycle()).unwrap_or(Time(1));
                let judge = booksim.judge(time(booksim.latency_threshold));
                (time(booksim.sample_period), booksim.max_samples, Box::new(judge))
            }
        };
        let periods = most + MOST_DRAINING;
        if period
            .0
            .checked_mul(u64::from(periods) + 1)
            .is_none_or(|end| end > Time::LONGEST.0)
        {
            return Err(sweep.error(
                format!(
                    "at a load of {}, {periods} periods of {period} exceed the longest possible run",
                    Number(load)
                ),
                "shorter periods",
            ));
        }
        let sampling = Sampling {
            traffic: traffic_of(sweep.job),
            period,
            periods,
            histograms: most,
            cycle: sweep.cycle(),
        };
        let rate = traffic.bytes.0 as f64 / traffic.mean_interval.0 as f64;
        let offered_bytes = f64::from(sweep.senders) * rate * period.0 as f64;
        let full = f64::from(sweep.senders) * period.0 as f64 / resolved.network.links.terminal.bandwidth.ps_per_byte();
        let available = memory::available(resolved.run.memory_limit);
        (Need::least(&resolved, Spread::WHOLE).refuse(&available))
            .map_err(|problem| sweep.scenario.document.locate(problem))?;
        let (begin, cpu) = (Instant::now(), ThreadTime::now());
        let run = Run::new(sweep, resolved, &sweep.scenario.placement, sampling)?;
        Ok(Point {
            load,
            offered_bytes,
            full,
            sampling,
            method: sweep.method.clone(),
            judge,
            window: Window::default(),
            run,
            ended: 0,
            outcome: None,
            watch: Watch::new(&available),
            cpu: cpu.elapsed(),
            wall: begin.elapsed(),
        })
    }

    /// Simulates for about `wall` of wall time, or to the end of the measurement.
    pub fn advance(&mut self, wall: Duration) -> PointProgress {
        let (begin, cpu) = (Instant::now(), ThreadTime::now());
        while self.outcome.is_none() && begin.elapsed() < wall {
            // The last picosecond of the period.
            let until = Time(self.sampling.period.0 * (u64::from(self.ended) + 1) - 1);
            match self.run.run(until, SLICE) {
                Pause::Budget => {}
                Pause::TimeLimit | Pause::Idle => {
                    self.ended += 1;
                    self.outcome = self.look();
                }
                Pause::Halted(HALT_QUEUE) => {
                    let text = "more messages wait at a NIC than nic.message_queue allows";
                    self.outcome = Some(Outcome::Saturated(text.into()));
                }
                Pause::Halted(code) => {
                    self.outcome = Some(Outcome::Failed(format!("another job ended the run (code {code})")));
                }
                Pause::Lost(text) => self.outcome = Some(Outcome::Failed(text)),
            }
            if let (None, Some(exceeded)) = (&self.outcome, self.watch.look(|| self.run.growth_ahead())) {
                self.outcome = Some(Outcome::Failed(format!("out of memory: {}", exceeded.text)));
            }
        }
        self.cpu += cpu.elapsed();
        self.wall += begin.elapsed();
        self.progress()
    }

    /// Handles the end of a period.
    fn look(&mut self) -> Option<Outcome> {
        self.run.look(self.ended);
        let seen = Seen {
            samples: &self.run.samples,
            period: self.sampling.period,
            cycle: self.sampling.cycle,
        };
        match self.judge.judge(&seen, &mut self.window) {
            Verdict::GoOn if self.ended >= self.sampling.periods => Some(Outcome::Saturated(format!(
                "measured packets have not arrived after {MOST_DRAINING} periods"
            ))),
            Verdict::GoOn => None,
            Verdict::Saturated(why) => Some(match find_deadlock(self.run.stop().iter().map(|part| &part.fabric)) {
                Some(deadlock) => Outcome::Failed(format!("{} packets are in a deadlock", deadlock.packets)),
                None => Outcome::Saturated(why),
            }),
            Verdict::Measured => Some(match &self.method {
                Method::BookSim(_) => self.accepted_enough(),
                Method::Steady(_) => Outcome::Stable,
            }),
        }
    }

    /// BookSim's second criterion, on the offered load.
    fn accepted_enough(&self) -> Outcome {
        let (first, end) = self.measured();
        let accepted = self.sum(first, end).ejected_bytes as f64 / f64::from((end - first).max(1));
        if accepted >= BookSim::ACCEPTED * self.offered_bytes {
            return Outcome::Stable;
        }
        let share = 100.0 * accepted / self.offered_bytes;
        Outcome::Saturated(format!("{share:.1}% of the offered load was accepted"))
    }

    fn sum(&self, first: u32, end: u32) -> Sample {
        let samples = &self.run.samples[first as usize..end as usize];
        samples.iter().fold(Sample::default(), |sum, &sample| sum.plus(sample))
    }

    /// The measured periods; if a run ended before there were any, the last three.
    fn measured(&self) -> (u32, u32) {
        let last = self.ended.saturating_sub(1);
        let first = self.window.first.unwrap_or(self.ended.saturating_sub(3)).min(last);
        (first, self.window.end.unwrap_or(self.ended).max(first))
    }

    /// How far the measurement is.
    fn progress(&mut self) -> PointProgress {
        let packets = self.run.delivered();
        PointProgress {
            finished: self.outcome.is_some(),
            periods: self.ended,
            warm: self.window.first.is_some(),
            simulated_s: self.run.now.seconds(),
            packets,
        }
    }

    /// The results; `None` before the end.
    pub fn result(&mut self) -> Option<PointResult> {
        let outcome = self.outcome.clone()?;
        self.run.look(self.ended);
        let (first, end) = self.measured();
        let sample = self.sum(first, end);
        let periods = f64::from((end - first).max(1));
        let measured = self.run.stop().iter().map(|part| part.fabric.measured());
        let sampled = Measured::join(measured).and_then(|measured| measured.sampled);
        let quantile = |q| sampled.as_ref().and_then(|sampled| sampled.quantile(first..end, q));
        let finite = |time: Option<Time>| time.filter(|&time| time != Time::NEVER);
        let latency = |unit: f64| Latency {
            mean: mean(sample.latency, sample.delivered) / unit,
            min: sample.latency_min.0 as f64 / unit,
            p50: finite(quantile(0.5)).map(|time| time.0 as f64 / unit),
            p99: finite(quantile(0.99)).map(|time| time.0 as f64 / unit),
            max: sample.latency_max.0 as f64 / unit,
            network_mean: mean(sample.network, sample.delivered) / unit,
            half_width: self.window.half_width.map(|width| width / unit),
        };
        let any = sample.delivered > 0;
        let cycle = self.sampling.cycle.map(|cycle| cycle.0 as f64);
        let failed = matches!(outcome, Outcome::Failed(_));
        let (saturated, reason) = match outcome {
            Outcome::Stable => (false, None),
            Outcome::Saturated(why) => (true, Some(why)),
            Outcome::Failed(why) => (false, Some(why)),
        };
        let simulated = self.sampling.period.0 as f64 * f64::from(self.ended);
        Some(PointResult {
            offered: self.load,
            created: sample.created_bytes as f64 / (self.full * periods),
            accepted: sample.ejected_bytes as f64 / (self.full * periods),
            saturated,
            reason,
            failed,
            converged: self.window.converged && !saturated,
            latency_ns: any.then(|| latency(1e3)),
            latency_cycles: cycle.filter(|_| any).map(latency),
            hops: any.then(|| sample.hops as f64 / sample.delivered as f64),
            packets: sample.delivered,
            warmup_periods: first,
            measured_periods: end - first,
            period_ns: self.sampling.period.nanoseconds(),
            simulated_s: simulated / 1e12,
            simulated_cycles: cycle.map(|cycle| simulated / cycle),
            events: self.run.events,
            cpu_s: self.cpu.as_secs_f64(),
            wall_s: self.wall.as_secs_f64(),
        })
    }
}
