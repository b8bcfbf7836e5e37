//! Static report on parallelism: the parts, the cut cables, and the automatic choice.

use crate::estimate::Estimate;
use crate::memory::Spread;
use crate::placement::Placement;
use crate::scenario::Problem;
use crate::scenario::resolved::{Resolved, Scheduler};
use crate::schedule::{Division, Resources, Survey};
use odonata_network::lookahead;
use odonata_topology::{LinkClass, Topology};
use odonata_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

/// Scheduler, threads and parts of a run on this computer, with reasons.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ParallelReport {
    /// The scheduler requested by the scenario.
    pub asked: Scheduler,
    /// The scheduler that the run begins with.
    pub scheduler: Scheduler,
    /// The threads that the run begins with.
    pub threads: u32,
    /// Cores available to this process.
    pub cores: u32,
    /// The reasons, in sentences without a full stop.
    pub reasons: Vec<String>,
    /// The division of the machine, used or not.
    pub division: DivisionReport,
}

impl ParallelReport {
    /// The division of the run's state: parts that take turns share one.
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
    /// Whether the run begins with it; otherwise it is the division for parallel schedulers with `threads`.
    pub used: bool,
    /// The number of threads of the division: those of the run, or at least two if the run has one.
    pub threads: u32,
    /// The parts, in router order.
    pub parts: Vec<PartReport>,
    /// Cut cables, by class of links between routers.
    pub cuts: Vec<CutReport>,
    /// The shortest delay between two parts, seconds; null for a single part.
    pub lookahead_s: Option<f64>,
    /// Total work over the work of the busiest part, at most the number of threads.
    pub parallelism: f64,
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
    /// Expected share of the total work.
    pub share: f64,
}

/// The cut cables of a link class.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CutReport {
    /// Name of the class.
    pub class: &'static str,
    /// All cables.
    pub cables: u32,
    /// Those between parts.
    pub cut: u32,
    /// `cut / cables`; 0 without cables.
    pub share: f64,
    /// The shortest delay over a cut cable, seconds.
    pub lookahead_s: f64,
    /// The limiting delay: `credit_delay`, or the `latency` and pipeline of a packet.
    pub limit: &'static str,
}

pub(super) fn report(
    scenario: &Resolved,
    placement: &Placement,
    topology: &Topology,
    estimate: &Estimate,
) -> Result<ParallelReport, Problem> {
    let resources = Resources::here();
    let survey = Survey::new(scenario, placement, topology, estimate, resources);
    let plan = survey.plan()?;
    let used = plan.partition.len() > 1;
    let threads = if used { plan.threads } else { survey.threads.max(2) };
    let division = match used {
        true => survey.division(plan.partition.bounds())?,
        false => survey.best(threads)?,
    };
    Ok(ParallelReport {
        asked: scenario.run.scheduler,
        scheduler: plan.scheduler,
        threads: plan.threads,
        cores: resources.cores,
        reasons: plan.reasons,
        division: report_division(&survey, &division, topology, (threads, used)),
    })
}

fn report_division(
    survey: &Survey<'_>,
    division: &Division,
    topology: &Topology,
    (threads, used): (u32, bool),
) -> DivisionReport {
    let bounds = division.partition.bounds();
    let mut nodes = vec![0; bounds.len() - 1];
    for node in 0..topology.whole_nodes() {
        nodes[bounds.partition_point(|&first| first <= topology.router_of_whole_node(node)) - 1] += 1;
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
            lookahead_s: survey.delays.lookahead(class, None).seconds(),
            limit: if survey.delays.credit[class as usize] <= survey.delays.packet(class) {
                "credit_delay"
            } else {
                "latency"
            },
        }
    });
    let lookahead = division.partition.lookahead();
    DivisionReport {
        used,
        threads,
        parts: parts.collect(),
        cuts: cuts.collect(),
        lookahead_s: (lookahead != Time::NEVER).then(|| lookahead.seconds()),
        parallelism: division.busy(threads),
    }
}
