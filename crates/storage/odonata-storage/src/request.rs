//! A request to storage: its client and its operation. It stays the same from the client to the device and back.
//!
//! A client is a rank or a server of the upper tier. Units: offsets and lengths are bytes.

use crate::MetadataCall;

/// The client of a request, as a number of 32 bits: see [`Requester`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ClientId(u32);

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// A rank, counted over all jobs.
    Rank(u32),
    /// A storage server, counted over the machine.
    Server(u32),
}

/// The bit that marks servers: a machine has at most 2^28 ranks and servers.
const SERVER: u32 = 1 << 31;

impl ClientId {
    /// The client.
    #[inline]
    pub fn requester(self) -> Requester {
        match self.0.checked_sub(SERVER) {
            None => Requester::Rank(self.0),
            Some(server) => Requester::Server(server),
        }
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
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

/// The header of a request. Every message and action about the request repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct RequestHeader {
    /// The client.
    pub client: ClientId,
    /// The client's name for the request.
    pub token: u32,
    /// The job of the request.
    pub owner: u16,
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StorageOperation {
    /// Read a range.
    Read {
        /// Whether the range belongs to another server, which the client considers failed.
        rerouted: bool,
        /// Whether the reader tolerates lost bytes. The answer reports them; otherwise they are an error.
        tolerates_loss: bool,
    },
    /// Write a range.
    Write,
    /// Bring a range from the lower tier to the devices.
    Stage,
    /// Wait until everything acknowledged of an object is committed.
    Sync {
        /// Whether committed means: in the last tier.
        to_last_tier: bool,
    },
    /// Free the whole object.
    Remove,
    /// A metadata call; the object is the key of its directory.
    Metadata(MetadataCall),
}

impl StorageOperation {
    /// A read by a client that considers no server failed and tolerates no loss.
    pub const READ: StorageOperation = StorageOperation::Read {
        rerouted: false,
        tolerates_loss: false,
    };

    /// Whether it is a write.
    #[inline]
    pub fn is_write(self) -> bool {
        self == StorageOperation::Write
    }

    /// Whether it reads a range that belongs to a server that the client considers failed.
    pub fn is_rerouted(self) -> bool {
        matches!(self, StorageOperation::Read { rerouted: true, .. })
    }

    /// Whether it is a read that tolerates lost bytes.
    pub fn tolerates_loss(self) -> bool {
        matches!(
            self,
            StorageOperation::Read {
                tolerates_loss: true,
                ..
            }
        )
    }
}

/// A request to a storage server or a metadata server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StorageRequest {
    /// The client, its token and the job.
    pub header: RequestHeader,
    /// The operation.
    pub operation: StorageOperation,
    /// The object; a number less than `u64::MAX`, which is the object of the drain.
    pub object: u64,
    /// First byte within the object; 0 where the operation has no range.
    pub offset: u64,
    /// Length in bytes; 0 where the operation has no range.
    pub bytes: u64,
}

impl StorageRequest {
    /// Whether it is a synchronization that waits for the last tier.
    pub(crate) fn goes_to_last_tier(&self) -> bool {
        self.operation == StorageOperation::Sync { to_last_tier: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_id_names_its_requester() {
        for number in [0, 1, (1 << 28) - 1] {
            for requester in [Requester::Rank(number), Requester::Server(number)] {
                assert_eq!(ClientId::from(requester).requester(), requester);
            }
        }
        assert_eq!(ClientId::from(Requester::Rank(7)).number(), 7);
    }

    #[test]
    fn a_request_is_small() {
        assert_eq!(size_of::<StorageRequest>(), 40);
    }
}
