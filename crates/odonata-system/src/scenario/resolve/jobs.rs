//! Jobs and their workloads.

use std::collections::BTreeMap;
use std::path::Path;

use odonata_engine::Stream;
use odonata_engine::random::Purpose;
use odonata_units::{Bytes, Time};
use odonata_workload::synthetic;

use crate::scenario::choices::Arrival;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Most ranks of all jobs together; each takes memory before the first event.
const MOST_RANKS: u64 = 1 << 24;

/// Most jobs; traffic is counted in 16 bits, two kinds per job.
const MOST_JOBS: usize = 30_000;

/// Most polynomial orders of a Nekbone job.
const MOST_ORDERS: usize = 1_000;

/// Resolves the jobs of a scenario whose other parts are in `machine`.
pub(super) fn jobs(jobs: Vec<w::Job>, machine: &r::Resolved, folder: &Path) -> Result<Vec<r::Job>, Problem> {
    if jobs.is_empty() || jobs.len() > MOST_JOBS {
        let problem = format!("{} jobs", jobs.len());
        return Err(Problem::new(
            "jobs",
            problem,
            format!("1 to {MOST_JOBS} tables [[jobs]]"),
        ));
    }
    let mut names = BTreeMap::new();
    let mut ranks = 0;
    let mut resolved = Vec::new();
    for (index, job) in jobs.into_iter().enumerate() {
        let job = self::job(index, job, machine, folder)?;
        ranks += u64::from(job.ranks);
        if ranks > MOST_RANKS {
            let problem = format!("{ranks} ranks in all");
            return Err(Problem::new(
                format!("jobs.{index}.ranks"),
                problem,
                format!("at most {MOST_RANKS} in all"),
            ));
        }
        if let Some(first) = names.insert(job.name.clone(), index) {
            let problem = format!(
                "jobs {first} and {index} (counted from 0) have the same name \"{}\"",
                job.name
            );
            return Err(Problem::new(
                format!("jobs.{index}.name"),
                problem,
                "a name for every job",
            ));
        }
        resolved.push(job);
    }
    Ok(resolved)
}

fn job(index: usize, job: w::Job, machine: &r::Resolved, folder: &Path) -> Result<r::Job, Problem> {
    let at = format!("jobs.{index}");
    if job.ranks == 0 || u64::from(job.ranks) > MOST_RANKS {
        let problem = format!("a job of {} ranks", job.ranks);
        return Err(Problem::new(
            format!("{at}.ranks"),
            problem,
            format!("1 to {MOST_RANKS}"),
        ));
    }
    if job.ranks_per_node == 0 {
        return Err(Problem::new(
            format!("{at}.ranks_per_node"),
            "no ranks on a node",
            "at least 1",
        ));
    }
    let (kind, workload) = workload(index, job.ranks, job.ranks_per_node, job.workload, machine)?;
    let io = matches!(workload, r::Workload::Checkpoint(_) | r::Workload::Cosmoflow(_));
    if io && machine.storage.is_none() {
        let problem = Problem::new(
            format!("{at}.workload"),
            format!("{kind} does I/O, but the machine has no servers"),
            "",
        );
        return Err(problem.hint("add a table [storage]"));
    }
    Ok(r::Job {
        name: super::name(&format!("{at}.name"), job.name.unwrap_or_else(|| kind.into()))?,
        ranks: job.ranks,
        ranks_per_node: job.ranks_per_node,
        start: job.start,
        placement: placement(&format!("{at}.placement"), job.placement, folder)?,
        workload,
    })
}

fn placement(at: &str, placement: w::Placement, folder: &Path) -> Result<r::PlacementRule, Problem> {
    let table = match placement {
        w::Placement::Contiguous => return Ok(r::PlacementRule::Contiguous),
        w::Placement::Random => return Ok(r::PlacementRule::Random),
        w::Placement::Table(table) => table,
    };
    match (table.nodes, table.clients, table.file, table.slot) {
        (Some(nodes), None, None, None) => Ok(r::PlacementRule::Nodes(nodes)),
        (None, Some(clients), None, None) => Ok(r::PlacementRule::Clients(clients)),
        (None, None, Some(file), slot) => Ok(r::PlacementRule::File {
            path: folder.join(file).display().to_string(),
            slot: slot.unwrap_or(0),
        }),
        _ => Err(Problem::new(
            at,
            "no single rule",
            "exactly one of nodes, clients, file (with slot)",
        )),
    }
}

fn workload(
    index: usize,
    ranks: u32,
    ranks_per_node: u32,
    workload: w::Workload,
    machine: &r::Resolved,
) -> Result<(&'static str, r::Workload), Problem> {
    let at = &format!("jobs.{index}.workload");
    let synthetic = |kind: &str, pattern, common: Common| {
        let at = format!("{at}.{kind}");
        synthetic(&at, ranks, pattern, common, machine).map(r::Workload::Synthetic)
    };
    let (kind, resolved) = match workload {
        w::Workload::Milc(milc) => ("milc", r::Workload::Milc(milc)),
        w::Workload::Nekbone(nekbone) => ("nekbone", r::Workload::Nekbone(nekbone)),
        w::Workload::Checkpoint(checkpoint) => ("checkpoint", r::Workload::Checkpoint(checkpoint)),
        w::Workload::Cosmoflow(cosmoflow) => ("cosmoflow", r::Workload::Cosmoflow(cosmoflow)),
        w::Workload::Stencil(stencil) => ("stencil", r::Workload::Stencil(stencil)),
        w::Workload::Uniform(w::Uniform {
            load,
            mean_interval,
            bytes,
            arrival,
            messages,
            stop,
        }) => {
            let common = Common {
                load,
                mean_interval,
                bytes,
                arrival,
                messages,
                stop,
            };
            ("uniform", synthetic("uniform", r::Pattern::Uniform, common)?)
        }
        w::Workload::NextGroup(w::NextGroup {
            load,
            mean_interval,
            bytes,
            arrival,
            messages,
            stop,
            ranks_per_group,
        }) => {
            let common = Common {
                load,
                mean_interval,
                bytes,
                arrival,
                messages,
                stop,
            };
            let servers = match machine.storage.as_ref().map(|storage| &storage.nodes) {
                Some(r::ServerNodes::PerGroup { count, .. }) => *count,
                _ => 0,
            };
            let room = (machine.machine.nodes_per_group() - servers).saturating_mul(ranks_per_node);
            let ranks_per_group = ranks_per_group.unwrap_or(room);
            (
                "next-group",
                synthetic("next-group", r::Pattern::NextGroup { ranks_per_group }, common)?,
            )
        }
        w::Workload::Permutation(w::Permutation {
            load,
            mean_interval,
            bytes,
            arrival,
            messages,
            stop,
            targets,
        }) => {
            let common = Common {
                load,
                mean_interval,
                bytes,
                arrival,
                messages,
                stop,
            };
            let targets = match targets {
                Some(targets) => {
                    distinct(&format!("{at}.permutation.targets"), &targets)?;
                    targets
                }
                None => permutation(at, index, ranks, machine.seed)?,
            };
            (
                "permutation",
                synthetic("permutation", r::Pattern::Permutation { targets }, common)?,
            )
        }
    };
    if let r::Workload::Nekbone(nekbone) = &resolved
        && nekbone.orders.len() > MOST_ORDERS
    {
        let problem = format!("{} polynomial orders", nekbone.orders.len());
        return Err(Problem::new(
            format!("{at}.nekbone.orders"),
            problem,
            format!("at most {MOST_ORDERS}"),
        ));
    }
    if let Err(problem) = resolved.program(ranks) {
        // The extents are to blame if the workload runs without them.
        let dims = without_dims(&resolved).is_some_and(|other| other.program(ranks).is_ok());
        let key = format!("{at}.{kind}{}", if dims { ".dims" } else { "" });
        let error = Problem::new(
            key,
            problem,
            if dims {
                format!("extents that make {ranks} ranks")
            } else {
                String::new()
            },
        );
        return Err(if dims {
            error.hint("leave dims out for a balanced grid")
        } else {
            error
        });
    }
    Ok((kind, resolved))
}

/// The same workload on a balanced grid, if it was given extents.
fn without_dims(workload: &r::Workload) -> Option<r::Workload> {
    let mut other = workload.clone();
    let given = match &mut other {
        r::Workload::Milc(w) => w.dims.take().is_some(),
        r::Workload::Nekbone(w) => w.dims.take().is_some(),
        r::Workload::Stencil(w) => w.dims.take().is_some(),
        _ => false,
    };
    given.then_some(other)
}

/// What all synthetic workloads share.
struct Common {
    load: Option<f64>,
    mean_interval: Option<Time>,
    bytes: Option<Bytes>,
    arrival: Arrival,
    messages: Option<u64>,
    stop: Option<Time>,
}

fn synthetic(
    at: &str,
    ranks: u32,
    pattern: r::Pattern,
    common: Common,
    machine: &r::Resolved,
) -> Result<r::Synthetic, Problem> {
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
    if common.messages == Some(0) {
        return Err(Problem::new(format!("{at}.messages"), "no messages", "at least 1"));
    }
    let stop = common.stop.or(machine.run.time_limit);
    let resolved = r::Synthetic {
        pattern,
        bytes,
        mean_interval,
        arrival: common.arrival,
        messages: common.messages,
        stop,
    };
    let check = resolved.traffic().check(ranks);
    check.map_err(|problem| Problem::new(at, problem, "").hint("run.time_limit ends it as well"))?;
    Ok(resolved)
}

fn distinct(key: &str, list: &[u32]) -> Result<(), Problem> {
    let mut first = BTreeMap::new();
    for (at, &value) in list.iter().enumerate() {
        if let Some(before) = first.insert(value, at) {
            let problem = format!("{value} is listed twice, at positions {before} and {at}");
            return Err(Problem::new(format!("{key}.{at}"), problem, "every rank once"));
        }
    }
    Ok(())
}

fn permutation(at: &str, index: usize, ranks: u32, seed: u64) -> Result<Vec<u32>, Problem> {
    // Apart from the streams of nodes, whose numbers are below 2^32, and different for every job.
    let mut stream = Stream::new(seed, (1 << 32) + index as u64, Purpose::Destination);
    match synthetic::Pattern::permutation(ranks, |n| stream.below(n)) {
        Ok(synthetic::Pattern::Permutation { targets }) => Ok(targets.to_vec()),
        Ok(_) => Ok(Vec::new()),
        Err(problem) => Err(Problem::new(at, problem, "at least 2 ranks")),
    }
}
