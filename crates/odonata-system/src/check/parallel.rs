//! What is known before a run of how it is spread over cores: the parts, what they cut, and what auto makes of it.

use crate::estimate::Estimate;
use crate::memory::Spread;
use crate::placement::Placement;
use crate::scenario::Problem;
use crate::scenario::resolved::{Resolved, Scheduler};
use crate::schedule::{Decision, Division, Resources, Survey};
use odonata_network::lookahead;
use odonata_topology::{LinkClass, Topology};
use odonata_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

/// Scheduler, threads and parts of a run here, with reasons.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ParallelReport {
    /// The scheduler that the scenario asks for.
    pub asked: Scheduler,
    /// The scheduler that a run on this computer takes.
    pub scheduler: Scheduler,
    /// Its threads.
    pub threads: u32,
    /// Cores that this process may use.
    pub cores: u32,
    /// Why, in sentences without a full stop.
    pub reasons: Vec<String>,
    /// How the machine is divided, or would be.
    pub division: DivisionReport,
}

impl ParallelReport {
    /// How the state of the run is divided: parts that take turns share one.
    pub(super) fn spread(&self) -> Spread {
        let apart = self.division.used && self.scheduler != Scheduler::Sequential;
        Spread {
            parts: if apart { self.division.parts.len() as u64 } else { 1 },
            processes: 1,
        }
    }
}

/// A division of the machine into parts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DivisionReport {
    /// Whether the run takes it; if not, it is what parallel schedulers would do with `threads`.
    pub used: bool,
    /// Threads that it is made for: those of the run, or two where that has one.
    pub threads: u32,
    /// The parts, in the order of their routers.
    pub parts: Vec<PartReport>,
    /// What is cut, by class of links between routers.
    pub cuts: Vec<CutReport>,
    /// The shortest delay with which one part can influence another, seconds; none if there is one part.
    pub lookahead_s: Option<f64>,
    /// Events of a window, which is as long as the lookahead, at a moment at which there are some.
    pub events_per_window: Option<f64>,
    /// The same for each thread that has something to do.
    pub events_per_window_and_thread: Option<f64>,
    /// Packets and credits to other parts, per event.
    pub crossings_per_event: f64,
    /// All that there is to do over what the busiest part has to do; not more than there are threads.
    pub parallelism: f64,
    /// How much faster than one part conservative windows are expected to be.
    pub speed_up: f64,
}

/// A part: consecutive routers with all their nodes.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PartReport {
    /// Its first router.
    pub first_router: u32,
    /// Routers.
    pub routers: u32,
    /// Nodes.
    pub nodes: u32,
    /// Expected share of all that there is to do.
    pub share: f64,
}

/// What a division cuts of a class of links.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CutReport {
    /// Name of the class.
    pub class: &'static str,
    /// All cables.
    pub cables: u32,
    /// Those between parts.
    pub cut: u32,
    /// `cut / cables`; 0 if there are none.
    pub share: f64,
    /// The shortest delay with which something passes such a cable, seconds.
    pub lookahead_s: f64,
    /// What that is: `credit_delay`, or the `latency` and pipeline that a packet takes.
    pub limit: &'static str,
}

pub(super) fn report(
    scenario: &Resolved,
    placement: &Placement,
    topology: &Topology,
    estimate: &Estimate,
) -> Result<ParallelReport, Problem> {
    let resources = Resources::here();
    let survey = Survey::new(scenario, placement, topology, estimate, resources)?;
    let Decision {
        scheduler,
        threads,
        candidate,
        reasons,
        ..
    } = survey.decide()?;
    let division = match candidate {
        Some(chosen) => division(&survey, &survey.divisions[chosen], topology, threads, true),
        None => {
            let threads = survey.situation.threads.max(2);
            let survey = survey.for_threads(threads)?;
            division(&survey, survey.fastest(), topology, threads, false)
        }
    };
    Ok(ParallelReport {
        asked: scenario.run.scheduler,
        scheduler,
        threads,
        cores: resources.cores,
        reasons,
        division,
    })
}

fn division(survey: &Survey<'_>, division: &Division, topology: &Topology, threads: u32, used: bool) -> DivisionReport {
    let bounds = &division.bounds;
    let mut nodes = vec![0; bounds.len() - 1];
    for node in 0..topology.nodes() {
        nodes[bounds.partition_point(|&first| first <= topology.node_router(node)) - 1] += 1;
    }
    let all: u64 = survey.weights.iter().sum();
    let parts = bounds.windows(2).zip(nodes).map(|(range, nodes)| {
        let weight: u64 = survey.weights[range[0] as usize..range[1] as usize].iter().sum();
        PartReport {
            first_router: range[0],
            routers: range[1] - range[0],
            nodes,
            share: weight as f64 / all.max(1) as f64,
        }
    });
    let counts = lookahead::cut(topology, bounds);
    let present = |class: &LinkClass| *class != LinkClass::Terminal && counts.cables[*class as usize] > 0;
    let cuts = LinkClass::ALL.into_iter().filter(present).map(|class| {
        let (cables, cut) = (counts.cables[class as usize], counts.cut[class as usize]);
        CutReport {
            class: class.name(),
            cables,
            cut,
            share: f64::from(cut) / f64::from(cables.max(1)),
            lookahead_s: survey.delays.lookahead(class).seconds(),
            limit: if survey.delays.credit[class as usize] <= survey.delays.packet[class as usize] {
                "credit_delay"
            } else {
                "latency"
            },
        }
    });
    let one = division.candidate;
    let divided = one.lookahead != Time::NEVER;
    let events = one.events_of_a_window(survey.situation.events_per_s);
    let busy = one.busy(threads);
    DivisionReport {
        used,
        threads,
        parts: parts.collect(),
        cuts: cuts.collect(),
        lookahead_s: divided.then(|| one.lookahead.seconds()),
        events_per_window: divided.then_some(events),
        events_per_window_and_thread: divided.then(|| events / busy.max(1.0)),
        crossings_per_event: one.crossings,
        parallelism: busy,
        speed_up: one.speed_up(survey.situation.events_per_s, threads),
    }
}
