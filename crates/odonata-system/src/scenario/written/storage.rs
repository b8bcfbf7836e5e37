//! Storage servers as they are written.

use odonata_units::{Bandwidth, Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::choices::{Assignment, Position};

/// Storage servers (burst buffers) on nodes of the machine. Their nodes are never given to jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// Which nodes are servers. Default: the first two of every group.
    pub nodes: Nodes,
    /// Which server the ranks on a compute node use.
    pub assignment: Assignment,
    /// What a server does with a request.
    pub manager: Manager,
    /// The device of each server.
    pub device: Device,
    /// How a server empties itself into the file system behind. Default: what is written stays, and a full device
    /// makes writes wait.
    pub drain: Option<Drain>,
}

/// Which nodes are servers: `{ per_group = 2, position = "last" }`, `{ routers = [15] }`, or `{ list = [0, 32] }`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nodes {
    /// Servers in every group; server s of group g is number per_group x g + s. Default: 2.
    pub per_group: Option<u32>,
    /// Whether these are the first or the last nodes of the group. Default: "first".
    pub position: Option<Position>,
    /// Routers of every group, numbered from 0 in the group, all of whose nodes are servers, instead of the two keys
    /// above; servers are numbered as their nodes are.
    pub routers: Option<Vec<u32>>,
    /// Node numbers, counted over the machine, instead of the keys above; server s is the s-th of them.
    pub list: Option<Vec<u32>>,
}

/// What a server does with a request: it moves the data in blocks, several of a request at once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Manager {
    /// Size of the blocks that data move in.
    pub block: Bytes,
    /// Blocks of one request that may be in flight together, at least 1.
    #[schemars(range(min = 1))]
    pub pieces_in_flight: u32,
    /// Memory for blocks in transit, over all requests; at least one block.
    pub memory: Bytes,
    /// Size of a request, pull or acknowledgement message.
    pub control_message: Bytes,
    /// Whether every file is an object of its own on the device. If not, all requests access one object from offset 0,
    /// as in the MFNetSim runs, where blocks of different clients can therefore continue each other without a seek.
    pub object_per_file: bool,
}

impl Default for Manager {
    fn default() -> Self {
        Manager {
            block: Bytes(1_000_000),
            pieces_in_flight: 4,
            memory: Bytes(64_000_000_000),
            control_message: Bytes(128),
            object_per_file: true,
        }
    }
}

/// The device of each server.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Device {
    /// A device with fixed rates.
    pub rate: Rate,
    /// Space on the device.
    pub capacity: Bytes,
}

impl Default for Device {
    fn default() -> Self {
        Device {
            rate: Rate::default(),
            capacity: Bytes(6_400_000_000_000),
        }
    }
}

/// A device with fixed rates: an access takes overhead + bytes / rate, and a seek where it does not continue the last
/// one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rate {
    /// Rate of reads.
    pub read: Bandwidth,
    /// Rate of writes.
    pub write: Bandwidth,
    /// Fixed time per access.
    pub overhead: Time,
    /// Added to an access that does not continue the last one.
    pub seek: Time,
    /// How far behind the last byte of an access, in the same object, the next may start and still continue it.
    pub seek_window: Bytes,
}

impl Default for Rate {
    fn default() -> Self {
        // The burst buffer of the MFNetSim case study, without its seek.
        let rate = Bandwidth((5_700u64 << 20) as f64);
        Rate {
            read: rate,
            write: rate,
            overhead: Time::from_ns(20_000),
            seek: Time::ZERO,
            seek_window: Bytes::ZERO,
        }
    }
}

/// How a server empties itself into the file system behind.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Drain {
    /// Rate of one server towards the file system.
    pub bandwidth: Bandwidth,
    /// From a block's last byte to its acknowledgement; the next block is sent after it.
    pub latency: Time,
    /// Space in use above which a server drains; at most the capacity.
    pub threshold: Bytes,
}

impl Default for Drain {
    fn default() -> Self {
        Drain {
            bandwidth: Bandwidth(1.6e9),
            latency: Time::from_ns(1_000),
            threshold: Bytes::ZERO,
        }
    }
}
