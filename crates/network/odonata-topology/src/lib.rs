//! Graphs of routers, ports, links and nodes. Topology knows no traffic and no rates.
//!
//! A network is data: [`Topology`] lists for every router port its peer and the *class* of the link ([`LinkClass`]):
//! terminal, local, column or global. Ports are numbered over the whole machine, router by router, so per-port state is
//! one flat array.
//!
//! A [family](family) of networks is one module with its settings, and a structure that builds its `Topology` and
//! answers the queries of its routing (group, gateways, next port):
//!
//! | family | type |
//! |---|---|
//! | torus, mesh | [`Torus`] |
//! | dragonfly, one-dimensional groups | [`Dragonfly`] |
//! | dragonfly, two-dimensional groups (Cray XC) | [`Dragonfly2d`] |
//! | dragonfly+ (megafly) | [`DragonflyPlus`] |
//! | fat tree (XGFT, k-ary n-tree) | [`FatTree`] |
//! | Slim Fly | [`SlimFly`] |
//! | PolarFly | [`PolarFly`] |
//! | HyperX, flattened butterfly | [`HyperX`] |
//! | rail-optimized cluster of GPU hosts | [`RailOptimized`] |
//! | any graph from a file | [`GraphFile`] |
//!
//! [`Fault`]s remove cables or reduce their bandwidth; [disconnected routers](Topology::cut_off) can be counted.
//!
//! [`KShortest`] finds shortest paths, [`RouteTable`] reads paths from a file.
//!
//! [`partition`] divides a machine for parallel schedulers, along the topology's [blocks](Topology::blocks).
//!
//! ```
//! use odonata_topology::{Arrangement, Dragonfly, DragonflyShape};
//! let shape = DragonflyShape { groups: 9, routers: 4, nodes: 2, global_ports: 2, cables: None };
//! let dragonfly = Dragonfly::new(shape, Arrangement::Absolute).unwrap();
//! assert_eq!(dragonfly.topology().nodes(), 72);
//! ```

mod arrangement;
mod cable_map;
pub mod family;
mod fault;
mod galois;
mod gateways;
mod graph;
mod graph_file;
mod grid;
mod k_shortest;
mod measure;
pub mod partition;
mod route_table;
mod sizes;

pub use arrangement::Arrangement;
pub use cable_map::{CableFile, CableMap, MapError};
pub use family::dragonfly::{Dragonfly, DragonflyShape};
pub use family::dragonfly_plus::{DragonflyPlus, DragonflyPlusShape};
pub use family::dragonfly2d::{Dragonfly2d, Dragonfly2dShape};
pub use family::fat_tree::{FatTree, FatTreeShape};
pub use family::hyperx::{HyperX, HyperXShape};
pub use family::polarfly::PolarFly;
pub use family::rail_optimized::{RailOptimized, RailOptimizedShape};
pub use family::slim_fly::{SlimFly, SlimFlyShape};
pub use family::torus::{Torus, TorusShape};
pub use family::{Family, FamilyGraph, FamilyName, Kind, Machine, MachineTable};
pub use fault::{Effect, Fault};
pub use gateways::Gateway;
pub use graph::{Cable, LinkClass, Peer, Topology};
pub use graph_file::{GraphFile, to_graphml};
pub use grid::Grid;
pub use k_shortest::KShortest;
pub use measure::{CutOff, Diameter};
pub use route_table::{RouteTable, Routes};
