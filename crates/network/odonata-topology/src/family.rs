//! Families of networks: one module each, registered in one line of [`families!`].
//!
//! A family's module has its settings ([`FamilySettings`]: the keys of its table `[machine.NAME]`, with ranges and
//! defaults) and its graph ([`FamilyGraph`], with the queries of its routing). The line in [`families!`] gives the
//! module, the name of its variants, the name in scenarios, and the documentation of the key. This crate has no other
//! list of families, and other crates have no list of names.
//!
//! | type | contents |
//! |---|---|
//! | [`FamilyName`] | the family |
//! | [`Kind`] | its settings |
//! | [`Family`] | a built machine |
//! | [`MachineTable`], [`Machine`] | the table `machine`, as read and as resolved |

pub mod dragonfly;
pub mod dragonfly2d;
pub mod dragonfly_plus;
pub mod fat_tree;
pub mod graph;
pub mod group_kinds;
pub mod hyperx;
pub mod mesh;
pub mod polarfly;
pub mod rail_optimized;
mod settings;
pub mod slim_fly;
mod smaller;
pub mod torus;

use odonata_units::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use settings::{Cables, DegradedLink, FailedLink, ReadFile, Size};

use crate::cable_map::CableFile;
use crate::{Effect, Fault, LinkClass, Topology};

/// The settings of a family of networks, both as written and as resolved with all defaults.
pub trait FamilySettings: Sized {
    /// The graph built from the settings.
    type Graph: FamilyGraph;

    /// Small machines of the family, as the lines of their table in a scenario; tests of all families use them.
    const EXAMPLES: &'static [&'static str];

    /// Groups of keys that exclude each other: keys of an upper layer replace the other group of a lower one.
    const ALTERNATIVES: &'static [&'static [&'static str]] = &[];

    /// Fills in defaults and checks sizes, alone and against each other. Allocates nothing large before the size is
    /// known. A size of zero routers means that the graph was read from a file.
    ///
    /// # Errors
    /// The key, the problem, and the expectation.
    fn resolve(&mut self, read: ReadFile<'_>) -> Result<Size, Problem>;

    /// Builds the graph of resolved settings.
    ///
    /// # Errors
    /// The impossible size and its bound.
    fn build(&self) -> Result<Self::Graph, String>;

    /// The problem with the settings for an error of `build`.
    fn refusal(&self, problem: String) -> Problem {
        settings::whole(problem, "")
    }

    /// A smaller machine of the same shape for the proof of deadlock freedom, and its description; with `few`, one with
    /// fewer choices per packet. `None`: the proof uses the machine itself.
    fn smaller(&self, few: bool) -> Option<(Self, String)>;

    /// The link classes of the family's machines.
    fn link_classes() -> &'static [LinkClass] {
        &LinkClass::ALL[..3]
    }

    /// The link classes on the shortest paths between routers of a group that share the load of their global links.
    /// `None`: the routing does not use the loads of other routers' global ports.
    fn way_in_a_group(&self) -> Option<&'static [LinkClass]> {
        None
    }

    /// The key of a graph drawn by the user, which may be disconnected.
    fn drawn_in() -> Option<&'static str> {
        None
    }

    /// The worst-case traffic for minimal routing.
    fn worst_case(&self) -> WorstCase {
        WorstCase::Neighbours
    }
}

/// A graph built by a family.
pub trait FamilyGraph: std::fmt::Debug {
    /// The graph.
    fn topology(&self) -> &Topology;

    /// The graph, to change.
    fn topology_mut(&mut self) -> &mut Topology;

    /// Applies cable faults, and updates what the family knows about its cables; see [`Topology::impair`].
    ///
    /// # Errors
    /// Those of [`Topology::impair`].
    fn impair(&mut self, faults: &[Fault]) -> Result<(), String> {
        self.topology_mut().impair(faults)
    }

    /// Cables between two halves of the machine without faults, by the family's definition of the cut; `None` if no cut
    /// is known.
    fn bisection(&self) -> Option<u64> {
        None
    }

    /// The names of its routers; empty if they have only numbers.
    fn names(&self) -> &[String] {
        &[]
    }

    /// Nodes that are there for storage servers: the last ones.
    fn storage_nodes(&self) -> u32 {
        0
    }
}

/// The properties of a machine that decide its worst-case traffic for minimal routing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorstCase {
    /// Groups with few cables between each pair: all nodes of a group send to the next one.
    NextGroup,
    /// A grid with links between neighbors: nodes send nearly half-way around a dimension.
    Tornado {
        /// Routers along each dimension, the first fastest.
        extents: Vec<u32>,
        /// Nodes of a router.
        nodes_per_router: u32,
    },
    /// A tree: all nodes below one port of the top send to those below the next, so all packets pass the top.
    NextSubtree {
        /// Nodes below one port of a top router.
        nodes: u32,
    },
    /// A grid with fully connected lines: all nodes of a router send to one router of its line.
    NextInLine {
        /// Routers along each dimension, the first fastest.
        extents: Vec<u32>,
        /// Nodes of a router.
        nodes_per_router: u32,
    },
    /// Any graph: all nodes of a router send to one neighbor, a different one for each router.
    Neighbours,
}

/// Registers families: `documentation of the key, module: Variant = "name in scenarios";`. A module has `Settings`,
/// which implement [`FamilySettings`].
macro_rules! families {
    ($($(#[$doc:meta])+ $module:ident: $variant:ident = $name:literal;)*) => {
        /// A family of networks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FamilyName {
            $($(#[$doc])+ $variant,)*
        }

        impl FamilyName {
            /// All families, in the order of the reference.
            pub const ALL: &'static [FamilyName] = &[$(FamilyName::$variant),*];

            /// Its key in a scenario.
            pub const fn key(self) -> &'static str {
                match self {
                    $(FamilyName::$variant => $name,)*
                }
            }

            /// Small machines of it; see [`FamilySettings::EXAMPLES`].
            pub const fn examples(self) -> &'static [&'static str] {
                match self {
                    $(FamilyName::$variant => <$module::Settings as FamilySettings>::EXAMPLES,)*
                }
            }

            /// Groups of keys of its table that exclude each other.
            pub const fn alternatives(self) -> &'static [&'static [&'static str]] {
                match self {
                    $(FamilyName::$variant => <$module::Settings as FamilySettings>::ALTERNATIVES,)*
                }
            }
        }

        /// The settings of a machine's family.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum Kind {
            $($(#[$doc])+ #[serde(rename = $name)] $variant($module::Settings),)*
        }

        impl Kind {
            /// The family.
            pub const fn family(&self) -> FamilyName {
                match self {
                    $(Kind::$variant(_) => FamilyName::$variant,)*
                }
            }

            /// Fills in defaults and checks the sizes; see [`FamilySettings::resolve`].
            ///
            /// # Errors
            /// Those of [`FamilySettings::resolve`].
            pub fn resolve(&mut self, read: ReadFile<'_>) -> Result<Size, Problem> {
                match self {
                    $(Kind::$variant(settings) => settings.resolve(read),)*
                }
            }

            /// Builds the graph, with all its cables.
            ///
            /// # Errors
            /// The impossible size and its bound.
            pub fn build(&self) -> Result<Family, String> {
                match self {
                    $(Kind::$variant(settings) => settings.build().map(Family::$variant),)*
                }
            }

            /// The problem with the settings for an error of `build`.
            pub fn refusal(&self, problem: String) -> Problem {
                match self {
                    $(Kind::$variant(settings) => settings.refusal(problem),)*
                }
            }

            /// A smaller machine of the same shape, and its description; see [`FamilySettings::smaller`].
            pub fn smaller(&self, few: bool) -> Option<(Kind, String)> {
                match self {
                    $(Kind::$variant(settings) => {
                        let (small, text) = settings.smaller(few)?;
                        Some((Kind::$variant(small), text))
                    })*
                }
            }

            /// The link classes of the family's machines; all classes for a graph from a file.
            pub fn link_classes(&self) -> &'static [LinkClass] {
                match self {
                    $(Kind::$variant(_) => <$module::Settings as FamilySettings>::link_classes(),)*
                }
            }

            /// See [`FamilySettings::drawn_in`].
            pub fn drawn_in(&self) -> Option<&'static str> {
                match self {
                    $(Kind::$variant(_) => <$module::Settings as FamilySettings>::drawn_in(),)*
                }
            }

            /// See [`FamilySettings::way_in_a_group`].
            pub fn way_in_a_group(&self) -> Option<&'static [LinkClass]> {
                match self {
                    $(Kind::$variant(settings) => settings.way_in_a_group(),)*
                }
            }

            /// The worst-case traffic for minimal routing.
            pub fn worst_case(&self) -> WorstCase {
                match self {
                    $(Kind::$variant(settings) => settings.worst_case(),)*
                }
            }
        }

        /// A machine of one of the families, with its routing tables.
        #[derive(Debug)]
        pub enum Family {
            $($(#[$doc])+ $variant(<$module::Settings as FamilySettings>::Graph),)*
        }

        impl Family {
            /// The family.
            pub const fn name(&self) -> FamilyName {
                match self {
                    $(Family::$variant(_) => FamilyName::$variant,)*
                }
            }

            fn graph(&self) -> &dyn FamilyGraph {
                match self {
                    $(Family::$variant(graph) => graph,)*
                }
            }

            pub(crate) fn graph_mut(&mut self) -> &mut dyn FamilyGraph {
                match self {
                    $(Family::$variant(graph) => graph,)*
                }
            }
        }

        /// The machine's graph: exactly one kind, and its faulty cables.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(rename = "Machine")]
        pub struct MachineTable {
            $($(#[$doc])+
            #[serde(rename = $name, skip_serializing_if = "Option::is_none")]
            pub $module: Option<$module::Settings>,)*
            /// Routers of every group, numbered from 0 in the group, with service nodes, such as I/O forwarders to an
            /// external file system: neither jobs nor storage servers run there. Default: none.
            pub service_routers: Vec<u32>,
            /// Network interfaces of each node, 1 to 64: rails. Each has a link to the node's router. The sizes of the kind
            /// count interfaces: a router with 16 nodes by its kind has 4 nodes with `interfaces = 4`. `nic.affinity`
            /// and `nic.stripe_above` decide which interfaces carry a message. Default: 1.
            #[schemars(range(min = 1, max = 64))]
            pub interfaces: Option<u32>,
            /// Cables between routers that carry no traffic. Default: none.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub failed_links: Vec<FailedLink>,
            /// Cables between routers with reduced bandwidth. Default: none.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub degraded_links: Vec<DegradedLink>,
            /// A CSV file that gives cables a class, bandwidth, latency or buffer of their own; relative to the scenario's folder. Default: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub cables: Option<String>,
        }

        impl MachineTable {
            /// The given kinds, and the rest of the table.
            pub fn split(self) -> (Vec<Kind>, Rest) {
                let kinds = [$(self.$module.map(Kind::$variant)),*];
                let rest = Rest {
                    service_routers: self.service_routers,
                    interfaces: self.interfaces,
                    failed_links: self.failed_links,
                    degraded_links: self.degraded_links,
                    cables: self.cables,
                };
                (kinds.into_iter().flatten().collect(), rest)
            }
        }
    };
}

families! {
    /// A dragonfly with one-dimensional groups: the routers of a group are fully connected, and each pair of groups has
    /// at least one cable.
    dragonfly: Dragonfly = "dragonfly";
    /// A dragonfly with two-dimensional groups: the routers of a group form a grid with fully connected rows and
    /// columns. Cray XC.
    dragonfly2d: Dragonfly2d = "dragonfly-2d";
    /// A dragonfly+, or megafly: leaf and spine routers in every group.
    dragonfly_plus: DragonflyPlus = "dragonfly-plus";
    /// A grid of routers with wrap-around cables.
    torus: Torus = "torus";
    /// A grid of routers without wrap-around cables.
    mesh: Mesh = "mesh";
    /// A fat tree: an extended generalized fat tree, or a k-ary n-tree.
    fat_tree: FatTree = "fat-tree";
    /// A Slim Fly: a graph of diameter two.
    slim_fly: SlimFly = "slim-fly";
    /// A PolarFly: a graph of diameter two with one shortest path between any two routers.
    polarfly: PolarFly = "polarfly";
    /// A HyperX: a grid of routers with fully connected lines, such as the flattened butterfly.
    hyperx: HyperX = "hyperx";
    /// A rail-optimized cluster of GPU hosts: NVLink or similar in a host, a leaf switch for each GPU of a host, spines
    /// above.
    rail_optimized: RailOptimized = "rail-optimized";
    /// Any graph from a file.
    graph: Graph = "graph";
}

/// The table `machine` without its kind.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// Routers of every group with service nodes.
    pub service_routers: Vec<u32>,
    /// Interfaces of each node, if given.
    pub interfaces: Option<u32>,
    /// Cables that carry no traffic.
    pub failed_links: Vec<FailedLink>,
    /// Cables with reduced bandwidth.
    pub degraded_links: Vec<DegradedLink>,
    /// The file of cables with a bandwidth or latency of their own.
    pub cables: Option<String>,
}

impl FamilyName {
    /// The family with this key.
    pub fn of_key(key: &str) -> Option<FamilyName> {
        FamilyName::ALL.iter().copied().find(|name| name.key() == key)
    }

    /// The keys of all families, in the order of the reference.
    pub fn keys() -> Vec<&'static str> {
        FamilyName::ALL.iter().map(|name| name.key()).collect()
    }
}

impl Kind {
    /// Its key in a scenario.
    pub const fn name(&self) -> &'static str {
        self.family().key()
    }
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

/// The machine's graph, resolved, and its faulty cables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Its kind and sizes.
    #[serde(flatten)]
    pub kind: Kind,
    /// Routers of every group with service nodes, which run neither jobs nor storage servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_routers: Vec<u32>,
    /// Interfaces of each node.
    #[serde(skip_serializing_if = "is_one")]
    pub interfaces: u32,
    /// Cables that carry no traffic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_links: Vec<FailedLink>,
    /// Cables with reduced bandwidth.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded_links: Vec<DegradedLink>,
    /// Cables with a bandwidth or latency of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cables: Option<CableFile>,
}

impl Machine {
    /// A machine of this kind without faults.
    pub const fn whole(kind: Kind) -> Machine {
        Machine {
            kind,
            service_routers: Vec::new(),
            interfaces: 1,
            failed_links: Vec::new(),
            degraded_links: Vec::new(),
            cables: None,
        }
    }

    /// The faults of its cables, without those of the file of cables.
    pub fn faults(&self) -> Vec<Fault> {
        let failed = self.failed_links.iter().map(|link| Fault {
            routers: link.routers.into(),
            index: link.index,
            effect: Effect::Failed,
        });
        let degraded = self.degraded_links.iter().map(|link| Fault {
            routers: link.routers.into(),
            index: link.index,
            effect: Effect::Degraded(link.factor),
        });
        failed.chain(degraded).collect()
    }

    /// Builds the machine, gives its cables their own bandwidths and latencies, and applies its faults.
    ///
    /// # Errors
    /// The impossible size and its bound, or the missing cable.
    pub fn build(&self) -> Result<Family, String> {
        let mut family = self.kind.build()?;
        family.set_interfaces(self.interfaces)?;
        if let Some(cables) = &self.cables {
            cables.apply(&mut family).map_err(|error| error.to_string())?;
        }
        self.impair(&mut family)?;
        Ok(family)
    }

    /// Applies the faults to `family`, which was built of `kind`.
    ///
    /// # Errors
    /// The missing cable.
    pub fn impair(&self, family: &mut Family) -> Result<(), String> {
        let faults = self.faults();
        match faults.is_empty() {
            true => Ok(()),
            false => family.graph_mut().impair(&faults),
        }
    }
}

impl Family {
    /// Its graph.
    pub fn topology(&self) -> &Topology {
        self.graph().topology()
    }

    /// Gives every node `interfaces` interfaces.
    ///
    /// # Errors
    /// Those of [`Topology::set_interfaces`].
    pub fn set_interfaces(&mut self, interfaces: u32) -> Result<(), String> {
        self.graph_mut().topology_mut().set_interfaces(interfaces)
    }

    /// The names of its routers; empty if they have only numbers.
    pub fn names(&self) -> &[String] {
        self.graph().names()
    }

    /// Nodes that are there for storage servers: the last ones.
    pub fn storage_nodes(&self) -> u32 {
        self.graph().storage_nodes()
    }

    /// Cables between two halves of the machine; see [`FamilyGraph::bisection`].
    pub fn bisection(&self) -> Option<u64> {
        self.graph().bisection()
    }
}
