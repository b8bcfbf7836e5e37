//! Failure suspicion: the servers that a client takes for failed, since they have not answered it.
//!
//! What one client knows, another has to find out itself: ranks each for themselves, and servers as clients of the tier below.

use std::ops::Range;

use odonata_engine::{List, Mode, NIL, Pool, SparseStore, journalled};

/// A server that a client takes for failed.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct FailedServer {
    server: u32,
    next: u32,
}
odonata_engine::slots!(FailedServer);

/// Per client, the servers that it takes for failed; no cells where nobody remembers any.
#[derive(Debug)]
pub(crate) struct FailedServers {
    known: SparseStore<List>,
    failed: Pool<FailedServer>,
}
journalled!(FailedServers { known, failed });

impl FailedServers {
    /// Of the clients that have a cell in `known`, which is empty.
    pub(crate) fn new(known: SparseStore<List>) -> Self {
        FailedServers {
            known,
            failed: Pool::new(),
        }
    }

    /// Whether nobody remembers any.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether `client` takes `server` for failed.
    pub(crate) fn takes(&self, client: u32, server: u32) -> bool {
        let mut known = self.known.get(client).iter(&self.failed);
        known.any(|slot| self.failed.get(slot).server == server)
    }

    /// From now on `client` takes `server` for failed.
    pub(crate) fn add<M: Mode>(&mut self, client: u32, server: u32) {
        if self.takes(client, server) {
            return;
        }
        let failed = self.failed.allocate::<M>(FailedServer { server, next: NIL });
        let mut known = *self.known.get(client);
        known.push::<M, _>(&mut self.failed, failed);
        *self.known.edit::<M>(client) = known;
    }

    /// The first of `servers`, from `home` on and around, that `client` does not take for failed.
    pub(crate) fn first_live(&self, client: u32, home: u32, servers: Range<u32>) -> Option<u32> {
        if self.is_empty() {
            return Some(home);
        }
        let mut others = (home..servers.end).chain(servers.start..home);
        others.find(|&server| !self.takes(client, server))
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.known.memory() + self.failed.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    #[test]
    fn the_next_that_answers_is_asked_by_whoever_knows() {
        let mut failed = FailedServers::new(SparseStore::all(vec![List::EMPTY; 2]));
        let live = |failed: &FailedServers, client| failed.first_live(client, 4, 3..6);
        assert_eq!(live(&failed, 0), Some(4));
        failed.add::<Plain>(0, 4);
        failed.add::<Plain>(0, 4);
        failed.add::<Plain>(0, 5);
        assert_eq!((live(&failed, 0), live(&failed, 1)), (Some(3), Some(4)));
        failed.add::<Plain>(0, 3);
        assert_eq!((live(&failed, 0), live(&failed, 1)), (None, Some(4)));
        let nobody = FailedServers::new(SparseStore::default());
        assert_eq!(live(&nobody, 0), Some(4));
    }
}
