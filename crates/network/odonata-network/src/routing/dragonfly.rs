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
//! Traffic inside a group is minimal, or adaptive too ([`InGroup`]): at its source router a packet compares the cable to
//! its destination's router with the way over another router of the group.
//!
//! The levels of virtual channels are in [`levels`].

mod levels;
mod only_cables;

pub(super) use levels::Levels;
pub use levels::VcRule;

use super::{
    Choice, Decision, FamilyRouting, Header, KNOWLEDGE, Key, NOWHERE, Name, Path, Settings, Table, VirtualChannels,
    WEIGHING, entry,
};
use levels::{CASES, Stage};
use odonata_topology::{Dragonfly, Gateway, LinkClass, Peer, Topology};
use only_cables::{OnlyCables, PortsToGroups};
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

/// The paths between routers of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InGroup {
    /// The cable between them.
    #[default]
    Minimal,
    /// The cable between them, or by the detour rule two cables over another router of the group, as on Cray Aries and
    /// Slingshot. The lengths are 1 and 2 cables.
    Adaptive,
}

/// In [`Header::notes`]: a local link has been taken. [`Header::level`] counts global links.
const MOVED: u16 = 1;

/// In [`Header::notes`]: the path inside the only group leads over another router.
const INSIDE: u16 = 2;

pub(super) const ALGORITHMS: Table<Algorithm> = &[
    entry(Name::Minimal, Algorithm::Minimal, &[&[Key::VcRule]]),
    entry(Name::Valiant, Algorithm::Valiant, &[&[Key::Via, Key::VcRule]]),
    entry(
        Name::Ugal,
        Algorithm::Ugal,
        &[
            &[Key::Via, Key::Candidates],
            WEIGHING,
            KNOWLEDGE,
            &[Key::InGroup, Key::VcRule],
        ],
    ),
    entry(
        Name::ProgressiveAdaptive,
        Algorithm::ProgressiveAdaptive,
        &[
            &[Key::Via, Key::Candidates],
            WEIGHING,
            &[Key::InGroup, Key::Divert, Key::VcRule],
        ],
    ),
];

/// Links between routers on the longest minimal path, and on the longest detour through a group. Paths are compared with
/// these lengths, whichever they have.
const MINIMAL_HOPS: u32 = 3;
const DETOUR_HOPS: u32 = 5;

/// A routing algorithm on a dragonfly.
#[derive(Debug)]
pub struct DragonflyRouting {
    dragonfly: Dragonfly,
    only_cables: OnlyCables,
    algorithm: Algorithm,
    intermediate: Intermediate,
    divert: Divert,
    in_group: InGroup,
    rule: VcRule,
    candidates: u32,
    levels: Levels,
    /// The level on the next port, see [`DragonflyRouting::level`].
    table: [u8; CASES],
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
        let levels = Levels::new(algorithm, intermediate);
        DragonflyRouting {
            only_cables: OnlyCables::new(&dragonfly),
            dragonfly,
            algorithm,
            intermediate,
            divert,
            in_group: InGroup::Minimal,
            rule,
            candidates: candidates.max(1),
            levels,
            table: levels.table(rule, algorithm),
        }
    }

    /// Sets the paths between routers of one group; only adaptive algorithms have detours there, and
    /// none whose channels go by phase.
    pub fn with_paths_in_group(mut self, in_group: InGroup) -> Self {
        let is_adaptive = matches!(self.algorithm, Algorithm::Ugal | Algorithm::ProgressiveAdaptive);
        if is_adaptive && self.rule != VcRule::Phase {
            self.in_group = in_group;
        }
        self
    }

    /// The dragonfly it routes on.
    pub fn dragonfly(&self) -> &Dragonfly {
        &self.dragonfly
    }

    /// The level on `port`; updates the header for the port's far end.
    #[inline(always)]
    fn take(&self, port: u32, header: &mut Header, at_destination: bool) -> Decision {
        let class = self.dragonfly.topology().class(port);
        self.take_of_class((port, class), header, at_destination)
    }

    /// The same for a port of `class`.
    #[inline(always)]
    fn take_of_class(&self, (port, class): (u32, LinkClass), header: &mut Header, at_destination: bool) -> Decision {
        let level = self.level(header, class, at_destination);
        match class {
            LinkClass::Global => header.level += 1,
            _ => header.notes |= MOVED,
        }
        Decision::new(port, level)
    }

    /// The level on a port of `class` by the [rule](VcRule).
    #[inline(always)]
    fn level(&self, header: &Header, class: LinkClass, at_destination: bool) -> u8 {
        debug_assert!(header.level < 4, "a path takes at most two global links");
        let stage = Stage {
            class,
            globals: header.level,
            moved: header.notes & MOVED != 0,
            has_via: header.via != NOWHERE,
            via_reached: header.via_reached,
            at_destination,
            inside: header.notes & INSIDE != 0,
        };
        self.table[stage.number()]
    }

    /// Whether a packet that has taken no global link may leave its minimal path here. `at_destination`: it is in the group
    /// of its target.
    #[inline(always)]
    fn may_leave(&self, header: &Header, at_destination: bool) -> bool {
        let moved = header.notes & MOVED != 0;
        match (at_destination, self.algorithm) {
            (true, _) => self.in_group == InGroup::Adaptive && !moved,
            (false, Algorithm::Minimal) => false,
            (false, Algorithm::Valiant | Algorithm::Ugal) => !moved,
            (false, Algorithm::ProgressiveAdaptive) => true,
        }
    }

    /// The next port of a shortest path to router `to`, and the global port behind it as in [`Path::remote`].
    #[inline(always)]
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

    #[inline(always)]
    fn toward_via(&self, router: u32, here: u32, via: u32, choice: &mut (impl Choice + ?Sized)) -> (u32, u32) {
        match self.intermediate {
            Intermediate::Group => self.toward_group(router, here, via, choice),
            Intermediate::Router => self.toward_router(router, here, via, self.dragonfly.group_of(via), choice),
        }
    }

    /// The next port toward another group: an own global port to it, otherwise the local port to a random router with
    /// one; and that router's global port.
    #[inline(always)]
    fn toward_group(&self, router: u32, here: u32, group: u32, choice: &mut (impl Choice + ?Sized)) -> (u32, u32) {
        if let Some(ports) = self.only_cables.ports(&self.dragonfly, router, here) {
            return ports.toward(group);
        }
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
        let own_only = header.notes & MOVED != 0 && self.divert == Divert::OwnGlobalPorts;
        if !own_only
            && self.intermediate == Intermediate::Group
            && self.rule != VcRule::Phase
            && let Some(ports) = self.only_cables.ports(&self.dragonfly, router, here)
        {
            return self.choose_group(ports, (here, goal), header, choice);
        }
        let path = |(port, remote), hops| Path { port, hops, remote };
        let (via, other) = super::lightest_path(self.candidates, choice, |choice| {
            if own_only {
                let (via, port) = self.via_of_own_port(router, goal, choice)?;
                return Some((via, path((port, NOWHERE), DETOUR_HOPS)));
            }
            let via = match self.rule {
                VcRule::Phase => self.any_via(here, goal, choice)?,
                VcRule::Stage | VcRule::Codes => self.random_via(here, goal, choice),
            };
            let path = path(self.toward_via(router, here, via, choice), DETOUR_HOPS);
            choice.prepare(path.port);
            Some((via, path))
        })?;
        let minimal = path(self.toward_router(router, here, home, goal, choice), MINIMAL_HOPS);
        Some(Self::minimal_or_detour(minimal, (via, other), header, choice))
    }

    /// The next port: of the `other` path through `via` if the packet should leave its minimal path for it.
    #[inline(always)]
    fn minimal_or_detour(
        minimal: Path,
        (via, other): (u32, Path),
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> u32 {
        if other.is_like(&minimal, choice.knows_beyond()) || !choice.divert(minimal, other) {
            return minimal.port;
        }
        header.via = via;
        other.port
    }

    /// The same through a random group, where every pair of groups has one cable.
    // A function of its own, so that the loop has the registers.
    #[inline(never)]
    fn choose_group(
        &self,
        ports: PortsToGroups<'_>,
        (here, goal): (u32, u32),
        header: &mut Header,
        choice: &mut (impl Choice + ?Sized),
    ) -> Option<u32> {
        let path = |group, hops| {
            let (port, remote) = ports.toward(group);
            Path { port, hops, remote }
        };
        let groups = self.dragonfly.shape().groups;
        let lightest = super::lightest_path(self.candidates, choice, |choice| {
            let via = super::other_group(groups, here, goal, choice);
            let path = path(via, DETOUR_HOPS);
            choice.prepare(path.port);
            Some((via, path))
        })?;
        Some(Self::minimal_or_detour(
            path(goal, MINIMAL_HOPS),
            lightest,
            header,
            choice,
        ))
    }

    /// Decides whether a packet from `router` to `home` in the same group goes over another router of the group, and
    /// over which.
    fn choose_in_group(&self, router: u32, home: u32, choice: &mut (impl Choice + ?Sized)) -> Option<u32> {
        let routers = self.dragonfly.shape().routers;
        if routers < 3 {
            return None;
        }
        let first = self.dragonfly.group_of(router) * routers;
        let path = |to, hops| Path {
            port: self.dragonfly.local_port(router, to),
            hops,
            remote: NOWHERE,
        };
        let (via, other) = super::lightest_path(self.candidates, choice, |choice| {
            let via = first + super::other_group(routers, router - first, home - first, choice);
            Some((via, path(via, 2)))
        })?;
        choice.divert(path(home, 1), other).then_some(via)
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
        Ok(
            DragonflyRouting::new(graph, algorithm, via, divert, rule, super::candidates(settings))
                .with_paths_in_group(settings.in_group.unwrap_or_default()),
        )
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

    #[inline(always)]
    fn fixed_step(&self, router: u32, header: &mut Header) -> Option<Decision> {
        let topology = self.dragonfly.topology();
        let home = topology.node_router(header.target);
        if router == home {
            let port = topology.node_port(header.target);
            return Some(Decision::new(port, self.level(header, LinkClass::Terminal, true)));
        }
        let (here, goal) = (self.dragonfly.group_of(router), self.dragonfly.group_of(home));
        let mut to = (home, goal);
        if header.via == NOWHERE {
            if header.level == 0 && self.may_leave(header, here == goal) {
                return None;
            }
        } else if !header.via_reached {
            header.via_reached = match self.intermediate {
                Intermediate::Group => here == header.via,
                Intermediate::Router => router == header.via,
            };
            to = match self.intermediate {
                _ if header.via_reached => to,
                Intermediate::Group => (NOWHERE, header.via),
                Intermediate::Router => (header.via, self.dragonfly.group_of(header.via)),
            };
        }
        if here == to.1 {
            let port = self.dragonfly.local_port(router, to.0);
            return Some(self.take_of_class((port, LinkClass::Local), header, here == goal));
        }
        let port = match self.only_cables.ports(&self.dragonfly, router, here) {
            Some(ports) => ports.toward(to.1),
            None => match self.dragonfly.gateways(here, to.1) {
                [only] if only.router == router => (only.port, NOWHERE),
                [only] => (self.dragonfly.local_port(router, only.router), only.port),
                _ => return None,
            },
        };
        let class = match port.1 {
            NOWHERE => LinkClass::Global,
            _ => LinkClass::Local,
        };
        Some(self.take_of_class((port.0, class), header, here == goal))
    }

    #[inline]
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision {
        let home = self.dragonfly.topology().node_router(header.target);
        let (here, goal) = (self.dragonfly.group_of(router), self.dragonfly.group_of(home));
        if header.via == NOWHERE && header.level == 0 {
            if here != goal && self.algorithm != Algorithm::Minimal {
                // The packet takes the port whose load was decisive, not another to the same group.
                if let Some(port) = self.choose_via(router, here, goal, home, header, choice) {
                    return self.take(port, header, here == goal);
                }
            } else if self.in_group == InGroup::Adaptive
                && header.notes & MOVED == 0
                && let Some(via) = self.choose_in_group(router, home, choice)
            {
                let decision = self.take(self.dragonfly.local_port(router, via), header, here == goal);
                (header.via, header.via_reached) = (via, true);
                header.notes |= INSIDE;
                return decision;
            }
        }
        let port = if header.via == NOWHERE || header.via_reached {
            self.toward_router(router, here, home, goal, choice).0
        } else {
            self.toward_via(router, here, header.via, choice).0
        };
        self.take(port, header, here == goal)
    }

    fn routers_of_a_group(&self) -> Option<u32> {
        let shape = self.dragonfly.shape();
        let adaptive = matches!(self.algorithm, Algorithm::Ugal | Algorithm::ProgressiveAdaptive);
        (adaptive && shape.groups > 2).then_some(shape.routers)
    }
}

#[cfg(test)]
mod tests;
