//! Memory of servers: a pool of blocks of equal size per server, and the pieces that wait for a block.
//!
//! A piece waits only while no block is free. The caller decides which piece gets a returned block
//! ([`Turns`](crate::sharing::Turns)).

use odonata_engine::{List, Mode, Pool, Store, journalled};

use crate::ServerParams;
use crate::open_request::Piece;

/// The size of a server's memory.
#[derive(Clone, Copy, Debug)]
struct PoolSize {
    blocks: u64,
    block_bytes: u64,
}

/// The blocks of one server.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct MemoryPool {
    /// Blocks in use.
    taken: u64,
    /// Pieces that wait for a block, in the order of their arrival.
    waiting: List,
}

/// The memory of a set of servers.
#[derive(Debug)]
pub(crate) struct MemoryPools {
    sizes: Vec<PoolSize>,
    pools: Store<MemoryPool>,
}
journalled!(MemoryPools { pools });

impl MemoryPools {
    pub(crate) fn new(servers: &[ServerParams]) -> Self {
        let size = |server: &ServerParams| PoolSize {
            blocks: server.blocks(),
            block_bytes: server.block(),
        };
        MemoryPools {
            sizes: servers.iter().map(size).collect(),
            pools: Store::filled(servers.len(), MemoryPool::default()),
        }
    }

    /// Whether `server` has a free block.
    pub(crate) fn has_free_block(&self, server: u32) -> bool {
        self.pools.get(server).taken < self.sizes[server as usize].blocks
    }

    /// Takes a free block of `server`.
    pub(crate) fn take<M: Mode>(&mut self, server: u32) {
        self.pools.edit::<M>(server).taken += 1;
    }

    /// A block of `server` is free; `waiting` are the pieces that still wait.
    pub(crate) fn give_back<M: Mode>(&mut self, server: u32, waiting: List) {
        let pool = self.pools.edit::<M>(server);
        pool.taken -= 1;
        pool.waiting = waiting;
    }

    /// Lets `piece` wait for a block of `server`.
    pub(crate) fn wait<M: Mode>(&mut self, server: u32, piece: u32, pieces: &mut Pool<Piece>) {
        self.pools.edit::<M>(server).waiting.push::<M, _>(pieces, piece);
    }

    /// The pieces that wait at `server`.
    pub(crate) fn waiting(&self, server: u32) -> List {
        self.pools.get(server).waiting
    }

    /// Replaces the pieces that wait at `server`.
    pub(crate) fn set_waiting<M: Mode>(&mut self, server: u32, waiting: List) {
        self.pools.edit::<M>(server).waiting = waiting;
    }

    /// Makes all blocks of `server` free, and forgets the pieces that wait.
    pub(crate) fn clear<M: Mode>(&mut self, server: u32) {
        *self.pools.edit::<M>(server) = MemoryPool::default();
    }

    /// Memory of `server` in use, in bytes (whole blocks).
    pub(crate) fn bytes_in_use(&self, server: u32) -> u64 {
        self.pools.get(server).taken * self.sizes[server as usize].block_bytes
    }

    /// Checks that all blocks of `server` are free and no piece waits.
    ///
    /// # Errors
    /// Says how many blocks are in use.
    pub(crate) fn audit(&self, server: u32) -> Result<(), String> {
        let MemoryPool { taken, waiting } = *self.pools.get(server);
        match taken == 0 && waiting.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "storage server {server}: {taken} blocks of memory are still taken"
            )),
        }
    }
}
