//! Synthetic traffic.

use std::collections::BTreeMap;

use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_units::{Bytes, Time};
use odonata_workload::synthetic;

use super::workload::{Size, misfit};
use super::worst_case;
use crate::scenario::Clock;
use crate::scenario::choices::Arrival;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::workload::interval;
use crate::scenario::written as w;

/// The synthetic traffic of `workload`, which is at key `at`.
pub(super) fn synthetic(
    at: &str,
    size: Size,
    workload: w::Workload,
    machine: &r::Resolved,
) -> Result<r::Synthetic, Problem> {
    let worst = matches!(workload, w::Workload::WorstCase(_));
    let (pattern, common) = pattern(at, size, workload, machine)?;
    let at = &format!("{at}.{}", if worst { "worst-case" } else { pattern.name() });
    let (bytes, mean_interval) = rate(at, &common, machine)?;
    if common.messages == Some(0) {
        return Err(Problem::new(format!("{at}.messages"), "no messages", "at least 1"));
    }
    let resolved = r::Synthetic {
        pattern,
        worst_case: worst,
        bytes,
        mean_interval,
        arrival: common.arrival,
        period: period(at, &common, machine.network.clock)?,
        on_off: on_off(at, &common)?,
        bursts: bursts(at, &common)?,
        itself: common.itself,
        messages: common.messages,
        // The run's limit is a stop for those that have no other end; who waits to be told does so until then.
        stop: common.stop.or(machine.run.time_limit.filter(|_| !size.told)),
    };
    let Err(problem) = resolved.traffic(size.ranks, size.told) else {
        return Ok(resolved);
    };
    let mut other = resolved.clone();
    let given = match &mut other.pattern {
        r::Pattern::Neighbours { dims, .. } | r::Pattern::Tornado { dims } | r::Pattern::Grid { dims, .. } => {
            dims.take().is_some()
        }
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
    let missing = |kind: &str, key: &str, expected: &str| {
        Problem::new(
            format!("{at}.{kind}"),
            format!("the key \"{key}\" is missing"),
            expected,
        )
    };
    // The first rank is as good as any other where nobody cares.
    let targets = |kind: &str, targets: Option<Vec<u32>>| -> Result<Vec<u32>, Problem> {
        let targets = targets.unwrap_or_else(|| vec![0]);
        distinct(&format!("{at}.{kind}.targets"), &targets, ranks)?;
        Ok(targets)
    };
    Ok(match workload {
        w::Workload::NextGroup(w) => {
            let ranks_per_group = w
                .ranks_per_group
                .unwrap_or_else(|| worst_case::ranks_per_group(size, machine));
            (r::Pattern::NextGroup { ranks_per_group }, w.traffic())
        }
        w::Workload::Permutation(w) => {
            let common = w.traffic();
            let targets = match w.targets {
                Some(targets) => {
                    distinct(&format!("{at}.permutation.targets"), &targets, u32::MAX)?;
                    targets
                }
                None => permutation(at, size, w.seed.unwrap_or(machine.seed), common.itself)?,
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
                return Err(missing("hot-spot", "share", "a probability above 0, at most 1"));
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
        w::Workload::BitRotation(w) => (r::Pattern::BitRotation, w.traffic()),
        w::Workload::Asymmetric(w) => (r::Pattern::Asymmetric, w.traffic()),
        w::Workload::Shift(w) => {
            let by =
                w.by.ok_or_else(|| missing("shift", "by", "how many ranks further on"))?;
            (r::Pattern::Shift { by }, w.traffic())
        }
        w::Workload::Grid(w) => {
            let common = w.traffic();
            let expected = "one of neighbour, diagonal, tornado, next, transpose, complement-reverse";
            let pattern = r::Pattern::Grid {
                step: w.step.ok_or_else(|| missing("grid", "step", expected))?,
                dims: w.dims,
                ranks_per_router: w.ranks_per_router.unwrap_or(1),
            };
            (pattern, common)
        }
        w::Workload::WorstCase(w) => {
            let pattern = worst_case::shape(size, machine)
                .and_then(|shape| worst_case::pattern(&shape, ranks))
                .map_err(|problem| Problem::new(format!("{at}.worst-case"), problem, "a job that fills the machine"))?;
            (pattern, w.traffic())
        }
        w::Workload::Milc(_)
        | w::Workload::Nekbone(_)
        | w::Workload::Checkpoint(_)
        | w::Workload::Cosmoflow(_)
        | w::Workload::Stencil(_) => return Err(Problem::new(at, "not synthetic traffic", "a pattern")),
    })
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
            let problem = format!("messages of {bytes} at a load of {load}");
            interval(load, bytes, machine.network.links.terminal.bandwidth)
                .ok_or_else(|| Problem::new(key, problem, "mean_interval instead"))?
        }
        _ => {
            let problem = Problem::new(at, "the rate is not defined", "exactly one of load and mean_interval");
            return Err(problem.hint("load = 0.5 is half the terminal link's bandwidth per rank"));
        }
    };
    Ok((bytes, mean_interval))
}

/// The length of a cycle, for arrivals that need one.
fn period(at: &str, common: &w::Traffic, clock: Option<Clock>) -> Result<Option<Time>, Problem> {
    match (common.arrival, common.period) {
        (Arrival::Bernoulli | Arrival::OnOff, None) => match clock.map(|clock| clock.ps()) {
            Some(ps) if ps == ps.round() && ps >= 1.0 => Ok(Some(Time(ps as u64))),
            _ => Err(Problem::new(
                at,
                "arrivals in cycles whose length is not defined",
                "the key \"period\", such as \"1 ns\", or network.clock",
            )),
        },
        (Arrival::Bernoulli | Arrival::OnOff, Some(period)) => {
            super::positive(&format!("{at}.period"), period).map(Some)
        }
        (Arrival::Fixed | Arrival::Exponential, None) => Ok(None),
        (Arrival::Fixed | Arrival::Exponential, Some(_)) => Err(Problem::new(
            format!("{at}.period"),
            "a period, but no cycles",
            "arrival = \"bernoulli\" or \"on-off\"",
        )),
    }
}

/// What is set of the Markov chain of a source.
fn on_off(at: &str, common: &w::Traffic) -> Result<Option<r::OnOff>, Problem> {
    let w::Traffic { alpha, beta, r1, .. } = *common;
    if common.arrival == Arrival::OnOff {
        return Ok(Some(r::OnOff { alpha, beta, r1 }));
    }
    let given = [("alpha", alpha), ("beta", beta), ("r1", r1)];
    match given.iter().find(|(_, value)| value.is_some()) {
        Some((key, _)) => Err(Problem::new(
            format!("{at}.{key}"),
            "a Markov chain without a use",
            "arrival = \"on-off\"",
        )),
        None => Ok(None),
    }
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

fn permutation(at: &str, size: Size, seed: u64, itself: bool) -> Result<Vec<u32>, Problem> {
    // Apart from the streams of nodes, whose numbers are below 2^32, and different for every job.
    let mut stream = Stream::new(seed, (1 << 32) + size.number as u64, Purpose::Destination);
    if itself {
        return Ok(
            match synthetic::Pattern::any_permutation(size.ranks, |n| stream.below(n)) {
                synthetic::Pattern::Permutation { targets } => targets.to_vec(),
                _ => Vec::new(),
            },
        );
    }
    match synthetic::Pattern::permutation(size.ranks, |n| stream.below(n)) {
        Ok(synthetic::Pattern::Permutation { targets }) => Ok(targets.to_vec()),
        Ok(_) => Ok(Vec::new()),
        Err(problem) => Err(Problem::new(at, problem, "at least 2 ranks")),
    }
}
