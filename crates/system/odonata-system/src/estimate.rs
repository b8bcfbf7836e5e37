//! The traffic of a scenario: operations, messages, bytes and packets of each job, counted in the programs of a sample of
//! its ranks, and the routers on the paths of the packets.
//!
//! Times are those of an idle network: the computation of a rank, its messages and its I/O, one after the other, but not
//! less than the links between groups need. Nothing that is simulated depends on these numbers.
//! [`check`](crate::check()) reports them, and [`schedule`](crate::schedule) balances parts by them.

mod job;
mod walk;

use crate::placement::{JobPlacement, Placement};
use crate::scenario::layout::Layout;
use crate::scenario::resolved::{Algorithm, Fidelity, Job, Resolved, RouterModel, Switching, Workload};
pub(crate) use job::JobEstimate;
use job::{job_estimate, sent_for};
use odonata_storage::FileLayout;
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{SplitMix64, Time};

/// Ranks sampled for whether their pattern has a destination for them.
const SAMPLED_SENDERS: u32 = 4_096;
/// Nodes sampled for distances.
const SAMPLED_STARTS: u32 = 16;
/// Limits of measuring the distances between the ranks of each job, a second or two: jobs, and jobs times ports of the
/// machine. Beyond them, means of the machine apply.
const MEASURED_JOBS: usize = 64;
const MEASURED_PORTS: usize = 1 << 24;

/// Operations in the larger sample of a job with short programs: for a report, and for a run, whose plan and progress
/// need less.
pub(crate) const OPERATIONS_FOR_A_REPORT: f64 = 100_000.0;
pub(crate) const OPERATIONS_FOR_A_RUN: f64 = 10_000.0;

/// The path of a packet.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// Routers on a shortest path to a node of the same group.
    inside: f64,
    /// Routers on a shortest path to a node of another group.
    outside: f64,
    /// Links between groups on it.
    globals: f64,
    /// Cables of a path relative to those of a shortest one: at least, and at most.
    detour: (f64, f64),
}

impl Path {
    fn new(scenario: &Resolved, topology: &Topology) -> Path {
        // A detour leads over a second shortest path.
        let detour = match *scenario.network.routing.algorithm {
            Algorithm::Valiant => (2.0, 2.0),
            Algorithm::Ugal | Algorithm::ProgressiveAdaptive | Algorithm::Dal => (1.0, 2.0),
            // All others take shortest paths.
            _ => (1.0, 1.0),
        };
        let (inside, outside, _) = distances(&scenario.layout, topology);
        let has_globals = (0..topology.ports()).any(|port| topology.class(port) == LinkClass::Global);
        Path {
            inside: inside + 1.0,
            outside: outside + 1.0,
            globals: if has_globals { detour.0 } else { 0.0 },
            detour,
        }
    }

    /// Time of a packet that visits `hops` routers of an idle network, seconds: each router and its cable, and the whole
    /// packet once.
    fn flight_s(&self, scenario: &Resolved, hops: f64) -> f64 {
        let (network, links) = (&scenario.network, &scenario.network.links);
        let stages = match network.router {
            RouterModel::Pipelined => {
                let pipeline = &network.pipeline;
                let stages = pipeline.routing + pipeline.vc_allocation + pipeline.switch_allocation + pipeline.crossbar;
                f64::from(stages) * network.clock.map_or(0.0, |clock| clock.ps() * 1e-12)
            }
            _ => network.router_delay.seconds(),
        };
        let globals = self.globals.min(hops);
        let cables = (hops - globals) * links.local.latency.seconds() + globals * links.global.latency.seconds();
        let packet = network.packet.0 as f64 / links.terminal.bandwidth.0;
        let stored = match network.switching {
            Switching::StoreAndForward => hops,
            _ => 1.0,
        };
        cables + hops * stages + packet * stored
    }
}

/// Up to `most` different numbers of `0..count`: a random one of each of as many equal ranges, the same each time
/// (stratified sampling). Equal steps can be in step with the extents of a grid.
fn scattered(count: u32, most: u32) -> Vec<u32> {
    if count <= most {
        return (0..count).collect();
    }
    let at = |number: u32| {
        let place = (u64::from(number) << 32) + (SplitMix64(u64::from(number)).next_u64() >> 32);
        ((u128::from(place) * u128::from(count) / u128::from(most)) >> 32) as u32
    };
    let mut all: Vec<u32> = (0..most).map(at).collect();
    all.dedup();
    all
}

/// Mean distances in cables between nodes of a group and between nodes of different groups, and the share of the second
/// kind of pairs, from a sample of nodes.
pub(crate) fn distances(layout: &Layout, topology: &Topology) -> (f64, f64, f64) {
    let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
    let nodes = topology.nodes();
    for start in scattered(nodes, SAMPLED_STARTS) {
        let distance = topology.distances(topology.node_router(start));
        let group = layout.group_of(start);
        let targets = nodes.min(SAMPLED_SENDERS);
        for target in 0..targets {
            let target = (u64::from(target) * u64::from(nodes) / u64::from(targets)) as u32;
            let cables = distance[topology.node_router(target) as usize];
            if cables < u32::MAX {
                let far = usize::from(layout.group_of(target) != group);
                sums[far] += f64::from(cables);
                counts[far] += 1.0;
            }
        }
    }
    let mean = |far: usize| {
        if counts[far] > 0.0 {
            sums[far] / counts[far]
        } else {
            0.0
        }
    };
    (mean(0), mean(1), counts[1] / f64::max(counts[0] + counts[1], 1.0))
}

/// The traffic of all jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    /// In the order of the scenario.
    pub(crate) jobs: Vec<JobEstimate>,
    /// Time in which a job sends, seconds.
    pub(crate) busy_s: f64,
    /// Time from the start of a packet to its arrival on an idle network, seconds.
    pub(crate) flight_s: f64,
    /// Longest path of a packet relative to the counted one, in routers.
    longest: f64,
}

impl Estimate {
    /// The traffic of all jobs of `scenario`, from samples of about `operations` operations.
    ///
    /// # Errors
    /// A workload that does not fit its ranks; the scenario was not checked.
    pub(crate) fn new(
        scenario: &Resolved,
        placement: &Placement,
        topology: &Topology,
        operations: f64,
    ) -> Result<Estimate, String> {
        let mut jobs = Vec::with_capacity(scenario.jobs.len());
        let ports = scenario.jobs.len().min(MEASURED_JOBS) * topology.ports() as usize;
        for (number, job) in scenario.jobs.iter().enumerate() {
            let measured = number < MEASURED_JOBS && ports <= MEASURED_PORTS;
            let distances = measured.then_some(topology);
            jobs.push(job_estimate(scenario, placement, number, job, distances, operations)?);
        }
        let mut estimate = Estimate {
            jobs,
            ..Estimate::default()
        };
        estimate.time(scenario);
        let path = Path::new(scenario, topology);
        let routers = |shortest: f64, times: f64| (shortest - 1.0) * times + 1.0;
        let (mut sends_s, mut global_bytes, mut shortest) = (0.0, 0.0, 0.0);
        for ((job, one), place) in scenario.jobs.iter().zip(&mut estimate.jobs).zip(&placement.jobs) {
            if let Workload::Synthetic(traffic) = &*job.workload {
                *one = sent_for(scenario, job, traffic, *one)?;
            }
            let packets = one.packets();
            let (messages, io) = leaving(scenario, placement, job, place);
            let mean = |leaving: f64| leaving * path.outside + (1.0 - leaving) * path.inside;
            let of_messages = one.message_packets * one.routers.unwrap_or_else(|| mean(messages));
            let visited = of_messages + one.io_packets * mean(io);
            one.hops = (visited - packets) * path.detour.0 + packets;
            shortest += visited;
            sends_s += one.sends_s;
            let leaving = messages * one.message_packets + io * one.io_packets;
            global_bytes += one.bytes * leaving * path.globals / packets.max(1.0);
        }
        let global = |&port: &u32| topology.class(port) == LinkClass::Global && topology.peer(port) != Peer::Free;
        let rate = (0..topology.ports()).filter(global).count() as f64 * scenario.network.links.global.bandwidth.0;
        let over_globals_s = if rate > 0.0 { global_bytes / rate } else { 0.0 };
        let ends = estimate.jobs.iter().map(|job| job.start_s + job.lasts_s);
        estimate.busy_s = sends_s.min(ends.fold(0.0, f64::max)).max(over_globals_s);
        if let Some(limit) = scenario.run.time_limit {
            estimate.busy_s = estimate.busy_s.min(limit.seconds());
        }
        let mean = shortest / estimate.packets().max(1.0);
        estimate.longest = routers(mean, path.detour.1) / routers(mean, path.detour.0).max(1.0);
        estimate.overload(scenario, over_globals_s);
        estimate.flight_s = path.flight_s(scenario, routers(mean, path.detour.0));
        Ok(estimate)
    }

    /// Finds synthetic traffic that offers more than the links of its nodes, or the links between groups, carry: the
    /// messages left at the sources, and the hops until the run ends.
    fn overload(&mut self, scenario: &Resolved, over_globals_s: f64) {
        let (packet, header) = (scenario.network.packet.0 as f64, scenario.network.header.0 as f64);
        let terminal = scenario.network.links.terminal.bandwidth.0 * packet / (packet + header);
        let rates = [scenario.nic.rate, scenario.nic.receive_rate].into_iter().flatten();
        let rate = rates.fold(terminal, |least, rate| rate.0.min(least));
        for (job, one) in scenario.jobs.iter().zip(&mut self.jobs) {
            if !matches!(*job.workload, Workload::Synthetic(_)) {
                continue;
            }
            let bytes_per_node = one.bytes / f64::from(*job.ranks) * f64::from(job.ranks_per_node.min(*job.ranks));
            let needs_s = (bytes_per_node / rate).max(over_globals_s);
            if needs_s > one.lasts_s && needs_s > 0.0 {
                one.waiting = one.messages * (1.0 - one.lasts_s / needs_s);
                let limit = scenario
                    .run
                    .time_limit
                    .map(|limit| (limit.seconds() - one.start_s).max(0.0));
                one.hops *= limit.map_or(1.0, |limit| (limit / needs_s).min(1.0));
            }
        }
    }

    /// The sum of `of` over all jobs.
    fn sum(&self, of: impl Fn(&JobEstimate) -> f64) -> f64 {
        self.jobs.iter().map(of).sum()
    }

    /// Operations of all ranks, steps of collectives not counted.
    pub(crate) fn operations(&self) -> f64 {
        self.sum(|job| job.operations)
    }

    /// Payload of messages and I/O, bytes.
    pub(crate) fn bytes(&self) -> f64 {
        self.sum(|job| job.bytes)
    }

    /// Bytes that all jobs read and write.
    pub(crate) fn io_bytes(&self) -> f64 {
        self.sum(|job| job.io_bytes)
    }

    /// Packets of all jobs, also of messages with another fidelity.
    pub(crate) fn packets(&self) -> f64 {
        self.sum(|job| job.packets())
    }

    /// Messages of all jobs, including I/O and the requests and answers of a rendezvous.
    pub(crate) fn messages(&self) -> f64 {
        self.sum(JobEstimate::all_messages)
    }

    /// Messages of the jobs with this fidelity; of packets, those of programs and I/O.
    pub(crate) fn messages_of(&self, fidelity: Fidelity) -> f64 {
        let counted =
            |job: &JobEstimate| job.fidelity == fidelity && (fidelity != Fidelity::Packet || job.operations > 0.0);
        self.sum(|job| if counted(job) { job.all_messages() } else { 0.0 })
    }

    /// Messages and receives examined for matching.
    pub(crate) fn searches(&self) -> f64 {
        self.sum(|job| job.searches)
    }

    /// Routers visited by packets, and by flits.
    pub(crate) fn hops(&self) -> (f64, f64) {
        let flits = |job: &JobEstimate| (job.flits / job.packets().max(1.0)).max(1.0);
        (
            self.sum(JobEstimate::packet_hops),
            self.sum(|job| job.packet_hops() * flits(job)),
        )
    }

    /// The longest paths relative to those of [`hops`](Self::hops).
    pub(crate) fn longest(&self) -> f64 {
        self.longest
    }

    /// Whether a job has more operations than counted.
    pub(crate) fn at_least(&self) -> bool {
        self.jobs.iter().any(|job| job.sample.at_least)
    }

    /// The work of each router in visits of packets, with a mean of a thousand. A packet of a message visits the routers of
    /// sender and receiver, one of I/O those of rank and server; all routers share the other visits equally. An idle router
    /// has a weight of one.
    pub(crate) fn weights(&self, placement: &Placement, topology: &Topology) -> Vec<u64> {
        let mut visits = vec![0.0; topology.routers() as usize];
        let mut transit = 0.0;
        for (job, place) in self.jobs.iter().zip(&placement.jobs) {
            let ranks = place.nodes.len() as f64;
            let (messages, io) = (job.message_packets / ranks, job.io_packets / ranks);
            for &node in &place.nodes {
                visits[topology.router_of_whole_node(node) as usize] += 2.0 * messages + io;
            }
            for &server in &place.servers {
                let node = placement.servers[server as usize];
                visits[topology.router_of_whole_node(node) as usize] += io;
            }
            transit += (job.hops - 2.0 * job.packets()).max(0.0);
        }
        let routers = visits.len() as f64;
        let all: f64 = visits.iter().sum::<f64>() + transit;
        let scale = if all > 0.0 { 1_000.0 * routers / all } else { 0.0 };
        let weight = |visits: &f64| 1 + ((visits + transit / routers) * scale).round() as u64;
        visits.iter().map(weight).collect()
    }

    /// Sets the start of each job, and the duration of jobs that end with others.
    fn time(&mut self, scenario: &Resolved) {
        let limit = scenario.run.time_limit.unwrap_or(Time::LONGEST).seconds();
        let mut known = vec![false; self.jobs.len()];
        // Rules have no cycle: every round settles at least one job.
        for _ in 0..self.jobs.len() {
            let mut settled = true;
            for (number, job) in scenario.jobs.iter().enumerate() {
                let awaited = || {
                    job.start_after
                        .iter()
                        .chain(job.until.iter())
                        .map(|&other| usize::from(other))
                };
                if known[number] || !awaited().all(|other| known[other]) {
                    settled &= known[number];
                    continue;
                }
                let end = |jobs: &[u16]| {
                    let ends = jobs.iter().map(|&other| &self.jobs[usize::from(other)]);
                    ends.map(|other| other.start_s + other.lasts_s).fold(0.0, f64::max)
                };
                let start = (end(&job.start_after) + job.start.at.seconds()).min(limit);
                let until = if job.until.is_empty() {
                    f64::INFINITY
                } else {
                    end(&job.until)
                };
                let one = &mut self.jobs[number];
                one.start_s = start;
                one.lasts_s = one.lasts_s.min(until - start).min(limit - start).max(0.0);
                one.sends_s = one.sends_s.min(one.lasts_s);
                known[number] = true;
            }
            if settled {
                break;
            }
        }
    }
}

/// Shares of a job's messages and of its I/O that leave their group, for messages between all ranks and I/O to all servers
/// of striped files.
fn leaving(scenario: &Resolved, placement: &Placement, job: &Job, place: &JobPlacement) -> (f64, f64) {
    let group_of = |node| scenario.layout.group_of(node);
    let ranks = place.nodes.len().max(1) as f64;
    let mut in_group = vec![0.0; scenario.layout.groups() as usize];
    for &node in &place.nodes {
        in_group[group_of(node) as usize] += 1.0 / ranks;
    }
    let staying: f64 = in_group.iter().map(|share| share * share).sum();
    let servers = placement.servers.len();
    if servers > 0 && matches!(scenario.layout_of_files(job, servers as u32), FileLayout::Striped(_)) {
        let with_rank = placement
            .servers
            .iter()
            .map(|&server| in_group[group_of(server) as usize]);
        return (1.0 - staying, 1.0 - with_rank.sum::<f64>() / servers as f64);
    }
    let far = |(&node, &server): (&u32, &u32)| group_of(node) != group_of(placement.servers[server as usize]);
    let io = place.nodes.iter().zip(&place.servers).filter(|&pair| far(pair)).count();
    (1.0 - staying, io as f64 / ranks)
}

/// The number of different values.
pub(crate) fn distinct(values: impl Iterator<Item = u32>) -> usize {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

#[cfg(test)]
mod tests;
