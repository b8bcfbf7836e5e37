//! Routing on torus and mesh.
//!
//! - **dimension order**: the lowest unfinished dimension first, in the shorter direction; between two equal ones
//!   [`Ties`] decides when the packet enters the dimension. A *dateline* breaks rings (W. Dally, C. Seitz,
//!   "Deadlock-free message routing in multiprocessor interconnection networks", IEEE Trans. Computers 1987): a packet
//!   whose path in a dimension uses the wrap-around cable takes level 1 in it, any other level 0;
//! - **bubble**: dimension order on one level; a packet that enters a ring needs room for one more packet, so that no
//!   ring is ever full (V. Puente, C. Izu, R. Beivide, J. Gregorio, F. Vallejo, J. Prellezo, "The adaptive bubble
//!   router", Journal of Parallel and Distributed Computing 61(9), 2001);
//! - **Valiant**: by dimension order to a random router, then to the destination (L. Valiant, G. Brebner, "Universal
//!   schemes for parallel communication", STOC 1981), the second half on levels of its own. Packets between nodes of
//!   one router use the random router too, as in BookSim;
//! - **ROMM**: as Valiant, but through a random router of the box that the shortest paths fill, so that the path is a
//!   shortest one (T. Nesson, S. L. Johnsson, "ROMM routing on mesh and torus networks", SPAA 1995; two phases). If
//!   both directions around a dimension are equally long, [`Ties`] selects the side of the box;
//! - **minimal adaptive**: the lightest port on a shortest path with room on the adaptive level. Pipelined routers
//!   request all of them, or the first as in BookSim (`adaptive_requests`). If none has room, the packet switches to
//!   dimension order on the other levels for the rest of its path (J. Duato, "A new theory of deadlock-free adaptive
//!   routing in wormhole networks", IEEE TPDS 4(12), 1993). Between two equally short directions minus is taken;
//!   [`Ties`] decides for packets that switch to dimension order. Both are as in BookSim's `min_adapt`, where that tie
//!   is random.
//!
//! | algorithm | levels of a torus | of a mesh |
//! |---|---|---|
//! | dimension order | 2 | 1 |
//! | bubble | 1 | – |
//! | Valiant, ROMM | 4 | 2 |
//! | minimal adaptive | 3: two of escape, then the adaptive one | 2 |
//!
//! All cables are needed: these algorithms cannot route around a failed one.

use super::{Choice, Decision, FamilyRouting, Header, Key, NOWHERE, Name, Settings, Table, VirtualChannels, entry};
use odonata_topology::{Topology, Torus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Routing algorithms on a torus or mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TorusAlgorithm {
    /// Dimension order with datelines.
    DimensionOrder,
    /// Dimension order with bubble flow control; only on a torus.
    Bubble,
    /// Dimension order to a random router, then to the destination.
    Valiant,
    /// Dimension order to a random router on the shortest paths, then to the destination.
    Romm,
    /// Shortest paths by load, with dimension order as the escape path.
    MinimalAdaptive,
}

/// Which of several ports with room an adaptive packet takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// The least loaded port.
    #[default]
    Lightest,
    /// A random port.
    Random,
}

/// The direction of a packet around a dimension of a torus in which both directions are equally long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Random for each packet: a flow between two nodes uses both directions.
    #[default]
    Random,
    /// Always plus: a flow uses one direction.
    First,
    /// Plus from even coordinates of that dimension, minus from odd ones: a flow uses one direction, and half of the
    /// routers use each.
    SourceParity,
}

/// The algorithms on a torus by name, with their keys.
pub(super) const ALGORITHMS: Table<TorusAlgorithm> = &[
    entry(Name::DimensionOrder, TorusAlgorithm::DimensionOrder, &[&[Key::Ties]]),
    entry(Name::Bubble, TorusAlgorithm::Bubble, &[&[Key::Ties]]),
    entry(
        Name::MinimalAdaptive,
        TorusAlgorithm::MinimalAdaptive,
        &[&[Key::Selection, Key::Ties]],
    ),
    entry(Name::Valiant, TorusAlgorithm::Valiant, &[&[Key::Ties]]),
    entry(Name::Romm, TorusAlgorithm::Romm, &[&[Key::Ties]]),
];

/// The algorithms on a mesh.
pub(super) const MESH_ALGORITHMS: Table<TorusAlgorithm> = &[
    entry(Name::DimensionOrder, TorusAlgorithm::DimensionOrder, &[]),
    entry(
        Name::MinimalAdaptive,
        TorusAlgorithm::MinimalAdaptive,
        &[&[Key::Selection]],
    ),
    entry(Name::Valiant, TorusAlgorithm::Valiant, &[]),
    entry(Name::Romm, TorusAlgorithm::Romm, &[]),
];

/// A routing algorithm on a torus or mesh. [`Header::notes`]: the current dimension of dimension order, counted from 1;
/// 0 outside. [`Header::level`]: its level there, without the phase.
#[derive(Debug)]
pub struct TorusRouting {
    torus: Torus,
    algorithm: TorusAlgorithm,
    selection: Selection,
    ties: Ties,
    /// Levels of dimension order: two with wrap-around cables.
    datelines: u8,
}

impl TorusRouting {
    /// A routing on `torus`.
    ///
    /// # Errors
    /// Cables failed, or bubble flow control on a mesh.
    pub fn new(torus: Torus, algorithm: TorusAlgorithm) -> Result<Self, String> {
        super::refuse_failed(torus.topology(), "a torus or mesh")?;
        if algorithm == TorusAlgorithm::Bubble && !torus.shape().wrap {
            return Err(
                "bubble flow control on a mesh, which has no rings: dimension order needs one level there".into(),
            );
        }
        let datelines = if torus.shape().wrap && algorithm != TorusAlgorithm::Bubble {
            2
        } else {
            1
        };
        Ok(TorusRouting {
            torus,
            algorithm,
            selection: Selection::default(),
            ties: Ties::default(),
            datelines,
        })
    }

    /// Sets the selection of adaptive ports.
    pub fn with_selection(self, selection: Selection) -> Self {
        TorusRouting { selection, ..self }
    }

    /// Sets the direction of packets for which both directions are equally long.
    pub fn with_ties(self, ties: Ties) -> Self {
        TorusRouting { ties, ..self }
    }

    /// The torus or mesh it routes on.
    pub fn torus(&self) -> &Torus {
        &self.torus
    }

    /// The next port by dimension order toward another router `to`.
    #[inline]
    fn dimension_order(
        &self,
        router: u32,
        to: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> Decision {
        let (here, goal) = (self.torus.grid().coordinates(router), self.torus.grid().coordinates(to));
        let dimension = (0..here.len()).find(|&d| here[d] != goal[d]).unwrap_or(0);
        let (from, to) = (here[dimension], goal[dimension]);
        let entering = header.notes != dimension as u16 + 1;
        let plus = match self.shorter(dimension as u32, from, to) {
            Some(plus) => plus,
            // Decided on entry; one step further there is no tie.
            None => self.goes_plus(from, choice),
        };
        if entering {
            header.notes = dimension as u16 + 1;
            header.level = u8::from(self.datelines == 2 && plus == (to < from));
        }
        Decision {
            spare: entering && self.algorithm == TorusAlgorithm::Bubble,
            ..Decision::new(self.torus.port(router, dimension as u32, plus), header.level)
        }
    }

    /// A random router of the box between two routers, both included; all are equally likely.
    fn between(&self, from: u32, to: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let (from, to) = (self.torus.grid().coordinates(from), self.torus.grid().coordinates(to));
        let (mut router, mut stride) = (0, 1);
        for (dimension, (&here, &goal)) in from.iter().zip(to).enumerate() {
            let extent = self.torus.grid().extent(dimension as u32);
            let mut place = here;
            if here != goal {
                let shorter = self.shorter(dimension as u32, here, goal);
                let plus = shorter.unwrap_or_else(|| self.goes_plus(here, choice));
                let steps = match (plus, goal > here) {
                    (true, true) => goal - here,
                    (true, false) => extent - (here - goal),
                    (false, true) => extent - (goal - here),
                    (false, false) => here - goal,
                };
                let step = choice.pick(steps + 1);
                place = match plus {
                    true if here + step >= extent => here + step - extent,
                    true => here + step,
                    false if step > here => here + extent - step,
                    false => here - step,
                };
            }
            router += place * stride;
            stride *= extent;
        }
        router
    }

    /// Whether a packet takes the plus direction from coordinate `from` if both directions are equally long.
    #[inline]
    fn goes_plus(&self, from: u32, choice: &mut (impl Choice + ?Sized)) -> bool {
        match self.ties {
            Ties::Random => choice.pick(2) == 0,
            Ties::First => true,
            Ties::SourceParity => from.is_multiple_of(2),
        }
    }

    /// Whether the plus direction is shorter from coordinate `from` to another one; `None` if both are equally long.
    #[inline]
    fn shorter(&self, dimension: u32, from: u32, to: u32) -> Option<bool> {
        if !self.torus.wraps(dimension) {
            return Some(to > from);
        }
        let extent = self.torus.grid().extent(dimension);
        let up = if to > from { to - from } else { extent - (from - to) };
        let down = extent - up;
        (up != down).then_some(up < down)
    }

    /// A port on a shortest path that has room on the adaptive level.
    #[inline]
    fn adaptive(&self, router: u32, home: u32, choice: &mut (impl Choice + ?Sized)) -> Option<u32> {
        let mut best = None;
        let mut open = 0;
        self.minimal_ports(router, home, |port| {
            if !choice.room(port, self.datelines) {
                return;
            }
            open += 1;
            best = match (best, self.selection) {
                (Some(other), Selection::Lightest) if !choice.lighter(port, other) => Some(other),
                // Each port seen so far with equal probability.
                (Some(other), Selection::Random) if choice.pick(open) > 0 => Some(other),
                _ => Some(port),
            };
        });
        best
    }

    /// Calls `see` with the ports on shortest paths from `router` to another one; between two equally long directions
    /// with minus.
    #[inline]
    fn minimal_ports(&self, router: u32, home: u32, mut see: impl FnMut(u32)) {
        let (here, goal) = (
            self.torus.grid().coordinates(router),
            self.torus.grid().coordinates(home),
        );
        for dimension in (0..here.len()).filter(|&d| here[d] != goal[d]) {
            let plus = self.shorter(dimension as u32, here[dimension], goal[dimension]);
            see(self.torus.port(router, dimension as u32, plus == Some(true)));
        }
    }
}

impl FamilyRouting for TorusRouting {
    type Graph = Torus;
    type Algorithm = TorusAlgorithm;

    fn on(graph: Torus, algorithm: TorusAlgorithm, settings: &Settings) -> Result<Self, String> {
        let selection = settings.selection.unwrap_or_default();
        let ties = settings.ties.unwrap_or_default();
        Ok(TorusRouting::new(graph, algorithm)?
            .with_selection(selection)
            .with_ties(ties))
    }

    fn topology(&self) -> &Topology {
        self.torus.topology()
    }

    fn virtual_channels(&self) -> VirtualChannels {
        let levels = match self.algorithm {
            TorusAlgorithm::DimensionOrder | TorusAlgorithm::Bubble => self.datelines,
            TorusAlgorithm::Valiant | TorusAlgorithm::Romm => 2 * self.datelines,
            TorusAlgorithm::MinimalAdaptive => self.datelines + 1,
        };
        [1, levels, 0, 0]
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let topology = self.torus.topology();
        let home = topology.node_router(header.target);
        let two_phases = matches!(self.algorithm, TorusAlgorithm::Valiant | TorusAlgorithm::Romm);
        if two_phases && !header.via_reached {
            if header.via == NOWHERE {
                header.via = match self.algorithm {
                    TorusAlgorithm::Valiant => choice.pick(topology.routers()),
                    _ => self.between(router, home, choice),
                };
            }
            if router != header.via {
                return self.dimension_order(router, header.via, header, choice);
            }
            (header.via_reached, header.notes) = (true, 0);
        }
        if router == home {
            return Decision::new(topology.node_port(header.target), 0);
        }
        if self.algorithm == TorusAlgorithm::MinimalAdaptive
            && header.notes == 0
            && let Some(port) = self.adaptive(router, home, choice)
        {
            return Decision {
                retry: true,
                ..Decision::new(port, self.datelines)
            };
        }
        let mut decision = self.dimension_order(router, home, header, choice);
        if two_phases {
            decision.level += self.datelines;
        }
        decision
    }

    fn decides_again(&self) -> bool {
        self.algorithm == TorusAlgorithm::MinimalAdaptive
    }

    fn takes_any(&self) -> bool {
        self.algorithm == TorusAlgorithm::MinimalAdaptive
    }

    #[inline]
    fn free_outputs(&self, router: u32, header: &Header, mut see: impl FnMut(u32, u8)) {
        let home = self.torus.topology().node_router(header.target);
        if router != home && header.notes == 0 {
            self.minimal_ports(router, home, |port| see(port, self.datelines));
        }
    }

    fn is_detour(&self, source: u32, hops: u32, header: &Header) -> bool {
        if self.algorithm != TorusAlgorithm::Valiant {
            return false;
        }
        let topology = self.torus.topology();
        let (from, to) = (topology.node_router(source), topology.node_router(header.target));
        let (from, to) = (self.torus.grid().coordinates(from), self.torus.grid().coordinates(to));
        let around = |dimension: usize| match self.torus.wraps(dimension as u32) {
            true => self.torus.grid().extent(dimension as u32),
            false => u32::MAX,
        };
        let steps = (from.iter().zip(to).enumerate()).map(|(dimension, (&a, &b))| {
            let direct = a.abs_diff(b);
            direct.min(around(dimension) - direct)
        });
        hops > 1 + steps.sum::<u32>()
    }

    /// The ring of `port` with bubble flow control: the least of the ports along which packets circulate.
    fn ring(&self, port: u32) -> Option<u32> {
        let topology = self.torus.topology();
        if self.algorithm != TorusAlgorithm::Bubble {
            return None;
        }
        let offset = |port| port - topology.first_port(topology.router_of_port(port));
        let own = offset(port);
        let (mut at, mut least) = (port, port);
        loop {
            let next = topology.neighbour(at)?;
            at = topology.first_port(next) + own;
            least = least.min(at);
            if at == port {
                return Some(least);
            }
        }
    }
}
