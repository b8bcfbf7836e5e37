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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use odonata_device::{DeviceModel, Rate};
    use odonata_engine::{NIL, Plain};
    use odonata_units::{Bytes, SplitMix64, Time};

    const BLOCK: u64 = 1_000;

    /// The integrals over time of blocks in use and of waiting pieces, and the time of the last return. `pieces`: arrival and holding
    /// time of each, in ns.
    fn run(blocks: u64, pieces: &[(u64, u64)]) -> (u64, u64, u64) {
        let mut params = ServerParams::new(DeviceModel::Rate(Rate::default()), 1_000_000, blocks * BLOCK);
        params.manager.block = Bytes(BLOCK);
        let (mut pools, mut cells) = (MemoryPools::new(&[params]), Pool::new());
        // Returns come before arrivals of the same instant.
        let mut events: BTreeSet<(u64, bool, u32)> = BTreeSet::new();
        for &(arrival, _) in pieces {
            let cell = Piece::new(Time::ZERO, (0, 0), (NIL, 0), 0, 0, BLOCK);
            events.insert((arrival, true, cells.allocate::<Plain>(cell)));
        }
        let (mut last, mut in_use, mut waiting) = (0, 0, 0);
        while let Some((now, arrives, piece)) = events.pop_first() {
            in_use += (now - last) * pools.bytes_in_use(0) / BLOCK;
            waiting += (now - last) * pools.waiting(0).iter(&cells).count() as u64;
            last = now;
            let mut granted = Some(piece);
            if arrives && !pools.has_free_block(0) {
                pools.wait::<Plain>(0, piece, &mut cells);
                granted = None;
            } else if !arrives {
                let mut line = pools.waiting(0);
                granted = line.pop(&cells);
                pools.give_back::<Plain>(0, line);
            }
            if let Some(piece) = granted {
                assert!(pools.has_free_block(0));
                pools.take::<Plain>(0);
                events.insert((now + pieces[piece as usize].1, false, piece));
            }
        }
        pools.audit(0).unwrap();
        (in_use, waiting, last)
    }

    /// Little's law: the mean number of blocks in use is the rate of pieces times their mean holding time. With the integral over time,
    /// that is the sum of all holding times. The same holds for the pieces that wait: each waits until the block before it in line is
    /// free.
    #[test]
    fn blocks_in_use_are_the_rate_of_pieces_times_their_holding_time() {
        for seed in 0..10 {
            let (mut random, mut arrival) = (SplitMix64(seed), 0);
            let pieces: Vec<(u64, u64)> = (0..400)
                .map(|_| {
                    arrival += 1 + random.next_u64() % 50;
                    (arrival, 1 + random.next_u64() % 180)
                })
                .collect();
            let blocks = 1 + seed % 5;
            let (in_use, waiting, _) = run(blocks, &pieces);
            assert_eq!(in_use, pieces.iter().map(|(_, holds)| holds).sum::<u64>());
            // First come, first served: a piece begins when the first of the blocks becomes free.
            let mut free = vec![0; blocks as usize];
            let mut waits = 0;
            for &(arrival, holds) in &pieces {
                let first = free.iter_mut().min().expect("a pool has a block");
                let begins = arrival.max(*first);
                (waits, *first) = (waits + begins - arrival, begins + holds);
            }
            assert_eq!(waiting, waits, "seed {seed}");
        }
    }

    /// `n` pieces at one instant that hold a block for `h` each need `ceil(n / k) h` in a pool of `k` blocks.
    #[test]
    fn pieces_share_the_pool_in_rounds() {
        for (blocks, pieces) in [(1, 5), (3, 9), (4, 10), (8, 3)] {
            let all = vec![(0, 70); pieces];
            assert_eq!(run(blocks, &all).2, (pieces as u64).div_ceil(blocks) * 70);
        }
    }
}
