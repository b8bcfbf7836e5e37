//! A graph from a file, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Any graph, from a file: GraphML, or a list of edges with lines such as "r0 r1 cables=2 class=global" for a cable and
/// "router r0 nodes=4" for a router. `odonata describe --export` writes the former.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Graph {
    /// The file that lists routers, nodes and cables; relative to the scenario's folder. Required.
    pub file: Option<String>,
    /// Nodes of each router that the file gives none.
    pub nodes_per_router: u32,
}

impl Default for Graph {
    fn default() -> Self {
        Graph {
            file: None,
            nodes_per_router: 1,
        }
    }
}
