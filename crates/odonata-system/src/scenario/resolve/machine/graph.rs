//! A graph from a file.

use std::path::Path;

use super::Table;
use crate::placement::read_text;
use crate::scenario::error::Problem;
use crate::scenario::resolved as r;
use crate::scenario::written as w;

/// Longest file of a graph, in bytes.
const LONGEST: u64 = 256 << 20;

pub(super) fn graph(table: Table, graph: w::Graph, folder: &Path) -> Result<r::Graph, Problem> {
    let Some(file) = graph.file else {
        return Err(table.problem("file", "the key is missing", "the path of a file"));
    };
    let nodes_per_router = table.size("nodes_per_router", Some(graph.nodes_per_router), 0)?;
    let path = folder.join(file);
    let shown = path.display().to_string();
    let text = read_text(&path, LONGEST).map_err(|problem| {
        table
            .problem("file", problem, "a file with a graph")
            .within(&shown, None)
    })?;
    Ok(r::Graph {
        file: shown,
        nodes_per_router,
        hash: fnv(text.as_bytes()),
        text: text.into(),
    })
}

/// FNV-1a, 64 bits.
fn fnv(bytes: &[u8]) -> String {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(start, mix))
}
