//! Placement: the node of each rank, and its storage server.
//!
//! Jobs get *compute nodes*: nodes without storage or metadata servers. Jobs with explicit nodes are placed first, so
//! random placements cannot take them; the others follow in scenario order. A job of `n` ranks with `k` ranks per node
//! occupies `ceil(n / k)` nodes, rank `r` the `r / k`-th of them, and shares them with no other job.

mod file;
pub mod hosts;
mod nodes;
mod rule;
mod servers;

use odonata_storage::settings::NodeClass;
use serde::Serialize;

pub use rule::{FreeNodes, PlacementRule, PlacementTable};

use crate::scenario::Problem;
use crate::scenario::resolved::{Assignment, Resolved};

/// Where everything is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// The jobs, in scenario order.
    pub jobs: Vec<JobPlacement>,
    /// The node of each storage server used by jobs; empty without servers.
    pub servers: Vec<u32>,
    /// The lower tiers; server numbers continue through them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierPlacement>,
    /// The node of each metadata server, numbered after the storage servers; empty without metadata servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<u32>,
}

/// The placement of a lower tier, used by other servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TierPlacement {
    /// The node of each server; for object servers, the node that holds its queue.
    pub servers: Vec<u32>,
    /// The server, counted within the tier, used by each server of the tier above if the layout does not decide; empty
    /// for object servers.
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

    /// The tier of `server`, counted from the tier used by jobs.
    pub fn tier_of(&self, server: u32) -> usize {
        let firsts = self.first_servers();
        firsts.partition_point(|&first| first <= server).saturating_sub(1)
    }
}

/// The placement of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobPlacement {
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// The server of each rank, an index into [`Placement::servers`]; empty without servers.
    pub servers: Vec<u32>,
}

/// Places every rank and server of a scenario. Equal scenarios and seeds give equal placements.
///
/// # Errors
/// A job does not fit, two jobs have the same node, or a list or file of nodes is wrong.
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
                // Each compute node has a separate number.
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
            // Every node of a job is among the clients, which are in ascending order.
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

/// The server of each compute node, in the order of their numbers, by the rule of the storage; empty without servers.
///
/// # Errors
/// The machine cannot be built.
pub(crate) fn server_of_clients(scenario: &Resolved, servers: &[u32]) -> Result<Vec<u32>, String> {
    let Some(storage) = &scenario.storage else {
        return Ok(Vec::new());
    };
    let clients = scenario.layout.compute_nodes(Some(storage));
    if storage.nodes.class == Some(NodeClass::Compute) {
        let number = |node: &u32| servers.binary_search(node).unwrap_or_default() as u32;
        return Ok(clients.iter().map(number).collect());
    }
    servers::assignment(scenario, &storage.assignment, &clients, servers)
}
