//! Pipes: sets of links over which a routing spreads packets evenly. In the flow model, each is one link with the sum of
//! their capacities.
//!
//! A routing that chooses among equal links at random, or by load, loads all of them alike ([`Routing::pipes`]): the
//! uplinks of all routers on top of a subtree of a fat tree. A message is one flow over such pipes, whatever its ways.
//!
//! Packets that leave their minimal path spread over the whole machine (L. Valiant, 1982). So flows over detours, and
//! beside them all others of the machine, load *sets* of links instead:
//!
//! | set | load of a flow |
//! |---|---|
//! | links of a class out of its source router, into its target's router | its fraction there |
//! | global links out of its source group, into its target's group | its fraction there |
//! | all links of a class | the expected number of them on its path |
//!
//! Each set is a constraint that every max-min fair solution on single links keeps, and the only one if its links have
//! the same load. Sets overlap: a link belongs to up to five.

use crate::params::NetworkParams;
use crate::routing::{Choice, Header, Path, Routing};
use odonata_topology::{LinkClass, Peer, Topology};

/// Packets that every buffer between routers holds where choices by load even out, as sets assume.
const EVEN: u64 = 32;

/// Pairs of nodes for which detours are looked for.
const PROBED: u32 = 64;

/// Most links of a path; no routing has longer ones.
pub(super) const LONGEST: usize = 250;

/// The pipes of a machine, and its sets, which are numbered after its links.
#[derive(Debug)]
pub(super) struct Pipes {
    /// The lowest port of each port's pipe; empty if no port shares one.
    of_port: Vec<u32>,
    /// Links of each pipe, and of each set.
    members: Vec<u32>,
    sets: Option<Sets>,
    divides_messages: bool,
    compares_loads: bool,
}

/// The sets of links of a machine with detours.
#[derive(Debug)]
pub(super) struct Sets {
    /// The number of the first.
    first: u32,
    /// The group of each router, and their number.
    group: Vec<u32>,
    groups: u32,
    /// The lowest link of each.
    lowest: Vec<u32>,
}

/// A link between routers.
#[derive(Clone, Copy)]
pub(super) struct Between {
    pub(super) class: LinkClass,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Between {
    /// The link of `port`, if it leads to a router.
    pub(super) fn of(topology: &Topology, port: u32) -> Option<Between> {
        match topology.peer(port) {
            Peer::Router { router, .. } => Some(Between {
                class: topology.class(port),
                from: topology.router_of_port(port),
                to: router,
            }),
            Peer::Node(_) | Peer::Free => None,
        }
    }
}

impl Sets {
    fn new(topology: &Topology) -> Sets {
        let mut group = vec![0; topology.routers() as usize];
        let blocks = topology.blocks();
        for (number, bounds) in (0..).zip(blocks.windows(2)) {
            group[bounds[0] as usize..bounds[1] as usize].fill(number);
        }
        Sets {
            first: topology.ports() + topology.nodes(),
            groups: blocks.len() as u32 - 1,
            group,
            lowest: Vec::new(),
        }
    }

    fn len(&self) -> u32 {
        let classes = LinkClass::COUNT as u32;
        2 * classes * self.group.len() as u32 + 2 * self.groups + classes
    }

    /// The sets of `link`: those of its routers and groups, with the router or a router of the group, and that of its
    /// class.
    fn of(&self, link: Between) -> [(Option<u32>, Role); 5] {
        let (classes, class) = (LinkClass::COUNT as u32, link.class as u32);
        let (routers, groups) = (self.group.len() as u32, self.groups);
        let (from, to) = (self.group[link.from as usize], self.group[link.to as usize]);
        let crosses = link.class == LinkClass::Global && from != to;
        let of_groups = 2 * classes * routers;
        let set = |number: u32| Some(self.first + number);
        [
            (set(link.from * classes + class), Role::SourceRouter),
            (set((routers + link.to) * classes + class), Role::TargetRouter),
            (crosses.then_some(self.first + of_groups + from), Role::SourceGroup),
            (
                crosses.then_some(self.first + of_groups + groups + to),
                Role::TargetGroup,
            ),
            (set(of_groups + 2 * groups + class), Role::All),
        ]
    }

    /// The sets of `link` that a flow from router `source` to router `target` loads if it crosses the link.
    pub(super) fn loaded(&self, link: Between, source: u32, target: u32) -> impl Iterator<Item = u32> + '_ {
        let group = |router: u32| self.group[router as usize];
        self.of(link).into_iter().filter_map(move |(set, role)| {
            let is_loaded = match role {
                Role::SourceRouter => link.from == source,
                Role::TargetRouter => link.to == target,
                Role::SourceGroup => group(link.from) == group(source),
                Role::TargetGroup => group(link.to) == group(target),
                Role::All => true,
            };
            set.filter(|_| is_loaded)
        })
    }
}

/// The common end of the links of a set.
#[derive(Clone, Copy)]
enum Role {
    SourceRouter,
    TargetRouter,
    SourceGroup,
    TargetGroup,
    All,
}

/// Whether some buffer between routers holds fewer packets than [`EVEN`].
fn has_small_buffers(params: &NetworkParams, topology: &Topology) -> bool {
    let cables = topology.cables_by_class();
    let between = LinkClass::ALL.into_iter().filter(|&class| class != LinkClass::Terminal);
    let mut used = between.filter(|&class| cables[class as usize] > 0);
    used.any(|class| params.link(class).buffer.0 < EVEN * params.packet)
}

impl Pipes {
    /// The pipes of a routing; none where [messages have a flow per path](Self::divide_messages).
    pub(super) fn new(params: &NetworkParams, routing: &Routing, keeps: bool) -> Pipes {
        let topology = routing.topology();
        let is_beside_packets = params.coupling_interval.is_some();
        let mut of_port = Vec::new();
        if keeps && !is_beside_packets {
            of_port = routing.pipes().unwrap_or_default();
        }
        let probe = if keeps { Probe::of(routing) } else { Probe::default() };
        let blocks = has_small_buffers(params, topology) && !probe.is_at_random();
        let divides_messages = keeps && (is_beside_packets || (of_port.is_empty() && blocks));
        let detours = keeps && !divides_messages && of_port.is_empty() && probe.has_detours;
        let mut pipes = Pipes {
            of_port,
            members: Vec::new(),
            sets: detours.then(|| Sets::new(topology)),
            divides_messages,
            compares_loads: probe.compares_loads,
        };
        if pipes.are_none() {
            return pipes;
        }
        let count = topology.ports() + topology.nodes() + pipes.sets();
        let mut members = vec![0; count as usize];
        let mut lowest = vec![0; pipes.sets() as usize];
        for port in (0..topology.ports()).filter(|&port| topology.is_live(port)) {
            members[pipes.number(port) as usize] += 1;
            for set in pipes.sets_of(topology, port) {
                members[set as usize] += 1;
                if members[set as usize] == 1 {
                    lowest[(set - topology.ports() - topology.nodes()) as usize] = port;
                }
            }
        }
        pipes.members = members;
        if let Some(sets) = &mut pipes.sets {
            sets.lowest = lowest;
        }
        pipes
    }

    /// Whether every path of a message is a flow of its own: beside packets, which wait on single links, and with small
    /// buffers where links are neither in pipes nor in sets that random choices alone load.
    pub(super) fn divide_messages(&self) -> bool {
        self.divides_messages
    }

    /// Whether the routing compares loads.
    pub(super) fn compares_loads(&self) -> bool {
        self.compares_loads
    }

    /// Whether every link is on its own.
    pub(super) fn are_none(&self) -> bool {
        self.of_port.is_empty() && self.sets.is_none()
    }

    /// Whether every choice of the routing is one among the links of a pipe: all packets between two nodes load the same
    /// pipes.
    pub(super) fn are_all(&self) -> bool {
        !self.of_port.is_empty()
    }

    /// Number of sets.
    pub(super) fn sets(&self) -> u32 {
        self.sets.as_ref().map_or(0, Sets::len)
    }

    /// The sets of detours, if there are any.
    pub(super) fn of_detours(&self) -> Option<&Sets> {
        self.sets.as_ref()
    }

    /// The number of the pipe of `link`.
    pub(super) fn number(&self, link: u32) -> u32 {
        self.of_port.get(link as usize).copied().unwrap_or(link)
    }

    /// Links of the pipe or set `number`.
    pub(super) fn members(&self, number: u32) -> u32 {
        self.members.get(number as usize).map_or(1, |&members| members.max(1))
    }

    /// The class of the pipe or set `number`, if it connects routers.
    pub(super) fn class_between(&self, topology: &Topology, number: u32) -> Option<LinkClass> {
        let link = self.lowest(number);
        let connects = link < topology.ports() && matches!(topology.peer(link), Peer::Router { .. });
        connects.then(|| topology.class(link))
    }

    /// The lowest link of the pipe or set `number`.
    pub(super) fn lowest(&self, number: u32) -> u32 {
        let of_set = |sets: &Sets| {
            let place = number.checked_sub(sets.first)?;
            sets.lowest.get(place as usize).copied()
        };
        self.sets.as_ref().and_then(of_set).unwrap_or(number)
    }

    /// The sets with `port`.
    pub(super) fn sets_of(&self, topology: &Topology, port: u32) -> impl Iterator<Item = u32> + '_ {
        let of_port = || Some(self.sets.as_ref()?.of(Between::of(topology, port)?));
        of_port().into_iter().flatten().filter_map(|(set, _)| set)
    }

    /// Adds the capacities of links to those of their pipes and sets; `capacities` are those of links.
    pub(super) fn add_capacities(&self, topology: &Topology, capacities: &mut Vec<f64>) {
        if self.are_none() {
            return;
        }
        let of_links = capacities.clone();
        capacities.resize(of_links.len() + self.sets() as usize, 0.0);
        for port in (0..topology.ports()).filter(|&port| topology.is_live(port)) {
            let (number, capacity) = (self.number(port), of_links[port as usize]);
            if number != port {
                capacities[number as usize] += capacity;
            }
            for set in self.sets_of(topology, port) {
                capacities[set as usize] += capacity;
            }
        }
    }
}

/// The choices of a routing, as found on some paths.
#[derive(Clone, Copy, Default)]
struct Probe {
    /// Whether packets can leave their minimal paths.
    has_detours: bool,
    /// Whether loads are compared.
    compares_loads: bool,
}

impl Probe {
    fn of(routing: &Routing) -> Probe {
        let topology = routing.topology();
        let nodes = topology.nodes();
        let mut probe = Probe::default();
        if routing.is_deterministic() || nodes < 2 {
            return probe;
        }
        for number in 0..PROBED {
            let target = 1 + (u64::from(number) * u64::from(nodes - 1) / u64::from(PROBED)) as u32;
            let mut choice = Leaving {
                picked: number,
                compared: false,
            };
            let mut header = Header::new(target);
            let (mut router, mut hops) = (topology.node_router(0), 0);
            while hops < LONGEST as u32 {
                hops += 1;
                let port = routing.decide(router, &mut header, &mut choice).port;
                match topology.peer(port) {
                    Peer::Router { router: far, .. } => router = far,
                    Peer::Node(_) | Peer::Free => break,
                }
            }
            probe.has_detours |= routing.is_detour(0, hops, &header);
            probe.compares_loads |= choice.compared;
        }
        probe
    }

    /// Whether random choices alone lead to detours.
    fn is_at_random(self) -> bool {
        self.has_detours && !self.compares_loads
    }
}

/// Leaves the minimal path wherever possible.
struct Leaving {
    picked: u32,
    compared: bool,
}

impl Choice for Leaving {
    fn pick(&mut self, n: u32) -> u32 {
        self.picked = self.picked.wrapping_mul(5).wrapping_add(1);
        self.picked % n.max(1)
    }

    fn lighter(&mut self, _: u32, _: u32) -> bool {
        self.compared = true;
        false
    }

    fn divert(&mut self, _: Path, _: Path) -> bool {
        self.compared = true;
        true
    }

    fn room(&mut self, _: u32, _: u8) -> bool {
        self.compared = true;
        true
    }
}
