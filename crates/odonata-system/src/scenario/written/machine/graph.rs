//! A graph from a file, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Any graph, from a file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Graph {
    /// The file that lists routers, nodes and cables; relative to the scenario's folder. Required.
    pub file: Option<String>,
}
