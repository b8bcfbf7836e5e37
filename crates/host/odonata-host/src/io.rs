//! The I/O layer: clients on compute nodes, storage and metadata servers on theirs.

pub(crate) mod calls;
pub(crate) mod client;
mod effects;
pub(crate) mod facts;
pub(crate) mod fault_waits;
mod lock;
pub(crate) mod lower_tier;
pub(crate) mod metadata;
mod remove;
pub(crate) mod server;
pub(crate) mod stage;
pub(crate) mod write_behind;

use calls::OpenCalls;
use client::{Client, Effects};
use fault_waits::FaultWaits;
use lower_tier::OutsideLinks;
use metadata::MetadataNodes;
use server::StorageServers;
use stage::Stages;

/// The clients and the servers of a part.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) calls: OpenCalls,
    pub(crate) client: Client,
    pub(crate) servers: StorageServers,
    pub(crate) links: OutsideLinks,
    pub(crate) fault_waits: FaultWaits,
    pub(crate) metadata: MetadataNodes,
    pub(crate) stages: Stages,
    /// Lists of effects that are empty; kept for their memory.
    pub(crate) spare_effects: Vec<Effects>,
}
odonata_engine::journalled!(Io {
    calls,
    client,
    servers,
    links,
    fault_waits,
    metadata,
    stages
});
