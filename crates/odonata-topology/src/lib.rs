//! Graphs of routers, ports, links and nodes. Topology knows no time and no traffic.
//!
//! A network is data: [`Topology`] lists for every router port what it is connected to and the
//! *class* of the link ([`LinkClass`]): terminal, local or global. Ports are numbered over the whole
//! machine, router by router, so that per-port state anywhere is one flat array.
//!
//! A family of networks is one file with a structure that builds its `Topology` and answers the
//! questions its routing asks (which group, which gateway): [`Dragonfly`].
//!
//! [`partition`] divides a machine for schedulers that run several parts, along the topology's
//! [blocks](Topology::blocks).
//!
//! ```
//! use odonata_topology::{Arrangement, Dragonfly, DragonflyShape};
//! let shape = DragonflyShape { groups: 9, routers: 4, nodes: 2, global_ports: 2, cables: None };
//! let dragonfly = Dragonfly::new(shape, Arrangement::Absolute).unwrap();
//! assert_eq!(dragonfly.topology().nodes(), 72);
//! ```

mod dragonfly;
mod graph;
pub mod partition;

pub use dragonfly::{Arrangement, Dragonfly, DragonflyShape, Gateway};
pub use graph::{Cable, LinkClass, Peer, Topology};
