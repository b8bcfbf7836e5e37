//! Chunks of the data that routers sum.

use crate::Traffic;

/// A part of the data of an operation, on its way to a vertex of its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Chunk {
    pub(crate) vertex: u32,
    /// Its number among those of the tree.
    pub(crate) number: u32,
    pub(crate) bytes: u32,
    pub(crate) owner: Traffic,
    /// Whether it is a result.
    pub(crate) is_result: bool,
    pub(crate) next: u32,
}

odonata_engine::slots!(Chunk);
