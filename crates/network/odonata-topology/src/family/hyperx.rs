//! HyperX and the flattened butterfly.
//!
//! J. Ahn, N. Binkert, A. Davis, M. McLaren, R. Schreiber, "HyperX: topology, routing, and packaging of efficient
//! large-scale networks", SC 2009; J. Kim, W. Dally, D. Abts, "Flattened butterfly: a cost-efficient topology for
//! high-radix networks", ISCA 2007 (equal extents, one cable per pair). Routers form a grid of `L` dimensions. The
//! `S_k` routers of a line of dimension `k` are fully connected, with `K_k` parallel cables per pair. The diameter is
//! the number of dimensions with more than one router.
//!
//! The first dimension is the fastest; its cables are local, all others global. Ports of a router: its nodes, then for
//! each dimension the other routers of its line in ascending order, parallel cables together.

use odonata_units::{Filled, OneOrMany, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, ReadFile, Size};
use super::smaller;
use super::{FamilyGraph, FamilySettings, WorstCase};
use crate::sizes::{self, cable};
use crate::{Grid, LinkClass, Topology};
use std::ops::Range;

/// A HyperX (J. Ahn et al., SC 2009) of 1 to 16 dimensions; with equally many routers in each it is a flattened
/// butterfly (J. Kim et al., ISCA 2007). The cables of the first dimension are of class local, all others global.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "HyperX")]
pub struct Settings {
    /// Routers along each dimension, the first fastest, e.g. [8, 8]. Required, here or in the preset.
    pub dims: Filled<Vec<u32>>,
    /// Parallel cables between two routers of a line: a number, or a list with one number per dimension. Default: 1.
    #[serde(skip_serializing_if = "OneOrMany::is_one")]
    #[default(OneOrMany::One(1))]
    pub cables: OneOrMany<u32>,
    /// Nodes per router: compute nodes and storage servers together.
    #[schemars(range(min = 1))]
    #[default = 1]
    pub nodes_per_router: u32,
}

impl FamilySettings for Settings {
    type Graph = HyperX;

    const EXAMPLES: &'static [&'static str] = &["dims = [3, 4]\ncables = [1, 2]\nnodes_per_router = 3"];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let dims = settings::extents("dims", &self.dims)?;
        let nodes = settings::size("nodes_per_router", self.nodes_per_router, 1)?;
        let cables = match &self.cables {
            OneOrMany::One(count) => vec![settings::size("cables", *count, 1)?; dims.len()],
            OneOrMany::Many(list) => {
                if list.len() != dims.len() {
                    let problem = format!("{} numbers for {} dimensions", list.len(), dims.len());
                    let expected = format!("a number, or {} numbers", dims.len());
                    return Err(Problem::new("cables", problem, expected));
                }
                settings::sizes("cables", list)?;
                list.clone()
            }
        };
        let others = dims.iter().zip(&cables);
        let ports: u64 = others.map(|(&k, &count)| u64::from(k - 1) * u64::from(count)).sum();
        let size = settings::ports(sizes::product(dims.iter().copied()), u64::from(nodes) + ports)?;
        self.cables = OneOrMany::Many(cables);
        Ok(size)
    }

    fn build(&self) -> Result<HyperX, String> {
        HyperX::new(HyperXShape {
            extents: self.dims.to_vec(),
            cables: self.cables.list().to_vec(),
            nodes: self.nodes_per_router,
        })
    }

    fn smaller(&self, few: bool) -> Option<(Self, String)> {
        let (kept, dims) = smaller::grid(&self.dims, |_| false, few);
        let cables = self.cables.list();
        let text = format!("HyperX of {} routers", smaller::shown(&dims));
        let small = Settings {
            dims: dims.into(),
            cables: OneOrMany::Many(kept.iter().map(|&dimension| cables[dimension].min(2)).collect()),
            ..*self
        };
        Some((small, text))
    }

    fn worst_case(&self) -> WorstCase {
        WorstCase::NextInLine {
            extents: self.dims.to_vec(),
            nodes_per_router: self.nodes_per_router,
        }
    }
}

/// The sizes of a HyperX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyperXShape {
    /// Routers in each dimension, the first the fastest; 1 to 16 dimensions.
    pub extents: Vec<u32>,
    /// Parallel cables per pair of routers of a line, per dimension.
    pub cables: Vec<u32>,
    /// Nodes per router.
    pub nodes: u32,
}

/// A HyperX.
#[derive(Clone, Debug)]
pub struct HyperX {
    shape: HyperXShape,
    topology: Topology,
    grid: Grid,
    /// Per dimension, its first port among the ports of a router.
    first: Vec<u32>,
}

impl HyperX {
    /// Builds a HyperX.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: HyperXShape) -> Result<Self, String> {
        let dimensions = shape.extents.len();
        let routers = Grid::size(&shape.extents)?;
        if shape.cables.len() != dimensions {
            return Err(format!(
                "{dimensions} dimensions have parallel cables given for {}",
                shape.cables.len()
            ));
        }
        if shape.extents.contains(&0) || shape.cables.contains(&0) || shape.nodes == 0 {
            return Err(
                "a HyperX needs at least one router and one cable per pair in every dimension, and one node per router"
                    .into(),
            );
        }
        let mut ports = u64::from(shape.nodes);
        let mut first = Vec::with_capacity(dimensions);
        for (&extent, &parallel) in shape.extents.iter().zip(&shape.cables) {
            first.push(ports as u32);
            ports = ports.saturating_add(sizes::product([extent - 1, parallel]));
        }
        sizes::check(routers, ports)?;
        let (routers, ports) = (routers as u32, ports as u32);

        let grid = Grid::new(&shape.extents);
        let mut nodes = Vec::with_capacity((routers * shape.nodes) as usize);
        let mut list = Vec::new();
        for router in 0..routers {
            nodes.extend((0..shape.nodes).map(|node| (router, node)));
            for (dimension, &extent) in shape.extents.iter().enumerate() {
                let here = grid.coordinate(router, dimension as u32);
                let class = if dimension == 0 {
                    LinkClass::Local
                } else {
                    LinkClass::Global
                };
                for to in here + 1..extent {
                    let other = grid.moved(router, dimension as u32, to);
                    for lane in 0..shape.cables[dimension] {
                        let a = first[dimension] + (to - 1) * shape.cables[dimension] + lane;
                        let b = first[dimension] + here * shape.cables[dimension] + lane;
                        list.push(cable((router, a), (other, b), class));
                    }
                }
            }
        }
        let topology = Topology::new(&vec![ports; routers as usize], &nodes, &list)?.with_blocks(grid.planes())?;
        Ok(HyperX {
            shape,
            topology,
            grid,
            first,
        })
    }

    /// The graph. Its blocks are the slices of the slowest dimension.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes of the HyperX.
    pub fn shape(&self) -> &HyperXShape {
        &self.shape
    }

    /// Checks that each pair of routers of a line has a cable left.
    ///
    /// # Errors
    /// The two routers without a cable.
    pub fn check_ways(&self) -> Result<(), String> {
        let t = &self.topology;
        for &(port, far) in t.failed() {
            let (a, b) = (t.router_of_port(port), t.router_of_port(far));
            let differs = |&dimension: &u32| self.grid.coordinate(a, dimension) != self.grid.coordinate(b, dimension);
            let dimension = (0..self.grid.dimensions()).find(differs).unwrap_or(0);
            if t.live(self.ports(a, dimension, self.grid.coordinate(b, dimension))) == 0 {
                return Err(format!(
                    "no cable is left between routers {a} and {b}: this routing has no other path"
                ));
            }
        }
        Ok(())
    }

    /// The positions of the routers.
    #[inline]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The ports of `router` to the router at position `to` of `dimension`: parallel cables, some of which may have
    /// [failed](Topology::live).
    #[inline]
    pub fn ports(&self, router: u32, dimension: u32, to: u32) -> Range<u32> {
        let parallel = self.shape.cables[dimension as usize];
        let rank = to - u32::from(to > self.grid.coordinate(router, dimension));
        let first = self.topology.first_port(router) + self.first[dimension as usize] + rank * parallel;
        first..first + parallel
    }
}

impl FamilyGraph for HyperX {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// Cables between the two halves of the dimension with the fewest: K_k floor(S_k/2) ceil(S_k/2) in each of its
    /// lines (Ahn et al., section 3; exact for even extents).
    fn bisection(&self) -> Option<u64> {
        let routers = u64::from(self.topology.routers());
        let cut = |(&extent, &parallel): (&u32, &u32)| {
            let (half, rest) = (u64::from(extent / 2), u64::from(extent - extent / 2));
            u64::from(parallel) * half * rest * (routers / u64::from(extent))
        };
        let dimensions = self.shape.extents.iter().zip(&self.shape.cables);
        let cuts = dimensions.filter(|(extent, _)| **extent > 1).map(cut);
        Some(cuts.min().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect;
    use crate::Fault;

    fn hyperx(extents: &[u32], cables: &[u32], nodes: u32) -> HyperX {
        let (extents, cables) = (extents.to_vec(), cables.to_vec());
        HyperX::new(HyperXShape { extents, cables, nodes }).unwrap()
    }

    fn all() -> Vec<HyperX> {
        vec![
            hyperx(&[4, 4], &[1, 1], 4),
            hyperx(&[5], &[2], 1),
            hyperx(&[3, 1, 4], &[1, 3, 2], 2),
            hyperx(&[2, 2, 2, 2], &[1; 4], 1),
            hyperx(&[1], &[1], 2),
        ]
    }

    #[test]
    fn cabling_is_a_perfect_matching_and_ports_lead_where_they_say() {
        for x in all() {
            let t = x.topology();
            sizes::assert_perfect_matching(t);
            for router in 0..t.routers() {
                for dimension in 0..x.grid().dimensions() {
                    for to in (0..x.grid().extent(dimension)).filter(|&to| to != x.grid().coordinate(router, dimension))
                    {
                        let other = x.grid().moved(router, dimension, to);
                        let mut expected = x.grid().coordinates(router).to_vec();
                        expected[dimension as usize] = to;
                        assert_eq!(x.grid().coordinates(other), expected);
                        for port in x.ports(router, dimension, to) {
                            assert_eq!(t.neighbour(port), Some(other));
                            assert_eq!(t.class(port) == LinkClass::Local, dimension == 0);
                        }
                    }
                }
            }
        }
    }

    /// Σ_k N (S_k - 1)/2 K_k cables, none of them free; the diameter is the number of dimensions with more than one
    /// router.
    #[test]
    fn counts_and_diameter_are_the_closed_forms() {
        for x in all() {
            let (t, s) = (x.topology(), x.shape());
            let routers: u32 = s.extents.iter().product();
            assert_eq!(
                (t.routers(), t.nodes(), t.free_ports()),
                (routers, routers * s.nodes, 0)
            );
            let ends: u32 = s
                .extents
                .iter()
                .zip(&s.cables)
                .map(|(&e, &k)| routers * (e - 1) * k)
                .sum();
            let [_, between_routers @ ..] = t.cables_by_class();
            assert_eq!(between_routers.iter().sum::<u64>(), u64::from(ends / 2));
            let dimensions = s.extents.iter().filter(|&&extent| extent > 1).count();
            assert_eq!(t.diameter().routers as usize, dimensions);
        }
    }

    /// 4 × 4 flattened butterfly: 4 lines of 2 · 2 cables. 2^4 hypercube: N / 2.
    #[test]
    fn the_bisection_is_that_of_the_narrowest_dimension() {
        assert_eq!(hyperx(&[4, 4], &[1, 1], 1).bisection(), Some(16));
        assert_eq!(hyperx(&[2, 2, 2, 2], &[1; 4], 1).bisection(), Some(8));
        assert_eq!(hyperx(&[4, 4], &[3, 2], 1).bisection(), Some(32));
        assert_eq!(hyperx(&[1], &[1], 1).bisection(), Some(0));
    }

    #[test]
    fn one_of_parallel_cables_may_fail() {
        let fail = |index| Fault {
            routers: (0, 3),
            index,
            effect: Effect::Failed,
        };
        let mut x = hyperx(&[5], &[2], 1);
        x.impair(&[fail(Some(0))]).unwrap();
        assert_eq!(x.check_ways(), Ok(()));
        let ports = x.ports(0, 0, 3);
        assert_eq!(
            (
                x.topology().live(ports.clone()),
                x.topology().nth_live(ports.clone(), 0)
            ),
            (1, ports.start + 1)
        );
        x.impair(&[fail(None)]).unwrap();
        assert!(x.check_ways().unwrap_err().contains("routers 0 and 3"));
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_bound() {
        let new = |extents: &[u32], cables: &[u32], nodes| {
            let (extents, cables) = (extents.to_vec(), cables.to_vec());
            HyperX::new(HyperXShape { extents, cables, nodes }).unwrap_err()
        };
        assert!(new(&[], &[], 1).contains("1 to 16"));
        assert!(new(&[4, 4], &[1], 1).contains("given for 1"));
        assert!(new(&[4, 0], &[1, 1], 1).contains("at least one"));
        assert!(new(&[u32::MAX; 16], &[u32::MAX; 16], 1).contains("4096"));
        assert!(new(&[1000, 1000, 1000], &[1; 3], 1).contains("2^28"));
    }
}
