//! The machine's graph, whatever its family.

use crate::scenario::resolved::{self, Kind, Machine};
use odonata_topology::{
    Arrangement, Dragonfly, Dragonfly2d, Dragonfly2dShape, DragonflyPlus, DragonflyPlusShape, DragonflyShape, FatTree,
    FatTreeShape, Fault, GraphFile, HyperX, HyperXShape, SlimFly, SlimFlyShape, Topology, Torus, TorusShape,
};

/// A machine of one of the families, with the tables that its routing needs.
#[derive(Debug)]
pub enum Family {
    /// A dragonfly with one-dimensional groups.
    Dragonfly(Dragonfly),
    /// A dragonfly with two-dimensional groups.
    Dragonfly2d(Dragonfly2d),
    /// A dragonfly+.
    DragonflyPlus(DragonflyPlus),
    /// A torus or mesh.
    Torus(Torus),
    /// A fat tree.
    FatTree(FatTree),
    /// A Slim Fly.
    SlimFly(SlimFly),
    /// A HyperX.
    HyperX(HyperX),
    /// A graph from a file.
    Graph(GraphFile),
}

impl Family {
    /// Builds `machine`, and breaks the cables that it says are broken.
    ///
    /// # Errors
    /// A text saying which size is impossible and what the bound is, or which cable there is not.
    pub fn new(machine: &Machine) -> Result<Family, String> {
        let mut family = Family::whole(&machine.kind)?;
        let faults = machine.faults();
        if !faults.is_empty() {
            family.impair(&faults)?;
        }
        Ok(family)
    }

    /// The same with all its cables.
    fn whole(kind: &Kind) -> Result<Family, String> {
        Ok(match kind {
            Kind::Dragonfly(d) => {
                let shape = DragonflyShape {
                    groups: d.groups,
                    routers: d.routers_per_group,
                    nodes: d.nodes_per_router,
                    global_ports: d.global_ports_per_router,
                    cables: d.cables,
                };
                Family::Dragonfly(Dragonfly::new(shape, arrangement(d.arrangement))?)
            }
            Kind::Dragonfly2d(d) => {
                let shape = Dragonfly2dShape {
                    groups: d.groups,
                    rows: d.rows,
                    columns: d.columns,
                    column_cables: d.column_cables,
                    global_ports: d.global_ports_per_router,
                    cables: d.cables,
                    bundle: d.bundle,
                    nodes: d.nodes_per_router,
                    exceptions: d.exceptions.iter().map(|other| (other.router, other.nodes)).collect(),
                };
                Family::Dragonfly2d(Dragonfly2d::new(shape, arrangement(d.arrangement))?)
            }
            Kind::DragonflyPlus(d) => {
                let shape = DragonflyPlusShape {
                    groups: d.groups,
                    leaves: d.leaves_per_group,
                    spines: d.spines_per_group,
                    nodes: d.nodes_per_leaf,
                    local_cables: d.local_cables,
                    global_ports: d.global_ports_per_spine,
                    cables: d.cables,
                };
                Family::DragonflyPlus(DragonflyPlus::new(shape, arrangement(d.arrangement))?)
            }
            Kind::Torus(t) | Kind::Mesh(t) => Family::Torus(Torus::new(TorusShape {
                extents: t.dims.clone(),
                wrap: matches!(kind, Kind::Torus(_)),
                nodes: t.nodes_per_router,
            })?),
            Kind::FatTree(t) => Family::FatTree(FatTree::new(FatTreeShape {
                down: t.down.clone(),
                up: t.up.clone(),
                parallel: t.parallel.clone(),
            })?),
            Kind::SlimFly(f) => Family::SlimFly(SlimFly::new(SlimFlyShape {
                q: f.q,
                nodes: Some(f.nodes_per_router),
            })?),
            Kind::HyperX(x) => Family::HyperX(HyperX::new(HyperXShape {
                extents: x.dims.clone(),
                cables: x.cables.clone(),
                nodes: x.nodes_per_router,
            })?),
            Kind::Graph(g) => Family::Graph(GraphFile::from_text(&g.text, g.nodes_per_router)?),
        })
    }

    fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        match self {
            Family::Dragonfly(family) => family.impair(faults),
            Family::Dragonfly2d(family) => family.impair(faults),
            Family::DragonflyPlus(family) => family.impair(faults),
            Family::Torus(family) => family.impair(faults),
            Family::FatTree(family) => family.impair(faults),
            Family::SlimFly(family) => family.impair(faults),
            Family::HyperX(family) => family.impair(faults),
            Family::Graph(family) => family.impair(faults),
        }
    }

    /// Its graph.
    pub fn topology(&self) -> &Topology {
        match self {
            Family::Dragonfly(family) => family.topology(),
            Family::Dragonfly2d(family) => family.topology(),
            Family::DragonflyPlus(family) => family.topology(),
            Family::Torus(family) => family.topology(),
            Family::FatTree(family) => family.topology(),
            Family::SlimFly(family) => family.topology(),
            Family::HyperX(family) => family.topology(),
            Family::Graph(family) => family.topology(),
        }
    }

    /// The names of its routers; empty: they have none but their numbers.
    pub fn names(&self) -> &[String] {
        match self {
            Family::Graph(graph) => graph.names(),
            _ => &[],
        }
    }

    /// Cables between two halves of the machine before any of them broke, as its family defines them; `None`: of this
    /// family no such cut is known.
    pub fn bisection(&self) -> Option<u64> {
        match self {
            Family::Dragonfly(family) => Some(family.bisection()),
            Family::Dragonfly2d(family) => Some(family.bisection()),
            Family::DragonflyPlus(family) => Some(family.bisection()),
            Family::Torus(family) => Some(family.bisection()),
            Family::FatTree(family) => Some(family.bisection()),
            Family::HyperX(family) => Some(family.bisection()),
            _ => None,
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
