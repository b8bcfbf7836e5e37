//! Routing on a dragonfly.
//!
//! - **minimal**: local, global, local (Kim et al., ISCA 2008);
//! - **Valiant**: minimal to a random intermediate group or router, then minimal (Valiant and Brebner 1981; Kim et
//!   al.);
//! - **UGAL-L**: at the source router one or the other, comparing the load of the two output ports (A. Singh,
//!   "Load-balanced routing in interconnection networks", PhD thesis, Stanford 2005; Kim et al.);
//! - **progressive adaptive (PAR)**: every router of the source group may still divert a packet from its minimal path
//!   to a non-minimal one, comparing the load of the two output ports (Jiang, Kim, Dally, "Indirect adaptive routing on
//!   large scale interconnection networks", ISCA 2009).
//!
//! Adaptive algorithms may also know the loads of the global ports of their group ([`Knowledge`](crate::Knowledge)).
//!
//! Traffic inside a group is minimal.
//!
//! **Virtual channels.** Levels that never decrease along a path prevent deadlock. With [`VcRule::Stage`], the level of
//! a global link is the number of global links taken before; that of a local link is its place on the longest path of
//! the algorithm:
//!
//! | algorithm | local links by level | local/global VCs |
//! |---|---|---|
//! | minimal | source, destination | 2/1 |
//! | Valiant by group | source, intermediate, destination | 3/2 |
//! | Valiant by router | source, to via, from via, destination | 4/2 |
//! | UGAL-L | as Valiant | |
//! | PAR by group | source, source after diverting there, intermediate, destination | 4/2 |
//! | PAR by router | source, source after diverting there, to via, from via, destination | 5/2 |

use super::{
    Choice, Decision, FamilyRouting, Header, KNOWLEDGE, Key, NOWHERE, Name, Path, Settings, Table, VirtualChannels,
    WEIGHING, entry,
};
use odonata_topology::{Dragonfly, Gateway, LinkClass, Peer, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Routing algorithms on a dragonfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Always a shortest path.
    Minimal,
    /// Always through a random intermediate.
    Valiant,
    /// Decided by load at the source router (UGAL-L).
    Ugal,
    /// Decided by load at each router of the source group.
    ProgressiveAdaptive,
}

/// The intermediate of a non-minimal path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Via")]
pub enum Intermediate {
    /// A random group, entered at the router where the cable to it ends.
    #[default]
    Group,
    /// A random router of a random group.
    Router,
}

/// The paths to which a second router of the source group may divert a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Divert {
    /// Through any port.
    #[default]
    Any,
    /// Only through its own global ports, as in CODES.
    OwnGlobalPorts,
}

/// How virtual channels are assigned to the hops of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VcRule {
    /// By the stage of the path: the fewest channels that prevent deadlock.
    #[default]
    Stage,
    /// By the group of the packet, as in CODES: source 0 or 1, intermediate 2, destination 3; four channels.
    Codes,
    /// By phase, as in BookSim's dragonfly: 0 before the intermediate, 1 on the minimal part, 2 from the global link
    /// into the destination group, and for packets inside a group; without detours 0 before and 1 from the global link.
    /// This includes the link to the node. Detours can deadlock. As in BookSim, an adaptive packet goes minimally if
    /// the intermediate, drawn from the whole machine, is in the group of its source or target.
    Phase,
}

/// In [`Header::notes`]: a local link has been taken. [`Header::level`] counts global links.
const MOVED: u16 = 1;

pub(super) const ALGORITHMS: Table<Algorithm> = &[
    entry(Name::Minimal, Algorithm::Minimal, &[&[Key::VcRule]]),
    entry(Name::Valiant, Algorithm::Valiant, &[&[Key::Via, Key::VcRule]]),
    entry(
        Name::Ugal,
        Algorithm::Ugal,
        &[&[Key::Via, Key::Candidates], WEIGHING, KNOWLEDGE, &[Key::VcRule]],
    ),
    entry(
        Name::ProgressiveAdaptive,
        Algorithm::ProgressiveAdaptive,
        &[&[Key::Via, Key::Candidates], WEIGHING, &[Key::Divert, Key::VcRule]],
    ),
];

/// A routing algorithm on a dragonfly.
#[derive(Debug)]
pub struct DragonflyRouting {
    dragonfly: Dragonfly,
    algorithm: Algorithm,
    intermediate: Intermediate,
    divert: Divert,
    rule: VcRule,
    candidates: u32,
    levels: Levels,
}

/// The level of a local link by its place on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    pub(super) second_in_source: u8,
    pub(super) to_via: u8,
    pub(super) from_via: u8,
    pub(super) destination: u8,
}

impl Levels {
    pub(super) fn new(algorithm: Algorithm, intermediate: Intermediate) -> Self {
        // Level 0 is the first local link in the source group; places that the algorithm does not have take no level.
        let mut level = 0;
        let mut place = |exists: bool| {
            level += u8::from(exists);
            level
        };
        let nonminimal = algorithm != Algorithm::Minimal;
        Levels {
            second_in_source: place(algorithm == Algorithm::ProgressiveAdaptive),
            to_via: place(nonminimal && intermediate == Intermediate::Router),
            from_via: place(nonminimal),
            destination: place(true),
        }
    }
}

impl DragonflyRouting {
    /// A routing on `dragonfly`; `candidates` (at least 1) random non-minimal paths are drawn, and the lightest is
    /// compared with the minimal one.
    ///
    /// [`Dragonfly::check_ways`] must hold: packets cannot route around more failed cables.
    pub fn new(
        dragonfly: Dragonfly,
        algorithm: Algorithm,
        intermediate: Intermediate,
        divert: Divert,
        rule: VcRule,
        candidates: u32,
    ) -> Self {
        DragonflyRouting {
            dragonfly,
            algorithm,
            intermediate,
            divert,
            rule,
            candidates: candidates.max(1),
            levels: Levels::new(algorithm, intermediate),
        }
    }

    /// The dragonfly it routes on.
    pub fn dragonfly(&self) -> &Dragonfly {
        &self.dragonfly
    }

    /// The level on `port`; updates the header for the port's far end.
    #[inline]
    fn take(&self, router: u32, port: u32, header: &mut Header) -> Decision {
        let class = self.dragonfly.topology().class(port);
        let level = self.level(router, header, class);
        match class {
            LinkClass::Global => header.level += 1,
            _ => header.notes |= MOVED,
        }
        Decision::new(port, level)
    }

    #[inline]
    fn level(&self, router: u32, header: &Header, class: LinkClass) -> u8 {
        let at_destination = || {
            let home = self.dragonfly.topology().node_router(header.target);
            self.dragonfly.group_of(router) == self.dragonfly.group_of(home)
        };
        match self.rule {
            VcRule::Codes => match header.level {
                0 => u8::from(header.notes & MOVED != 0),
                _ if at_destination() => 3,
                _ => 2,
            },
            VcRule::Phase => {
                let minimal = u8::from(self.algorithm != Algorithm::Minimal);
                let under_way = header.via != NOWHERE && !header.via_reached;
                match class {
                    LinkClass::Terminal => minimal + u8::from(minimal > 0 || header.level > 0),
                    _ if under_way => 0,
                    LinkClass::Global => minimal + 1,
                    _ if at_destination() => minimal + 1,
                    _ => minimal,
                }
            }
            VcRule::Stage => match class {
                LinkClass::Terminal => 0,
                LinkClass::Global => header.level,
                LinkClass::Local if header.level == 0 => {
                    if header.notes & MOVED != 0 {
                        self.levels.second_in_source
                    } else {
                        0
                    }
                }
                LinkClass::Local if at_destination() => self.levels.destination,
                LinkClass::Local if header.via_reached => self.levels.from_via,
                LinkClass::Local | LinkClass::Column => self.levels.to_via,
            },
        }
    }

    /// The next port of a shortest path to router `to`, and the global port behind it as in [`Path::remote`].
    #[inline]
    fn toward_router(
        &self,
        router: u32,
        here: u32,
        to: u32,
        to_group: u32,
        choice: &mut (impl Choice + ?Sized),
    ) -> (u32, u32) {
        if here == to_group {
            (self.dragonfly.local_port(router, to), NOWHERE)
        } else {
            self.toward_group(router, here, to_group, choice)
        }
    }

    #[inline]
    fn toward_via(&self, router: u32, here: u32, via: u32, choice: &mut (impl Choice + ?Sized)) -> (u32, u32) {
        match self.intermediate {
            Intermediate::Group => self.toward_group(router, here, via, choice),
            Intermediate::Router => self.toward_router(router, here, via, self.dragonfly.group_of(via), choice),
        }
    }

    /// The next port toward another group: an own global port to it, otherwise the local port to a random router with
    /// one; and that router's global port.
    #[inline]
    fn toward_group(&self, router: u32, here: u32, group: u32, choice: &mut (impl Choice + ?Sized)) -> (u32, u32) {
        let gateways = self.dragonfly.gateways(here, group);
        let step = |gateway: &Gateway| {
            if gateway.router == router {
                (gateway.port, NOWHERE)
            } else {
                (self.dragonfly.local_port(router, gateway.router), gateway.port)
            }
        };
        if let [only] = gateways {
            return step(only);
        }
        let own = gateways.iter().filter(|gateway| gateway.router == router).count() as u32;
        if own > 0 {
            let n = if own > 1 { choice.pick(own) } else { 0 };
            let mut mine = gateways.iter().filter(|gateway| gateway.router == router);
            let port = mine.nth(n as usize).map_or(gateways[0].port, |gateway| gateway.port);
            return (port, NOWHERE);
        }
        step(&gateways[choice.pick(gateways.len() as u32) as usize])
    }

    /// Draws intermediates and decides whether the packet goes through one. Returns the next port if the decision was
    /// about ports.
    fn choose_via(
        &self,
        router: u32,
        here: u32,
        goal: u32,
        home: u32,
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> Option<u32> {
        if self.dragonfly.shape().groups < 3 {
            return None;
        }
        if self.algorithm == Algorithm::Valiant {
            if header.notes & MOVED == 0 {
                header.via = self.random_via(here, goal, choice);
            }
            return None;
        }
        if self.algorithm == Algorithm::Ugal && header.notes & MOVED != 0 {
            return None;
        }
        // The lengths are those of the longest minimal path and the longest detour, whichever paths are taken.
        let path = |(port, remote), hops| Path { port, hops, remote };
        let beyond = choice.knows_beyond();
        let own_only = header.notes & MOVED != 0 && self.divert == Divert::OwnGlobalPorts;
        let (via, other) = super::lightest_path(self.candidates, choice, |choice| {
            if own_only {
                let (via, port) = self.via_of_own_port(router, goal, choice)?;
                return Some((via, path((port, NOWHERE), 5)));
            }
            let via = match self.rule {
                VcRule::Phase => self.any_via(here, goal, choice)?,
                VcRule::Stage | VcRule::Codes => self.random_via(here, goal, choice),
            };
            let path = path(self.toward_via(router, here, via, choice), 5);
            choice.prepare(path.port);
            Some((via, path))
        })?;
        let minimal = path(self.toward_router(router, here, home, goal, choice), 3);
        if other.is_like(&minimal, beyond) || !choice.divert(minimal, other) {
            return Some(minimal.port);
        }
        header.via = via;
        Some(other.port)
    }

    /// A random group other than two given ones (or a random router of it).
    #[inline]
    fn random_via(&self, here: u32, goal: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        let group = super::other_group(self.dragonfly.shape().groups, here, goal, choice);
        self.via_in(group, choice)
    }

    /// A random group of all (or a random router of it); `None` if it is one of two given ones.
    #[inline]
    fn any_via(&self, here: u32, goal: u32, choice: &mut (impl Choice + ?Sized)) -> Option<u32> {
        let group = choice.pick(self.dragonfly.shape().groups);
        (group != here && group != goal).then(|| self.via_in(group, choice))
    }

    #[inline]
    fn via_in(&self, group: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        match self.intermediate {
            Intermediate::Group => group,
            Intermediate::Router => {
                let routers = self.dragonfly.shape().routers;
                group * routers + choice.pick(routers)
            }
        }
    }

    /// A random own global port that does not lead to group `goal`, with its group as intermediate.
    fn via_of_own_port(&self, router: u32, goal: u32, choice: &mut (impl Choice + ?Sized)) -> Option<(u32, u32)> {
        let topology = self.dragonfly.topology();
        let far_group = |port: u32| match topology.peer(port) {
            Peer::Router { router, .. } if topology.class(port) == LinkClass::Global => {
                Some(self.dragonfly.group_of(router)).filter(|&group| group != goal)
            }
            _ => None,
        };
        let shape = self.dragonfly.shape();
        let first = topology.first_port(router) + shape.nodes + shape.routers - 1;
        let ports = first..first + shape.global_ports;
        let n = ports.clone().filter(|&port| far_group(port).is_some()).count() as u32;
        if n == 0 {
            return None;
        }
        let port = ports
            .filter(|&port| far_group(port).is_some())
            .nth(choice.pick(n) as usize)?;
        Some((self.via_in(far_group(port)?, choice), port))
    }
}

impl FamilyRouting for DragonflyRouting {
    type Graph = Dragonfly;
    type Algorithm = Algorithm;

    fn on(graph: Dragonfly, algorithm: Algorithm, settings: &Settings) -> Result<Self, String> {
        graph.check_ways()?;
        let (via, divert) = (settings.via.unwrap_or_default(), settings.divert.unwrap_or_default());
        let rule = settings.vc_rule.unwrap_or_default();
        Ok(DragonflyRouting::new(
            graph,
            algorithm,
            via,
            divert,
            rule,
            super::candidates(settings),
        ))
    }

    fn topology(&self) -> &Topology {
        self.dragonfly.topology()
    }

    fn virtual_channels(&self) -> VirtualChannels {
        match self.rule {
            VcRule::Codes => [4, 4, 4, 0],
            VcRule::Phase if self.algorithm == Algorithm::Minimal => [2, 2, 2, 0],
            VcRule::Phase => [3, 3, 3, 0],
            VcRule::Stage => [
                1,
                self.levels.destination + 1,
                if self.algorithm == Algorithm::Minimal { 1 } else { 2 },
                0,
            ],
        }
    }

    fn is_deterministic(&self) -> bool {
        let groups = self.dragonfly.shape().groups;
        let pairs = || (0..groups).flat_map(|a| (0..groups).map(move |b| (a, b)));
        self.algorithm == Algorithm::Minimal && pairs().all(|(a, b)| a == b || self.dragonfly.gateways(a, b).len() < 2)
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let topology = self.dragonfly.topology();
        let home = topology.node_router(header.target);
        if router == home {
            let port = topology.node_port(header.target);
            return Decision::new(port, self.level(router, header, LinkClass::Terminal));
        }
        let (here, goal) = (self.dragonfly.group_of(router), self.dragonfly.group_of(home));
        if header.via == NOWHERE {
            if header.level == 0 && here != goal && self.algorithm != Algorithm::Minimal {
                // The packet takes the port whose load was decisive, not another to the same group.
                if let Some(port) = self.choose_via(router, here, goal, home, header, choice) {
                    return self.take(router, port, header);
                }
            }
        } else if !header.via_reached {
            header.via_reached = match self.intermediate {
                Intermediate::Group => here == header.via,
                Intermediate::Router => router == header.via,
            };
        }
        let port = if header.via == NOWHERE || header.via_reached {
            self.toward_router(router, here, home, goal, choice).0
        } else {
            self.toward_via(router, here, header.via, choice).0
        };
        self.take(router, port, header)
    }

    fn routers_of_a_group(&self) -> Option<u32> {
        let shape = self.dragonfly.shape();
        let adaptive = matches!(self.algorithm, Algorithm::Ugal | Algorithm::ProgressiveAdaptive);
        (adaptive && shape.groups > 2).then_some(shape.routers)
    }
}
