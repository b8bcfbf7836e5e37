//! Routing: a decision function of router, header and local view.
//!
//! An algorithm is deterministic except for its [`Choice`]s: random picks and comparisons of load. In a run, the
//! router's random stream and port counters answer them; the deadlock check ([`crate::deadlock`]) enumerates all
//! answers. So the dependency graph is derived from the code that runs.
//!
//! Each family of networks has one file, registered by a line of `routings!`: its algorithms with their keys, the
//! virtual channels that they need, and their decisions ([`FamilyRouting`]). [`UpDownRouting`],
//! [`ShortestPathsRouting`] and [`PathSetRouting`] work on any graph, [`DiameterTwoRouting`] on those in which any two routers are adjacent or have a common neighbor. Each documents the
//! levels of its paths, and refuses networks whose failed cables it cannot route around.

mod candidates;
mod diameter_two;
mod dragonfly;
mod dragonfly2d;
mod dragonfly_plus;
mod fat_tree;
mod hyperx;
mod path_sets;
mod polarfly;
mod rail_optimized;
mod shortest_paths;
mod slim_fly;
pub(crate) mod spread;
mod torus;
mod up_down;

use candidates::{lightest, lightest_of_all, lightest_path, lightest_port, other_group, parallel};
pub use diameter_two::{DiameterTwo, DiameterTwoAlgorithm, DiameterTwoRouting};
use odonata_topology::{Family, FamilyName, RouteTable, Topology};
pub use spread::Spread;

use crate::VirtualChannels;
use crate::settings::{Algorithm as Name, Routing as Settings, RoutingKey as Key};

/// No intermediate destination.
pub const NOWHERE: u32 = u32::MAX;

/// The routing state of a packet; 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Header {
    /// Destination node.
    pub target: u32,
    /// Intermediate group or router, or [`NOWHERE`] while the route is minimal.
    pub via: u32,
    /// Whether `via` has been reached.
    pub via_reached: bool,
    /// The position in the algorithm's order of virtual channels.
    pub level: u8,
    /// Further state of the algorithm about the path so far.
    pub notes: u16,
}

impl Header {
    /// The header of no packet.
    pub(crate) const NONE: Header = Header {
        target: NOWHERE,
        via: NOWHERE,
        via_reached: false,
        level: 0,
        notes: 0,
    };

    /// The header of a new packet for node `target`.
    pub fn new(target: u32) -> Self {
        Header {
            target,
            via: NOWHERE,
            via_reached: false,
            level: 0,
            notes: 0,
        }
    }
}

/// The next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Output port, numbered over the machine.
    pub port: u32,
    /// Level: one of the virtual channels that the routing needs on links of that class. With more channels than
    /// levels, a level is a range of channels.
    pub level: u8,
    /// Whether the decision holds only for now: a packet without room there does not wait but is routed again. No
    /// packet ever waits for such a channel, so it takes no part in a deadlock. The next decision starts from the
    /// header of this one or, if it was not taken, from the previous one; both must be correct.
    pub retry: bool,
    /// Whether the port needs room for one more full packet because the packet enters a ring (bubble flow control).
    pub spare: bool,
}

impl Decision {
    /// Waits for `port` on `level`.
    #[inline]
    pub fn new(port: u32, level: u8) -> Self {
        Decision {
            port,
            level,
            retry: false,
            spare: false,
        }
    }
}

/// A path to compare with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its first port, at the deciding router.
    pub port: u32,
    /// Links between routers on it, from the deciding router to the destination's.
    pub hops: u32,
    /// The global port of another router of the group on the path; its load counts as well if known
    /// ([`Knowledge`](crate::Knowledge)). If that router has several to the same group, one of them. Otherwise
    /// [`NOWHERE`].
    pub remote: u32,
}

impl Path {
    /// Whether `other` begins at the same port and, with `beyond`, uses the same remote port.
    #[inline]
    pub(crate) fn is_like(&self, other: &Path, beyond: bool) -> bool {
        self.port == other.port && (!beyond || self.remote == other.remote)
    }
}

/// The inputs of a routing algorithm besides the header.
pub trait Choice {
    /// A number in `0..n`.
    fn pick(&mut self, n: u32) -> u32;
    /// The number of the packet's flow: from its source node to node `target`; below 2^31.
    fn flow(&mut self, target: u32) -> u32 {
        let _ = target;
        0
    }
    /// A number in `0..n` that is the same for all packets of `flow` at `router`. The deadlock check tries every number.
    fn pick_of_flow(&mut self, flow: u32, router: u32, n: u32) -> u32 {
        let _ = (flow, router);
        self.pick(n)
    }
    /// How many of `n` random paths to draw and compare. The deadlock check draws one: as it tries every answer to
    /// [`lighter`](Self::lighter), one path stands for all.
    fn draws(&self, n: u32) -> u32 {
        n
    }
    /// Whether port `a` is less loaded than port `b`.
    fn lighter(&mut self, a: u32, b: u32) -> bool;
    /// Whether path `a` is less loaded than path `b`, as far as known.
    fn lighter_path(&mut self, a: Path, b: Path) -> bool {
        self.lighter(a.port, b.port)
    }
    /// Announces that the load of `port` will be needed soon.
    #[inline(always)]
    fn prepare(&self, port: u32) {
        let _ = port;
    }
    /// Whether two paths that begin at the same port can differ in load.
    fn knows_beyond(&self) -> bool {
        false
    }
    /// Whether a packet should leave its path `minimal` for the non-minimal path `other`.
    fn divert(&mut self, minimal: Path, other: Path) -> bool;
    /// Whether a packet could get a channel of `level` on `port` now.
    fn room(&mut self, port: u32, level: u8) -> bool;
}

/// The routing on the machines of a family.
pub trait FamilyRouting: Sized {
    /// The graph of the family.
    type Graph;
    /// The algorithms of the family.
    type Algorithm: Copy;

    /// The routing given by resolved settings, with one of the family's algorithms. All keys that it uses must be set;
    /// others are ignored.
    ///
    /// # Errors
    /// The graph is too large for the algorithm, or it cannot route around its failed cables.
    fn on(graph: Self::Graph, algorithm: Self::Algorithm, settings: &Settings) -> Result<Self, String>;

    /// The graph it routes on.
    fn topology(&self) -> &Topology;

    /// See [`Routing::virtual_channels`].
    fn virtual_channels(&self) -> VirtualChannels;

    /// The next hop of a packet if neither draws nor loads decide it, otherwise `None`. Updates the header for the other end
    /// of the link, or notes in it what [`decide`](Self::decide) does not find out again.
    #[inline(always)]
    fn fixed_step(&self, _router: u32, _header: &mut Header) -> Option<Decision> {
        None
    }

    /// See [`Routing::decide`]; [`fixed_step`](Self::fixed_step) has returned `None`.
    fn decide(&self, router: u32, header: &mut Header, choice: &mut (impl Choice + ?Sized)) -> Decision;

    /// See [`Routing::is_deterministic`].
    fn is_deterministic(&self) -> bool {
        false
    }

    /// See [`Routing::decides_again`].
    fn decides_again(&self) -> bool {
        false
    }

    /// See [`Routing::takes_any`].
    fn takes_any(&self) -> bool {
        false
    }

    /// See [`Routing::free_outputs`].
    fn free_outputs(&self, _router: u32, _header: &Header, _see: impl FnMut(u32, u8)) {}

    /// See [`Routing::routers_of_a_group`].
    fn routers_of_a_group(&self) -> Option<u32> {
        None
    }

    /// See [`Routing::is_detour`].
    fn is_detour(&self, _source: u32, _hops: u32, header: &Header) -> bool {
        header.via != NOWHERE
    }

    /// See [`Routing::pipes`].
    fn pipes(&self) -> Option<Vec<u32>> {
        None
    }

    /// See [`Routing::ring`].
    fn ring(&self, _port: u32) -> Option<u32> {
        None
    }
}

/// A view without load, in which the first of equal choices is taken and ports have room, or none has.
pub struct Unloaded<const HAS_ROOM: bool>;

impl<const HAS_ROOM: bool> Choice for Unloaded<HAS_ROOM> {
    fn pick(&mut self, _: u32) -> u32 {
        0
    }
    fn lighter(&mut self, _: u32, _: u32) -> bool {
        false
    }
    fn divert(&mut self, _: Path, _: Path) -> bool {
        false
    }
    fn room(&mut self, _: u32, _: u8) -> bool {
        HAS_ROOM
    }
}

/// An algorithm of a family.
struct Entry<T: 'static> {
    /// Its name in a scenario.
    name: Name,
    /// The family's variant.
    algorithm: T,
    /// The keys of `network.routing` that it uses, in groups.
    keys: &'static [&'static [Key]],
}

const fn entry<T>(name: Name, algorithm: T, keys: &'static [&'static [Key]]) -> Entry<T> {
    Entry { name, algorithm, keys }
}

/// The algorithms of a family, its default first.
type Table<T> = &'static [Entry<T>];

/// Keys for the comparison of two paths.
const WEIGHING: &[Key] = &[Key::Threshold, Key::Bias, Key::Comparison, Key::WeighHops];

/// Keys for the known loads of other routers.
const KNOWLEDGE: &[Key] = &[
    Key::Knowledge,
    Key::KnowledgeInterval,
    Key::KnowledgeDelay,
    Key::CongestionFactor,
    Key::CongestionThreshold,
];

/// Keys of an algorithm that compares the lightest of several paths, by its own ports, with a minimal one.
const COMPARING: &[&[Key]] = &[&[Key::Candidates], WEIGHING, &[Key::Knowledge]];

/// Registers routings: `documentation, module: Variant(Type) = [Family: TABLE_OF_ALGORITHMS, ...];`.
macro_rules! routings {
    ($($(#[$doc:meta])+ $module:ident: $variant:ident($routing:ident) = [$($family:ident: $table:ident),*];)*) => {
        $(pub use $module::*;)*

        /// The routing of a machine.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "a machine has one routing, and its tables are read at every hop")]
        pub enum Routing {
            $($(#[$doc])+ $variant($routing),)*
        }

        impl Routing {
            /// The routing on `family` given by resolved settings.
            ///
            /// # Errors
            /// The family does not have the algorithm; see also [`FamilyRouting::on`].
            pub fn on(family: Family, settings: &Settings) -> Result<Routing, String> {
                if let Some(routing) = of_any_graph(&family, settings)? {
                    return Ok(routing);
                }
                let name = family.name();
                match family {
                    $($(Family::$family(graph) => {
                        on(graph, $module::$table, name, settings).map(Routing::$variant)
                    })*)*
                }
            }

            /// Decides the next hop of a packet with `header` from `router`, and updates the header for the other end
            /// of that link.
            // One compiled copy for all callers but the hot one.
            pub fn decide(&self, router: u32, header: &mut Header, choice: &mut dyn Choice) -> Decision {
                match self.fixed_step(router, header) {
                    Some(decision) => decision,
                    None => self.decide_open(router, header, choice),
                }
            }

            /// The next hop if neither draws nor loads decide it, see [`FamilyRouting::fixed_step`].
            // What it returns fits into a register.
            #[inline(never)]
            pub(crate) fn fixed_step(&self, router: u32, header: &mut Header) -> Option<Decision> {
                match self {
                    $(Routing::$variant(routing) => routing.fixed_step(router, header),)*
                }
            }

            /// The same, compiled into the caller for dragonflies.
            #[inline(always)]
            pub(crate) fn fixed_step_inline(&self, router: u32, header: &mut Header) -> Option<Decision> {
                match self {
                    Routing::Dragonfly(routing) => routing.fixed_step(router, header),
                    _ => self.fixed_step(router, header),
                }
            }

            /// [`decide`](Self::decide) after [`fixed_step`](Self::fixed_step) has returned `None`, compiled into the
            /// caller.
            #[inline(always)]
            pub(crate) fn decide_open(
                &self,
                router: u32,
                header: &mut Header,
                choice: &mut (impl Choice + ?Sized),
            ) -> Decision {
                match self {
                    $(Routing::$variant(routing) => routing.decide(router, header, choice),)*
                }
            }

            /// Whether decisions are known to depend only on the packet and the router, not on random draws and loads.
            pub fn is_deterministic(&self) -> bool {
                match self {
                    $(Routing::$variant(routing) => routing.is_deterministic(),)*
                }
            }

            /// Whether a waiting packet is routed again until it can go ([`Decision::retry`]).
            pub fn decides_again(&self) -> bool {
                match self {
                    $(Routing::$variant(routing) => routing.decides_again(),)*
                }
            }

            /// Whether waiting packets count in the load of a port with pipelined routers, besides flits sent without a
            /// returned credit. The latter alone react too late if many packets choose among few ports.
            pub fn counts_waiting(&self) -> bool {
                match self {
                    Routing::FatTree(routing) => routing.is_adaptive(),
                    Routing::RailOptimized(routing) => routing.is_adaptive(),
                    Routing::UpDown(routing) => routing.is_adaptive(),
                    Routing::ShortestPaths(routing) => routing.is_adaptive(),
                    Routing::PathSet(routing) => routing.is_adaptive(),
                    _ => false,
                }
            }

            /// Whether every packet waits for room at the port of its decision, without a bubble behind it: no decision
            /// has [`Decision::retry`] or [`Decision::spare`].
            pub(crate) fn waits_for_room(&self) -> bool {
                !matches!(self, Routing::Torus(_) | Routing::HyperX(_))
            }

            /// Whether any output with room now ([`Decision::retry`]) is acceptable: a packet may request all of them
            /// at once, and the allocator decides.
            pub fn takes_any(&self) -> bool {
                match self {
                    $(Routing::$variant(routing) => routing.takes_any(),)*
                }
            }

            /// With [`takes_any`](Self::takes_any): calls `see` with the ports and levels that a packet with `header`
            /// may take at `router` if they have room now; its header does not change. If none has room, the packet
            /// waits at the port that [`decide`](Self::decide) gives without room.
            #[inline(always)]
            pub fn free_outputs(&self, router: u32, header: &Header, see: impl FnMut(u32, u8)) {
                match self {
                    $(Routing::$variant(routing) => routing.free_outputs(router, header, see),)*
                }
            }

            /// Routers per group if source routers compare paths over global ports of other routers of their group; the
            /// routers of a group have consecutive numbers. `None` if the loads of such ports are not used.
            pub fn routers_of_a_group(&self) -> Option<u32> {
                match self {
                    $(Routing::$variant(routing) => FamilyRouting::routers_of_a_group(routing),)*
                }
            }

            /// Whether a packet from node `source` that has visited `hops` routers and arrives with `header` has left
            /// its minimal path: it used an intermediate group, or its path was longer than a shortest one.
            #[inline]
            pub(crate) fn is_detour(&self, source: u32, hops: u32, header: &Header) -> bool {
                match self {
                    $(Routing::$variant(routing) => routing.is_detour(source, hops, header),)*
                }
            }

            /// Virtual channels needed per link class, computed from the levels of the paths.
            pub fn virtual_channels(&self) -> VirtualChannels {
                match self {
                    $(Routing::$variant(routing) => routing.virtual_channels(),)*
                }
            }

            /// For each port, the lowest port of its pipe: of the ports over which packets spread evenly if they may use
            /// one of them. `None` if some choice among paths is not one among the ports of a pipe, or if there is no
            /// choice.
            pub fn pipes(&self) -> Option<Vec<u32>> {
                match self {
                    $(Routing::$variant(routing) => routing.pipes(),)*
                }
            }

            /// The topology of its graph.
            pub fn topology(&self) -> &Topology {
                match self {
                    $(Routing::$variant(routing) => FamilyRouting::topology(routing),)*
                }
            }

            /// The ring of `port`, identified by one of its ports, if bubble flow control keeps room for a packet free
            /// in each ring. Packets in a ring never form a cycle of waits, so it counts as one channel.
            pub fn ring(&self, port: u32) -> Option<u32> {
                match self {
                    $(Routing::$variant(routing) => routing.ring(port),)*
                }
            }
        }

        /// The algorithms of a family, its default first, and the keys of `network.routing` that each uses. Those
        /// [of any graph](OF_ANY_GRAPH) are the last.
        pub fn algorithms(family: FamilyName) -> Vec<(Name, Vec<Key>)> {
            let mut all = match family {
                $($(FamilyName::$family => named($module::$table),)*)*
            };
            all.extend(OF_ANY_GRAPH.iter().map(|&(name, keys)| (name, keys.to_vec())));
            all
        }
    };
}

routings! {
    /// On a dragonfly.
    dragonfly: Dragonfly(DragonflyRouting) = [Dragonfly: ALGORITHMS];
    /// On a dragonfly with two-dimensional groups.
    dragonfly2d: Dragonfly2d(Dragonfly2dRouting) = [Dragonfly2d: ALGORITHMS];
    /// On a dragonfly+.
    dragonfly_plus: DragonflyPlus(DragonflyPlusRouting) = [DragonflyPlus: ALGORITHMS];
    /// On a fat tree.
    fat_tree: FatTree(FatTreeRouting) = [FatTree: ALGORITHMS];
    /// On a HyperX.
    hyperx: HyperX(HyperXRouting) = [HyperX: ALGORITHMS];
    /// On a Slim Fly.
    slim_fly: SlimFly(SlimFlyRouting) = [SlimFly: ALGORITHMS];
    /// On a PolarFly.
    polarfly: PolarFly(PolarFlyRouting) = [PolarFly: ALGORITHMS];
    /// On a rail-optimized cluster.
    rail_optimized: RailOptimized(RailRouting) = [RailOptimized: ALGORITHMS];
    /// On a torus or mesh.
    torus: Torus(TorusRouting) = [Torus: ALGORITHMS, Mesh: MESH_ALGORITHMS];
    /// Up*/down* on any graph.
    up_down: UpDown(UpDownRouting) = [Graph: ALGORITHMS];
    /// All shortest paths of any graph.
    shortest_paths: ShortestPaths(ShortestPathsRouting) = [];
    /// Given paths on any graph.
    path_sets: PathSet(PathSetRouting) = [];
}

/// The algorithms that work on every family, with the keys that each uses.
pub const OF_ANY_GRAPH: &[(Name, &[Key])] = &[
    (Name::UpDown, &[Key::Up, Key::Candidates]),
    (Name::ShortestPaths, &[Key::Spread, Key::Candidates]),
    (Name::KShortestPaths, &[Key::Paths, Key::Spread, Key::Candidates]),
    (Name::Table, &[Key::Routes, Key::Spread, Key::Candidates]),
];

/// The routing on `family` if its algorithm is one of [`OF_ANY_GRAPH`].
fn of_any_graph(family: &Family, settings: &Settings) -> Result<Option<Routing>, String> {
    let topology = || family.topology().clone();
    let (spread, candidates) = (settings.spread.unwrap_or_default(), candidates(settings));
    Ok(Some(match *settings.algorithm {
        Name::UpDown => {
            let routing = UpDownRouting::new(topology(), None, settings.up == Some(Up::Adaptive))?;
            Routing::UpDown(routing.with_candidates(candidates))
        }
        Name::ShortestPaths => Routing::ShortestPaths(FamilyRouting::on(topology(), (), settings)?),
        Name::KShortestPaths => Routing::PathSet(FamilyRouting::on(topology(), (), settings)?),
        Name::Table => {
            let table = RouteTable::read(&settings.routes_text).map_err(|error| error.to_string())?;
            let routes = table.routes(family.names(), family.topology());
            let routes = routes.map_err(|error| error.to_string())?;
            let of_pair = |a, b| routes.get(&(a, b)).cloned().unwrap_or_default();
            Routing::PathSet(PathSetRouting::new(topology(), of_pair, spread, candidates)?)
        }
        _ => return Ok(None),
    }))
}

fn on<R: FamilyRouting>(
    graph: R::Graph,
    table: Table<R::Algorithm>,
    family: FamilyName,
    settings: &Settings,
) -> Result<R, String> {
    let name = *settings.algorithm;
    let Some(entry) = table.iter().find(|entry| entry.name == name) else {
        let (name, kind) = (name.name(), family.key());
        return Err(format!("machines of kind {kind} have no routing \"{name}\""));
    };
    R::on(graph, entry.algorithm, settings)
}

/// Number of random non-minimal paths, or ports, to compare.
fn candidates(settings: &Settings) -> u32 {
    settings.candidates.unwrap_or(1)
}

fn named<T>(table: Table<T>) -> Vec<(Name, Vec<Key>)> {
    table.iter().map(|entry| (entry.name, entry.keys.concat())).collect()
}

/// # Errors
/// A cable of `family` failed, and its algorithms need all cables.
fn refuse_failed(topology: &Topology, family: &str) -> Result<(), String> {
    match topology.failed().first() {
        None => Ok(()),
        Some(&(a, b)) => Err(format!(
            "the cable between routers {} and {} failed: this routing on {family} knows no way around it, up*/down* does",
            topology.router_of_port(a),
            topology.router_of_port(b)
        )),
    }
}

/// For each port of a network of equal cables, the lowest one with an equal key; a port without a key is alone. `None` if
/// a cable has failed, or has a class, bandwidth or latency of its own.
fn pipes_by_key(topology: &Topology, key: impl Fn(u32) -> Option<(u32, bool)>) -> Option<Vec<u32>> {
    if !topology.failed().is_empty() || topology.has_factors() || topology.has_latencies() || topology.has_media() {
        return None;
    }
    // By the number of a router, for the two directions of its links.
    let mut lowest = vec![[u32::MAX; 2]; topology.routers() as usize];
    let pipes = (0..topology.ports()).map(|port| match key(port) {
        None => port,
        Some((router, is_down)) => {
            let lowest = &mut lowest[router as usize][usize::from(is_down)];
            *lowest = port.min(*lowest);
            *lowest
        }
    });
    Some(pipes.collect())
}
