//! What a scenario will do, roughly, from the programs of a few ranks: how many packets, over how much time, and where.
//! Nothing that is simulated depends on it; [`check`](crate::check()) tells its cost, [`schedule`](crate::schedule) divides
//! the machine by it.
//!
//! Times are those on an idle network: what a rank computes, and what its messages and its I/O take one after the other;
//! but not less than the links between groups need for all of it.
//!
//! Events are those of packets that come to routers; of pipelined routers those of flits and of cycles (`cycles`). Flows and
//! messages by the analytic model have some for each message.

mod cycles;
mod job;
mod walk;

use crate::placement::{JobPlacement, Placement};
use crate::scenario::layout::Layout;
use crate::scenario::resolved::{Algorithm, Fidelity, Job, Resolved, RouterModel, Switching, Workload};
use cycles::Cycles;
pub(crate) use job::JobEstimate;
use job::{job_estimate, sent_for};
use odonata_storage::FileLayout;
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::{SplitMix64, Time};

/// Ranks that are asked whether their pattern has a destination for them.
const SAMPLED_SENDERS: u32 = 4_096;
/// Nodes from which distances are measured.
const SAMPLED_STARTS: u32 = 16;
/// Jobs whose distances between ranks are measured one by one, and how many ports of routers are looked at from each rank, jobs times
/// ports of the machine, before means of the machine have to do: a second or two.
const MEASURED_JOBS: usize = 64;
const MEASURED_PORTS: usize = 1 << 24;
/// Events per router visited (measured: 1.5 on an idle network to 2.0 on a full one), and of the ranks at both ends of a
/// message of a program.
const EVENTS_PER_HOP: f64 = 1.85;
const EVENTS_PER_MESSAGE: f64 = 2.5;
/// Events of a message by the analytic model, and of one that is a flow over one way (measured: 3.0 to 5.0, 9.3 to 14.8).
const EVENTS_OF_ANALYTIC: f64 = 4.1;
const EVENTS_OF_FLOW: f64 = 10.0;
/// Ways over which a message goes as flows where its routing has several, at most.
const WAYS_OF_FLOWS: f64 = 8.0;

/// The way of a packet.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Routers that it visits to a node of its own group.
    inside: f64,
    /// Routers that it visits to a node of another group.
    outside: f64,
    /// Links between groups that it takes there.
    globals: f64,
    /// How many times as many cables as the shortest way it takes.
    detour: f64,
}

impl Way {
    /// On dragonflies as measured: 3.6, 4.7 and 5.6 routers, with links between groups on a direct way, every packet or
    /// less than half of them on a detour. On other machines by distances in the graph, longer in the same proportion.
    fn new(scenario: &Resolved, topology: &Topology) -> Way {
        // (routers, links between groups)
        let (outside, globals) = match *scenario.network.routing.algorithm {
            Algorithm::Ugal | Algorithm::ProgressiveAdaptive | Algorithm::Dal => (4.7, 1.4),
            Algorithm::Valiant => (5.6, 2.0),
            // All others take shortest paths.
            _ => (3.5, 1.0),
        };
        let detour = outside / 3.5;
        if let Some(inside) = scenario.machine.kind.measured_hops_inside() {
            return Way {
                inside,
                outside,
                globals,
                detour,
            };
        }
        let (inside, far, _) = distances(&scenario.layout, topology);
        let has_globals = (0..topology.ports()).any(|port| topology.class(port) == LinkClass::Global);
        Way {
            inside: inside + 1.0,
            outside: far * detour + 1.0,
            globals: if has_globals { globals } else { 0.0 },
            detour,
        }
    }
}

impl Way {
    /// Time of a packet that visits `hops` routers on an idle network, seconds: each router and its cable, and the whole
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
        let stored = if network.switching == Switching::StoreAndForward {
            hops
        } else {
            1.0
        };
        cables + hops * stages + packet * stored
    }
}

/// Up to `most` different ones of `0..count`: one of each of as many equal ranges, where in it by lot, the same each time (stratified
/// sampling). Equal steps are in step with the extents of a grid, and so may be any ratio: every 1,728th rank of
/// 24 x 24 x 24 is on one edge, and multiples of the golden ratio of 13,824 are 23.7 modulo 24.
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

/// Mean distances, in cables, of nodes of one group and of nodes of different groups, and the share of pairs of the latter, from
/// a sample of nodes.
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

/// What all jobs will do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    /// In the order of the scenario.
    pub(crate) jobs: Vec<JobEstimate>,
    /// Time in which something is sent, seconds.
    busy_s: f64,
    events: f64,
    flows: f64,
    /// With how many packets or flits a packet comes to a router: with each of its flits to pipelined ones, else with itself.
    arrivals: f64,
    /// Time from the start of a packet to its arrival on an idle network, seconds.
    pub(crate) flight_s: f64,
}

impl Estimate {
    /// Of all jobs of `scenario`.
    ///
    /// # Errors
    /// A workload that does not fit its ranks; the scenario was not checked.
    pub(crate) fn new(scenario: &Resolved, placement: &Placement, topology: &Topology) -> Result<Estimate, String> {
        let mut jobs = Vec::with_capacity(scenario.jobs.len());
        let looked_at = scenario.jobs.len().min(MEASURED_JOBS) * topology.ports() as usize;
        for (number, job) in scenario.jobs.iter().enumerate() {
            let measured = number < MEASURED_JOBS && looked_at <= MEASURED_PORTS;
            jobs.push(job_estimate(
                scenario,
                placement,
                number,
                job,
                measured.then_some(topology),
            )?);
        }
        let mut estimate = Estimate {
            jobs,
            arrivals: 1.0,
            ..Estimate::default()
        };
        estimate.time(scenario);
        let way = Way::new(scenario, topology);
        let (mut sends_s, mut global_bytes) = (0.0, 0.0);
        for ((job, one), place) in scenario.jobs.iter().zip(&mut estimate.jobs).zip(&placement.jobs) {
            if let Workload::Synthetic(traffic) = &*job.workload {
                *one = sent_for(scenario, job, traffic, *one)?;
            }
            let packets = one.packets();
            let (messages, io) = leaving(scenario, placement, job, place);
            let leaving = messages * one.message_packets + io * one.io_packets;
            one.hops = match one.routers {
                Some(routers) => {
                    let io = io * one.io_packets;
                    let of_io = io * way.outside + (one.io_packets - io) * way.inside;
                    one.message_packets * ((routers - 1.0) * way.detour + 1.0) + of_io
                }
                None => leaving * way.outside + (packets - leaving) * way.inside,
            };
            one.globals = leaving * way.globals;
            sends_s += one.sends_s;
            global_bytes += one.bytes * one.globals / packets.max(1.0);
        }
        let global = |&port: &u32| topology.class(port) == LinkClass::Global && topology.peer(port) != Peer::Free;
        let rate = (0..topology.ports()).filter(global).count() as f64 * scenario.network.links.global.bandwidth.0;
        let over_globals_s = if rate > 0.0 { global_bytes / rate } else { 0.0 };
        let end = estimate
            .jobs
            .iter()
            .map(|job| job.start_s + job.lasts_s)
            .fold(0.0, f64::max);
        estimate.busy_s = sends_s.min(end).max(over_globals_s);
        if let Some(limit) = scenario.run.time_limit {
            estimate.busy_s = estimate.busy_s.min(limit.seconds());
        }
        estimate.overload(scenario, over_globals_s);
        let hops: f64 = estimate.jobs.iter().map(|job| job.hops).sum();
        estimate.flight_s = way.flight_s(scenario, hops / estimate.packets().max(1.0));
        estimate.count(scenario, topology);
        Ok(estimate)
    }

    /// Finds out which synthetic traffic offers more than the links of its nodes, or those between groups, take: what is
    /// left at the sources, and what of it the network carries until the run ends.
    fn overload(&mut self, scenario: &Resolved, over_globals_s: f64) {
        let terminal = scenario.network.links.terminal.bandwidth.0;
        let rate = scenario.nic.rate.map_or(terminal, |rate| rate.0.min(terminal));
        let end = |one: &JobEstimate| match scenario.run.time_limit {
            Some(limit) => (limit.seconds() - one.start_s).max(0.0),
            None => f64::INFINITY,
        };
        for (job, one) in scenario.jobs.iter().zip(&mut self.jobs) {
            if !matches!(*job.workload, Workload::Synthetic(_)) {
                continue;
            }
            let of_a_node = one.bytes / f64::from(*job.ranks) * f64::from(job.ranks_per_node.min(*job.ranks));
            let needs_s = (of_a_node / rate).max(over_globals_s);
            if needs_s > one.lasts_s && needs_s > 0.0 {
                one.waiting = one.messages * (1.0 - one.lasts_s / needs_s);
                let carried = (end(one) / needs_s).min(1.0);
                one.hops *= carried;
                // Those that are not carried are offered all the same.
                if one.fidelity == Fidelity::Packet {
                    self.events += one.messages * (1.0 - carried);
                }
            }
        }
    }

    /// Reckons the events of the packets' ways.
    fn count(&mut self, scenario: &Resolved, topology: &Topology) {
        let several_ways = !matches!(
            *scenario.network.routing.algorithm,
            Algorithm::Minimal | Algorithm::DimensionOrder | Algorithm::Bubble | Algorithm::Pxn | Algorithm::UpDown
        );
        for one in &mut self.jobs {
            let messages = one.messages + one.io_messages;
            let packets = one.packets() / messages.max(1.0);
            let ways = if several_ways {
                packets.clamp(1.0, WAYS_OF_FLOWS)
            } else {
                1.0
            };
            match one.fidelity {
                Fidelity::Packet => {}
                Fidelity::Analytic => self.events += messages * EVENTS_OF_ANALYTIC,
                Fidelity::Flow => {
                    self.events += messages * (EVENTS_OF_FLOW + ways - 1.0);
                    self.flows += messages * ways;
                }
            }
        }
        let in_packets = |one: &&JobEstimate| one.fidelity == Fidelity::Packet;
        let Some(cycles) = Cycles::new(scenario) else {
            let of_programs = scenario.jobs.iter().zip(&self.jobs);
            let of_programs = of_programs.filter(|(job, _)| !matches!(*job.workload, Workload::Synthetic(_)));
            let of_programs = of_programs.map(|(_, one)| one).filter(in_packets);
            let messages: f64 = of_programs.map(|one| one.messages).sum();
            self.events += self.hops() * EVENTS_PER_HOP + messages * EVENTS_PER_MESSAGE;
            return;
        };
        let flit_hops: f64 = self
            .jobs
            .iter()
            .map(|job| job.packet_hops() * job.flits_of_a_packet())
            .sum();
        self.arrivals = flit_hops / self.hops().max(1.0);
        let flits = self.jobs.iter().filter(in_packets).map(|job| job.flits).sum();
        let messages: f64 = self.jobs.iter().filter(in_packets).map(|job| job.messages).sum();
        let ticks = cycles.ticks(self.hops(), flit_hops, f64::from(topology.routers()), self.busy_s);
        // At its NIC each flit is an event but the first of a message, and each message one at either end; at routers cycles
        // alone are.
        let further = (f64::min(flits, flit_hops) - messages).max(0.0);
        self.events += ticks + further + 2.0 * messages;
    }

    /// Bytes that all jobs read and write.
    pub(crate) fn io_bytes(&self) -> f64 {
        self.jobs.iter().map(|job| job.io_bytes).sum()
    }

    /// Packets of all jobs.
    pub(crate) fn packets(&self) -> f64 {
        self.jobs.iter().map(JobEstimate::packets).sum()
    }

    /// Messages of all jobs, those of I/O among them.
    pub(crate) fn messages(&self) -> f64 {
        self.jobs.iter().map(|job| job.messages + job.io_messages).sum()
    }

    /// Messages and receives that are looked through to match messages.
    pub(crate) fn searches(&self) -> f64 {
        self.jobs.iter().map(|job| job.searches).sum()
    }

    /// Routers visited by packets.
    pub(crate) fn hops(&self) -> f64 {
        self.jobs.iter().map(JobEstimate::packet_hops).sum()
    }

    /// Flows, one for each way of a message.
    pub(crate) fn flows(&self) -> f64 {
        self.flows
    }

    /// Whether some job has more operations than were counted.
    pub(crate) fn at_least(&self) -> bool {
        self.jobs.iter().any(|job| job.sample.at_least)
    }

    /// Events of the run.
    pub(crate) fn events(&self) -> f64 {
        self.events
    }

    /// Time in which something is sent, seconds.
    pub(crate) fn busy_s(&self) -> f64 {
        self.busy_s
    }

    /// Events per simulated second, over the time in which something is sent. Schedulers skip the rest, in which all
    /// jobs compute.
    pub(crate) fn events_per_s(&self) -> f64 {
        if self.busy_s > 0.0 {
            self.events() / self.busy_s
        } else {
            0.0
        }
    }

    /// Packets and credits per event that go over a cut, where these shares of the links inside and between groups are
    /// cut. There is a credit for every packet; of pipelined routers they are flits.
    pub(crate) fn crossings(&self, local: f64, global: f64) -> f64 {
        let globals: f64 = self.jobs.iter().map(|job| job.globals).sum();
        // The last router of a packet sends it to its node.
        let locals = (self.hops() - self.packets() - globals).max(0.0);
        let events = self.events();
        if events > 0.0 {
            2.0 * self.arrivals * (local * locals + global * globals) / events
        } else {
            0.0
        }
    }

    /// How much each router has to do, in packets that visit it (of pipelined routers, flits), a thousand to the mean of all. A packet of a message
    /// visits the routers of its sender and of its receiver, who are taken to have as much to do as each other; one of I/O
    /// those of rank and storage server. Its other visits are shared by all routers alike. A router where nothing
    /// happens counts as one packet.
    pub(crate) fn weights(&self, placement: &Placement, topology: &Topology) -> Vec<u64> {
        let mut visits = vec![0.0; topology.routers() as usize];
        let mut transit = 0.0;
        for (job, place) in self.jobs.iter().zip(&placement.jobs) {
            let ranks = place.nodes.len() as f64;
            // Where routers take packets for single flits all jobs have the same.
            let flits = if self.arrivals > 1.0 {
                job.flits_of_a_packet()
            } else {
                1.0
            };
            let (messages, io) = (flits * job.message_packets / ranks, flits * job.io_packets / ranks);
            for &node in &place.nodes {
                visits[topology.node_router(node) as usize] += 2.0 * messages + io;
            }
            for &server in &place.servers {
                let node = placement.servers[server as usize];
                visits[topology.node_router(node) as usize] += io;
            }
            transit += flits * (job.hops - 2.0 * job.packets()).max(0.0);
        }
        let routers = visits.len() as f64;
        let all: f64 = visits.iter().sum::<f64>() + transit;
        let scale = if all > 0.0 { 1_000.0 * routers / all } else { 0.0 };
        let weight = |visits: &f64| 1 + ((visits + transit / routers) * scale).round() as u64;
        visits.iter().map(weight).collect()
    }

    /// When each job starts, and how long those last whose end depends on others.
    fn time(&mut self, scenario: &Resolved) {
        let limit = scenario.run.time_limit.unwrap_or(Time::LONGEST).seconds();
        let mut known = vec![false; self.jobs.len()];
        // Rules have no cycle: every round settles one job at least.
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

/// Shares of a job's messages and of its I/O that leave their group: as if everybody sent to everybody, and to all servers
/// where files are striped over them.
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

/// How many different values there are.
pub(crate) fn distinct(values: impl Iterator<Item = u32>) -> usize {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

#[cfg(test)]
mod tests;
