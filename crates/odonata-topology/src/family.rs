//! Families of networks: one module each, registered in one line of [`families!`].
//!
//! A family's module has its settings ([`FamilySettings`]: the keys of its table `[machine.NAME]`, what is possible, what
//! follows from them) and its graph ([`FamilyGraph`], with the answers to what its routing asks). The line in [`families!`]
//! gives the module, the name of its variants, the name in scenarios, and what the reference says of the key. There is no
//! other list of families in this crate, and none of names in any other.
//!
//! | type | what it is |
//! |---|---|
//! | [`FamilyName`] | which family |
//! | [`Kind`] | its settings |
//! | [`Family`] | a machine of it, built |
//! | [`MachineTable`], [`Machine`] | the table `machine`, as it is read and as it is resolved |

pub mod dragonfly;
pub mod dragonfly2d;
pub mod dragonfly_plus;
pub mod fat_tree;
pub mod graph;
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

use crate::{Effect, Fault, LinkClass, Topology};

/// The settings of a family of networks, as they are written and, with all defaults filled in, as they are resolved.
pub trait FamilySettings: Sized {
    /// The graph that is built from them.
    type Graph: FamilyGraph;

    /// Small machines of the family, as the lines of their table in a scenario: whatever is tested on all families, is tested
    /// on these.
    const EXAMPLES: &'static [&'static str];

    /// Groups of keys of which only one can be there: keys of an upper layer replace the other group of a lower one.
    const ALTERNATIVES: &'static [&'static [&'static str]] = &[];

    /// Fills in what was left out and checks sizes that are wrong by themselves or against one other. Nothing large is
    /// allocated before the size is known; that of no routers is of a graph that was read.
    ///
    /// # Errors
    /// The key, what is wrong with it, and what would be right.
    fn resolve(&mut self, read: ReadFile<'_>) -> Result<Size, Problem>;

    /// Builds the graph of resolved settings.
    ///
    /// # Errors
    /// A text saying which size is impossible and what the bound is.
    fn build(&self) -> Result<Self::Graph, String>;

    /// What is wrong with the settings if building has found `problem`.
    fn refusal(&self, problem: String) -> Problem {
        settings::whole(problem, "")
    }

    /// A smaller machine of the same shape, on which freedom from deadlock is proved, and what it is; with `few`, one on
    /// which packets have fewer choices. `None`: the machine itself is proved, however large.
    fn smaller(&self, few: bool) -> Option<(Self, String)>;

    /// The classes of links that machines of the family can have.
    fn link_classes() -> &'static [LinkClass] {
        &LinkClass::ALL[..3]
    }

    /// Where routers of a group share their global links with each other: the classes of links on the shortest way between
    /// two of them that have to do with it. `None`: nobody has a use for the loads of other routers' global ports.
    fn way_in_a_group(&self) -> Option<&'static [LinkClass]> {
        None
    }

    /// The key that names what users have drawn, if they have: it may be in pieces.
    fn drawn_in() -> Option<&'static str> {
        None
    }

    /// The traffic that is worst for minimal routing.
    fn worst_case(&self) -> WorstCase {
        WorstCase::Neighbours
    }

    /// Routers that a packet visits to a node of its own group, where that was measured; else estimates go by distances in
    /// the graph.
    fn measured_hops_inside(&self) -> Option<f64> {
        None
    }
}

/// A graph that a family has built.
pub trait FamilyGraph: std::fmt::Debug {
    /// The graph.
    fn topology(&self) -> &Topology;

    /// Applies faults of cables; see [`Topology::impair`].
    ///
    /// # Errors
    /// See there.
    fn impair(&mut self, faults: &[Fault]) -> Result<(), String>;

    /// Cables between two halves of the machine before any of them broke, as the family defines the cut; `None`: no such
    /// cut is known.
    fn bisection(&self) -> Option<u64> {
        None
    }

    /// The names of its routers; empty: they have none but their numbers.
    fn names(&self) -> &[String] {
        &[]
    }
}

/// What of a machine's graph decides which traffic is worst for minimal routing on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorstCase {
    /// Groups with few cables between two of them: all nodes of a group send to the next one.
    NextGroup,
    /// A grid with links between neighbors in a dimension: nearly half-way around it.
    Tornado {
        /// Routers along each dimension, the first fastest.
        extents: Vec<u32>,
        /// Nodes of a router.
        nodes_per_router: u32,
    },
    /// A tree: all nodes under one port of the top send to those under the next, so that all packets pass the top.
    NextSubtree {
        /// Nodes below one port of a top router.
        nodes: u32,
    },
    /// A grid whose lines are all linked with each other: all nodes of a router send to one router of its line.
    NextInLine {
        /// Routers along each dimension, the first fastest.
        extents: Vec<u32>,
        /// Nodes of a router.
        nodes_per_router: u32,
    },
    /// Any graph: all nodes of a router send to one neighbor that is nobody else's.
    Neighbours,
}

/// Registers families: `documentation of the key, module: Variant = "name in scenarios";`. A module has `Settings`, which
/// are [`FamilySettings`].
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

            /// Groups of keys of its table of which only one can be there.
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

            /// Fills in what was left out and checks the sizes; see [`FamilySettings::resolve`].
            ///
            /// # Errors
            /// See there.
            pub fn resolve(&mut self, read: ReadFile<'_>) -> Result<Size, Problem> {
                match self {
                    $(Kind::$variant(settings) => settings.resolve(read),)*
                }
            }

            /// Builds the graph, with all its cables.
            ///
            /// # Errors
            /// A text saying which size is impossible and what the bound is.
            pub fn build(&self) -> Result<Family, String> {
                match self {
                    $(Kind::$variant(settings) => settings.build().map(Family::$variant),)*
                }
            }

            /// What is wrong with the settings if building has found `problem`.
            pub fn refusal(&self, problem: String) -> Problem {
                match self {
                    $(Kind::$variant(settings) => settings.refusal(problem),)*
                }
            }

            /// A smaller machine of the same shape, and what it is; see [`FamilySettings::smaller`].
            pub fn smaller(&self, few: bool) -> Option<(Kind, String)> {
                match self {
                    $(Kind::$variant(settings) => {
                        let (small, text) = settings.smaller(few)?;
                        Some((Kind::$variant(small), text))
                    })*
                }
            }

            /// The classes of links that machines of the family can have; all where a file says which.
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

            /// The traffic that is worst for minimal routing.
            pub fn worst_case(&self) -> WorstCase {
                match self {
                    $(Kind::$variant(settings) => settings.worst_case(),)*
                }
            }

            /// See [`FamilySettings::measured_hops_inside`].
            pub fn measured_hops_inside(&self) -> Option<f64> {
                match self {
                    $(Kind::$variant(settings) => settings.measured_hops_inside(),)*
                }
            }
        }

        /// A machine of one of the families, with the tables that its routing needs.
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

            fn graph_mut(&mut self) -> &mut dyn FamilyGraph {
                match self {
                    $(Family::$variant(graph) => graph,)*
                }
            }
        }

        /// The machine's graph: exactly one kind, and which of its cables are broken.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(rename = "Machine")]
        pub struct MachineTable {
            $($(#[$doc])+
            #[serde(rename = $name, skip_serializing_if = "Option::is_none")]
            pub $module: Option<$module::Settings>,)*
            /// Routers of every group, numbered from 0 in the group, whose nodes are service nodes, such as those that forward I/O
            /// to a file system outside: neither jobs nor storage servers get them. Default: none.
            pub service_routers: Vec<u32>,
            /// Cables between routers that carry nothing. Default: none.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub failed_links: Vec<FailedLink>,
            /// Cables between routers that carry less than others of their class. Default: none.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub degraded_links: Vec<DegradedLink>,
        }

        impl MachineTable {
            /// The kinds that are there, and the rest of the table.
            pub fn split(self) -> (Vec<Kind>, Rest) {
                let kinds = [$(self.$module.map(Kind::$variant)),*];
                let rest = Rest {
                    service_routers: self.service_routers,
                    failed_links: self.failed_links,
                    degraded_links: self.degraded_links,
                };
                (kinds.into_iter().flatten().collect(), rest)
            }
        }
    };
}

families! {
    /// A dragonfly with one-dimensional groups: all routers of a group are linked with each other, and any two groups
    /// by at least one cable.
    dragonfly: Dragonfly = "dragonfly";
    /// A dragonfly with two-dimensional groups: the routers of a group form a grid, and those of a row and those of a
    /// column are all linked with each other. Cray XC.
    dragonfly2d: Dragonfly2d = "dragonfly-2d";
    /// A dragonfly+, or megafly: leaf and spine routers in every group.
    dragonfly_plus: DragonflyPlus = "dragonfly-plus";
    /// A grid of routers whose lines are closed.
    torus: Torus = "torus";
    /// A grid of routers whose lines are open.
    mesh: Mesh = "mesh";
    /// A fat tree: an extended generalized fat tree, or a k-ary n-tree.
    fat_tree: FatTree = "fat-tree";
    /// A Slim Fly: a graph of diameter two.
    slim_fly: SlimFly = "slim-fly";
    /// A PolarFly: a graph of diameter two with one shortest path between any two routers.
    polarfly: PolarFly = "polarfly";
    /// A HyperX: a grid of routers whose lines are all linked with each other. The flattened butterfly is one.
    hyperx: HyperX = "hyperx";
    /// A rail-optimized cluster of GPU hosts: NVLink or its like in a host, a leaf switch for each GPU of a host, spines above.
    rail_optimized: RailOptimized = "rail-optimized";
    /// Any graph, from a file.
    graph: Graph = "graph";
}

/// What the table `machine` says beside its kind.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// Routers of every group whose nodes are service nodes.
    pub service_routers: Vec<u32>,
    /// Cables that carry nothing.
    pub failed_links: Vec<FailedLink>,
    /// Cables that carry less than others of their class.
    pub degraded_links: Vec<DegradedLink>,
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

/// The machine's graph, resolved, and which of its cables are broken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Its kind and sizes.
    #[serde(flatten)]
    pub kind: Kind,
    /// Routers of every group whose nodes neither jobs nor storage servers get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_routers: Vec<u32>,
    /// Cables that carry nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_links: Vec<FailedLink>,
    /// Cables that carry less than others of their class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded_links: Vec<DegradedLink>,
}

impl Machine {
    /// A machine of this kind, with nothing wrong.
    pub const fn whole(kind: Kind) -> Machine {
        Machine {
            kind,
            service_routers: Vec::new(),
            failed_links: Vec::new(),
            degraded_links: Vec::new(),
        }
    }

    /// What is wrong with its cables.
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

    /// Builds it, and breaks the cables that it says are broken.
    ///
    /// # Errors
    /// A text saying which size is impossible and what the bound is, or which cable there is not.
    pub fn build(&self) -> Result<Family, String> {
        let mut family = self.kind.build()?;
        let faults = self.faults();
        if !faults.is_empty() {
            family.graph_mut().impair(&faults)?;
        }
        Ok(family)
    }
}

impl Family {
    /// Its graph.
    pub fn topology(&self) -> &Topology {
        self.graph().topology()
    }

    /// The names of its routers; empty: they have none but their numbers.
    pub fn names(&self) -> &[String] {
        self.graph().names()
    }

    /// Cables between two halves of the machine; see [`FamilyGraph::bisection`].
    pub fn bisection(&self) -> Option<u64> {
        self.graph().bisection()
    }
}
