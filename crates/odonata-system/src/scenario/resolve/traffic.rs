//! Synthetic traffic.

use std::collections::BTreeMap;

use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_units::{Bytes, Time};
use odonata_workload::synthetic;

use super::workload::{Size, misfit};
use crate::scenario::error::Problem;
use crate::scenario::layout::Layout;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// The synthetic traffic of `workload`, which is at key `at`.
pub(super) fn synthetic(
    at: &str,
    size: Size,
    workload: w::Workload,
    machine: &r::Resolved,
) -> Result<r::Synthetic, Problem> {
    let (pattern, common) = pattern(at, size, workload, machine)?;
    let at = &format!("{at}.{}", pattern.name());
    let (bytes, mean_interval) = rate(at, &common, machine)?;
    if common.messages == Some(0) {
        return Err(Problem::new(format!("{at}.messages"), "no messages", "at least 1"));
    }
    let resolved = r::Synthetic {
        pattern,
        bytes,
        mean_interval,
        arrival: common.arrival,
        bursts: bursts(at, &common)?,
        messages: common.messages,
        // The run's limit is a stop for those that have no other end; who waits to be told does so until then.
        stop: common.stop.or(machine.run.time_limit.filter(|_| !size.told)),
    };
    let Err(problem) = resolved.traffic(size.ranks, size.told) else {
        return Ok(resolved);
    };
    let mut other = resolved.clone();
    let given = match &mut other.pattern {
        r::Pattern::Neighbours { dims, .. } | r::Pattern::Tornado { dims } => dims.take().is_some(),
        _ => false,
    };
    if given && other.traffic(size.ranks, size.told).is_ok() {
        return Err(misfit(at, problem, true, size.ranks));
    }
    let error = Problem::new(at, problem, "");
    let endless = resolved.messages.is_none() && resolved.stop.is_none() && !size.told;
    Err(if endless {
        error.hint("run.time_limit ends it as well, and the job's until")
    } else {
        error
    })
}

/// The pattern, and the keys that it shares with others.
fn pattern(
    at: &str,
    size: Size,
    workload: w::Workload,
    machine: &r::Resolved,
) -> Result<(r::Pattern, w::Traffic), Problem> {
    let ranks = size.ranks;
    // The first rank is as good as any other where nobody cares.
    let targets = |kind: &str, targets: Option<Vec<u32>>| -> Result<Vec<u32>, Problem> {
        let targets = targets.unwrap_or_else(|| vec![0]);
        distinct(&format!("{at}.{kind}.targets"), &targets, ranks)?;
        Ok(targets)
    };
    Ok(match workload {
        w::Workload::NextGroup(w) => {
            let layout = &machine.layout;
            // Servers that are listed one by one are not in every group.
            let servers = match machine.storage.as_ref().map(|storage| &storage.nodes) {
                Some(r::ServerNodes::PerGroup { count, .. }) => *count,
                Some(nodes @ r::ServerNodes::Routers(_)) => per_group(nodes.nodes(layout).len() as u32, layout),
                _ => 0,
            };
            let service = per_group(layout.service_nodes(), layout);
            let nodes = layout.group_sizes().1.saturating_sub(servers + service).max(1);
            let room = nodes.saturating_mul(size.ranks_per_node);
            let ranks_per_group = w.ranks_per_group.unwrap_or(room);
            (r::Pattern::NextGroup { ranks_per_group }, w.traffic())
        }
        w::Workload::Permutation(w) => {
            let common = w.traffic();
            let targets = match w.targets {
                Some(targets) => {
                    distinct(&format!("{at}.permutation.targets"), &targets, u32::MAX)?;
                    targets
                }
                None => permutation(at, size, machine.seed)?,
            };
            (r::Pattern::Permutation { targets }, common)
        }
        w::Workload::Neighbours(w) => {
            let common = w.traffic();
            let pattern = r::Pattern::Neighbours {
                dims: w.dims,
                dimensions: w.dimensions.unwrap_or(3),
                wrap: w.wrap.unwrap_or(true),
                reach: w.reach,
                turn: w.turn,
            };
            (pattern, common)
        }
        w::Workload::HotSpot(w) => {
            let common = w.traffic();
            let Some(share) = w.share else {
                return Err(Problem::new(
                    format!("{at}.hot-spot"),
                    "the key \"share\" is missing",
                    "a probability above 0, at most 1",
                ));
            };
            if !(share > 0.0 && share <= 1.0) {
                let key = format!("{at}.hot-spot.share");
                return Err(Problem::new(key, format!("a share of {share}"), "above 0, at most 1"));
            }
            let targets = targets("hot-spot", w.targets)?;
            (r::Pattern::HotSpot { targets, share }, common)
        }
        w::Workload::Incast(w) => {
            let common = w.traffic();
            let targets = targets("incast", w.targets)?;
            (r::Pattern::Incast { targets }, common)
        }
        w::Workload::Tornado(w) => {
            let common = w.traffic();
            (r::Pattern::Tornado { dims: w.dims }, common)
        }
        w::Workload::Uniform(w) => (r::Pattern::Uniform, w.traffic()),
        w::Workload::AllToAll(w) => (r::Pattern::AllToAll, w.traffic()),
        w::Workload::Transpose(w) => (r::Pattern::Transpose, w.traffic()),
        w::Workload::BitComplement(w) => (r::Pattern::BitComplement, w.traffic()),
        w::Workload::BitReverse(w) => (r::Pattern::BitReverse, w.traffic()),
        w::Workload::Shuffle(w) => (r::Pattern::Shuffle, w.traffic()),
        w::Workload::Milc(_)
        | w::Workload::Nekbone(_)
        | w::Workload::Checkpoint(_)
        | w::Workload::Cosmoflow(_)
        | w::Workload::Stencil(_) => return Err(Problem::new(at, "not synthetic traffic", "a pattern")),
    })
}

/// The share of so many nodes that a group has.
fn per_group(nodes: u32, layout: &Layout) -> u32 {
    nodes / (layout.groups_with_nodes().count() as u32).max(1)
}

/// Size of a message, and mean time between the messages of a rank.
fn rate(at: &str, common: &w::Traffic, machine: &r::Resolved) -> Result<(Bytes, Time), Problem> {
    let bytes = common.bytes.unwrap_or(machine.network.packet);
    let mean_interval = match (common.load, common.mean_interval) {
        (None, Some(interval)) => super::positive(&format!("{at}.mean_interval"), interval)?,
        (Some(load), None) => {
            let key = format!("{at}.load");
            if !(load > 0.0 && load <= 1.0) {
                return Err(Problem::new(key, format!("a load of {load}"), "above 0, at most 1"));
            }
            // A message without payload still takes a header, but no payload that a load could be measured in.
            let time = bytes.0 as f64 * machine.network.links.terminal.bandwidth.ps_per_byte() / load;
            if bytes == Bytes::ZERO || time > Time::LONGEST.0 as f64 {
                return Err(Problem::new(
                    key,
                    format!("messages of {bytes} at a load of {load}"),
                    "mean_interval instead",
                ));
            }
            Time((time.round() as u64).max(1))
        }
        _ => {
            let problem = Problem::new(at, "the rate is not defined", "exactly one of load and mean_interval");
            return Err(problem.hint("load = 0.5 is half the terminal link's bandwidth per rank"));
        }
    };
    Ok((bytes, mean_interval))
}

fn bursts(at: &str, common: &w::Traffic) -> Result<Option<r::Bursts>, Problem> {
    match (common.on, common.off) {
        (None, None) => Ok(None),
        (Some(on), Some(off)) => Ok(Some(r::Bursts {
            on: super::positive(&format!("{at}.on"), on)?,
            off: super::positive(&format!("{at}.off"), off)?,
        })),
        (Some(_), None) => Err(Problem::new(
            format!("{at}.on"),
            "bursts without silence",
            "on and off, or neither",
        )),
        (None, Some(_)) => Err(Problem::new(
            format!("{at}.off"),
            "silence without bursts",
            "on and off, or neither",
        )),
    }
}

/// Checks that every entry of a list of ranks is there once, and one of `ranks` ranks.
fn distinct(key: &str, list: &[u32], ranks: u32) -> Result<(), Problem> {
    let mut first = BTreeMap::new();
    for (at, &value) in list.iter().enumerate() {
        let key = || format!("{key}.{at}");
        if value >= ranks {
            return Err(Problem::new(
                key(),
                format!("there is no rank {value}"),
                format!("0 to {}", ranks.saturating_sub(1)),
            ));
        }
        if let Some(before) = first.insert(value, at) {
            let problem = format!("{value} is listed twice, at positions {before} and {at}");
            return Err(Problem::new(key(), problem, "every rank once"));
        }
    }
    Ok(())
}

fn permutation(at: &str, size: Size, seed: u64) -> Result<Vec<u32>, Problem> {
    // Apart from the streams of nodes, whose numbers are below 2^32, and different for every job.
    let mut stream = Stream::new(seed, (1 << 32) + size.number as u64, Purpose::Destination);
    match synthetic::Pattern::permutation(size.ranks, |n| stream.below(n)) {
        Ok(synthetic::Pattern::Permutation { targets }) => Ok(targets.to_vec()),
        Ok(_) => Ok(Vec::new()),
        Err(problem) => Err(Problem::new(at, problem, "at least 2 ranks")),
    }
}
