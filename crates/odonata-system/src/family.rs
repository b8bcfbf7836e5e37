//! The machine's graph, whatever its family.

use crate::scenario::resolved::{self, Kind, Machine};
use odonata_topology::{Arrangement, Dragonfly, DragonflyShape, Topology, Torus, TorusShape};

/// A machine of one of the families, with the tables that its routing needs.
#[derive(Debug)]
pub enum Family {
    /// A dragonfly with one-dimensional groups.
    Dragonfly(Dragonfly),
    /// A torus or mesh.
    Torus(Torus),
}

impl Family {
    /// Builds `machine`, and breaks the cables that it says are broken.
    ///
    /// # Errors
    /// A text saying which size is impossible and what the bound is, or which cable there is not.
    pub fn new(machine: &Machine) -> Result<Family, String> {
        let faults = machine.faults();
        Ok(match &machine.kind {
            Kind::Dragonfly(d) => {
                let shape = DragonflyShape {
                    groups: d.groups,
                    routers: d.routers_per_group,
                    nodes: d.nodes_per_router,
                    global_ports: d.global_ports_per_router,
                    cables: d.cables,
                };
                let mut dragonfly = Dragonfly::new(shape, arrangement(d.arrangement))?;
                dragonfly.impair(&faults)?;
                Family::Dragonfly(dragonfly)
            }
            Kind::Torus(t) | Kind::Mesh(t) => {
                let shape = TorusShape {
                    extents: t.dims.clone(),
                    wrap: matches!(machine.kind, Kind::Torus(_)),
                    nodes: t.nodes_per_router,
                };
                let mut torus = Torus::new(shape)?;
                torus.impair(&faults)?;
                Family::Torus(torus)
            }
            _ => return Err(format!("no {}", machine.kind.name())),
        })
    }

    /// Its graph.
    pub fn topology(&self) -> &Topology {
        match self {
            Family::Dragonfly(dragonfly) => dragonfly.topology(),
            Family::Torus(torus) => torus.topology(),
        }
    }

    /// Cables between two halves of the machine, as its family defines them.
    pub fn bisection(&self) -> u64 {
        match self {
            Family::Dragonfly(dragonfly) => dragonfly.bisection(),
            Family::Torus(torus) => torus.bisection(),
        }
    }
}

fn arrangement(arrangement: resolved::Arrangement) -> Arrangement {
    match arrangement {
        resolved::Arrangement::Absolute => Arrangement::Absolute,
        resolved::Arrangement::Relative => Arrangement::Relative,
        resolved::Arrangement::Circulant => Arrangement::Circulant,
    }
}
