//! All that can be known before a run: sizes, placement, virtual channels, deadlock proof, parts, cost.

mod network;
mod parallel;
pub(crate) mod proof;

pub use network::TrafficClassReport;
pub use parallel::{CutReport, DivisionReport, ParallelReport, PartReport};

use crate::build;
use crate::estimate::{Estimate, distinct};
use crate::placement::Placement;
use crate::scenario::resolved::{Bursts, CongestionControl, DeadlockCheck, Hardware, Job, Resolved, Workload};
use crate::scenario::{InputError, Problem, Scenario};
use crate::warnings::{Warning, warnings};
use odonata_network::VirtualChannels;
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::Time;
use serde::Serialize;

/// Packet-hops per CPU-second that the cost estimate assumes (`odonata bench` measures them).
const HOPS_PER_CPU_S: f64 = 4e6;

/// The report of `odonata check`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub name: String,
    /// Sizes of the machine.
    pub machine: MachineReport,
    /// What each job gets.
    pub jobs: Vec<JobReport>,
    /// Storage servers, if any.
    pub servers: usize,
    /// Virtual channels and freedom from deadlock.
    pub routing: RoutingReport,
    /// Traffic classes; empty: one for all.
    pub traffic_classes: Vec<TrafficClassReport>,
    /// Congestion control, with its thresholds.
    pub congestion_control: CongestionControl,
    /// Who will run the events here, in which parts; `None`: there are no jobs.
    pub parallel: Option<ParallelReport>,
    /// A rough estimate of what the run will cost; `None`: there are no jobs.
    pub cost: Option<CostReport>,
    /// What is probably not meant.
    pub warnings: Vec<Warning>,
}

/// Sizes of the machine.
#[derive(Clone, Debug, Serialize)]
pub struct MachineReport {
    /// Nodes, servers included.
    pub nodes: u32,
    /// Nodes that jobs may use.
    pub compute_nodes: u32,
    /// Routers.
    pub routers: u32,
    /// Groups.
    pub groups: u32,
    /// Cables per class: terminal, local, global, column.
    pub cables: [u32; LinkClass::COUNT],
    /// Ports that are connected to nothing.
    pub free_ports: u32,
    /// Cables that failed.
    pub failed_links: usize,
    /// Cables that have less than the bandwidth of their class.
    pub degraded_links: u64,
    /// Bandwidth of all global cables, both directions, over that of all terminal cables.
    pub global_to_terminal_bandwidth: f64,
}

/// What a job gets.
#[derive(Clone, Debug, Serialize)]
pub struct JobReport {
    /// Its name.
    pub name: String,
    /// Ranks.
    pub ranks: u32,
    /// Nodes.
    pub nodes: usize,
    /// Groups that its nodes lie in.
    pub groups: usize,
    /// Storage servers that its nodes use.
    pub servers: usize,
    /// What it does.
    pub workload: String,
    /// When it starts, and what stops it, where that is not time zero and itself; may be empty.
    pub rules: String,
    /// Estimated payload of its messages and its I/O, bytes; 0 for traffic whose time depends on other jobs.
    pub estimated_bytes: f64,
}

/// Virtual channels and freedom from deadlock.
#[derive(Clone, Debug, Serialize)]
pub struct RoutingReport {
    /// Virtual channels that the routing needs per class: terminal, local, global, column.
    pub virtual_channels_needed: VirtualChannels,
    /// Virtual channels that the scenario gives.
    pub virtual_channels: VirtualChannels,
    /// Whether the channel dependency graph is free of cycles.
    pub deadlock_free: bool,
    /// What happens if it is not.
    pub deadlock_check: DeadlockCheck,
    /// Channels and dependencies enumerated.
    pub channels: usize,
    /// See `channels`.
    pub dependencies: usize,
    /// Which machine was enumerated: this one, or a smaller one of the same shape.
    pub proved_on: String,
    /// The cycle found, hop by hop.
    pub cycle: Vec<String>,
}

/// A rough estimate of what the run will cost.
#[derive(Clone, Debug, Serialize)]
pub struct CostReport {
    /// Packets.
    pub packets: f64,
    /// Routers visited by them.
    pub packet_hops: f64,
    /// CPU seconds on one core, at 4 million packet-hops per second.
    pub cpu_s: f64,
}

/// What is known of the routing of a machine: its virtual channels, and whether it can deadlock.
///
/// # Errors
/// What does not fit together, as far as it could not be told from the scenario alone.
pub fn prove(hardware: &Hardware) -> Result<RoutingReport, String> {
    proof::report(&hardware.machine, &hardware.network.routing)
}

/// Checks a scenario without running it; it may have no jobs ([`load_to_check`](crate::scenario::load_to_check)).
///
/// # Errors
/// What does not fit together, as far as it could not be told from the scenario alone.
pub fn check(scenario: &Scenario) -> Result<Report, InputError> {
    let report =
        report(&scenario.resolved, &scenario.placement).map_err(|problem| scenario.document.locate(problem))?;
    Ok(Report {
        warnings: warnings(scenario),
        ..report
    })
}

fn report(scenario: &Resolved, placement: &Placement) -> Result<Report, Problem> {
    let misfit = |text| Problem::new("", text, "");
    let routing = build::routing(scenario).map_err(misfit)?;
    let topology = routing.topology();
    let proved = proof::report(&scenario.machine, &scenario.network.routing).map_err(misfit)?;
    let estimate = Estimate::new(scenario, placement, topology).map_err(misfit)?;
    let mut jobs = Vec::new();
    for ((job, place), expected) in scenario.jobs.iter().zip(&placement.jobs).zip(&estimate.jobs) {
        jobs.push(JobReport {
            name: job.name.clone(),
            ranks: job.ranks,
            nodes: distinct(place.nodes.iter().copied()),
            groups: distinct(place.nodes.iter().map(|&node| scenario.layout.group_of(node))),
            servers: distinct(place.servers.iter().copied()),
            workload: describe(job).map_err(misfit)?,
            rules: rules(job, scenario),
            estimated_bytes: if job.ends_with_others() { 0.0 } else { expected.bytes },
        });
    }
    Ok(Report {
        name: scenario.name.clone(),
        machine: machine_report(scenario, topology, placement),
        jobs,
        servers: placement.servers.len(),
        traffic_classes: network::traffic_classes(scenario, proved.virtual_channels),
        congestion_control: scenario.network.congestion_control,
        routing: proved,
        parallel: match scenario.jobs.is_empty() {
            true => None,
            false => Some(parallel::report(scenario, placement, topology, &estimate)?),
        },
        cost: (!scenario.jobs.is_empty()).then(|| CostReport {
            packets: estimate.packets(),
            packet_hops: estimate.hops(),
            cpu_s: estimate.hops() / HOPS_PER_CPU_S,
        }),
        warnings: Vec::new(),
    })
}

fn machine_report(scenario: &Resolved, topology: &Topology, placement: &Placement) -> MachineReport {
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
        nodes: topology.nodes(),
        compute_nodes: topology.nodes() - scenario.layout.service_nodes() - placement.servers.len() as u32,
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

/// What a job does, in a line.
pub(crate) fn describe(job: &Job) -> Result<String, String> {
    if let Workload::Synthetic(s) = &job.workload {
        let bursts = s.bursts.map_or(String::new(), |Bursts { on, off }| {
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

/// When a job starts and what stops it, in words; empty if it starts at time zero and ends by itself.
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
    match (job.start, job.start_after.as_slice()) {
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
