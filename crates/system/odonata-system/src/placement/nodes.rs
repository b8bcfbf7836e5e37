//! The nodes of jobs.

use odonata_engine::Stream;
use odonata_engine::random::Purpose;

use super::file;
use super::rule::{FreeNodes, PlacementRule};
use crate::scenario::Problem;
use crate::scenario::layout::Layout;
use crate::scenario::resolved::{Job, Resolved};

/// A free node.
const FREE: u32 = u32::MAX;
/// Marks the node of a storage server.
const SERVER: u32 = u32::MAX - 1;

/// The node of each rank of each job; `clients` are the compute nodes in ascending order.
pub(super) fn place(scenario: &Resolved, clients: &[u32]) -> Result<Vec<Vec<u32>>, Problem> {
    let mut owner = vec![SERVER; scenario.layout.nodes() as usize];
    for &node in clients {
        owner[node as usize] = FREE;
    }
    let mut placed = vec![Vec::new(); scenario.jobs.len()];
    for (index, job) in scenario.jobs.iter().enumerate() {
        let most = u64::from(job.ranks_per_node) * clients.len() as u64;
        if u64::from(*job.ranks) > most {
            let problem = format!(
                "{} ranks need {} nodes, the machine has {}",
                *job.ranks,
                job.nodes(),
                clients.len()
            );
            let error = Problem::new(format!("jobs.{}.ranks", job.entry), problem, format!("at most {most}"));
            return Err(error.hint("storage servers run no ranks; ranks_per_node puts several ranks on a node"));
        }
        let named = match in_blocks(job, clients, &scenario.layout)? {
            Some(nodes) => Some(nodes),
            None => named(job, clients, scenario.layout.nodes())?,
        };
        if let Some(nodes) = named {
            claim(scenario, index, &nodes, &mut owner)?;
            placed[index] = match job.placement.file() {
                Some(_) => nodes.iter().map(|&(node, _)| node).collect(),
                None => spread(job, nodes.iter().map(|&(node, _)| node)),
            };
        }
    }
    let mut stream = Stream::new(scenario.seed, 0, Purpose::Placement);
    for (index, job) in scenario.jobs.iter().enumerate() {
        // The unit of a node: the nodes of a unit are taken together, in order, before those of the next; `None`: all
        // nodes in order.
        let PlacementRule::Free(first) = job.placement else {
            continue;
        };
        let unit: Option<fn(&Layout, u32) -> u32> = match first {
            FreeNodes::Contiguous => None,
            FreeNodes::Random => Some(|_, node| node),
            FreeNodes::RandomRouter => Some(Layout::router_of),
            FreeNodes::RandomGroup => Some(Layout::group_of),
        };
        let mut free: Vec<u32> = clients
            .iter()
            .copied()
            .filter(|&node| owner[node as usize] == FREE)
            .collect();
        let wanted = job.nodes() as usize;
        if wanted > free.len() {
            let problem = format!(
                "{} ranks need {wanted} nodes; the other jobs leave {}",
                *job.ranks,
                free.len()
            );
            let most = u64::from(job.ranks_per_node) * free.len() as u64;
            let error = Problem::new(format!("jobs.{}.ranks", job.entry), problem, format!("at most {most}"));
            let array = scenario.jobs.iter().filter(|other| other.entry == job.entry).count() > 1;
            return Err(if array {
                error.hint(format!("this is job \"{}\" of the array", job.name))
            } else {
                error
            });
        }
        if let Some(unit) = unit {
            free = shuffled(&free, |node| unit(&scenario.layout, node), &mut stream);
        }
        free.truncate(wanted);
        for &node in &free {
            owner[node as usize] = index as u32;
        }
        placed[index] = spread(job, free.into_iter());
    }
    Ok(placed)
}

/// The nodes of `free`, which are ascending: units in random order, and the nodes of a unit together, in order.
fn shuffled(free: &[u32], unit: impl Fn(u32) -> u32, stream: &mut Stream) -> Vec<u32> {
    let mut units: Vec<&[u32]> = free.chunk_by(|&a, &b| unit(a) == unit(b)).collect();
    stream.shuffle(&mut units);
    units.concat()
}

/// The node of each rank, for a job on `nodes`.
fn spread(job: &Job, nodes: impl Iterator<Item = u32>) -> Vec<u32> {
    let ranks = *job.ranks as usize;
    let mut list = Vec::with_capacity(ranks);
    for node in nodes {
        let count = (job.ranks_per_node as usize).min(ranks - list.len());
        list.extend(std::iter::repeat_n(node, count));
    }
    list
}

/// A node, and the key, or the file and line, that names it.
type Named = (u32, Origin);

/// The place where a node was named.
enum Origin {
    /// At this key.
    Key(String),
    /// On this line of the placement file.
    Line(u32),
}

/// The nodes named by a job, one per node, or one per rank in a file; `None` if it names none.
fn named(job: &Job, clients: &[u32], nodes: u32) -> Result<Option<Vec<Named>>, Problem> {
    let at = format!("jobs.{}.placement", job.entry);
    let PlacementRule::Table(table) = &job.placement else {
        return Ok(None);
    };
    if let Some(path) = &table.file {
        let rows = file::read(&format!("{at}.file"), path, *table.slot, job)?;
        let named = rows.into_iter().map(|(node, line)| (node, Origin::Line(line)));
        return Ok(Some(named.collect()));
    }
    let (key, list, count, kind) = match (&table.nodes, &table.clients) {
        (Some(list), _) => (format!("{at}.nodes"), list, nodes, "node"),
        (None, Some(list)) => (format!("{at}.clients"), list, clients.len() as u32, "compute node"),
        (None, None) => return Ok(None),
    };
    if list.len() as u64 != u64::from(job.nodes()) {
        let problem = format!(
            "{} entries for {} ranks, {} per node",
            list.len(),
            *job.ranks,
            job.ranks_per_node
        );
        return Err(Problem::new(key, problem, format!("{} entries", job.nodes())));
    }
    let mut named = Vec::with_capacity(list.len());
    for (position, &number) in list.iter().enumerate() {
        let key = format!("{key}.{position}");
        if number >= count {
            return Err(Problem::new(
                key,
                format!("there is no {kind} {number}"),
                format!("0 to {}", count - 1),
            ));
        }
        let node = if kind == "node" {
            number
        } else {
            clients[number as usize]
        };
        named.push((node, Origin::Key(key)));
    }
    Ok(Some(named))
}

/// The nodes of a job on a grid of blocks that share a router; `None` for other jobs.
fn in_blocks(job: &Job, clients: &[u32], layout: &Layout) -> Result<Option<Vec<Named>>, Problem> {
    let at = format!("jobs.{}.placement", job.entry);
    let PlacementRule::Table(table) = &job.placement else {
        return Ok(None);
    };
    let (Some(dims), Some(block)) = (&table.dims, &table.block) else {
        return Ok(None);
    };
    let product = |extents: &[u32]| {
        extents
            .iter()
            .map(|&extent| u64::from(extent))
            .try_fold(1, u64::checked_mul)
    };
    if product(dims) != Some(u64::from(job.nodes())) {
        let problem = format!("a grid of {dims:?} nodes for a job on {}", job.nodes());
        let expected = format!("extents that make {} nodes", job.nodes());
        return Err(Problem::new(format!("{at}.dims"), problem, expected));
    }
    let routers: Vec<&[u32]> = clients
        .chunk_by(|&a, &b| layout.router_of(a) == layout.router_of(b))
        .collect();
    let size: u64 = product(block).unwrap_or(u64::MAX);
    let mut named = Vec::with_capacity(job.nodes() as usize);
    for number in 0..job.nodes() {
        // The digits of the number are the coordinates: the position of the block, and that of the node in its block.
        let (mut rest, mut router, mut routers_before, mut place, mut places_before) = (number, 0, 1, 0, 1);
        for (&extent, &block) in dims.iter().zip(block) {
            let coordinate = rest % extent;
            rest /= extent;
            router += coordinate / block * routers_before;
            routers_before *= extent / block;
            place += coordinate % block * places_before;
            places_before *= block;
        }
        let Some(nodes) = routers.get(router as usize) else {
            let problem = format!(
                "{} blocks for {} routers with compute nodes",
                u64::from(job.nodes()) / size,
                routers.len()
            );
            return Err(Problem::new(at, problem, format!("at most {} blocks", routers.len())));
        };
        let Some(&node) = nodes.get(place as usize) else {
            let problem = format!("blocks of {size} nodes, a router has {} compute nodes", nodes.len());
            let expected = format!("blocks of at most {}", nodes.len());
            return Err(Problem::new(format!("{at}.block"), problem, expected));
        };
        named.push((node, Origin::Key(at.clone())));
    }
    Ok(Some(named))
}

/// Assigns `nodes` to job `index`.
fn claim(scenario: &Resolved, index: usize, nodes: &[Named], owner: &mut [u32]) -> Result<(), Problem> {
    let job = &scenario.jobs[index];
    let file = job.placement.file();
    let most = owner.len() - 1;
    for (node, origin) in nodes {
        let refuse = |problem: String, expected: String| match (origin, file) {
            (Origin::Line(line), Some(path)) => {
                let key = format!("jobs.{}.placement.file", job.entry);
                Problem::new(key, problem, expected).within(path, Some(*line))
            }
            (Origin::Key(key), _) => Problem::new(key.clone(), problem, expected),
            (Origin::Line(_), _) => Problem::new(format!("jobs.{}.placement", job.entry), problem, expected),
        };
        let Some(owner) = owner.get_mut(*node as usize) else {
            return Err(refuse(format!("there is no node {node}"), format!("0 to {most}")));
        };
        match *owner {
            FREE => *owner = index as u32,
            SERVER => {
                let what = if scenario.layout.is_service(*node) {
                    "service node"
                } else {
                    "storage server"
                };
                return Err(refuse(format!("node {node} is a {what}"), "compute nodes".into()));
            }
            // The number of ranks of a file per node was checked when it was read.
            other if other == index as u32 && file.is_some() => {}
            other if other == index as u32 => {
                return Err(refuse(format!("node {node} is listed twice"), "every node once".into()));
            }
            other => {
                let other = &scenario.jobs[other as usize];
                let problem = format!(
                    "node {node} belongs to job \"{}\" (jobs.{}) already",
                    other.name, other.entry
                );
                return Err(refuse(problem, "nodes of no other job".into()));
            }
        }
    }
    Ok(())
}
