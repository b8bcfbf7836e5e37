//! Which node each rank runs on, and which storage server it uses.
//!
//! Jobs get *compute nodes*: nodes that are not storage servers. Jobs that name their nodes get them first, so that
//! a random neighbour cannot take them; the others follow in the order of the scenario. A job of `n` ranks with `k`
//! ranks per node occupies `ceil(n / k)` nodes, rank `r` the `r / k`-th of them, and shares them with no other job.

mod file;
mod nodes;
mod servers;

use std::io::Read;
use std::path::Path;

use serde::Serialize;

use crate::scenario::Problem;
use crate::scenario::resolved::Resolved;

/// Where everything is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// The jobs, in the order of the scenario.
    pub jobs: Vec<JobPlacement>,
    /// The node of each storage server; empty where the machine has none.
    pub servers: Vec<u32>,
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
    let servers = servers::nodes(scenario);
    let mut compute = vec![true; layout.nodes() as usize];
    for &server in &servers {
        compute[server as usize] = false;
    }
    let is_client = |node: &u32| compute[*node as usize] && !layout.is_service(*node);
    let clients: Vec<u32> = (0..layout.nodes()).filter(is_client).collect();
    let server_of = servers::assignment(scenario, &clients, &servers);
    let jobs = nodes::place(scenario, &clients)?;
    let jobs = jobs
        .into_iter()
        .map(|nodes| JobPlacement {
            servers: match servers.len() {
                0 => Vec::new(),
                // Every node that a job has is among the clients, which are in ascending order.
                _ => nodes
                    .iter()
                    .filter_map(|node| clients.binary_search(node).ok())
                    .map(|client| server_of[client])
                    .collect(),
            },
            nodes,
        })
        .collect();
    Ok(Placement { jobs, servers })
}

/// A text file of at most `longest` bytes.
///
/// # Errors
/// Says why it cannot be read.
pub fn read_text(path: &Path, longest: u64) -> Result<String, String> {
    let explain = |cause: std::io::Error| format!("the file cannot be read: {cause}");
    let file = std::fs::File::open(path).map_err(explain)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells too long from just right, whatever the file system says of its length.
    file.take(longest + 1).read_to_end(&mut bytes).map_err(explain)?;
    if bytes.len() as u64 > longest {
        return Err(format!("the file has more than {longest} bytes"));
    }
    String::from_utf8(bytes)
        .map_err(|cause| format!("the file is not UTF-8 text (byte {})", cause.utf8_error().valid_up_to()))
}
