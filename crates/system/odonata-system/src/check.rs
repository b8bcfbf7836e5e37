//! Static checks before a run: sizes, placement, virtual channels, deadlock proof, parts, cost.

mod network;
mod parallel;
pub(crate) mod proof;
mod tiers;

pub use network::TrafficClassReport;
pub use parallel::{CutReport, DivisionReport, ParallelReport, PartReport};
pub use tiers::TierReport;

use crate::build;
use crate::estimate::{Estimate, OPERATIONS_FOR_A_REPORT, distinct};
use crate::memory::{self, Available, MemoryReport, Need, Spread};
use odonata_workload::Bursts;

use crate::scenario::resolved::{
    CongestionControl, DeadlockCheck, Fidelity, Hardware, Job, Resolved, RouterModel, Workload,
};
use crate::scenario::{InputError, Problem, Scenario};
use crate::warnings::{Warning, links, warnings};
use odonata_network::{Fidelities, VirtualChannels};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

/// The report of `odonata check`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Name of the scenario.
    pub name: String,
    /// Sizes of the machine.
    pub machine: MachineReport,
    /// Resources of each job.
    pub jobs: Vec<JobReport>,
    /// Storage servers that jobs use, if any.
    pub servers: usize,
    /// Tiers of storage servers, the tier used by jobs first; empty for a single tier.
    pub tiers: Vec<TierReport>,
    /// Virtual channels and deadlock freedom.
    pub routing: RoutingReport,
    /// Traffic classes; empty for a single class.
    pub traffic_classes: Vec<TrafficClassReport>,
    /// Congestion control, with its thresholds.
    pub congestion_control: CongestionControl,
    /// Scheduler, threads and parts of a run on this computer; null without jobs.
    pub parallel: Option<ParallelReport>,
    /// The counted work of the run; null without jobs.
    pub cost: Option<CostReport>,
    /// A rough estimate of its memory, and the available memory.
    pub memory: Option<MemoryReport>,
    /// Probable mistakes.
    pub warnings: Vec<Warning>,
}

/// Sizes of the machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MachineReport {
    /// Nodes, servers included.
    pub nodes: u32,
    /// Nodes available to jobs.
    pub compute_nodes: u32,
    /// Routers.
    pub routers: u32,
    /// Groups.
    pub groups: u32,
    /// Cables per class: terminal, local, global, column.
    pub cables: [u32; LinkClass::COUNT],
    /// Unconnected ports.
    pub free_ports: u32,
    /// Cables that failed.
    pub failed_links: usize,
    /// Cables with less than the bandwidth of their class.
    pub degraded_links: u64,
    /// Bandwidth of all global cables, both directions, over that of all terminal cables.
    pub global_to_terminal_bandwidth: f64,
}

/// The resources of a job.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JobReport {
    /// Its name.
    pub name: String,
    /// Ranks.
    pub ranks: u32,
    /// Nodes.
    pub nodes: usize,
    /// Number of groups of its nodes.
    pub groups: usize,
    /// Storage servers that can hold its files.
    pub servers: usize,
    /// What it does.
    pub workload: String,
    /// Its start and stop rules, unless it starts at time zero and ends by itself; may be empty.
    pub rules: String,
    /// The fidelity of its messages.
    pub fidelity: Fidelity,
    /// Counted payload of its messages and its I/O, bytes; 0 for traffic whose duration depends on other jobs.
    pub estimated_bytes: f64,
    /// Ranks sampled; the others are assumed to do as much on average.
    pub counted_ranks: u32,
    /// Share of these ranks' operations that was counted; the rest is extrapolated.
    pub counted_share: f64,
    /// Whether the job has more operations than counted: the counts are lower bounds.
    pub at_least: bool,
}

/// Virtual channels and deadlock freedom.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoutingReport {
    /// Virtual channels that the routing needs per class: terminal, local, global, column.
    pub virtual_channels_needed: VirtualChannels,
    /// Virtual channels set by the scenario.
    pub virtual_channels: VirtualChannels,
    /// Whether the channel dependency graph is acyclic.
    pub deadlock_free: bool,
    /// The consequence of a cycle.
    pub deadlock_check: DeadlockCheck,
    /// What packets wait for: "virtual-channels"; in an Ethernet "pauses" of links, or "nothing" if switches drop
    /// packets.
    pub waits_for: &'static str,
    /// Channels and dependencies enumerated.
    pub channels: usize,
    /// See `channels`.
    pub dependencies: usize,
    /// The machine of the proof: this one, or a smaller one of the same shape.
    pub proved_on: String,
    /// The cycle found, hop by hop.
    pub cycle: Vec<String>,
}

/// The counted work of a run, and its time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CostReport {
    /// Operations of all ranks. These counts are exact if all jobs were counted as a whole, otherwise extrapolated.
    pub operations: f64,
    /// Messages, including I/O and the requests and answers of a rendezvous.
    pub messages: f64,
    /// Payload of messages and I/O, bytes.
    pub bytes: f64,
    /// Messages and receives examined for matching, if a rank has several open at once.
    pub searches: f64,
    /// Packets.
    pub packets: f64,
    /// Routers visited by packets on an idle network.
    pub packet_hops: f64,
    /// The same if adaptive routing takes detours only.
    pub longest_packet_hops: f64,
    /// Routers visited by flits, for pipelined routers; otherwise 0.
    pub flit_hops: f64,
    /// Messages of programs and I/O sent as packets; those of synthetic traffic cost no more than their packets.
    pub packet_messages: f64,
    /// Messages sent as flows.
    pub flow_messages: f64,
    /// Messages that follow the analytic model.
    pub analytic_messages: f64,
    /// Fidelity of messages: packet, flow or analytic; mixed if jobs differ.
    pub fidelity: &'static str,
    /// The router model.
    pub router: RouterModel,
    /// Whether some job has more operations than counted: the counts are lower bounds.
    pub at_least: bool,
    /// Baselines: further runs of one job alone; 0: none. Together they cost about as much as the run itself, because
    /// each packet belongs to one job.
    pub baselines: usize,
    /// The CPU time of the run on one core; null if unknown.
    pub time: Option<TimeReport>,
}

/// The CPU time of a run on one core, including the build of the machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TimeReport {
    /// At least so many seconds.
    pub least_s: f64,
    /// At most so many seconds.
    pub most_s: f64,
    /// The source: "rates" for the rates of this computer, "trial" for the beginning of the run.
    pub source: &'static str,
    /// The trial, if there was one.
    pub trial: Option<TrialReport>,
}

/// The beginning of a run, as a trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrialReport {
    /// Its CPU time, seconds.
    pub cpu_s: f64,
    /// Its simulated time, seconds.
    pub simulated_s: f64,
    /// Messages delivered.
    pub messages: u64,
    /// The completed share of the run; 1 if the run ended.
    pub fraction: f64,
}

/// The routing report of a machine: its virtual channels, and whether it can deadlock.
///
/// # Errors
/// An inconsistency that the scenario alone does not show.
pub fn prove(hardware: &Hardware) -> Result<RoutingReport, String> {
    let network = &hardware.network;
    let waits = proof::waits(network, network.fidelity);
    proof::report(&hardware.machine, &network.routing, waits)
}

/// Checks a scenario without running it; it may have no jobs ([`load_to_check`](crate::scenario::load_to_check)).
///
/// # Errors
/// An inconsistency that the scenario alone does not show.
pub fn check(scenario: &Scenario) -> Result<Report, InputError> {
    let mut report = report(scenario).map_err(|problem| scenario.document.locate(problem))?;
    report.warnings.splice(0..0, warnings(scenario));
    Ok(report)
}

fn report(whole: &Scenario) -> Result<Report, Problem> {
    let (scenario, placement) = (&whole.resolved, &whole.placement);
    let misfit = |text| Problem::new("", text, "");
    let available = memory::available(scenario.run.memory_limit);
    Need::least(scenario, Spread::WHOLE).refuse(&available)?;
    let routing = build::routing(scenario).map_err(misfit)?;
    let topology = routing.topology();
    let waits = proof::waits(&scenario.network, proof::fidelity(scenario));
    let proved = proof::report(&scenario.machine, &scenario.network.routing, waits).map_err(misfit)?;
    let estimate = Estimate::new(scenario, placement, topology, OPERATIONS_FOR_A_REPORT).map_err(misfit)?;
    let mut jobs = Vec::new();
    for ((job, place), expected) in scenario.jobs.iter().zip(&placement.jobs).zip(&estimate.jobs) {
        jobs.push(JobReport {
            name: job.name.to_string(),
            ranks: *job.ranks,
            nodes: distinct(place.nodes.iter().copied()),
            groups: distinct(place.nodes.iter().map(|&node| scenario.layout.group_of(node))),
            servers: scenario.servers_of(job, placement, place),
            workload: describe(job).map_err(misfit)?,
            rules: rules(job, scenario),
            fidelity: scenario.fidelity_of(job),
            estimated_bytes: if job.ends_with_others() { 0.0 } else { expected.bytes },
            counted_ranks: expected.sample.ranks.min(*job.ranks),
            counted_share: expected.sample.share,
            at_least: expected.sample.at_least,
        });
    }
    let parallel = match scenario.jobs.is_empty() {
        true => None,
        false => Some(parallel::report(scenario, placement, topology, &estimate)?),
    };
    let need = (parallel.as_ref()).map(|parallel| {
        let vcs = build::virtual_channels(scenario, &routing);
        Need::probable(scenario, vcs, &estimate, parallel.spread(), available.taken)
    });
    Ok(Report {
        name: scenario.name.clone(),
        machine: machine_report(scenario, topology),
        jobs,
        servers: placement.servers.len(),
        tiers: tiers::report(scenario, placement, estimate.io_bytes()),
        traffic_classes: network::traffic_classes(scenario, proved.virtual_channels),
        congestion_control: scenario.network.congestion_control,
        routing: proved,
        parallel,
        cost: (!scenario.jobs.is_empty()).then(|| cost(scenario, &estimate)),
        memory: need.as_ref().map(|need| need.report(&available)),
        warnings: links::unused(whole, topology)
            .into_iter()
            .chain(links::far_slower(whole, topology))
            .chain(doubt(need.as_ref(), &available))
            .collect(),
    })
}

fn cost(scenario: &Resolved, estimate: &Estimate) -> CostReport {
    let (packet_hops, flit_hops) = estimate.hops();
    let pipelined = scenario.network.router == RouterModel::Pipelined;
    CostReport {
        operations: estimate.operations(),
        messages: estimate.messages(),
        bytes: estimate.bytes(),
        searches: estimate.searches(),
        packets: estimate.packets(),
        packet_hops,
        longest_packet_hops: packet_hops * estimate.longest(),
        flit_hops: if pipelined { flit_hops } else { 0.0 },
        packet_messages: estimate.messages_of(Fidelity::Packet),
        flow_messages: estimate.messages_of(Fidelity::Flow),
        analytic_messages: estimate.messages_of(Fidelity::Analytic),
        fidelity: match scenario.fidelities() {
            Fidelities::Same(Fidelity::Packet) => "packet",
            Fidelities::Same(Fidelity::Flow) => "flow",
            Fidelities::Same(Fidelity::Ethernet) => "ethernet",
            Fidelities::Same(Fidelity::Analytic) => "analytic",
            Fidelities::PerTraffic(_) => "mixed",
        },
        router: scenario.network.router,
        at_least: estimate.at_least(),
        baselines: match scenario.jobs.len() {
            jobs if scenario.run.baselines && jobs > 1 => jobs,
            _ => 0,
        },
        time: None,
    }
}

/// A warning if the run will probably need more memory than available.
fn doubt(need: Option<&Need>, available: &Available) -> Vec<Warning> {
    need.and_then(|need| need.doubt(available)).into_iter().collect()
}

fn machine_report(scenario: &Resolved, topology: &Topology) -> MachineReport {
    let mut ends = [0; LinkClass::COUNT];
    let mut free_ports = 0;
    // In cables of full bandwidth.
    let mut global = 0.0;
    for port in 0..topology.ports() {
        match topology.peer(port) {
            Peer::Free => free_ports += 1,
            _ => {
                ends[topology.class(port) as usize] += 1;
                if topology.class(port) == LinkClass::Global {
                    global += topology.factor(port) / 2.0;
                }
            }
        }
    }
    let links = &scenario.network.links;
    let cables = [
        ends[LinkClass::Terminal as usize],
        ends[LinkClass::Local as usize] / 2,
        ends[LinkClass::Global as usize] / 2,
        ends[LinkClass::Column as usize] / 2,
    ];
    MachineReport {
        nodes: topology.whole_nodes(),
        compute_nodes: scenario.layout.compute_nodes(scenario.storage.as_ref()).len() as u32,
        routers: topology.routers(),
        groups: scenario.layout.groups(),
        cables,
        free_ports,
        failed_links: topology.failed().len(),
        degraded_links: topology.degraded(),
        global_to_terminal_bandwidth: global * links.global.bandwidth.0
            / (f64::from(cables[0]) * links.terminal.bandwidth.0),
    }
}

/// A description of a job, one line.
pub(crate) fn describe(job: &Job) -> Result<String, String> {
    if let Workload::Synthetic(s) = &*job.workload {
        let bursts = s.bursts().map_or(String::new(), |Bursts { on, off }| {
            format!(" in bursts of {on}, {off} apart")
        });
        return Ok(format!(
            "{} traffic, {} B per {:.3} us and rank{bursts}",
            s.pattern.name(),
            s.bytes.0,
            s.mean_interval.seconds() * 1e6
        ));
    }
    Ok(job.program()?.map_or(String::new(), |program| program.describe()))
}

/// Start and stop rules of a job, as text; empty if it starts at time zero and ends by itself.
fn rules(job: &Job, scenario: &Resolved) -> String {
    let names = |jobs: &[u16]| {
        const SHOWN: usize = 4;
        let name = |&number: &u16| scenario.jobs[usize::from(number)].name.as_str();
        let mut list: Vec<&str> = jobs.iter().take(SHOWN).map(name).collect();
        let more = format!("{} more", jobs.len().saturating_sub(SHOWN));
        if jobs.len() > SHOWN {
            list.push(&more);
        }
        list.join(", ")
    };
    let mut rules = Vec::new();
    match (job.start.at, job.start_after.as_slice()) {
        (Time::ZERO, []) => {}
        (start, []) => rules.push(format!("from {start}")),
        (Time::ZERO, jobs) => rules.push(format!("after {}", names(jobs))),
        (delay, jobs) => rules.push(format!("{delay} after {}", names(jobs))),
    }
    if !job.until.is_empty() {
        rules.push(format!("until {} has ended", names(&job.until)));
    }
    rules.join(", ")
}
