//! PolarFly: the Erdős–Rényi polarity graph of a projective plane, of diameter two.
//!
//! K. Lakhotia, M. Besta, L. Monroe, K. Isham, P. Iff, T. Hoefler, F. Petrini, "PolarFly: a cost-effective and flexible
//! low-diameter topology", SC 2022; P. Erdős, A. Rényi, V. Sós, "On a problem of graph theory", Studia Scientiarum
//! Mathematicarum Hungarica 1, 1966; W. Brown, "On graphs that do not contain a Thomsen graph", Canadian Mathematical
//! Bulletin 9, 1966. For a prime power q, the routers are the q² + q + 1 points of the projective plane over the field
//! of q elements: nonzero vectors of three elements up to multiples, normalized to a leading 1. Two points are linked
//! if their dot product is 0.
//!
//! - q + 1 points are orthogonal to themselves (*quadrics*) and have q links; all others have q + 1. There are q (q +
//!   1)² / 2 links.
//! - Two points have exactly one common neighbor, their cross product, unless that is one of the two. So the diameter
//!   is two, and the shortest path is unique.
//! - A quadric is in no triangle. Every point that is neither a quadric nor linked with a given quadric has one
//!   neighbor among the neighbors of that quadric.
//!
//! Routers are numbered by the layout in racks of section V of the paper: first the quadrics, then, for each neighbor
//! of the first quadric (the *center* of a rack), the center and its neighbors that are not quadrics. With an even q,
//! one point is linked with exactly the quadrics: it follows them, in their rack. Racks are the blocks; cables inside
//! one are local, all others global.
//!
//! Ports of a router: its nodes, then one for each point of the line orthogonal to it, in the order of
//! [`PolarFly::place_on_line`]; a quadric is on its own line, and its port there is free.

use odonata_units::{Filled, Problem, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, ReadFile, Size};
use super::{FamilyGraph, FamilySettings};
use crate::galois::{self, Field};
use crate::sizes::{self, cable};
use crate::{LinkClass, Topology};

/// Largest q: q^2 + q + 1 routers of 3 q / 2 ports stay below 2^28 ports.
const LARGEST: u32 = 512;

/// A PolarFly (K. Lakhotia et al., SC 2022): the polarity graph of q^2 + q + 1 routers, each pair at most two cables
/// apart. q + 1 routers have q cables to others, the rest have q + 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "PolarFly")]
pub struct Settings {
    /// A prime power; a router has at most q + 1 ports to others. Required, here or in the preset.
    #[schemars(range(min = 2))]
    pub q: Filled<u32>,
    /// Nodes per router: compute nodes and storage servers together. Default: half the ports between routers, rounded up,
    /// as in the paper.
    #[schemars(range(min = 1))]
    pub nodes_per_router: Filled<u32>,
}

impl FamilySettings for Settings {
    type Graph = PolarFly;

    const EXAMPLES: &'static [&'static str] = &["q = 4\nnodes_per_router = 1", "q = 5\nnodes_per_router = 1"];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let Some(&q) = self.q.given() else {
            let expected = "a prime power such as 5, 7, 8, 9, 11, 13";
            return Err(Problem::new("q", "the key is missing", expected));
        };
        within("q", q, 2, LARGEST)?;
        if galois::prime_power(q).is_none() {
            let problem = format!("{q} is not a power of a prime");
            return Err(Problem::new("q", problem, "a prime power such as 5, 7, 8, 9, 11, 13"));
        }
        let nodes = *self.nodes_per_router.fill((q + 1).div_ceil(2));
        settings::size("nodes_per_router", nodes, 1)?;
        settings::ports(points(q), u64::from(nodes) + u64::from(q) + 1)
    }

    fn build(&self) -> Result<PolarFly, String> {
        PolarFly::new(*self.q, *self.nodes_per_router)
    }

    fn smaller(&self, _: bool) -> Option<(Self, String)> {
        // The positions and links of the quadrics depend on the residue.
        let q = match *self.q % 4 {
            0 | 2 => 4,
            1 => 5,
            _ => 7,
        };
        let small = Settings {
            q: q.into(),
            ..self.clone()
        };
        Some((small, format!("PolarFly with q = {q}")))
    }
}

/// q² + q + 1.
fn points(q: u32) -> u64 {
    let q = u64::from(q);
    q * q + q + 1
}

/// A point of the plane, normalized to a leading 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    x: u32,
    y: u32,
    z: u32,
}

/// A PolarFly.
#[derive(Clone, Debug)]
pub struct PolarFly {
    q: u32,
    nodes: u32,
    topology: Topology,
    field: Field,
    /// The point of each router.
    points: Vec<Point>,
    /// The router of each point, by [`number`](Self::number).
    routers: Vec<u32>,
}

impl PolarFly {
    /// Builds a PolarFly of `q`² + `q` + 1 routers with `nodes` nodes each.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(q: u32, nodes: u32) -> Result<Self, String> {
        let refused = || {
            let most = galois::MOST_ELEMENTS;
            format!("q = {q} is not a power of a prime, from 2 to {most}, as a PolarFly needs")
        };
        if q > galois::MOST_ELEMENTS || galois::prime_power(q).is_none() {
            return Err(refused());
        }
        if nodes == 0 {
            return Err("a PolarFly needs at least one node per router".into());
        }
        let per_router = nodes.saturating_add(q + 1);
        sizes::check(points(q), u64::from(per_router))?;
        let field = Field::new(q).ok_or_else(refused)?;
        let routers = points(q) as u32;
        let mut fly = PolarFly {
            q,
            nodes,
            topology: Topology::new(&[], &[], &[])?,
            field,
            points: Vec::with_capacity(routers as usize),
            routers: vec![0; routers as usize],
        };
        let racks = fly.racks();
        let mut blocks = vec![0];
        for rack in racks {
            for point in rack {
                let number = fly.number(point) as usize;
                fly.routers[number] = fly.points.len() as u32;
                fly.points.push(point);
            }
            blocks.push(fly.points.len() as u32);
        }
        let rack = |router: u32| blocks.partition_point(|&first| first <= router);
        let mut node_ports = Vec::with_capacity((routers * nodes) as usize);
        let mut list = Vec::new();
        for router in 0..routers {
            node_ports.extend((0..nodes).map(|node| (router, node)));
            let here = fly.points[router as usize];
            for place in 0..=q {
                let there = fly.point_on_line(here, place);
                let far = fly.router_of(there);
                if router < far {
                    let class = match rack(router) == rack(far) {
                        true => LinkClass::Local,
                        false => LinkClass::Global,
                    };
                    let back = fly.place_on_line(there, here);
                    list.push(cable((router, nodes + place), (far, nodes + back), class));
                }
            }
        }
        fly.topology = Topology::new(&vec![per_router; routers as usize], &node_ports, &list)?.with_blocks(blocks)?;
        Ok(fly)
    }

    /// The graph. Its blocks are the racks.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The number of elements of the field.
    pub fn q(&self) -> u32 {
        self.q
    }

    /// The points, by rack.
    fn racks(&self) -> Vec<Vec<Point>> {
        let (all, even) = (points(self.q) as u32, self.q.is_multiple_of(2));
        let points: Vec<Point> = (0..all).map(|number| self.point(number)).collect();
        let quadric = |point: &Point| self.orthogonal(*point, *point);
        let line = |point: Point| (0..=self.q).map(move |place| self.point_on_line(point, place));
        let mut quadrics: Vec<Point> = points.into_iter().filter(quadric).collect();
        let first = quadrics[0];
        // With an even q, x² + y² + z² is (x + y + z)²: the quadrics are the line orthogonal to (1, 1, 1).
        let nucleus = Point { x: 1, y: 1, z: 1 };
        if even {
            quadrics.push(nucleus);
        }
        let mut racks = vec![quadrics];
        for centre in line(first).filter(|&point| point != first && !(even && point == nucleus)) {
            let others = line(centre).filter(|point| !quadric(point));
            racks.push(std::iter::once(centre).chain(others).collect());
        }
        racks
    }

    /// The number of a point: (0, 0, 1), then the points (0, 1, z), then the points (1, y, z).
    #[inline]
    fn number(&self, point: Point) -> u32 {
        match (point.x, point.y) {
            (0, 0) => 0,
            (0, _) => 1 + point.z,
            _ => 1 + self.q + point.y * self.q + point.z,
        }
    }

    fn point(&self, number: u32) -> Point {
        let q = self.q;
        match number {
            0 => Point { x: 0, y: 0, z: 1 },
            _ if number <= q => Point {
                x: 0,
                y: 1,
                z: number - 1,
            },
            _ => Point {
                x: 1,
                y: (number - 1 - q) / q,
                z: (number - 1 - q) % q,
            },
        }
    }

    #[inline]
    fn router_of(&self, point: Point) -> u32 {
        self.routers[self.number(point) as usize]
    }

    #[inline]
    fn orthogonal(&self, a: Point, b: Point) -> bool {
        let f = &self.field;
        let xy = f.sum(f.product(a.x, b.x), f.product(a.y, b.y));
        f.sum(xy, f.product(a.z, b.z)) == 0
    }

    /// The index of `point` on the line orthogonal to `pole`, from 0 to q. If the last element of `pole` is not 0, the
    /// line has one point (1, y, z) for each y; otherwise one for each z, or none. The points (0, 1, z) and (0, 0, 1)
    /// follow the same rule; the last point has index q.
    #[inline]
    fn place_on_line(&self, pole: Point, point: Point) -> u32 {
        if pole.z != 0 {
            return if point.x == 0 { self.q } else { point.y };
        }
        match point.x == 0 && point.y == 0 {
            true => self.q,
            false => point.z,
        }
    }

    /// The point at an index of the line orthogonal to `pole`.
    fn point_on_line(&self, pole: Point, place: u32) -> Point {
        let f = &self.field;
        let minus = |a, b| f.quotient(f.difference(0, a), b);
        let Point { x: a, y: b, z: c } = pole;
        let last = place == self.q;
        match (a, b, c) {
            // a x + b y + c z = 0
            (_, _, 1..) if last => Point {
                x: 0,
                y: 1,
                z: minus(b, c),
            },
            (_, _, 1..) => Point {
                x: 1,
                y: place,
                z: minus(f.sum(a, f.product(b, place)), c),
            },
            _ if last => Point { x: 0, y: 0, z: 1 },
            (_, 1.., _) => Point {
                x: 1,
                y: minus(a, b),
                z: place,
            },
            _ => Point { x: 0, y: 1, z: place },
        }
    }

    /// Whether two different routers are linked.
    #[inline]
    pub fn adjacent(&self, a: u32, b: u32) -> bool {
        self.orthogonal(self.points[a as usize], self.points[b as usize])
    }

    /// The port of `router` on the shortest path to another router: directly, or by the common neighbor.
    #[inline]
    pub fn next_port(&self, router: u32, to: u32) -> u32 {
        let (here, goal) = (self.points[router as usize], self.points[to as usize]);
        let next = match self.orthogonal(here, goal) {
            true => goal,
            false => self.cross(here, goal),
        };
        self.topology.first_port(router) + self.nodes + self.place_on_line(here, next)
    }

    /// The point orthogonal to two different points.
    #[inline]
    fn cross(&self, a: Point, b: Point) -> Point {
        let f = &self.field;
        let minor = |p, q, r, s| f.difference(f.product(p, s), f.product(q, r));
        let x = minor(a.y, a.z, b.y, b.z);
        let y = minor(a.z, a.x, b.z, b.x);
        let z = minor(a.x, a.y, b.x, b.y);
        match (x, y) {
            (0, 0) => Point { x: 0, y: 0, z: 1 },
            (0, _) => Point {
                x: 0,
                y: 1,
                z: f.quotient(z, y),
            },
            _ => Point {
                x: 1,
                y: f.quotient(y, x),
                z: f.quotient(z, x),
            },
        }
    }
}

impl FamilyGraph for PolarFly {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<PolarFly> {
        let build = |q: u32| PolarFly::new(q, (q + 1).div_ceil(2)).unwrap();
        [2, 3, 4, 5, 7, 8, 9, 11, 13, 16].map(build).into()
    }

    fn neighbours(t: &Topology, router: u32) -> Vec<u32> {
        t.ports_of(router).filter_map(|port| t.neighbour(port)).collect()
    }

    #[test]
    fn cabling_is_a_perfect_matching() {
        all()
            .iter()
            .for_each(|fly| sizes::assert_perfect_matching(fly.topology()));
    }

    /// q² + q + 1 routers, q + 1 of them of degree q and with a free port, all others of degree q + 1; q (q + 1)² / 2
    /// cables; diameter 2.
    #[test]
    fn routers_degrees_cables_and_diameter_are_those_of_the_paper() {
        for fly in all() {
            let (t, q) = (fly.topology(), fly.q());
            assert_eq!(t.routers(), q * q + q + 1);
            let degrees: Vec<u32> = (0..t.routers())
                .map(|router| neighbours(t, router).len() as u32)
                .collect();
            let quadrics = degrees.iter().filter(|&&degree| degree == q).count() as u32;
            assert_eq!(quadrics, q + 1);
            assert!(degrees.iter().all(|&degree| degree == q || degree == q + 1));
            assert_eq!(t.free_ports(), u64::from(q + 1));
            let [_, between @ ..] = t.cables_by_class();
            assert_eq!(between.iter().sum::<u64>(), u64::from(q * (q + 1) * (q + 1) / 2));
            assert_eq!(t.diameter().routers, 2, "q = {q}");
        }
    }

    /// The machine of the paper: q = 31 is 993 routers of degree 32 with 16 nodes each.
    #[test]
    fn the_machine_of_the_paper_has_its_sizes() {
        let mut settings = Settings {
            q: 31.into(),
            ..Settings::default()
        };
        let size = settings.resolve(&|_| unreachable!("no file is named")).unwrap();
        let fly = settings.build().unwrap();
        assert_eq!((size.routers, size.ports), (993, 993 * 48));
        assert_eq!((fly.topology().routers(), fly.topology().nodes()), (993, 15_888));
    }

    /// With an odd q, the quadrics are a rack without cables, and q racks of q routers have q - 1 cables to their
    /// center and (q - 1) / 2 that make triangles with it (section V). With an even q, the point linked with all
    /// quadrics is in their rack, and q - 1 racks of q + 1 routers have q cables to their center and q / 2 others.
    #[test]
    fn racks_are_those_of_the_layout() {
        for fly in all() {
            let (t, q) = (fly.topology(), fly.q());
            let racks: Vec<u32> = t.blocks().windows(2).map(|rack| rack[1] - rack[0]).collect();
            let local = t.cables_by_class()[LinkClass::Local as usize];
            let (first, others, each) = match q % 2 {
                0 => (q + 2, q - 1, q + 1),
                _ => (q + 1, q, q),
            };
            assert_eq!(racks[0], first);
            assert_eq!(racks[1..], vec![each; others as usize]);
            let expected = match q % 2 {
                0 => q + 1 + (q - 1) * (3 * q / 2),
                _ => q * 3 * (q - 1) / 2,
            };
            assert_eq!(local, u64::from(expected), "q = {q}");
        }
    }

    /// Two unlinked routers have one common neighbor, and the computed port leads to it.
    #[test]
    fn the_shortest_path_is_unique_and_found() {
        for fly in all().into_iter().take(7) {
            let t = fly.topology();
            let adjacent: Vec<Vec<u32>> = (0..t.routers()).map(|router| neighbours(t, router)).collect();
            for a in 0..t.routers() {
                for b in (0..t.routers()).filter(|&b| b != a) {
                    let linked = adjacent[a as usize].contains(&b);
                    assert_eq!(fly.adjacent(a, b), linked);
                    let next = t.neighbour(fly.next_port(a, b)).unwrap();
                    if linked {
                        assert_eq!(next, b);
                        continue;
                    }
                    let mut common = adjacent[a as usize].clone();
                    common.retain(|middle| adjacent[b as usize].contains(middle));
                    assert_eq!(common, [next], "q = {} {a} {b}", fly.q());
                }
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_bound() {
        for q in [0, 1, 6, 12, 1025, u32::MAX] {
            assert!(PolarFly::new(q, 1).unwrap_err().contains("power of a prime"), "{q}");
        }
        assert!(PolarFly::new(5, 0).unwrap_err().contains("at least one node"));
        assert!(PolarFly::new(5, u32::MAX).unwrap_err().contains("4096"));
        assert!(PolarFly::new(1024, 1).unwrap_err().contains("2^28"));
        let refused = |q: Option<u32>, nodes: Option<u32>| {
            let given = |value: Option<u32>| value.map_or(Filled::EMPTY, Filled::new);
            let mut settings = Settings {
                q: given(q),
                nodes_per_router: given(nodes),
            };
            let refusal = settings.resolve(&|_| unreachable!("no file is named")).unwrap_err();
            (refusal.key, refusal.expected)
        };
        let prime_power = "a prime power such as 5, 7, 8, 9, 11, 13".to_string();
        assert_eq!(refused(None, None), ("q".into(), prime_power.clone()));
        assert_eq!(refused(Some(6), None), ("q".into(), prime_power));
        assert_eq!(refused(Some(1), None), ("q".into(), "2 to 512".into()));
        assert_eq!(
            refused(Some(5), Some(0)),
            ("nodes_per_router".into(), "1 to 1048576".into())
        );
    }
}
