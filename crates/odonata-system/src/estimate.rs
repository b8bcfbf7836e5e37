//! What a scenario will do, roughly, from the programs of a few ranks: how many packets, over how much time, and where.
//! Nothing that is simulated depends on it; [`check`](crate::check()) tells its cost, [`schedule`](crate::schedule) divides
//! the machine by it.
//!
//! Times are those on an idle network: what a rank computes, and what its messages and its I/O take one after the other;
//! but not less than the links between groups need for all of it.

mod walk;

use crate::build;
use crate::placement::{JobPlacement, Placement};
use crate::scenario::layout::Layout;
use crate::scenario::resolved::{Algorithm, DeviceModel, Job, Kind, Resolved, Synthetic, Workload};
use odonata_topology::{LinkClass, Peer, Topology};
use odonata_units::Time;
use walk::Walk;

/// Ranks of a job whose programs are walked.
const SAMPLED_RANKS: u32 = 8;
/// Ranks that are asked whether their pattern has a destination for them.
const SAMPLED_SENDERS: u32 = 4_096;
/// Nodes from which distances are measured.
const SAMPLED_STARTS: u32 = 16;
/// Routers that a packet visits inside a group of a dragonfly.
const HOPS_INSIDE: f64 = 2.0;
/// Events per router visited (`odonata bench` measures 1.4 to 2.0, applications have some more).
const EVENTS_PER_HOP: f64 = 2.0;

/// The way of a packet.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Routers that it visits to a node of its own group.
    inside: f64,
    /// Routers that it visits to a node of another group.
    outside: f64,
    /// Links between groups that it takes there.
    globals: f64,
}

impl Way {
    /// On dragonflies as measured: 3.6, 4.7 and 5.6 routers, with links between groups on a direct way, every packet or
    /// less than half of them on a detour. On other machines by distances in the graph, longer in the same proportion.
    fn new(scenario: &Resolved, topology: &Topology) -> Way {
        // (routers, links between groups)
        let (outside, globals) = match scenario.network.routing.algorithm {
            Algorithm::Ugal | Algorithm::ProgressiveAdaptive | Algorithm::Dal => (4.7, 1.4),
            Algorithm::Valiant => (5.6, 2.0),
            // All others take shortest paths.
            _ => (3.5, 1.0),
        };
        if let Kind::Dragonfly(_) = scenario.machine.kind {
            return Way {
                inside: HOPS_INSIDE,
                outside,
                globals,
            };
        }
        let detour = outside / 3.5;
        let (inside, far) = distances(&scenario.layout, topology);
        let has_globals = (0..topology.ports()).any(|port| topology.class(port) == LinkClass::Global);
        Way {
            inside: inside + 1.0,
            outside: far * detour + 1.0,
            globals: if has_globals { globals } else { 0.0 },
        }
    }
}

/// Mean distances, in cables, of nodes of one group and of nodes of different groups, from a sample of nodes.
fn distances(layout: &Layout, topology: &Topology) -> (f64, f64) {
    let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
    let nodes = topology.nodes();
    let starts = nodes.min(SAMPLED_STARTS);
    for start in 0..starts {
        let start = (u64::from(start) * u64::from(nodes) / u64::from(starts)) as u32;
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
    (mean(0), mean(1))
}

/// What a job will do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct JobEstimate {
    /// Payload of its messages and its I/O, bytes.
    pub(crate) bytes: f64,
    /// Packets of its messages.
    pub(crate) message_packets: f64,
    /// Packets of its I/O.
    pub(crate) io_packets: f64,
    /// Routers visited by them.
    pub(crate) hops: f64,
    /// Links between groups that they take.
    pub(crate) globals: f64,
    /// From the start of the run to its own, seconds.
    pub(crate) start_s: f64,
    /// How long it takes, seconds.
    pub(crate) lasts_s: f64,
    /// How much of that it spends in messages and I/O, seconds.
    pub(crate) sends_s: f64,
}

/// What all jobs will do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    /// In the order of the scenario.
    pub(crate) jobs: Vec<JobEstimate>,
    /// Time in which something is sent, seconds.
    busy_s: f64,
}

impl Estimate {
    /// Of all jobs of `scenario`.
    ///
    /// # Errors
    /// A workload that does not fit its ranks; the scenario was not checked.
    pub(crate) fn new(scenario: &Resolved, placement: &Placement, topology: &Topology) -> Result<Estimate, String> {
        let mut jobs = Vec::with_capacity(scenario.jobs.len());
        for (number, job) in scenario.jobs.iter().enumerate() {
            jobs.push(job_estimate(scenario, placement, number, job)?);
        }
        let mut estimate = Estimate { jobs, busy_s: 0.0 };
        estimate.time(scenario);
        let way = Way::new(scenario, topology);
        let (mut sends_s, mut global_bytes) = (0.0, 0.0);
        for ((job, one), place) in scenario.jobs.iter().zip(&mut estimate.jobs).zip(&placement.jobs) {
            if let Workload::Synthetic(traffic) = &job.workload {
                *one = sent_for(scenario, job, traffic, *one)?;
            }
            let packets = one.message_packets + one.io_packets;
            let (messages, io) = leaving(scenario, placement, place);
            let leaving = messages * one.message_packets + io * one.io_packets;
            one.hops = leaving * way.outside + (packets - leaving) * way.inside;
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
        Ok(estimate)
    }

    /// Packets of all jobs.
    pub(crate) fn packets(&self) -> f64 {
        self.jobs.iter().map(|job| job.message_packets + job.io_packets).sum()
    }

    /// Routers visited by them.
    pub(crate) fn hops(&self) -> f64 {
        self.jobs.iter().map(|job| job.hops).sum()
    }

    /// Events of the run.
    pub(crate) fn events(&self) -> f64 {
        self.hops() * EVENTS_PER_HOP
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
    /// cut. There is a credit for every packet.
    pub(crate) fn crossings(&self, local: f64, global: f64) -> f64 {
        let globals: f64 = self.jobs.iter().map(|job| job.globals).sum();
        // The last router of a packet sends it to its node.
        let locals = (self.hops() - self.packets() - globals).max(0.0);
        let events = self.events();
        if events > 0.0 {
            2.0 * (local * locals + global * globals) / events
        } else {
            0.0
        }
    }

    /// How much each router has to do, in packets that visit it, a thousand to the mean of all. A packet of a message
    /// visits the routers of its sender and of its receiver, who are taken to have as much to do as each other; one of I/O
    /// those of rank and storage server. Its other visits are shared by all routers alike. A router where nothing
    /// happens counts as one packet.
    pub(crate) fn weights(&self, placement: &Placement, topology: &Topology) -> Vec<u64> {
        let mut visits = vec![0.0; topology.routers() as usize];
        let mut transit = 0.0;
        for (job, place) in self.jobs.iter().zip(&placement.jobs) {
            let ranks = place.nodes.len() as f64;
            let (messages, io) = (job.message_packets / ranks, job.io_packets / ranks);
            for &node in &place.nodes {
                visits[topology.node_router(node) as usize] += 2.0 * messages + io;
            }
            for &server in &place.servers {
                let node = placement.servers[server as usize];
                visits[topology.node_router(node) as usize] += io;
            }
            let ends = 2.0 * (job.message_packets + job.io_packets);
            transit += (job.hops - ends).max(0.0);
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
                        .chain(&job.until)
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
                let start = (end(&job.start_after) + job.start.seconds()).min(limit);
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

/// What a job will do, as far as it does not depend on other jobs.
fn job_estimate(scenario: &Resolved, placement: &Placement, number: usize, job: &Job) -> Result<JobEstimate, String> {
    let ranks = job.ranks;
    if let Workload::Synthetic(traffic) = &job.workload {
        let interval = traffic.mean_interval.seconds().max(1e-12);
        let by_count = traffic
            .messages
            .map(|messages| messages as f64 * interval / duty(traffic));
        let by_time = traffic.stop.map(|stop| stop.saturating_sub(job.start).seconds());
        let lasts_s = by_count.into_iter().chain(by_time).fold(f64::INFINITY, f64::min);
        return Ok(JobEstimate {
            lasts_s,
            sends_s: lasts_s,
            ..JobEstimate::default()
        });
    }
    let Some(program) = job.program()? else {
        return Ok(JobEstimate::default());
    };
    let rules = build::rules(&scenario.mpi.collectives);
    let step = ranks.div_ceil(SAMPLED_RANKS).max(1);
    let sampled: Vec<u32> = (0..ranks).step_by(step as usize).collect();
    let mut walk = Walk::new(scenario, job);
    for &rank in &sampled {
        walk.rank(program.as_ref(), rank, &rules);
    }
    let share = 1.0 / sampled.len() as f64;
    let servers = distinct(placement.jobs[number].servers.iter().copied()).max(1) as f64;
    let device = scenario.storage.as_ref().map_or(f64::INFINITY, |storage| {
        let DeviceModel::Rate(rate) = &storage.device.model;
        rate.read.0.min(rate.write.0)
    });
    let sends_s = share * walk.sends_s + share * walk.io_bytes * f64::from(ranks) / (servers * device);
    Ok(JobEstimate {
        bytes: share * (walk.bytes + walk.io_bytes) * f64::from(ranks),
        message_packets: (share * walk.packets).max(if walk.io_packets > 0.0 { 0.0 } else { 1.0 }) * f64::from(ranks),
        io_packets: share * walk.io_packets * f64::from(ranks),
        lasts_s: share * walk.computes_s + sends_s,
        sends_s,
        ..JobEstimate::default()
    })
}

/// Shares of a job's messages and of its I/O that leave their group: as if everybody sent to everybody.
fn leaving(scenario: &Resolved, placement: &Placement, place: &JobPlacement) -> (f64, f64) {
    let group_of = |node| scenario.layout.group_of(node);
    let ranks = place.nodes.len().max(1) as f64;
    let mut in_group = vec![0.0; scenario.layout.groups() as usize];
    for &node in &place.nodes {
        in_group[group_of(node) as usize] += 1.0 / ranks;
    }
    let staying: f64 = in_group.iter().map(|share| share * share).sum();
    let far = |(&node, &server): (&u32, &u32)| group_of(node) != group_of(placement.servers[server as usize]);
    let io = place.nodes.iter().zip(&place.servers).filter(|&pair| far(pair)).count();
    (1.0 - staying, io as f64 / ranks)
}

/// Share of the time in which bursts are on.
fn duty(traffic: &Synthetic) -> f64 {
    traffic.bursts.map_or(1.0, |bursts| {
        bursts.on.0 as f64 / (bursts.on.0 as f64 + bursts.off.0 as f64)
    })
}

/// What synthetic traffic sends in the time that it has.
fn sent_for(scenario: &Resolved, job: &Job, traffic: &Synthetic, one: JobEstimate) -> Result<JobEstimate, String> {
    let ranks = job.ranks;
    let pattern = traffic.traffic(ranks, !job.until.is_empty())?.pattern;
    let sampled = (0..ranks).step_by(ranks.div_ceil(SAMPLED_SENDERS).max(1) as usize);
    let (mut senders, mut asked) = (0, 0);
    for rank in sampled {
        senders += u32::from(pattern.sends(rank, ranks));
        asked += 1;
    }
    let senders = f64::from(ranks) * f64::from(senders) / f64::from(asked.max(1));
    let lasts_s = if one.lasts_s.is_finite() { one.lasts_s } else { 0.0 };
    let by_time = duty(traffic) * lasts_s / traffic.mean_interval.seconds().max(1e-12);
    let messages = traffic.messages.map_or(by_time, |most| by_time.min(most as f64));
    let packets = (traffic.bytes.0.div_ceil(scenario.network.packet.0)).max(1) as f64;
    Ok(JobEstimate {
        bytes: messages * traffic.bytes.0 as f64 * senders,
        message_packets: messages * packets * senders,
        lasts_s,
        sends_s: lasts_s * duty(traffic),
        ..one
    })
}

/// How many different values there are.
pub(crate) fn distinct(values: impl Iterator<Item = u32>) -> usize {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    const MACHINE: &str = "[machine.dragonfly]\ngroups = 5\nrouters_per_group = 4\nnodes_per_router = 2\n\
                           global_ports_per_router = 2\n";

    fn estimate(rest: &str) -> (Estimate, scenario::Scenario) {
        let text = format!("{MACHINE}{rest}");
        let loaded = scenario::load(&text, "scenario.toml", &[], None, "").expect("it is a scenario");
        let graph = topology(&loaded);
        let estimate = Estimate::new(&loaded.resolved, &loaded.placement, &graph).expect("it was checked");
        (estimate, loaded)
    }

    fn topology(loaded: &scenario::Scenario) -> Topology {
        build::routing(&loaded.resolved).unwrap().topology().clone()
    }

    #[test]
    fn packets_of_synthetic_traffic_are_counted_by_messages_and_by_time() {
        let job = "[[jobs]]\nranks = 40\nworkload.uniform = { bytes = \"6 KiB\", mean_interval = \"2 us\", ";
        // 100 messages of two packets from each of 40 ranks, in 200 us.
        let (by_count, _) = estimate(&format!("{job} messages = 100 }}\n"));
        let (by_time, _) = estimate(&format!("{job} stop = \"200 us\" }}\n"));
        for found in [&by_count, &by_time] {
            assert!((found.packets() - 8_000.0).abs() < 1e-6, "{found:?}");
            assert!((found.jobs[0].lasts_s - 200e-6).abs() < 1e-12, "{found:?}");
            // Four of five go to another group, over 3.5 routers, the others over 2; twice as many events, all the time.
            assert!((found.events_per_s() - 8_000.0 * 6.4 / 200e-6).abs() < 1.0, "{found:?}");
        }
        let (limited, _) = estimate(&format!("{job} messages = 100 }}\n[run]\ntime_limit = \"50 us\"\n"));
        assert!((limited.packets() - 2_000.0).abs() < 1e-6, "{limited:?}");
    }

    #[test]
    fn traffic_that_others_end_lasts_as_long_as_they_do() {
        let (found, _) = estimate(
            "[[jobs]]\nname = \"solver\"\nranks = 8\nstart = \"1 ms\"\n\
             workload.stencil = { dims = [8], iterations = 10, message = \"4 KiB\", compute = \"100 us\" }\n\
             [[jobs]]\nname = \"noise\"\nranks = 8\nuntil = \"solver\"\n\
             workload.uniform = { bytes = \"4 KiB\", mean_interval = \"10 us\" }\n",
        );
        let [solver, noise] = found.jobs[..] else { panic!() };
        assert_eq!((solver.start_s, noise.start_s), (1e-3, 0.0));
        assert!(solver.lasts_s > 1e-3 && solver.lasts_s < 1.2e-3, "{solver:?}");
        assert!((noise.lasts_s - (1e-3 + solver.lasts_s)).abs() < 1e-9, "{noise:?}");
        assert!((noise.message_packets - 8.0 * noise.lasts_s / 10e-6).abs() < 1e-6);
    }

    /// Ten bursts of messages in a second of computation: what counts is the burst.
    #[test]
    fn computation_is_not_counted_as_time_in_which_events_happen() {
        let job = |compute: &str| {
            let (found, _) = estimate(&format!(
                "[[jobs]]\nranks = 8\nworkload.stencil = {{ dims = [8], iterations = 10, message = \"64 KiB\", \
                 compute = \"{compute}\" }}\n"
            ));
            found
        };
        let (short, long) = (job("1 us"), job("100 ms"));
        assert!(long.jobs[0].lasts_s > 100.0 * short.jobs[0].lasts_s);
        assert!((long.events_per_s() / short.events_per_s() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn links_between_groups_set_the_pace_where_they_are_full() {
        let (found, _) = estimate(
            "[network.links.global]\nbandwidth = \"1 GB/s\"\n[[jobs]]\nranks = 40\n\
             workload.uniform = { bytes = \"4 KiB\", mean_interval = \"1 us\", messages = 1000 }\n",
        );
        // 40 x 4 MB, of which 4/5 leave their group, over 40 directions of cables: 3.3 ms instead of 1 ms.
        let seconds = 40.0 * 4_096_000.0 * 0.8 / (40.0 * 1e9);
        assert!(
            (found.events_per_s() - found.events() / seconds).abs() < 1.0,
            "{found:?}"
        );
    }

    #[test]
    fn what_crosses_cuts_is_reckoned_by_class() {
        let (found, _) = estimate(
            "[[jobs]]\nranks = 40\n\
             workload.uniform = { bytes = \"4 KiB\", mean_interval = \"1 us\", messages = 10 }\n",
        );
        // Per packet 3.2 routers and 6.4 events, 0.8 links between groups, 3.2 - 1 - 0.8 inside of them.
        assert_eq!(found.crossings(0.0, 0.0), 0.0);
        assert!((found.crossings(0.0, 0.5) - 2.0 * 0.4 / 6.4).abs() < 1e-9);
        assert!((found.crossings(1.0, 1.0) - 2.0 * 2.2 / 6.4).abs() < 1e-9);
    }

    #[test]
    fn routers_with_ranks_and_servers_weigh_more() {
        let (found, loaded) = estimate(
            "[storage]\nnodes = { list = [38] }\n[[jobs]]\nranks = 4\n\
             workload.checkpoint = { iterations = 1, total = \"100 MB\" }\n",
        );
        let weights = found.weights(&loaded.placement, &topology(&loaded));
        assert_eq!(weights.len(), 20);
        // Two routers with two ranks each; the server of all four on router 19.
        assert_eq!(weights[0], weights[1]);
        assert!(weights[2..19].iter().all(|&weight| weight == weights[2]));
        assert!(weights[0] > 2 * weights[2] && weights[19] > weights[0], "{weights:?}");
        let mean = weights.iter().sum::<u64>() as f64 / 20.0;
        assert!((mean - 1_001.0).abs() < 1.0, "{mean}");
    }

    #[test]
    fn idle_machines_weigh_the_same_everywhere() {
        let (found, loaded) = estimate("[[jobs]]\nranks = 1\nworkload.stencil = { dims = [1], iterations = 1 }\n");
        let weights = Estimate::default().weights(&loaded.placement, &topology(&loaded));
        assert_eq!(weights, [1; 20]);
        assert!(found.events().is_finite() && found.events_per_s().is_finite());
        assert_eq!(Estimate::default().events_per_s(), 0.0);
    }
}
