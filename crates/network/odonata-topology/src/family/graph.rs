//! Any graph from a file: the settings; [`GraphFile`] reads it.

use std::sync::Arc;

use odonata_units::{Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, ReadFile, Size};
use super::{FamilyGraph, FamilySettings};
use crate::{GraphFile, LinkClass, MapError, Topology};

/// Any graph from a file: GraphML, or an edge list with lines such as "r0 r1 cables=2 class=global" for a cable and
/// "router r0 nodes=4" for a router. `odonata describe --export` writes GraphML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Graph")]
pub struct Settings {
    /// The file that lists routers, nodes and cables; relative to the scenario's folder. Required.
    pub file: Filled<String>,
    /// Nodes of routers without a number in the file.
    #[default = 1]
    pub nodes_per_router: u32,
    /// Resolved: the text of the file, which identifies the graph later.
    #[serde(skip)]
    #[default("".into())]
    pub text: Arc<str>,
    /// Resolved: a hash of the text (FNV-1a, 64 bits), which identifies graphs.
    #[serde(skip_deserializing)]
    #[schemars(skip)]
    pub hash: String,
}

impl FamilySettings for Settings {
    type Graph = GraphFile;

    /// None: examples would be files.
    const EXAMPLES: &'static [&'static str] = &[];

    fn resolve(&mut self, read: ReadFile<'_>) -> Result<Size, Problem> {
        let Some(file) = self.file.given() else {
            return Err(Problem::new("file", "the key is missing", "the path of a file"));
        };
        settings::size("nodes_per_router", self.nodes_per_router, 0)?;
        let (found, text) = read(file);
        let text = text.map_err(|problem| Problem::new("file", problem, "a file with a graph").within(&found, None))?;
        self.file = found.into();
        self.hash = fnv(text.as_bytes());
        self.text = text.into();
        // The reader of the file checks the numbers of routers and ports.
        Ok(Size { routers: 0, ports: 0 })
    }

    fn build(&self) -> Result<GraphFile, String> {
        GraphFile::from_text(&self.text, self.nodes_per_router)
    }

    fn refusal(&self, problem: String) -> Problem {
        // Messages of the reader begin with the line, if known.
        let MapError { line, problem } = MapError::parse(&problem);
        let expected = "GraphML or an edge list (docs/networks.md)";
        Problem::new("file", problem, expected).within(self.file.as_str(), line)
    }

    fn smaller(&self, _: bool) -> Option<(Self, String)> {
        None
    }

    fn link_classes() -> &'static [LinkClass] {
        &LinkClass::ALL
    }

    fn drawn_in() -> Option<&'static str> {
        Some("file")
    }
}

impl FamilyGraph for GraphFile {
    fn topology(&self) -> &Topology {
        GraphFile::topology(self)
    }

    fn topology_mut(&mut self) -> &mut Topology {
        GraphFile::topology_mut(self)
    }

    fn names(&self) -> &[String] {
        GraphFile::names(self)
    }
}

/// A hash of `bytes`, as hexadecimal digits (FNV-1a, 64 bits).
pub fn fnv(bytes: &[u8]) -> String {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(start, mix))
}
