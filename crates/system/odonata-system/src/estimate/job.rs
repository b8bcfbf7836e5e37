//! What one job will do, from the programs of a few of its ranks.

use super::walk::{Reach, Walk};
use super::{SAMPLED_SENDERS, cycles, scattered};
use crate::placement::Placement;
use crate::scenario::resolved::{Device, Fidelity, Job, Resolved, SyntheticParams, Workload};
use odonata_topology::Topology;

/// Ranks of a job whose programs are walked at least: its first, which is often another than the rest, and some of these.
const SAMPLED_RANKS: u32 = 16;
/// More of them, where their programs are short: as many as have so many operations together.
const FURTHER_OPERATIONS: f64 = 400_000.0;

/// What a job will do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct JobEstimate {
    /// Payload of its messages and its I/O, bytes.
    pub(crate) bytes: f64,
    /// Its messages; those of its I/O do not count.
    pub(crate) messages: f64,
    /// Those of its I/O.
    pub(crate) io_messages: f64,
    /// Packets of its messages.
    pub(crate) message_packets: f64,
    /// Packets of its I/O.
    pub(crate) io_packets: f64,
    /// Bytes that it reads and writes.
    pub(crate) io_bytes: f64,
    /// Flits of all these packets.
    pub(crate) flits: f64,
    /// Routers visited by them, until the run ends.
    pub(crate) hops: f64,
    /// Links between groups that they take.
    pub(crate) globals: f64,
    /// From the start of the run to its own, seconds.
    pub(crate) start_s: f64,
    /// How long it takes, seconds.
    pub(crate) lasts_s: f64,
    /// How much of that it spends in messages and I/O, seconds.
    pub(crate) sends_s: f64,
    /// Of its messages, those that wait at NICs when it has sent the last: synthetic traffic that offers more than the
    /// links take.
    pub(crate) waiting: f64,
    /// Routers on a shortest way of a packet of its messages, if it is known who sends to whom.
    pub(crate) routers: Option<f64>,
    /// Ranks that one of its ranks exchanges messages with, if its operations say so.
    pub(crate) peers: f64,
    /// Messages and receives that are looked through to match its messages.
    pub(crate) searches: f64,
    /// Iterations and values that all of its ranks record.
    pub(crate) records: f64,
    /// Its reads and writes, and its calls of metadata servers.
    pub(crate) accesses: f64,
    /// How its messages go.
    pub(crate) fidelity: Fidelity,
    /// What all this is taken from.
    pub(crate) sample: Sample,
}

/// What the estimate of a job is taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Ranks whose programs were walked.
    pub(crate) ranks: u32,
    /// Of the operations of these, the share that was walked.
    pub(crate) share: f64,
    /// Whether there are more operations than were counted.
    pub(crate) at_least: bool,
}

impl Default for Sample {
    /// All of it, as of traffic that is no program.
    fn default() -> Self {
        Sample {
            ranks: u32::MAX,
            share: 1.0,
            at_least: false,
        }
    }
}

impl JobEstimate {
    /// Packets of its messages and of its I/O.
    pub(super) fn packets(&self) -> f64 {
        self.message_packets + self.io_packets
    }

    /// Routers that packets visit; flows and the analytic model have no packets.
    pub(super) fn packet_hops(&self) -> f64 {
        match self.fidelity {
            Fidelity::Packet => self.hops,
            Fidelity::Flow | Fidelity::Analytic => 0.0,
        }
    }

    /// Flits of a packet.
    pub(super) fn flits_of_a_packet(&self) -> f64 {
        (self.flits / self.packets().max(1.0)).max(1.0)
    }
}

/// What a job will do, as far as it does not depend on other jobs.
pub(super) fn job_estimate(
    scenario: &Resolved,
    placement: &Placement,
    number: usize,
    job: &Job,
    distances: Option<&Topology>,
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
    let rules = scenario.mpi.collectives.rules();
    let nodes = &placement.jobs[number].nodes;
    let walked = |ranks: &[u32], measured: usize| {
        let mut walk = Walk::new(scenario, job);
        for (place, &rank) in ranks.iter().enumerate() {
            walk.reach = match (distances, nodes.get(rank as usize)) {
                (Some(topology), Some(&node)) if place < measured => Some(Reach {
                    topology,
                    nodes,
                    distances: topology.distances(topology.node_router(node)),
                }),
                _ => None,
            };
            // One that fails ends the run: the others are not worth the time, of which a failure may have taken much.
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
        let room = (FURTHER_OPERATIONS / each.max(1.0)) as u32;
        if goes_on && ranks > SAMPLED_RANKS && room > few {
            rest = walked(&others(room), few as usize).0;
        }
    }
    // Each of the others stands for as many.
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
        // All that rules leave open is written to the last one.
        storage.all_devices().last().map_or(f64::INFINITY, rate)
    });
    let sends_s = all.sends_s * of_a_rank + all.io_bytes / (servers * device);
    let least_packets = if all.io_packets > 0.0 { 0.0 } else { f64::from(ranks) };
    Ok(JobEstimate {
        bytes: all.bytes + all.io_bytes,
        messages: all.messages,
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

/// What synthetic traffic sends in the time that it has.
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
        flits: messages * cycles::flits(scenario, traffic.bytes.0) as f64 * senders,
        lasts_s,
        sends_s: lasts_s * duty(traffic),
        ..one
    })
}
