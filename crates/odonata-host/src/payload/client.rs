//! Who asks a storage server for something.

use serde::{Deserialize, Serialize};

/// Who asks a storage server for something, as a number of 32 bits: see [`Requester`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientId(pub(crate) u32);

/// Who asks a storage server for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// A rank, counted over all jobs.
    Rank(u32),
    /// Another storage server.
    Server(u32),
}

/// There are fewer ranks and servers than this (`plan.rs`).
const SERVER: u32 = 1 << 31;

impl ClientId {
    /// Who it is.
    #[inline]
    pub fn requester(self) -> Requester {
        match self.0.checked_sub(SERVER) {
            None => Requester::Rank(self.0),
            Some(server) => Requester::Server(server),
        }
    }
}

impl From<Requester> for ClientId {
    #[inline]
    fn from(requester: Requester) -> Self {
        match requester {
            Requester::Rank(rank) => ClientId(rank),
            Requester::Server(server) => ClientId(SERVER | server),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_servers_come_out_as_they_went_in() {
        for number in [0, 1, (1 << 28) - 1] {
            for requester in [Requester::Rank(number), Requester::Server(number)] {
                assert_eq!(ClientId::from(requester).requester(), requester);
            }
        }
        assert_eq!(ClientId::from(Requester::Rank(7)).0, 7);
    }
}
