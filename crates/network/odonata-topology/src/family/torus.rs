//! Torus and mesh of any number of dimensions (k-ary n-cube; W. Dally, C. Seitz 1986; W. Dally, B. Towles, "Principles
//! and Practices of Interconnection Networks", 2004, chapter 5).
//!
//! Routers form a grid; the first dimension is the fastest: router = x + k_x (y + k_y (z + …)). In a torus,
//! *wrap-around* cables connect the last router of a line with the first; a mesh lacks them. A torus has the diameter Σ
//! floor(k/2), a mesh Σ (k - 1). Single dimensions of a torus may be open, as those of two nodes of Tofu (Y. Ajima et
//! al., "The Tofu interconnect D", CLUSTER 2018).
//!
//! Ports of a router: its nodes, then a plus and a minus port for each dimension of more than one router. The plus port
//! leads to the minus port of the router with the next higher coordinate. In a torus dimension of two routers both
//! cables exist; at the border of a mesh, ports stay free. All cables are local.

use odonata_units::{Filled, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, ReadFile, Size};
use super::smaller;
use super::{FamilyGraph, FamilySettings, WorstCase};
use crate::sizes::{self, cable};
use crate::{Grid, LinkClass, Topology};

/// A torus or mesh of 1 to 16 dimensions (k-ary n-cube). All cables between routers are of class local; the planes of the
/// slowest dimension are its groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Torus")]
pub struct Settings {
    /// Routers along each dimension, the first fastest, e.g. [8, 8, 8]. Required, here or in the preset.
    pub dims: Filled<Vec<u32>>,
    /// Nodes per router: compute nodes and storage servers together.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub nodes_per_router: u32,
    /// Dimensions of a torus, from 0, whose lines have no wrap-around cable, e.g. [3, 5] for the axes A and C of Tofu.
    /// Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_dims: Vec<u32>,
}

impl Settings {
    /// The grid, with or without wrap-around cables.
    pub(super) fn grid(&self, wrap: bool) -> Result<Torus, String> {
        let shape = TorusShape {
            extents: self.dims.to_vec(),
            wrap,
            nodes: self.nodes_per_router,
        };
        Torus::with_open(shape, &self.open_dims)
    }

    /// A smaller grid, and a description of its routers.
    pub(super) fn smaller_grid(&self, few: bool) -> (Settings, String) {
        let is_open = |dimension: &usize| self.open_dims.contains(&(*dimension as u32));
        let (kept, dims) = smaller::grid(&self.dims, is_open, few);
        let text = format!("of {} routers", smaller::shown(&dims));
        let open = (0..).zip(&kept).filter(|(_, dimension)| is_open(dimension));
        let small = Settings {
            open_dims: open.map(|(at, _)| at).collect(),
            dims: dims.into(),
            ..*self
        };
        (small, text)
    }
}

impl FamilySettings for Settings {
    type Graph = Torus;

    const EXAMPLES: &'static [&'static str] = &["dims = [4, 3, 3]\nnodes_per_router = 1"];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let dims = settings::extents("dims", &self.dims)?;
        let nodes = settings::size("nodes_per_router", self.nodes_per_router, 1)?;
        for (at, &dimension) in self.open_dims.iter().enumerate() {
            let key = || format!("open_dims.{at}");
            if dimension as usize >= dims.len() {
                let problem = format!("there is no dimension {dimension}");
                return Err(Problem::new(key(), problem, format!("0 to {}", dims.len() - 1)));
            }
            if self.open_dims[..at].contains(&dimension) {
                let problem = format!("dimension {dimension} is listed twice");
                return Err(Problem::new(key(), problem, "every dimension once"));
            }
        }
        if self.open_dims.len() == dims.len() {
            let problem = "all lines of the torus are open";
            return Err(Problem::new(
                "open_dims",
                problem,
                "at least one other dimension, or machine.mesh",
            ));
        }
        let ports = 2 * dims.iter().filter(|&&k| k > 1).count() as u64;
        settings::ports(sizes::product(dims.iter().copied()), u64::from(nodes) + ports)
    }

    fn build(&self) -> Result<Torus, String> {
        self.grid(true)
    }

    fn smaller(&self, few: bool) -> Option<(Self, String)> {
        let (small, routers) = self.smaller_grid(few);
        Some((small, format!("torus {routers}")))
    }

    fn link_classes() -> &'static [LinkClass] {
        &LinkClass::ALL[..2]
    }

    fn worst_case(&self) -> WorstCase {
        WorstCase::Tornado {
            extents: self.dims.to_vec(),
            nodes_per_router: self.nodes_per_router,
        }
    }
}

/// The sizes of a torus or mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorusShape {
    /// Routers in each dimension, the first the fastest; 1 to 16 dimensions.
    pub extents: Vec<u32>,
    /// Whether lines have wrap-around cables: a torus; otherwise a mesh.
    pub wrap: bool,
    /// Nodes per router.
    pub nodes: u32,
}

/// A torus or mesh.
#[derive(Clone, Debug)]
pub struct Torus {
    shape: TorusShape,
    topology: Topology,
    grid: Grid,
    /// Per dimension, its plus port among the ports of a router.
    plus: Vec<u32>,
    /// Per dimension, whether its lines have wrap-around cables.
    wraps: Vec<bool>,
}

impl Torus {
    /// Builds a torus or mesh.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: TorusShape) -> Result<Self, String> {
        Self::with_open(shape, &[])
    }

    /// Builds a torus with open lines in the dimensions `open`, or a mesh.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn with_open(shape: TorusShape, open: &[u32]) -> Result<Self, String> {
        let wraps: Vec<bool> = (0..shape.extents.len() as u32)
            .map(|dimension| shape.wrap && !open.contains(&dimension))
            .collect();
        let extents = &shape.extents;
        let routers = Grid::size(extents)?;
        if extents.contains(&0) || shape.nodes == 0 {
            return Err("a torus needs at least one router in every dimension and one node per router".into());
        }
        let mut plus = Vec::with_capacity(extents.len());
        let mut ports = u64::from(shape.nodes);
        for &extent in extents {
            plus.push(ports as u32);
            ports += if extent > 1 { 2 } else { 0 };
        }
        sizes::check(routers, ports)?;
        let (routers, ports) = (routers as u32, ports as u32);

        let grid = Grid::new(extents);
        let mut nodes = Vec::with_capacity((routers * shape.nodes) as usize);
        let mut cables = Vec::with_capacity(routers as usize * extents.len());
        for router in 0..routers {
            nodes.extend((0..shape.nodes).map(|node| (router, node)));
            for (dimension, &extent) in (0..).zip(extents) {
                let next = grid.coordinate(router, dimension) + 1;
                if extent > 1 && (next < extent || wraps[dimension as usize]) {
                    let (next, port) = (grid.moved(router, dimension, next % extent), plus[dimension as usize]);
                    cables.push(cable((router, port), (next, port + 1), LinkClass::Local));
                }
            }
        }
        let topology = Topology::new(&vec![ports; routers as usize], &nodes, &cables)?.with_blocks(grid.planes())?;
        Ok(Torus {
            shape,
            topology,
            grid,
            plus,
            wraps,
        })
    }

    /// The graph. Its blocks are the planes of the slowest dimension.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes of the grid.
    pub fn shape(&self) -> &TorusShape {
        &self.shape
    }

    /// Whether the lines of `dimension` have wrap-around cables.
    #[inline]
    pub fn wraps(&self, dimension: u32) -> bool {
        self.wraps[dimension as usize]
    }

    /// The positions of the routers.
    #[inline]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The port of `router` in `dimension`, which has more than one router, to the next higher coordinate (`plus`) or
    /// the next lower one.
    #[inline]
    pub fn port(&self, router: u32, dimension: u32, plus: bool) -> u32 {
        self.topology.first_port(router) + self.plus[dimension as usize] + u32::from(!plus)
    }
}

impl FamilyGraph for Torus {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// The fewest cables cut by a plane (in a ring by two) across a dimension; without open dimensions, across the
    /// longest: the bisection if that dimension is even (W. Dally 1990); if it is odd, the halves differ by one plane of
    /// routers.
    fn bisection(&self) -> Option<u64> {
        let cut = |(dimension, &extent): (usize, &u32)| {
            let plane = u64::from(self.topology.routers() / extent);
            plane * if self.wraps[dimension] { 2 } else { 1 }
        };
        let extents = self.shape.extents.iter().enumerate();
        extents.filter(|&(_, &extent)| extent > 1).map(cut).min().or(Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Peer;

    fn torus(extents: &[u32], wrap: bool, nodes: u32) -> Torus {
        let extents = extents.to_vec();
        Torus::new(TorusShape { extents, wrap, nodes }).unwrap()
    }

    const EXTENTS: [&[u32]; 8] = [
        &[8, 8],
        &[8, 8, 8],
        &[5],
        &[2, 2, 2],
        &[4, 1, 3],
        &[1],
        &[3, 2, 4, 2],
        &[8, 4, 4, 4, 2],
    ];

    #[test]
    fn cabling_is_a_perfect_matching_and_ports_lead_to_neighbours() {
        for extents in EXTENTS {
            for wrap in [true, false] {
                let torus = torus(extents, wrap, 2);
                let t = torus.topology();
                sizes::assert_perfect_matching(t);
                for router in 0..t.routers() {
                    for dimension in (0..torus.grid().dimensions()).filter(|&d| torus.grid().extent(d) > 1) {
                        let k = torus.grid().extent(dimension);
                        let here = torus.grid().coordinate(router, dimension);
                        let border = !wrap && here == k - 1;
                        match t.peer(torus.port(router, dimension, true)) {
                            Peer::Router { router: next, port } => {
                                assert!(!border);
                                assert_eq!(torus.grid().coordinate(next, dimension), (here + 1) % k);
                                assert_eq!(port, torus.port(next, dimension, false));
                                let others = (0..torus.grid().dimensions()).filter(|&d| d != dimension);
                                others.for_each(|d| {
                                    assert_eq!(torus.grid().coordinate(next, d), torus.grid().coordinate(router, d))
                                });
                            }
                            peer => assert!(border && peer == Peer::Free),
                        }
                    }
                }
            }
        }
    }

    /// Cables: N per dimension of a torus, N (k - 1)/k of a mesh. Diameters: Σ floor(k/2), Σ (k - 1).
    #[test]
    fn counts_and_diameters_are_the_closed_forms() {
        for extents in EXTENTS {
            let routers: u32 = extents.iter().product();
            for wrap in [true, false] {
                let torus = torus(extents, wrap, 3);
                let t = torus.topology();
                assert_eq!((t.routers(), t.nodes()), (routers, 3 * routers));
                let of = |k: &u32| if wrap { routers } else { routers / k * (k - 1) };
                let cables: u32 = extents.iter().filter(|&&k| k > 1).map(of).sum();
                assert_eq!(t.cables_by_class()[LinkClass::Local as usize], u64::from(cables));
                let far = |k: &u32| if wrap { k / 2 } else { k - 1 };
                assert_eq!(t.diameter().routers, extents.iter().map(far).sum::<u32>());
            }
        }
    }

    /// TofuD: 12 nodes in an axis-B ring of 3 with open axes A and C of 2. A node has 10 ports with a cable if X, Y and Z
    /// have at least 3 nodes: 6 in these, 2 in B, one each in A and C. Rings of two have two cables, open lines one.
    #[test]
    fn open_dimensions_have_no_wrap_around_cable() {
        let extents = vec![3, 4, 3, 2, 3, 2];
        let shape = TorusShape {
            extents,
            wrap: true,
            nodes: 1,
        };
        let tofu = Torus::with_open(shape.clone(), &[3, 5]).unwrap();
        let t = tofu.topology();
        sizes::assert_perfect_matching(t);
        let with_cable = |router| t.ports_of(router).filter(|&port| t.neighbour(port).is_some()).count();
        assert!((0..t.routers()).all(|router| with_cable(router) == 10));
        assert_eq!(
            t.cables_by_class()[LinkClass::Local as usize],
            u64::from(t.routers()) * 10 / 2
        );
        assert_eq!(t.diameter().routers, 1 + 2 + 1 + 1 + 1 + 1);
        let closed = Torus::new(shape).unwrap();
        assert_eq!(
            closed.topology().cables_by_class()[LinkClass::Local as usize],
            u64::from(t.routers()) * 6
        );
        let line = |open: &[u32]| {
            let extents = vec![4, 2];
            Torus::with_open(
                TorusShape {
                    extents,
                    wrap: true,
                    nodes: 1,
                },
                open,
            )
            .unwrap()
            .bisection()
        };
        assert_eq!((line(&[]), line(&[0]), line(&[1])), (Some(4), Some(2), Some(4)));
        // Across the closed dimension of 6 routers 2 x 4 cables, across the open one of 4 routers 6.
        let (extents, wrap, nodes) = (vec![6, 4], true, 1);
        let short = Torus::with_open(TorusShape { extents, wrap, nodes }, &[1]).unwrap();
        assert_eq!(short.bisection(), Some(6));
    }

    /// Rings are where packets can wait in a circle, so the smaller machine of a proof keeps them before open lines.
    #[test]
    fn a_smaller_torus_keeps_its_rings() {
        let settings = Settings {
            dims: vec![6, 6, 6, 8, 8, 8].into(),
            open_dims: vec![3, 4, 5],
            ..Settings::default()
        };
        let (small, _) = settings.smaller_grid(false);
        assert!(small.open_dims.is_empty(), "{small:?}");
    }

    /// id = x + 8 y.
    #[test]
    fn the_first_dimension_is_the_fastest() {
        let torus = torus(&[8, 8], true, 1);
        assert_eq!(torus.grid().coordinates(19), [3, 2]);
        assert_eq!(torus.topology().blocks(), [0, 8, 16, 24, 32, 40, 48, 56, 64]);
        assert_eq!(torus.topology().neighbour(torus.port(7, 0, true)), Some(0));
    }

    #[test]
    fn the_bisection_of_a_cube_is_two_planes() {
        assert_eq!(torus(&[8, 8, 8], true, 1).bisection(), Some(2 * 64));
        assert_eq!(torus(&[4, 8], false, 1).bisection(), Some(4));
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_bound() {
        let new = |extents: &[u32], nodes| {
            let extents = extents.to_vec();
            Torus::new(TorusShape {
                extents,
                wrap: true,
                nodes,
            })
            .unwrap_err()
        };
        assert!(new(&[], 1).contains("1 to 16"));
        assert!(new(&[2; 17], 1).contains("1 to 16"));
        assert!(new(&[4, 0], 1).contains("at least one"));
        assert!(new(&[u32::MAX; 16], 1).contains("2^28"));
        assert!(new(&[1 << 14, 1 << 14], 1).contains("2^28"));
        assert!(new(&[2], u32::MAX).contains("4096"));
    }
}
