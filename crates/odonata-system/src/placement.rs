//! Which node each rank runs on, and which storage server it uses.
//!
//! Jobs get *compute nodes*: nodes that are no storage or metadata servers. Jobs that name their nodes get them first, so that
//! a random neighbor cannot take them; the others follow in the order of the scenario. A job of `n` ranks with `k`
//! ranks per node occupies `ceil(n / k)` nodes, rank `r` the `r / k`-th of them, and shares them with no other job.

mod file;
mod nodes;
mod rule;
mod servers;

use std::path::Path;

use odonata_storage::settings::NodeClass;
use odonata_workload::read_regular;
use serde::Serialize;

pub use rule::{FreeNodes, PlacementRule, PlacementTable};

use crate::scenario::Problem;
use crate::scenario::resolved::{Assignment, Resolved};

/// Where everything is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// The jobs, in the order of the scenario.
    pub jobs: Vec<JobPlacement>,
    /// The node of each storage server that jobs use; empty where the machine has none.
    pub servers: Vec<u32>,
    /// The tiers of servers below these; numbers of servers go on through them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierPlacement>,
    /// The node of each metadata server, which are numbered after the storage servers; empty where the machine has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<u32>,
}

/// Where a tier of servers is that other servers use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TierPlacement {
    /// The node of each server; of object servers, where their queues are kept.
    pub servers: Vec<u32>,
    /// The server, counted within the tier, that each server of the tier above uses where the layout does not say it; empty of
    /// object servers.
    pub homes: Vec<u32>,
}

impl Placement {
    /// The node of every storage server, of all tiers, by its number.
    pub fn all_servers(&self) -> Vec<u32> {
        let below = self.tiers.iter().flat_map(|tier| &tier.servers);
        self.servers.iter().chain(below).copied().collect()
    }

    /// The first server of each tier.
    pub fn first_servers(&self) -> Vec<u32> {
        let sizes = std::iter::once(&self.servers).chain(self.tiers.iter().map(|tier| &tier.servers));
        let mut next = 0;
        sizes
            .map(|servers| {
                let first = next;
                next += servers.len() as u32;
                first
            })
            .collect()
    }

    /// The tier of `server`, counted from the one that jobs use.
    pub fn tier_of(&self, server: u32) -> usize {
        let firsts = self.first_servers();
        firsts.partition_point(|&first| first <= server).saturating_sub(1)
    }
}

/// Where a job is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobPlacement {
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// The server that each rank uses, an index into [`Placement::servers`]; empty where the machine has none.
    pub servers: Vec<u32>,
}

/// Places every rank and server of a scenario. Equal scenarios and seeds give equal placements.
///
/// # Errors
/// A job does not fit, two jobs are given the same node, or a list or file of nodes is wrong.
pub fn place(scenario: &Resolved) -> Result<Placement, Problem> {
    let layout = &scenario.layout;
    let mut tiers = servers::tiers(scenario).into_iter();
    let servers = tiers.next().unwrap_or_default();
    let metadata = servers::metadata_nodes(scenario);
    let clients = layout.compute_nodes(scenario.storage.as_ref());
    let local = (scenario.storage.as_ref()).is_some_and(|storage| storage.nodes.class == Some(NodeClass::Compute));
    let jobs = nodes::place(scenario, &clients)?;
    let mut assigned: Vec<(&Assignment, Vec<u32>)> = Vec::new();
    let mut places = Vec::with_capacity(jobs.len());
    for (job, nodes) in scenario.jobs.iter().zip(jobs) {
        let mut place = JobPlacement {
            nodes,
            servers: Vec::new(),
        };
        if let Some(storage) = &scenario.storage {
            if local {
                // Each compute node has its own.
                let number = |node: &u32| servers.binary_search(node).ok().map(|server| server as u32);
                place.servers = place.nodes.iter().filter_map(number).collect();
                places.push(place);
                continue;
            }
            let rule = job.io.assignment.as_ref().unwrap_or(&storage.assignment);
            let known = assigned.iter().position(|(other, _)| *other == rule);
            let at = match known {
                Some(at) => at,
                None => {
                    let servers = servers::assignment(scenario, rule, &clients, &servers);
                    let misfit = |text| Problem::new("storage.assignment", text, "a machine that can be built");
                    assigned.push((rule, servers.map_err(misfit)?));
                    assigned.len() - 1
                }
            };
            let server_of = &assigned[at].1;
            // Every node that a job has is among the clients, which are in ascending order.
            let clients = place.nodes.iter().filter_map(|node| clients.binary_search(node).ok());
            place.servers = clients.map(|client| server_of[client]).collect();
        }
        places.push(place);
    }
    let mut below: Vec<TierPlacement> = Vec::new();
    let settings = scenario.storage.iter().flat_map(|storage| &storage.tiers);
    let rules = settings
        .map(|tier| Some(&tier.assignment))
        .chain(std::iter::repeat(None));
    for (nodes, (tier, rule)) in tiers.zip((1..).zip(rules)) {
        let above = below.last().map_or(&servers, |tier| &tier.servers);
        let homes = match rule {
            None => Vec::new(),
            Some(rule) => servers::homes(scenario, (tier, rule), above, &nodes).map_err(|text| {
                let key = format!("storage.tiers.{}.assignment", tier - 1);
                Problem::new(key, text, "a machine that can be built")
            })?,
        };
        below.push(TierPlacement { servers: nodes, homes });
    }
    Ok(Placement {
        jobs: places,
        servers,
        tiers: below,
        metadata,
    })
}

/// A text file of at most `longest` bytes: a regular one.
///
/// # Errors
/// Says why it cannot be read.
pub fn read_text(path: &Path, longest: u64) -> Result<String, String> {
    let bytes = read_regular(path, longest).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::FileTooLarge => format!("the file has more than {longest} bytes"),
        _ => format!("the file cannot be read: {cause}"),
    })?;
    String::from_utf8(bytes)
        .map_err(|cause| format!("the file is not UTF-8 text (byte {})", cause.utf8_error().valid_up_to()))
}
