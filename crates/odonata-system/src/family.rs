//! The machine's graph, whatever its family.

use crate::scenario::resolved::{self, Machine};
use odonata_topology::{Arrangement, Dragonfly, DragonflyShape, Topology};

/// A machine of one of the families, with the tables that its routing needs.
#[derive(Debug)]
pub enum Family {
    /// A dragonfly with one-dimensional groups.
    Dragonfly(Dragonfly),
}

impl Family {
    /// Builds `machine`.
    ///
    /// # Errors
    /// A text saying which size is impossible and what the bound is.
    pub fn new(machine: &Machine) -> Result<Family, String> {
        match machine {
            Machine::Dragonfly(d) => dragonfly(d).map(Family::Dragonfly),
        }
    }

    /// Its graph.
    pub fn topology(&self) -> &Topology {
        match self {
            Family::Dragonfly(dragonfly) => dragonfly.topology(),
        }
    }
}

fn dragonfly(d: &resolved::Dragonfly) -> Result<Dragonfly, String> {
    let shape = DragonflyShape {
        groups: d.groups,
        routers: d.routers_per_group,
        nodes: d.nodes_per_router,
        global_ports: d.global_ports_per_router,
        cables: d.cables,
    };
    let arrangement = match d.arrangement {
        resolved::Arrangement::Absolute => Arrangement::Absolute,
        resolved::Arrangement::Relative => Arrangement::Relative,
    };
    Dragonfly::new(shape, arrangement)
}
