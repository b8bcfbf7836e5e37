//! Failure suspicion: the servers that a client takes for failed, since they have not answered it.
//!
//! Clients share nothing: each of them finds out itself.

use std::ops::Range;

use odonata_engine::{List, Mode, NIL, Pool, SparseStore, journalled};
use odonata_storage::{ClientId, Requester};

/// A server that a client takes for failed.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct FailedServer {
    server: u32,
    next: u32,
}
odonata_engine::slots!(FailedServer);

/// Per client, the servers that it takes for failed; no cells for clients that do not re-route.
#[derive(Debug)]
pub(crate) struct FailedServers {
    of_ranks: SparseStore<List>,
    of_servers: SparseStore<List>,
    failed: Pool<FailedServer>,
}
journalled!(FailedServers {
    of_ranks,
    of_servers,
    failed
});

impl FailedServers {
    /// For the ranks and the servers that have a cell, which is empty.
    pub(crate) fn new(of_ranks: SparseStore<List>, of_servers: SparseStore<List>) -> Self {
        FailedServers {
            of_ranks,
            of_servers,
            failed: Pool::new(),
        }
    }

    /// The servers that `client` takes for failed; `None` of one that does not re-route.
    fn list(&self, client: ClientId) -> Option<List> {
        match client.requester() {
            Requester::Rank(_) if self.of_ranks.is_empty() => None,
            Requester::Rank(rank) => Some(*self.of_ranks.get(rank)),
            Requester::Server(_) if self.of_servers.is_empty() => None,
            Requester::Server(server) => Some(*self.of_servers.get(server)),
        }
    }

    /// From now on `client` takes `server` for failed.
    pub(super) fn add<M: Mode>(&mut self, client: ClientId, server: u32) {
        let Some(mut list) = self.list(client) else { return };
        if self.contains(list, server) {
            return;
        }
        let failed = self.failed.allocate::<M>(FailedServer { server, next: NIL });
        list.push::<M, _>(&mut self.failed, failed);
        match client.requester() {
            Requester::Rank(rank) => *self.of_ranks.edit::<M>(rank) = list,
            Requester::Server(server) => *self.of_servers.edit::<M>(server) = list,
        }
    }

    /// The first of `servers`, from `home` on and around, that `client` does not take for failed.
    pub(super) fn first_live(&self, client: ClientId, home: u32, servers: Range<u32>) -> Option<u32> {
        let Some(list) = self.list(client) else {
            return Some(home);
        };
        let mut others = (home..servers.end).chain(servers.start..home);
        others.find(|&server| !self.contains(list, server))
    }

    fn contains(&self, list: List, server: u32) -> bool {
        list.iter(&self.failed)
            .any(|slot| self.failed.get(slot).server == server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_engine::Plain;

    #[test]
    fn a_client_asks_the_next_server_that_it_does_not_take_for_failed() {
        let cells = || SparseStore::all(vec![List::EMPTY; 2]);
        let mut failed = FailedServers::new(cells(), cells());
        let [one, other] = [Requester::Rank(0), Requester::Rank(1)].map(ClientId::from);
        let server = ClientId::from(Requester::Server(0));
        let live = |failed: &FailedServers, client| failed.first_live(client, 4, 3..6);
        assert_eq!(live(&failed, one), Some(4));
        failed.add::<Plain>(one, 4);
        failed.add::<Plain>(one, 4);
        failed.add::<Plain>(one, 5);
        assert_eq!((live(&failed, one), live(&failed, other)), (Some(3), Some(4)));
        failed.add::<Plain>(one, 3);
        assert_eq!((live(&failed, one), live(&failed, server)), (None, Some(4)));
        let mut nothing = FailedServers::new(SparseStore::default(), SparseStore::default());
        nothing.add::<Plain>(one, 4);
        assert_eq!(live(&nothing, one), Some(4));
    }
}
