//! The I/O layer: clients on compute nodes, storage and metadata servers on theirs.

pub(crate) mod below;
pub(crate) mod below_retry;
pub(crate) mod client;
pub(crate) mod failed_servers;
pub(crate) mod fault_waits;
pub(crate) mod lock;
pub(crate) mod metadata;
pub(crate) mod remove;
pub(crate) mod retry;
pub(crate) mod server;
pub(crate) mod stage;
pub(crate) mod write_behind;

use below::Errands;
use client::Clients;
use metadata::MetadataNodes;
use server::StorageServers;
use stage::Stages;

/// The clients and the servers of a part.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) clients: Clients,
    pub(crate) servers: StorageServers,
    pub(crate) below: Errands,
    pub(crate) metadata: MetadataNodes,
    pub(crate) stages: Stages,
}
odonata_engine::journalled!(Io {
    clients,
    servers,
    below,
    metadata,
    stages
});
