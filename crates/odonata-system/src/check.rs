//! All that can be known before a run: sizes, placement, virtual channels, deadlock proof, cost.

use crate::build;
use crate::placement::Placement;
use crate::scenario::resolved::{Bursts, Job, Machine, Resolved, Workload};
use crate::scenario::{InputError, Problem, Scenario};
use odonata_network::deadlock;
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::Time;
use odonata_workload::collective::{self, Rules};
use odonata_workload::{Comm, OpKind, Program};
use serde::Serialize;

/// Routers up to which the dependency graph of the whole machine is enumerated: seconds; the time grows with
/// their cube for detours over routers.
const LARGEST_PROOF: u32 = 300;
/// Routers of the smaller machine that stands for a larger one.
const SMALLER_PROOF: u32 = 120;
/// Ranks of a job whose programs are walked to estimate its traffic.
const SAMPLED_RANKS: u32 = 8;
/// Ranks that are asked whether their pattern has a destination for them.
const SAMPLED_SENDERS: u32 = 4_096;
/// Operations walked per sampled rank.
const SAMPLED_OPERATIONS: u32 = 200_000;
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
    /// A rough estimate of what the run will cost.
    pub cost: CostReport,
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
    /// Cables per class: terminal, local, global.
    pub cables: [u32; 3],
    /// Ports that are connected to nothing.
    pub free_ports: u32,
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
    /// Estimated payload of its messages and its I/O, bytes; 0 for traffic that another job ends.
    pub estimated_bytes: f64,
}

/// Virtual channels and freedom from deadlock.
#[derive(Clone, Debug, Serialize)]
pub struct RoutingReport {
    /// Virtual channels that the routing needs per class: terminal, local, global.
    pub virtual_channels_needed: [u8; 3],
    /// Virtual channels that the scenario gives.
    pub virtual_channels: [u8; 3],
    /// Whether the channel dependency graph is free of cycles.
    pub deadlock_free: bool,
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

/// Checks a scenario without running it.
///
/// # Errors
/// What does not fit together, as far as it could not be told from the scenario alone.
pub fn check(scenario: &Scenario) -> Result<Report, InputError> {
    report(&scenario.resolved, &scenario.placement).map_err(|text| scenario.document.locate(Problem::new("", text, "")))
}

fn report(scenario: &Resolved, placement: &Placement) -> Result<Report, String> {
    let routing = build::routing(scenario)?;
    let topology = routing.topology();
    let machine = machine_report(scenario, topology, placement);
    let per_group = scenario.machine.nodes_per_group();
    let mut jobs = Vec::new();
    let (mut packets, mut hops) = (0.0, 0.0);
    for (job, place) in scenario.jobs.iter().zip(&placement.jobs) {
        let bytes = estimate(job, scenario)?;
        let job_packets = (bytes / scenario.network.packet.0 as f64).max(f64::from(job.ranks));
        let groups = distinct(place.nodes.iter().map(|node| node / per_group));
        packets += job_packets;
        hops += job_packets * if groups > 1 { 3.5 } else { 2.0 };
        jobs.push(JobReport {
            name: job.name.clone(),
            ranks: job.ranks,
            nodes: distinct(place.nodes.iter().copied()),
            groups,
            servers: distinct(place.servers.iter().copied()),
            workload: describe(job)?,
            rules: rules(job, scenario),
            estimated_bytes: bytes,
        });
    }
    Ok(Report {
        name: scenario.name.clone(),
        machine,
        jobs,
        servers: placement.servers.len(),
        routing: routing_report(scenario)?,
        cost: CostReport {
            packets,
            packet_hops: hops,
            cpu_s: hops / HOPS_PER_CPU_S,
        },
    })
}

fn distinct(values: impl Iterator<Item = u32>) -> usize {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

fn machine_report(scenario: &Resolved, topology: &Topology, placement: &Placement) -> MachineReport {
    let mut ends = [0; 3];
    let mut free_ports = 0;
    for port in 0..topology.ports() {
        match topology.peer(port) {
            Peer::Free => free_ports += 1,
            _ => ends[topology.class(port) as usize] += 1,
        }
    }
    let links = &scenario.network.links;
    let cables = [
        ends[LinkClass::Terminal as usize],
        ends[LinkClass::Local as usize] / 2,
        ends[LinkClass::Global as usize] / 2,
    ];
    MachineReport {
        nodes: topology.nodes(),
        compute_nodes: topology.nodes() - placement.servers.len() as u32,
        routers: topology.routers(),
        groups: scenario.machine.groups(),
        cables,
        free_ports,
        global_to_terminal_bandwidth: f64::from(cables[2]) * links.global.bandwidth.0
            / (f64::from(cables[0]) * links.terminal.bandwidth.0),
    }
}

/// Proves the routing on the machine, or on a smaller one of the same shape where the machine is too large
/// to enumerate.
fn routing_report(scenario: &Resolved) -> Result<RoutingReport, String> {
    let mut small = scenario.clone();
    let Machine::Dragonfly(d) = &mut small.machine;
    let whole = d.groups * d.routers_per_group <= LARGEST_PROOF;
    if !whole {
        // Levels of virtual channels follow from the kinds of hops, not from the number of groups; five
        // groups hold every kind of path: source, two intermediates, destination, and one beside.
        d.routers_per_group = d.routers_per_group.min(SMALLER_PROOF / 5);
        let fits = d.routers_per_group * d.global_ports_per_router + 1;
        d.groups = (SMALLER_PROOF / d.routers_per_group).max(5).min(d.groups).min(fits);
        d.cables = None;
    }
    let routing = build::routing(&small)?;
    let proof = deadlock::check(&routing);
    let topology = routing.topology();
    let hop = |&(port, vc): &(u32, u8)| {
        let to = match topology.peer(port) {
            Peer::Router { router, .. } => format!("router {router}"),
            Peer::Node(node) => format!("node {node}"),
            Peer::Free => "nothing".into(),
        };
        let class = topology.class(port).name();
        format!(
            "router {} to {to} ({class}, virtual channel {vc})",
            topology.router_of_port(port)
        )
    };
    Ok(RoutingReport {
        virtual_channels_needed: routing.virtual_channels(),
        virtual_channels: build::virtual_channels(scenario, &routing),
        deadlock_free: proof.cycle.is_none(),
        channels: proof.channels,
        dependencies: proof.dependencies,
        proved_on: if whole {
            "this machine".into()
        } else {
            let Machine::Dragonfly(d) = &small.machine;
            format!(
                "the same dragonfly with {} groups of {} routers",
                d.groups, d.routers_per_group
            )
        },
        cycle: proof.cycle.unwrap_or_default().iter().map(hop).collect(),
    })
}

/// Estimated payload of a job's messages and I/O in bytes, from the programs of a few ranks.
fn estimate(job: &Job, scenario: &Resolved) -> Result<f64, String> {
    let ranks = job.ranks;
    if let Workload::Synthetic(s) = &job.workload {
        let traffic = s.traffic(ranks, !job.until.is_empty())?;
        let step = ranks.div_ceil(SAMPLED_SENDERS).max(1) as usize;
        let sampled = (0..ranks).step_by(step);
        let silent = sampled
            .clone()
            .filter(|&rank| !traffic.pattern.sends(rank, ranks))
            .count();
        let senders = f64::from(ranks) * (1.0 - silent as f64 / sampled.count().max(1) as f64);
        let duty = s
            .bursts
            .map_or(1.0, |b| b.on.0 as f64 / (b.on.0 as f64 + b.off.0 as f64));
        let by_time = s
            .stop
            .map(|stop| duty * stop.0 as f64 / s.mean_interval.0.max(1) as f64);
        let by_limit = scenario
            .run
            .time_limit
            .map(|limit| duty * limit.0 as f64 / s.mean_interval.0.max(1) as f64);
        let by_count = s.messages.map(|n| n as f64);
        let messages = by_time
            .into_iter()
            .chain(by_limit)
            .chain(by_count)
            .reduce(f64::min)
            .unwrap_or(0.0);
        return Ok(messages * s.bytes.0 as f64 * senders);
    }
    let Some(program) = job.program()? else {
        return Ok(0.0);
    };
    let step = ranks.div_ceil(SAMPLED_RANKS).max(1);
    let sampled: Vec<u32> = (0..ranks).step_by(step as usize).collect();
    let rules = build::rules(&scenario.mpi.collectives);
    let bytes = |&rank: &u32| program_bytes(program.as_ref(), rank, &rules);
    let bytes: f64 = sampled.iter().map(bytes).sum();
    Ok(bytes * f64::from(ranks) / sampled.len() as f64)
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

/// Payload of the sends among the persistent requests `first .. first + count`.
fn started(persistent: &[(u32, u64)], first: u32, count: u32) -> f64 {
    let ours = persistent
        .iter()
        .filter(|(request, _)| *request >= first && request - first < count);
    ours.map(|(_, bytes)| *bytes as f64).sum()
}

/// Payload that `rank` sends, writes and reads.
fn program_bytes(program: &dyn Program, rank: u32, rules: &Rules) -> f64 {
    let ranks = program.ranks();
    let mut total = 0.0;
    let mut persistent: Vec<(u32, u64)> = Vec::new();
    for op in odonata_workload::operations(program, rank).take(SAMPLED_OPERATIONS as usize) {
        total += match op.kind {
            OpKind::Send { bytes, .. } | OpKind::Ssend { bytes, .. } | OpKind::Isend { bytes, .. } => bytes as f64,
            OpKind::Sendrecv { send_bytes, .. } => send_bytes as f64,
            // Sent when it is started.
            OpKind::SendInit { bytes, request, .. } => {
                persistent.retain(|&(other, _)| other != request.0);
                persistent.push((request.0, bytes));
                0.0
            }
            OpKind::Start { request } => started(&persistent, request.0, 1),
            OpKind::StartAll { first, count } => started(&persistent, first.0, count),
            OpKind::Read { bytes, .. } | OpKind::Write { bytes, .. } => bytes as f64,
            OpKind::Iread { bytes, .. } | OpKind::Iwrite { bytes, .. } => bytes as f64,
            OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
                let comm = collective.comm();
                let sizes = |counts, from, to| program.bytes(rank, counts, from, to);
                let group = match comm {
                    Comm::WORLD => None,
                    _ => program.group(rank, comm),
                };
                let (rank, ranks) = match &group {
                    Some(group) => (group.member(rank).unwrap_or(0), group.len()),
                    None => (rank, ranks),
                };
                let algorithm = collective::choose(&collective, ranks, rules, &sizes);
                (0..)
                    .map_while(|index| collective::step(&collective, algorithm, rank, ranks, index, &sizes))
                    .filter_map(|step| step.send)
                    .map(|send| send.bytes as f64)
                    .sum()
            }
            _ => 0.0,
        };
    }
    total
}
