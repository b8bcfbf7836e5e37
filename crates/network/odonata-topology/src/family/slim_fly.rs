//! Slim Fly: McKay–Miller–Širáň graphs of diameter two.
//!
//! M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014; B. McKay, M. Miller,
//! J. Širáň, "A note on large graphs of diameter two and given maximum degree", Journal of Combinatorial Theory B 74(1),
//! 1998; sets of generators as in P. Hafner, "Geometric realisation of the graphs of McKay–Miller–Širáň", ibid. 90(2),
//! 2004. For a prime power q = 4 w + δ, δ in {-1, 0, 1}, there are 2 q² routers (s, x, y), s in {0, 1}, x and y elements of
//! the field of q elements with generator ξ, and the cables
//!
//! - (0, x, y) – (0, x, y') if y - y' is in X,
//! - (1, m, c) – (1, m, c') if c - c' is in X',
//! - (0, x, y) – (1, m, c) if y = m x + c.
//!
//! | δ | X | X' |
//! |---|---|---|
//! | 1 | even powers of ξ | odd powers |
//! | 0 | ξ^0, ξ^2, …, ξ^(q-2) | ξ^1, ξ^3, …, ξ^(q-1) |
//! | -1 | ξ^0, ξ^2, …, ξ^(2w-2), ξ^(2w-1), ξ^(2w+1), …, ξ^(4w-3) | ξ times that |
//!
//! The degree is k' = (3 q - δ) / 2, the diameter two.
//!
//! Router (s, x, y) has the number (s q + x) q + y. Ports: its nodes, the *Cayley* cables inside its row in the order of
//! the differences' numbers (local), then the *bipartite* cables in the order of the far row (global).

use odonata_units::{Filled, Problem, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{self, ReadFile, Size};
use super::{FamilyGraph, FamilySettings};
use crate::galois::{self, Field};
use crate::sizes::{self, cable};
use crate::{LinkClass, Topology};

/// Largest q: 2 q^2 routers of 3 q / 2 ports stay below 2^28 ports.
const LARGEST: u32 = 400;

/// A Slim Fly (M. Besta, T. Hoefler, SC 2014): the McKay-Miller-Širáň graph of 2 q^2 routers, each pair at most two
/// cables apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SlimFly")]
pub struct Settings {
    /// A prime power of the form 4 w + d, d = -1, 0 or 1. Required, here or in the preset.
    #[schemars(range(min = 3))]
    pub q: Filled<u32>,
    /// Nodes per router: compute nodes and storage servers together. Default: half the ports between routers, rounded up,
    /// which is balanced.
    #[schemars(range(min = 1))]
    pub nodes_per_router: Filled<u32>,
}

impl FamilySettings for Settings {
    type Graph = SlimFly;

    const EXAMPLES: &'static [&'static str] = &["q = 4\nnodes_per_router = 1"];

    fn resolve(&mut self, _: ReadFile<'_>) -> Result<Size, Problem> {
        let Some(&q) = self.q.given() else {
            let expected = "a prime power such as 5, 7, 9, 11, 13";
            return Err(Problem::new("q", "the key is missing", expected));
        };
        let q = within("q", q, 3, LARGEST)?;
        // q = 4 w + d; a router has (3 q - d) / 2 ports to others.
        let degree = match q % 4 {
            0 => 3 * q / 2,
            1 => (3 * q - 1) / 2,
            3 => (3 * q).div_ceil(2),
            _ => {
                let problem = format!("{q} is 2 more than a multiple of 4");
                let expected = "a prime power of the form 4 w - 1, 4 w or 4 w + 1";
                return Err(Problem::new("q", problem, expected));
            }
        };
        let nodes = *self.nodes_per_router.fill(degree.div_ceil(2));
        settings::size("nodes_per_router", nodes, 1)?;
        settings::ports(2 * u64::from(q) * u64::from(q), u64::from(nodes) + u64::from(degree))
    }

    fn build(&self) -> Result<SlimFly, String> {
        SlimFly::new(SlimFlyShape {
            q: *self.q,
            nodes: Some(*self.nodes_per_router),
        })
    }

    fn smaller(&self, _: bool) -> Option<(Self, String)> {
        // The generator sets depend on the residue.
        let q = match *self.q % 4 {
            0 => 4,
            1 => 5,
            _ => 7,
        };
        let small = Settings {
            q: q.into(),
            ..self.clone()
        };
        Some((small, format!("Slim Fly with q = {q}")))
    }
}

/// The sizes of a Slim Fly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlimFlyShape {
    /// q: a prime power from 3 on, 2 q² routers.
    pub q: u32,
    /// Nodes per router; `None`: half the degree, rounded up, as Besta and Hoefler recommend.
    pub nodes: Option<u32>,
}

/// The position (s, x, y) of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    side: u32,
    x: u32,
    y: u32,
}

/// A Slim Fly.
#[derive(Clone, Debug)]
pub struct SlimFly {
    shape: SlimFlyShape,
    nodes: u32,
    topology: Topology,
    field: Field,
    /// X and X', ascending.
    generators: [Vec<u32>; 2],
    /// Per side and element, its index among the generators; `NONE` if it is not a generator.
    generator_number: [Vec<u32>; 2],
    /// Per side and element `d`, the generators `a` for which `d - a` is a generator, too.
    halves: [Vec<Vec<u32>>; 2],
    places: Vec<Place>,
}

const NONE: u32 = u32::MAX;

impl SlimFly {
    /// Builds a Slim Fly.
    ///
    /// # Errors
    /// The impossible size and its bound.
    pub fn new(shape: SlimFlyShape) -> Result<Self, String> {
        let q = shape.q;
        if q > galois::MOST_ELEMENTS {
            return Err(format!("q = {q}: at most {} is possible", galois::MOST_ELEMENTS));
        }
        if q < 3 || galois::prime_power(q).is_none() {
            return Err(format!(
                "q = {q} is not a power of a prime, from 3 on, as a Slim Fly needs"
            ));
        }
        // Every prime power except 2 mod 4 is 4 w + δ.
        let delta = match q % 4 {
            1 => 1,
            3 => -1,
            _ => 0,
        };
        let degree = ((3 * i64::from(q) - delta) / 2) as u32;
        let nodes = shape.nodes.unwrap_or(degree.div_ceil(2));
        if nodes == 0 {
            return Err("a Slim Fly needs at least one node per router".into());
        }
        let routers = 2 * q * q;
        sizes::check(u64::from(routers), u64::from(nodes) + u64::from(degree))?;
        let Some(field) = Field::new(q) else {
            return Err(format!("there is no field of {q} elements"));
        };
        let generators = generators(&field, q, delta);

        let numbers = |set: &Vec<u32>| {
            let mut number = vec![NONE; q as usize];
            (0..)
                .zip(set)
                .for_each(|(index, &element)| number[element as usize] = index);
            number
        };
        let generator_number = [numbers(&generators[0]), numbers(&generators[1])];
        let halves = [0, 1].map(|side: usize| {
            let is_half = |d: u32, a: u32| generator_number[side][field.difference(d, a) as usize] != NONE;
            let of = |d| generators[side].iter().copied().filter(|&a| is_half(d, a)).collect();
            (0..q).map(of).collect()
        });
        let places: Vec<Place> = (0..routers)
            .map(|router| Place {
                side: router / (q * q),
                x: router / q % q,
                y: router % q,
            })
            .collect();
        let mut list = Vec::new();
        let mut node_ports = Vec::with_capacity((routers * nodes) as usize);
        for (router, place) in (0..).zip(&places) {
            node_ports.extend((0..nodes).map(|node| (router, node)));
            let Place { side, x, y } = *place;
            let (set, number) = (&generators[side as usize], &generator_number[side as usize]);
            for (port, &a) in (nodes..).zip(set) {
                let far = field.sum(y, a);
                if y < far {
                    let back = number[field.difference(y, far) as usize];
                    list.push(cable(
                        (router, port),
                        (router - y + far, nodes + back),
                        LinkClass::Local,
                    ));
                }
            }
            if side == 0 {
                let first = nodes + set.len() as u32;
                let back = nodes + generators[1].len() as u32 + x;
                for m in 0..q {
                    let c = field.difference(y, field.product(m, x));
                    list.push(cable((router, first + m), ((q + m) * q + c, back), LinkClass::Global));
                }
            }
        }
        let topology = Topology::new(&vec![nodes + degree; routers as usize], &node_ports, &list)?
            .with_blocks((0..=2 * q).map(|row| row * q).collect())?;
        Ok(SlimFly {
            shape,
            nodes,
            topology,
            field,
            generators,
            generator_number,
            halves,
            places,
        })
    }

    /// The graph. Its blocks are the rows of q routers with Cayley cables.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The sizes of the Slim Fly.
    pub fn shape(&self) -> SlimFlyShape {
        self.shape
    }

    /// Nodes per router.
    pub fn nodes_per_router(&self) -> u32 {
        self.nodes
    }

    #[inline]
    fn cayley_port(&self, router: u32, place: Place, far_y: u32) -> Option<u32> {
        let difference = self.field.difference(far_y, place.y);
        let number = self.generator_number[place.side as usize][difference as usize];
        (number != NONE).then(|| self.topology.first_port(router) + self.nodes + number)
    }

    #[inline]
    fn bipartite_port(&self, router: u32, place: Place, far_x: u32) -> u32 {
        let cayley = self.generators[place.side as usize].len() as u32;
        self.topology.first_port(router) + self.nodes + cayley + far_x
    }

    /// The port of `router` to a neighbor.
    #[inline]
    pub fn direct_port(&self, router: u32, to: u32) -> Option<u32> {
        let (from, goal) = (self.places[router as usize], self.places[to as usize]);
        if from.side == goal.side {
            return (from.x == goal.x)
                .then(|| self.cayley_port(router, from, goal.y))
                .flatten();
        }
        let (point, line) = if from.side == 0 { (from, goal) } else { (goal, from) };
        let on = self.field.sum(self.field.product(line.x, point.x), line.y) == point.y;
        on.then(|| self.bipartite_port(router, from, goal.x))
    }

    /// Number of shortest paths from `router` to a router that is not its neighbor: the number of common neighbors, at
    /// least one.
    #[inline]
    pub fn middles(&self, router: u32, to: u32) -> u32 {
        let (from, goal) = (self.places[router as usize], self.places[to as usize]);
        if from.side != goal.side {
            let rest = self.excess(from, goal);
            let at_own = self.cayley_port_exists(from.side, rest.0);
            let at_far = self.cayley_port_exists(goal.side, rest.1);
            return u32::from(at_own) + u32::from(at_far);
        }
        if from.x != goal.x {
            return 1;
        }
        let difference = self.field.difference(goal.y, from.y);
        self.halves[from.side as usize][difference as usize].len() as u32
    }

    #[inline]
    fn cayley_port_exists(&self, side: u32, difference: u32) -> bool {
        self.generator_number[side as usize][difference as usize] != NONE
    }

    /// For routers of different sides: the difference by which `from` must move in its row to become a neighbor of
    /// `goal`, and the difference for `goal` in its row.
    #[inline]
    fn excess(&self, from: Place, goal: Place) -> (u32, u32) {
        let f = &self.field;
        if from.side == 0 {
            let at = f.sum(f.product(goal.x, from.x), goal.y);
            let line = f.difference(from.y, f.product(goal.x, from.x));
            (f.difference(at, from.y), f.difference(goal.y, line))
        } else {
            let line = f.difference(goal.y, f.product(from.x, goal.x));
            let at = f.sum(f.product(from.x, goal.x), from.y);
            (f.difference(line, from.y), f.difference(goal.y, at))
        }
    }

    /// The port of `router` to the `n`-th of the [`middles`](Self::middles) towards `to`; `n` is below their number.
    #[inline]
    pub fn middle_port(&self, router: u32, to: u32, n: u32) -> u32 {
        let (from, goal) = (self.places[router as usize], self.places[to as usize]);
        let f = &self.field;
        let first = self.topology.first_port(router) + self.nodes;
        let own_row = |difference: u32| first + self.generator_number[from.side as usize][difference as usize];
        if from.side != goal.side {
            let (own, _) = self.excess(from, goal);
            return if n == 0 && self.cayley_port_exists(from.side, own) {
                own_row(own)
            } else {
                self.bipartite_port(router, from, goal.x)
            };
        }
        if from.x == goal.x {
            let difference = f.difference(goal.y, from.y);
            return own_row(self.halves[from.side as usize][difference as usize][n as usize]);
        }
        // The line through two points, or the point on two lines.
        let (dx, dy) = (f.difference(from.x, goal.x), f.difference(from.y, goal.y));
        let slope = f.quotient(dy, dx);
        let far_x = if from.side == 0 { slope } else { f.difference(0, slope) };
        self.bipartite_port(router, from, far_x)
    }
}

impl FamilyGraph for SlimFly {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }
}

/// X and X', ascending.
fn generators(field: &Field, q: u32, delta: i64) -> [Vec<u32>; 2] {
    let exponents: Vec<u32> = if delta == -1 {
        let w = q.div_ceil(4);
        (0..w).map(|i| 2 * i).chain((0..w).map(|i| 2 * w - 1 + 2 * i)).collect()
    } else {
        (0..q / 2).map(|i| 2 * i).collect()
    };
    [0, 1].map(|shift| {
        let mut set: Vec<u32> = exponents.iter().map(|exponent| field.power(exponent + shift)).collect();
        set.sort_unstable();
        set
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Peer;

    fn all() -> Vec<SlimFly> {
        let build = |q| SlimFly::new(SlimFlyShape { q, nodes: None }).unwrap();
        [3, 4, 5, 7, 8, 9, 11, 13, 16].map(build).into()
    }

    #[test]
    fn cabling_is_a_perfect_matching() {
        all()
            .iter()
            .for_each(|fly| sizes::assert_perfect_matching(fly.topology()));
    }

    /// 2 q² routers of degree (3 q - δ) / 2, none of the ports free, diameter 2.
    #[test]
    fn routers_degree_and_diameter_are_those_of_the_paper() {
        for fly in all() {
            let (t, q) = (fly.topology(), fly.shape().q);
            assert_eq!((t.routers(), t.free_ports()), (2 * q * q, 0));
            let degree = match q % 4 {
                1 => (3 * q - 1) / 2,
                3 => (3 * q).div_ceil(2),
                _ => 3 * q / 2,
            };
            assert_eq!(fly.nodes_per_router(), degree.div_ceil(2));
            assert_eq!(t.ports(), t.routers() * (degree + degree.div_ceil(2)));
            assert_eq!(t.cables_by_class()[LinkClass::Global as usize], u64::from(q * q * q));
            assert_eq!(t.diameter().routers, 2, "q = {q}");
        }
    }

    /// Besta and Hoefler's example: q = 19 is 722 routers of degree 29 with 15 nodes each, 10,830 in all.
    #[test]
    fn the_machine_of_the_paper_has_its_sizes() {
        let fly = SlimFly::new(SlimFlyShape { q: 19, nodes: None }).unwrap();
        assert_eq!((fly.topology().routers(), fly.topology().nodes()), (722, 10_830));
    }

    #[test]
    fn no_two_routers_have_two_cables() {
        for fly in all() {
            let t = fly.topology();
            for router in 0..t.routers() {
                let mut others: Vec<u32> = t.ports_of(router).filter_map(|port| t.neighbour(port)).collect();
                let count = others.len();
                others.sort_unstable();
                others.dedup();
                assert_eq!(others.len(), count);
            }
        }
    }

    /// Computed ports are those of all neighbors, and of all common neighbors.
    #[test]
    fn shortest_paths_are_all_found() {
        for fly in all().into_iter().take(6) {
            let t = fly.topology();
            let neighbours = |router| {
                t.ports_of(router)
                    .filter_map(|port| t.neighbour(port))
                    .collect::<Vec<_>>()
            };
            let adjacent: Vec<Vec<u32>> = (0..t.routers()).map(neighbours).collect();
            for a in 0..t.routers() {
                for b in (0..t.routers()).filter(|&b| b != a) {
                    let direct = fly.direct_port(a, b);
                    assert_eq!(direct.is_some(), adjacent[a as usize].contains(&b));
                    if let Some(port) = direct {
                        assert!(matches!(t.peer(port), Peer::Router { router, .. } if router == b));
                        continue;
                    }
                    let mut common: Vec<u32> = adjacent[a as usize].clone();
                    common.retain(|middle| adjacent[b as usize].contains(middle));
                    common.sort_unstable();
                    let port = |n| fly.middle_port(a, b, n);
                    let mut found: Vec<u32> = (0..fly.middles(a, b)).map(|n| t.neighbour(port(n)).unwrap()).collect();
                    found.sort_unstable();
                    assert_eq!(found, common, "q = {} {a} {b}", fly.shape().q);
                }
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_bound() {
        let new = |q, nodes| SlimFly::new(SlimFlyShape { q, nodes }).unwrap_err();
        for q in [0, 1, 2, 6, 10, 12, 15, 1000] {
            assert!(new(q, None).contains("power of a prime"));
        }
        assert!(new(u32::MAX, None).contains("1024"));
        assert!(new(5, Some(0)).contains("at least one"));
        assert!(new(5, Some(u32::MAX)).contains("4096"));
        assert!(new(1021, None).contains("2^28"));
    }
}
