//! Routing on a dragonfly with two-dimensional groups (Cray XC).
//!
//! Inside a group a packet goes along the row first, then along the column: at most two cables. From group to group:
//!
//! - **minimal**: to a gateway, over the global cable, to the destination: at most 2 + 1 + 2 cables. The gateway is the
//!   router itself if possible, otherwise a random one of its row and column, otherwise a random one of all;
//! - **Valiant**: minimal to a random intermediate group or router, then minimal;
//! - **UGAL-L**: at the source router one or the other, by the load of the two output ports;
//! - **progressive adaptive (PAR)**: every router of the source group may still divert a packet (G. Faanes et al.,
//!   "Cray Cascade", SC 2012; N. Jiang, J. Kim, W. Dally, "Indirect adaptive routing on large scale interconnection
//!   networks", ISCA 2009).
//!
//! Adaptive algorithms may also know the loads of the global ports of their group ([`Knowledge`](crate::Knowledge)).
//!
//! With source and destination in one group, paths are minimal; Valiant uses a random router of the group; adaptive
//! algorithms do if the source router finds that less loaded.
//!
//! Levels are those of the [one-dimensional dragonfly](super::DragonflyRouting), with "a local link" read as "a row
//! cable, then a column cable": both classes have the same levels, and on one level rows come before columns. A detour
//! inside a group takes level 0 before its router and the destination's level behind it. Minimal packets inside a group
//! take level 0.

use super::{
    Algorithm, Choice, Decision, FamilyRouting, Header, Intermediate, KNOWLEDGE, Key, NOWHERE, Name, Path, Settings,
    Table, VirtualChannels, WEIGHING, dragonfly::Levels, entry,
};
use odonata_topology::{Dragonfly2d, Gateway, LinkClass, Topology};

/// In [`Header::notes`]: moved along the row, or the column, on the path in this group.
const ROW: u16 = 1;
const COLUMN: u16 = 2;
/// Diverted after the first local cable.
const LATE: u16 = 4;
/// On the path to a router of the own group, whose number there is in the upper bits.
const INSIDE: u16 = 8;
/// Decided whether to make such a detour.
const DECIDED: u16 = 16;
/// That router has been reached.
const PASSED: u16 = 32;
const NUMBER_SHIFT: u32 = 6;
/// Most routers of a group whose numbers fit.
const MOST_ROUTERS: u32 = 1 << (16 - NUMBER_SHIFT);

/// Routers on the longest minimal path and on the longest detour; the same inside a group.
const HOPS: (u32, u32) = (6, 9);
const HOPS_INSIDE: (u32, u32) = (3, 5);

pub(super) const ALGORITHMS: Table<Algorithm> = &[
    entry(Name::Minimal, Algorithm::Minimal, &[]),
    entry(Name::Valiant, Algorithm::Valiant, &[&[Key::Via]]),
    entry(
        Name::Ugal,
        Algorithm::Ugal,
        &[&[Key::Via, Key::Candidates], WEIGHING, KNOWLEDGE],
    ),
    entry(
        Name::ProgressiveAdaptive,
        Algorithm::ProgressiveAdaptive,
        &[&[Key::Via, Key::Candidates], WEIGHING],
    ),
];

/// A routing algorithm on a dragonfly with two-dimensional groups. [`Header::level`] is the number of global cables
/// taken.
#[derive(Debug)]
pub struct Dragonfly2dRouting {
    dragonfly: Dragonfly2d,
    algorithm: Algorithm,
    intermediate: Intermediate,
    candidates: u32,
    levels: Levels,
}

impl Dragonfly2dRouting {
    /// A routing on `dragonfly`; `candidates` (at least 1) random non-minimal paths are drawn, and the lightest is
    /// compared with the minimal one.
    ///
    /// # Errors
    /// A group of more than 1,024 routers for a non-minimal algorithm; or all cables between two routers of a row or
    /// column, or between two groups, failed.
    pub fn new(
        dragonfly: Dragonfly2d,
        algorithm: Algorithm,
        intermediate: Intermediate,
        candidates: u32,
    ) -> Result<Self, String> {
        dragonfly.check_ways()?;
        let routers = dragonfly.routers_of_a_group();
        if algorithm != Algorithm::Minimal && routers > MOST_ROUTERS {
            return Err(format!(
                "{routers} routers in a group: non-minimal routing is possible up to {MOST_ROUTERS}"
            ));
        }
        Ok(Dragonfly2dRouting {
            dragonfly,
            algorithm,
            intermediate,
            candidates: candidates.max(1),
            levels: Levels::new(algorithm, intermediate),
        })
    }

    /// The dragonfly it routes on.
    pub fn dragonfly(&self) -> &Dragonfly2d {
        &self.dragonfly
    }

    fn is_adaptive(&self) -> bool {
        matches!(self.algorithm, Algorithm::Ugal | Algorithm::ProgressiveAdaptive)
    }

    /// The level on `port`; updates the header for the port's far end.
    #[inline]
    fn take(&self, router: u32, port: u32, header: &mut Header) -> Decision {
        let class = self.dragonfly.topology().class(port);
        if class == LinkClass::Global {
            header.level += 1;
            header.notes = 0;
            return Decision::new(port, header.level - 1);
        }
        let level = if header.level == 0 {
            match header.notes {
                notes if notes & PASSED != 0 => self.levels.destination,
                notes if notes & LATE != 0 => self.levels.second_in_source,
                _ => 0,
            }
        } else {
            let home = self.dragonfly.topology().node_router(header.target);
            match self.dragonfly.group_of(router) == self.dragonfly.group_of(home) {
                // A packet that has not reached its intermediate is in another group than its destination.
                true if header.via == NOWHERE || header.via_reached => self.levels.destination,
                _ if header.via_reached => self.levels.from_via,
                _ => self.levels.to_via,
            }
        };
        header.notes |= if class == LinkClass::Column { COLUMN } else { ROW };
        Decision::new(port, level)
    }

    /// The next port in the group of source and destination.
    fn inside(&self, router: u32, home: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let routers = self.dragonfly.routers_of_a_group();
        let first = self.dragonfly.group_of(router) * routers;
        if header.notes & DECIDED == 0 {
            header.notes |= DECIDED;
            let over = |via: u32| INSIDE | ((via - first) as u16) << NUMBER_SHIFT;
            match self.algorithm {
                Algorithm::Minimal => {}
                Algorithm::Valiant => header.notes |= over(first + choice.pick(routers)),
                _ => {
                    let minimal = self.toward_router(router, home, choice);
                    let best = super::lightest_port(self.candidates, choice, |choice| {
                        let via = first + choice.pick(routers);
                        let is_other = via != router && via != home;
                        is_other.then(|| (via, self.toward_router(router, via, choice)))
                    });
                    let Some((via, port)) = best else {
                        return self.take(router, minimal, header);
                    };
                    let inside = |port, hops| path((port, NOWHERE), hops);
                    let (short, long) = (inside(minimal, HOPS_INSIDE.0), inside(port, HOPS_INSIDE.1));
                    if port == minimal || !choice.divert(short, long) {
                        return self.take(router, minimal, header);
                    }
                    header.notes |= over(via);
                    return self.take(router, port, header);
                }
            }
        }
        if header.notes & INSIDE != 0 {
            let via = first + u32::from(header.notes >> NUMBER_SHIFT);
            if router != via {
                let port = self.toward_router(router, via, choice);
                return self.take(router, port, header);
            }
            header.notes = DECIDED | PASSED;
            if router == home {
                return Decision::new(self.dragonfly.topology().node_port(header.target), 0);
            }
        }
        let port = self.toward_router(router, home, choice);
        self.take(router, port, header)
    }

    /// One of the column cables to another row.
    #[inline]
    fn column_port(&self, router: u32, row: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let ports = self.dragonfly.column_ports(router, row);
        super::parallel(self.dragonfly.topology(), ports, self.is_adaptive(), choice)
    }

    /// The next port toward another router of the same group.
    #[inline]
    fn toward_router(&self, router: u32, to: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let column = self.dragonfly.column_of(to);
        if column == self.dragonfly.column_of(router) {
            self.column_port(router, self.dragonfly.row_of(to), choice)
        } else {
            self.dragonfly.row_port(router, column)
        }
    }

    /// The next port toward an intermediate, and the global port behind it as in [`Path::remote`].
    #[inline]
    fn toward_via(
        &self,
        router: u32,
        here: u32,
        via: u32,
        notes: u16,
        choice: &mut (impl Choice + ?Sized),
    ) -> (u32, u32) {
        let group = match self.intermediate {
            Intermediate::Group => via,
            Intermediate::Router => self.dragonfly.group_of(via),
        };
        if group == here {
            (self.toward_router(router, via, choice), NOWHERE)
        } else {
            self.toward_group(router, here, group, notes, choice)
        }
    }

    /// The next port toward another group, and the gateway's global port. After a row cable only a column cable is
    /// left, after a column cable none: the gateway for which the row or column was chosen is there. The packet uses
    /// the returned global port unless a router on the path has a cable of its own or a nearer one.
    #[inline]
    fn toward_group(
        &self,
        router: u32,
        here: u32,
        group: u32,
        notes: u16,
        choice: &mut (impl Choice + ?Sized),
    ) -> (u32, u32) {
        let d = &self.dragonfly;
        let one = |gateways: &[Gateway], choice: &mut _| {
            let n = gateways.len() as u32;
            let index = if n > 1 { Choice::pick(choice, n) } else { 0 };
            gateways[index as usize]
        };
        let own = d.own_gateways(router, group);
        if !own.is_empty() {
            return (one(own, choice).port, NOWHERE);
        }
        let column = d.column_gateways(router, group);
        let row = if notes & ROW == 0 {
            d.row_gateways(router, group)
        } else {
            &[]
        };
        let near = (row.len() + column.len()) as u32;
        let n = if near > 1 { choice.pick(near) } else { 0 };
        if let Some(gateway) = row.get(n as usize) {
            return (d.row_port(router, d.column_of(gateway.router)), gateway.port);
        }
        if let Some(gateway) = column.get(n as usize - row.len()) {
            return (self.column_port(router, d.row_of(gateway.router), choice), gateway.port);
        }
        let gateway = one(d.gateways(here, group), choice);
        (d.row_port(router, d.column_of(gateway.router)), gateway.port)
    }

    /// Draws intermediates and decides whether the packet goes through one. Returns the next port if the decision was
    /// about ports.
    fn choose_via(
        &self,
        router: u32,
        here: u32,
        goal: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> Option<u32> {
        if self.dragonfly.shape().groups < 3 {
            return None;
        }
        let moved = header.notes & (ROW | COLUMN) != 0;
        if self.algorithm == Algorithm::Valiant {
            if !moved {
                header.via = self.random_via(here, goal, choice);
            }
            return None;
        }
        if moved && self.algorithm == Algorithm::Ugal {
            return None;
        }
        let behind = u32::from(header.notes & ROW != 0) + u32::from(header.notes & COLUMN != 0);
        let longest = HOPS.1
            + if self.intermediate == Intermediate::Router {
                2
            } else {
                0
            };
        let beyond = choice.knows_beyond();
        let (via, other) = super::lightest_path(self.candidates, choice, |choice| {
            let via = self.random_via(here, goal, choice);
            // A diverted packet may move along the row again: it has its own level.
            Some((via, path(self.toward_via(router, here, via, 0, choice), longest)))
        })?;
        let minimal = self.toward_group(router, here, goal, header.notes, choice);
        let minimal = path(minimal, HOPS.0 - behind);
        if other.is_like(&minimal, beyond) || !choice.divert(minimal, other) {
            return Some(minimal.port);
        }
        header.via = via;
        header.notes = if moved { LATE } else { 0 };
        Some(other.port)
    }

    /// A random group other than two given ones (or a random router of it).
    #[inline]
    fn random_via(&self, here: u32, goal: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let group = super::other_group(self.dragonfly.shape().groups, here, goal, choice);
        match self.intermediate {
            Intermediate::Group => group,
            Intermediate::Router => {
                let routers = self.dragonfly.routers_of_a_group();
                group * routers + choice.pick(routers)
            }
        }
    }
}

impl FamilyRouting for Dragonfly2dRouting {
    type Graph = Dragonfly2d;
    type Algorithm = Algorithm;

    fn on(graph: Dragonfly2d, algorithm: Algorithm, settings: &Settings) -> Result<Self, String> {
        let via = settings.via.unwrap_or_default();
        Dragonfly2dRouting::new(graph, algorithm, via, super::candidates(settings))
    }

    fn topology(&self) -> &Topology {
        self.dragonfly.topology()
    }

    fn virtual_channels(&self) -> VirtualChannels {
        let shape = self.dragonfly.shape();
        let minimal = self.algorithm == Algorithm::Minimal;
        let local = match (shape.groups, minimal) {
            (1, true) => 1,
            _ => self.levels.destination + 1,
        };
        let global = match (shape.groups, minimal) {
            (1, _) => 0,
            (2, _) | (_, true) => 1,
            _ => 2,
        };
        let used = |extent: u32| if extent > 1 { local } else { 0 };
        [1, used(shape.columns), global, used(shape.rows)]
    }

    #[inline(always)]
    fn fixed_step(&self, router: u32, header: &mut Header) -> Option<Decision> {
        let topology = self.dragonfly.topology();
        let is_home = router == topology.node_router(header.target) && header.notes & INSIDE == 0;
        is_home.then(|| Decision::new(topology.node_port(header.target), 0))
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let home = self.dragonfly.topology().node_router(header.target);
        let (here, goal) = (self.dragonfly.group_of(router), self.dragonfly.group_of(home));
        if here == goal && header.level == 0 {
            return self.inside(router, home, header, choice);
        }
        if header.via == NOWHERE {
            if header.level == 0
                && self.algorithm != Algorithm::Minimal
                && let Some(port) = self.choose_via(router, here, goal, header, choice)
            {
                return self.take(router, port, header);
            }
        } else if !header.via_reached {
            header.via_reached = match self.intermediate {
                Intermediate::Group => here == header.via,
                Intermediate::Router => router == header.via,
            };
            if header.via_reached && self.intermediate == Intermediate::Router {
                header.notes &= !(ROW | COLUMN);
            }
        }
        let port = if header.via == NOWHERE || header.via_reached {
            if here == goal {
                self.toward_router(router, home, choice)
            } else {
                self.toward_group(router, here, goal, header.notes, choice).0
            }
        } else {
            self.toward_via(router, here, header.via, header.notes, choice).0
        };
        self.take(router, port, header)
    }

    fn is_detour(&self, source: u32, hops: u32, header: &Header) -> bool {
        if header.via != NOWHERE || header.notes & DECIDED == 0 {
            return header.via != NOWHERE;
        }
        // Between routers of one group.
        let topology = self.dragonfly.topology();
        let (from, to) = (topology.node_router(source), topology.node_router(header.target));
        let row = self.dragonfly.row_of(from) != self.dragonfly.row_of(to);
        let column = self.dragonfly.column_of(from) != self.dragonfly.column_of(to);
        hops > 1 + u32::from(row) + u32::from(column)
    }

    fn routers_of_a_group(&self) -> Option<u32> {
        let several = self.dragonfly.shape().groups > 2;
        (self.is_adaptive() && several).then_some(self.dragonfly.routers_of_a_group())
    }
}

fn path((port, remote): (u32, u32), hops: u32) -> Path {
    Path { port, hops, remote }
}
