//! Storage servers.

use odonata_units::{Bandwidth, Bytes, Time};
use serde::Serialize;

use crate::scenario::choices::{Assignment, Position};
use crate::scenario::layout::Layout;

/// Storage servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Storage {
    /// Which nodes they are.
    pub nodes: ServerNodes,
    /// Which server a compute node uses.
    pub assignment: Assignment,
    /// What a server does with a request.
    pub manager: Manager,
    /// The device of a server.
    pub device: Device,
    /// How a server empties itself; `None`: what is written stays.
    pub drain: Option<Drain>,
}

/// Which nodes are storage servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerNodes {
    /// The same number in every group.
    PerGroup {
        /// Servers per group.
        count: u32,
        /// Which nodes of the group.
        position: Position,
    },
    /// All nodes of these routers of every group, numbered in the group; in the order of nodes.
    Routers(Vec<u32>),
    /// Node numbers; server `s` is the `s`-th of the list.
    List(Vec<u32>),
}

impl ServerNodes {
    /// The node of each server.
    pub fn nodes(&self, layout: &Layout) -> Vec<u32> {
        match self {
            ServerNodes::List(list) => list.clone(),
            ServerNodes::Routers(routers) => layout.nodes_of_routers_of_groups(routers),
            ServerNodes::PerGroup { count, position } => layout
                .groups_with_nodes()
                .flat_map(|group| (0..*count).map(move |server| (layout.nodes_of_group(group), server)))
                .map(|(nodes, server)| match position {
                    Position::First => nodes.start + server,
                    Position::Last => nodes.end - 1 - server,
                })
                .collect(),
        }
    }
}

/// What a server does with a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manager {
    /// Size of the pieces that data move in.
    pub block: Bytes,
    /// Pieces of one request that may be in flight together.
    pub pieces_in_flight: u32,
    /// Memory for pieces in transit; at least one block.
    pub memory: Bytes,
    /// Size of a request, pull or acknowledgement message.
    pub control_message: Bytes,
    /// Whether every file is an object of its own on the device; if not, all requests access object 0 from 0.
    pub object_per_file: bool,
}

/// The device of a server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// How long an access takes.
    pub model: DeviceModel,
    /// Space on the device.
    pub capacity: Bytes,
}

/// How long an access of a device takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceModel {
    /// A rate, a fixed overhead, and a seek where an access does not continue the last one.
    Rate(RateDevice),
}

/// A device with fixed rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateDevice {
    /// Rate of reads.
    pub read: Bandwidth,
    /// Rate of writes.
    pub write: Bandwidth,
    /// Fixed time per access.
    pub overhead: Time,
    /// Added where an access does not continue the last one.
    pub seek: Time,
    /// How far behind the last byte an access may start and still continue it.
    pub seek_window: Bytes,
}

/// How a server empties itself into the external file system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drain {
    /// Rate towards the file system.
    pub bandwidth: Bandwidth,
    /// From a block's last byte to its acknowledgement.
    pub latency: Time,
    /// Space in use above which the server drains; at most the capacity.
    pub threshold: Bytes,
}
