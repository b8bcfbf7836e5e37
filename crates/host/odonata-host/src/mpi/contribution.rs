//! What a rank hands over for a sum of routers.

use odonata_engine::Time;

/// The part of a rank in a sum of routers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankContribution {
    pub(crate) rank: u32,
    pub(crate) tree: u32,
    /// The number of the operation among those of the rank.
    pub(crate) number: u32,
    pub(crate) bytes: u64,
    pub(crate) request: u32,
    /// From now until the software has done its part.
    pub(crate) software: Time,
}
