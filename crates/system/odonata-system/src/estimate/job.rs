//! The traffic of a job, from the programs of a sample of its ranks.

use super::walk::{Reach, Walk};
use super::{SAMPLED_SENDERS, scattered};
use crate::placement::Placement;
use crate::scenario::resolved::{Device, Fidelity, Job, Resolved, SyntheticParams, Workload};
use odonata_topology::Topology;

/// Minimum sample: the first rank of a job, which often differs from the others, and some of these.
const SAMPLED_RANKS: u32 = 16;

/// The traffic of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct JobEstimate {
    /// Operations of its programs.
    pub(crate) operations: f64,
    /// Payload of its messages and its I/O, bytes.
    pub(crate) bytes: f64,
    /// Its messages, without I/O.
    pub(crate) messages: f64,
    /// Requests and answers of the rendezvous of its messages.
    pub(crate) control: f64,
    /// Messages of its I/O.
    pub(crate) io_messages: f64,
    /// Packets of its messages.
    pub(crate) message_packets: f64,
    /// Packets of its I/O.
    pub(crate) io_packets: f64,
    /// Bytes that it reads and writes.
    pub(crate) io_bytes: f64,
    /// Flits of all these packets.
    pub(crate) flits: f64,
    /// Routers visited by the packets until the run ends.
    pub(crate) hops: f64,
    /// From the start of the run to its own, seconds.
    pub(crate) start_s: f64,
    /// Its duration, seconds.
    pub(crate) lasts_s: f64,
    /// The part of its duration with messages and I/O, seconds.
    pub(crate) sends_s: f64,
    /// Messages that wait at NICs at its end: synthetic traffic that offers more than the links carry.
    pub(crate) waiting: f64,
    /// Routers on a shortest path of a packet of its messages, if the receivers are known.
    pub(crate) routers: Option<f64>,
    /// Number of ranks that a rank of the job exchanges messages with, if known.
    pub(crate) peers: f64,
    /// Messages and receives examined for matching.
    pub(crate) searches: f64,
    /// Iterations and values that all of its ranks record.
    pub(crate) records: f64,
    /// Its reads and writes, and its calls of metadata servers.
    pub(crate) accesses: f64,
    /// The fidelity of its messages.
    pub(crate) fidelity: Fidelity,
    /// The sample behind these numbers.
    pub(crate) sample: Sample,
}

/// The sample of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Ranks whose programs were walked.
    pub(crate) ranks: u32,
    /// The share of their operations that was walked.
    pub(crate) share: f64,
    /// Whether there are more operations than counted.
    pub(crate) at_least: bool,
}

impl Default for Sample {
    /// Everything: synthetic traffic has no operations.
    fn default() -> Self {
        Sample {
            ranks: u32::MAX,
            share: 1.0,
            at_least: false,
        }
    }
}

impl JobEstimate {
    /// All its messages.
    pub(super) fn all_messages(&self) -> f64 {
        self.messages + self.control + self.io_messages
    }

    /// Packets of its messages and of its I/O.
    pub(super) fn packets(&self) -> f64 {
        self.message_packets + self.io_packets
    }

    /// Routers visited by packets; flows and the analytic model have no packets.
    pub(super) fn packet_hops(&self) -> f64 {
        match self.fidelity {
            Fidelity::Packet | Fidelity::Ethernet => self.hops,
            Fidelity::Flow | Fidelity::Analytic => 0.0,
        }
    }
}

/// The traffic of a job, as far as it does not depend on other jobs; a larger sample of short programs has about
/// `operations` operations.
pub(super) fn job_estimate(
    scenario: &Resolved,
    placement: &Placement,
    number: usize,
    job: &Job,
    distances: Option<&Topology>,
    operations: f64,
) -> Result<JobEstimate, String> {
    let ranks = *job.ranks;
    let idle = JobEstimate {
        fidelity: scenario.fidelity_of(job),
        ..JobEstimate::default()
    };
    if let Workload::Synthetic(traffic) = &*job.workload {
        let interval = traffic.mean_interval.seconds().max(1e-12);
        let by_count = traffic
            .messages
            .map(|messages| messages as f64 * interval / duty(traffic));
        let by_time = traffic.stop.map(|stop| stop.saturating_sub(job.start.at).seconds());
        let lasts_s = by_count.into_iter().chain(by_time).fold(f64::INFINITY, f64::min);
        return Ok(JobEstimate {
            lasts_s,
            sends_s: lasts_s,
            ..idle
        });
    }
    let Some(program) = job.program()? else {
        return Ok(idle);
    };
    let rules = scenario.mpi.rules();
    let nodes = &placement.jobs[number].nodes;
    let walked = |ranks: &[u32], measured: usize| {
        let mut walk = Walk::new(scenario, job);
        for (place, &rank) in ranks.iter().enumerate() {
            walk.reach = match (distances, nodes.get(rank as usize)) {
                (Some(topology), Some(&node)) if place < measured => Some(Reach {
                    topology,
                    nodes,
                    distances: topology.distances(topology.router_of_whole_node(node)),
                }),
                _ => None,
            };
            // A program that fails ends the run, and a failure may take long.
            if !walk.rank(program.as_ref(), rank, &rules) {
                return (walk, false);
            }
        }
        (walk, true)
    };
    let others = |most: u32| -> Vec<u32> {
        let chosen = scattered(ranks.saturating_sub(1), most).into_iter();
        chosen.map(|rank| rank + 1).collect()
    };
    let (first, mut goes_on) = walked(&[0], 1);
    let few = SAMPLED_RANKS - 1;
    let mut rest = Walk::new(scenario, job);
    if goes_on {
        (rest, goes_on) = walked(&others(few), few as usize);
        let each = rest.sums.walked / f64::from(rest.ranks.max(1));
        let room = (operations / each.max(1.0)) as u32;
        if goes_on && ranks > SAMPLED_RANKS && room > few {
            rest = walked(&others(room), few as usize).0;
        }
    }
    // Each sampled rank stands for as many others.
    let each = f64::from(ranks.saturating_sub(1)) / f64::from(rest.ranks.max(1));
    let mut all = first.sums;
    all.add(each, &rest.sums);
    let peers = first.peers + each * rest.peers;
    let sample = Sample {
        ranks: first.ranks + rest.ranks,
        share: (first.sums.walked + rest.sums.walked) / (first.sums.operations + rest.sums.operations).max(1.0),
        at_least: first.at_least || rest.at_least,
    };
    let of_a_rank = 1.0 / f64::from(ranks.max(1));
    let servers = scenario.servers_of(job, placement, &placement.jobs[number]).max(1) as f64;
    let device = scenario.storage.as_ref().map_or(f64::INFINITY, |storage| {
        let block = storage.manager.block.0;
        let rate = |device: &Device| {
            let model = device.model();
            block as f64 / model.about(false, block).max(model.about(true, block)).seconds()
        };
        // Data without a rule is written to the last device.
        storage.all_devices().last().map_or(f64::INFINITY, rate)
    });
    let sends_s = all.sends_s * of_a_rank + all.io_bytes / (servers * device);
    let least_packets = if all.io_packets > 0.0 { 0.0 } else { f64::from(ranks) };
    Ok(JobEstimate {
        operations: all.operations,
        bytes: all.bytes + all.io_bytes,
        messages: all.messages,
        control: all.control,
        io_messages: all.io_messages,
        message_packets: all.packets.max(least_packets),
        io_packets: all.io_packets,
        io_bytes: all.io_bytes,
        flits: all.flits,
        routers: (all.reached.0 > 0.0).then(|| all.reached.1 / all.reached.0),
        peers: peers * of_a_rank,
        searches: all.searches,
        records: all.records,
        accesses: all.accesses,
        lasts_s: all.computes_s * of_a_rank + sends_s,
        sends_s,
        sample,
        ..idle
    })
}

/// Share of the time in which bursts are on.
pub(super) fn duty(traffic: &SyntheticParams) -> f64 {
    traffic.bursts().map_or(1.0, |bursts| {
        bursts.on.0 as f64 / (bursts.on.0 as f64 + bursts.off.0 as f64)
    })
}

/// The messages of synthetic traffic during the job.
pub(super) fn sent_for(
    scenario: &Resolved,
    job: &Job,
    traffic: &SyntheticParams,
    one: JobEstimate,
) -> Result<JobEstimate, String> {
    let ranks = *job.ranks;
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
        messages: messages * senders,
        message_packets: messages * packets * senders,
        flits: messages * flits(scenario, traffic.bytes.0) as f64 * senders,
        lasts_s,
        sends_s: lasts_s * duty(traffic),
        ..one
    })
}

/// Flits of a message of `bytes`, packet by packet.
fn flits(scenario: &Resolved, bytes: u64) -> u64 {
    let (packet, flit) = (scenario.network.packet.0, scenario.network.flit.0);
    let of = |bytes: u64| bytes.div_ceil(flit);
    ((bytes / packet).saturating_mul(of(packet)))
        .saturating_add(of(bytes % packet))
        .max(1)
}
