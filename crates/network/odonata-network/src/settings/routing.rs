//! Path selection.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use odonata_topology::LinkClass;
use odonata_units::{Bytes, Filled, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::Algorithm;
use crate::params::{Broadcast, Detour, Knowledge};
use crate::routing::{Divert, InGroup, Intermediate, Selection, Spread, Ties, Up, VcRule};

/// Path selection. A key that has no effect for the algorithm on this machine is an error, unless it comes from a
/// preset, or from the file where `--set` names the algorithm; `docs/routing.md` has the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// The algorithm; if the machine's family does not have it, the error lists those that it has. On dragonflies,
    /// traffic inside a group is minimal, except by `in_group`. Default: the deterministic minimal algorithm of the family:
    /// "dimension-order" on tori and meshes, "nearest-common-ancestor" on fat trees, "up-down" on graphs from files,
    /// "minimal" on all others. The default routes around failed cables on every machine of up to 8,192 routers.
    pub algorithm: Filled<Algorithm>,
    /// UGAL: which loads the source router knows. Default: "local".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<KnowledgeKind>,
    /// "global" and "piggyback": interval at which routers publish changes at their global ports to their group;
    /// positive. Default: "100 ns".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_interval: Option<Time>,
    /// "global" and "piggyback": delay until the group knows published changes; at least the latency of the shortest
    /// path between any two routers of a group that exchange them. Default: that latency, which is one local link, or a
    /// row and a column of two-dimensional groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_delay: Option<Time>,
    /// "piggyback": a global port is congested if its load exceeds this factor times the mean of its router; 0 to 1000.
    /// With n global ports per router, a factor of n or more marks no port as congested. Default: 1.5.
    #[schemars(range(min = 0, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_factor: Option<f64>,
    /// "piggyback": the load of a congested global port also exceeds this. Default: the bytes in flight on a global
    /// link and its returning credits at full rate, plus two packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_threshold: Option<Bytes>,
    /// Fat trees, rail-optimized clusters and up*/down* routing: how the path up is chosen. Default: "d-mod-k", for
    /// up*/down* "random".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Up>,
    /// Dragonflies: the intermediate of a non-minimal path. Default: "group".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Intermediate>,
    /// Adaptive routing: a packet leaves its minimal path only if the backlog there exceeds this. UGAL: only if it
    /// exceeds the backlog on the other path by this. Default: "16 KiB"; UGAL: "0 B".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// Adaptive routing: a packet leaves its minimal path if the backlog there exceeds this factor times the backlog on
    /// the other path; 0 to 1000. UGAL multiplies each backlog by the number of links of its path. Default: 2; UGAL: 1.
    #[schemars(range(min = 0, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// Adaptive routing: how `threshold` and `bias` combine. Default: "both"; UGAL: "sum".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Adaptive routing: whether the load of a path is multiplied by its number of hops. Default: false; UGAL: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weigh_hops: Option<bool>,
    /// UGAL and progressive adaptive routing: number of random non-minimal paths to compare, 1 to 64. `up =
    /// "adaptive"` and `spread = "adaptive"`: number of random ports from which the least loaded is taken. Default: 2.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,
    /// Minimal adaptive routing: which of several ports with room a packet takes. Default: "lightest".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Tori: the direction of a packet around a dimension in which both directions are equally long. Default: "random".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ties: Option<Ties>,
    /// Virtual channels per port, 1 to 16: a number for all link classes, or a table such as { terminal = 4, local = 3
    /// }. An algorithm that needs more to avoid deadlock gets as many as it needs. Default: as many as it needs.
    pub vcs: Option<Vcs>,
    /// Progressive adaptive routing on a dragonfly: the paths to which a second router of the source group may divert a
    /// packet. Default: "any".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divert: Option<Divert>,
    /// UGAL and progressive adaptive routing on a dragonfly: the paths between routers of one group. Default: "minimal".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_group: Option<InGroup>,
    /// Dragonfly: how virtual channels are assigned to the hops of a path. Default: "stage".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vc_rule: Option<VcRule>,
    /// Shortest paths, k shortest paths and routes from a table: how packets spread over the paths of two nodes. Default:
    /// "flow".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// K shortest paths: number of paths of each pair of routers, 1 to 64. Default: 4.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<u32>,
    /// Routes from a table: the CSV file, with the columns from, to, path or at, to, next (docs/routing.md); relative to
    /// the scenario's folder. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<String>,
    /// Resolved: the text of the file `routes`.
    #[serde(skip)]
    pub routes_text: Arc<str>,
    /// Resolved: a hash of that text (FNV-1a, 64 bits), which identifies the routes.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub routes_hash: Option<String>,
    /// What happens if the routing can deadlock.
    pub deadlock_check: DeadlockCheck,
}

impl Routing {
    /// The rule by which packets leave their minimal path; the default for algorithms without detours.
    pub fn detour(&self) -> Detour {
        let (Some(rule), Some(threshold), Some(bias), Some(hops)) =
            (self.comparison, self.threshold, self.bias, self.weigh_hops)
        else {
            return Detour::default();
        };
        Detour {
            rule,
            threshold: threshold.0,
            bias,
            hops,
        }
    }

    /// The loads that routers know. Requires resolved settings: all keys of the kind of knowledge are set.
    pub fn known(&self) -> Knowledge {
        let (Some(interval), Some(delay)) = (self.knowledge_interval, self.knowledge_delay) else {
            return Knowledge::Local;
        };
        let broadcast = Broadcast { interval, delay };
        match (self.congestion_factor, self.congestion_threshold) {
            (Some(factor), Some(threshold)) => Knowledge::Piggyback {
                broadcast,
                factor,
                threshold: threshold.0,
            },
            _ => Knowledge::Global { broadcast },
        }
    }
}

/// How the loads of a minimal path, m, and of another path, o, are compared; b is `bias`, T `threshold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// The packet leaves its minimal path if m > T and m > b o.
    #[default]
    Both,
    /// The packet leaves its minimal path if m > b o + T.
    Sum,
}

/// Which loads the source router of an adaptive algorithm knows. Routers publish changes at multiples of
/// `knowledge_interval`; other routers know them `knowledge_delay` later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Knowledge")]
pub enum KnowledgeKind {
    /// The loads of its own ports (UGAL-L).
    #[default]
    Local,
    /// Also the loads of the global ports of its group; each counts together with the load of the path to that port
    /// (UGAL-G: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA
    /// 2008).
    Global,
    /// Also which global ports of its group are congested: a packet whose minimal path uses a congested port takes
    /// another path; for other packets the router's own ports decide (piggybacking: N. Jiang, J. Kim, W. Dally, ISCA
    /// 2009).
    Piggyback,
}

impl KnowledgeKind {
    /// The name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            KnowledgeKind::Local => "local",
            KnowledgeKind::Global => "global",
            KnowledgeKind::Piggyback => "piggyback",
        }
    }
}

/// What happens if the dependency graph of a routing has a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeadlockCheck {
    /// The scenario is refused.
    #[default]
    Refuse,
    /// The scenario runs, as in some other simulators, and the results carry a warning. The run may come to a halt.
    Warn,
}

/// Virtual channels per port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vcs {
    /// The same for all link classes.
    All(u8),
    /// By link class.
    Classes(ClassVcs),
}

/// Virtual channels per port by link class. A class that is left out has as many as the algorithm needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClassVcs {
    /// Between a node and its router. Default: as many as the algorithm needs.
    #[schemars(range(min = 1, max = 16))]
    pub terminal: Option<u8>,
    /// Between routers of a group. Default: as many as the algorithm needs.
    #[schemars(range(min = 1, max = 16))]
    pub local: Option<u8>,
    /// Between groups. Default: as many as the algorithm needs.
    #[schemars(range(min = 1, max = 16))]
    pub global: Option<u8>,
    /// Links of the second kind between routers of a group. Default: as many as the algorithm needs.
    #[schemars(range(min = 1, max = 16))]
    pub column: Option<u8>,
}

impl Vcs {
    /// The number for links of `class`, if set.
    pub fn of(&self, class: LinkClass) -> Option<u8> {
        match self {
            Vcs::All(count) => Some(*count),
            Vcs::Classes(vcs) => match class {
                LinkClass::Terminal => vcs.terminal,
                LinkClass::Local => vcs.local,
                LinkClass::Global => vcs.global,
                LinkClass::Column => vcs.column,
            },
        }
    }
}

impl<'de> Deserialize<'de> for Vcs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VcsVisitor;
        impl<'de> Visitor<'de> for VcsVisitor {
            type Value = Vcs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 to 255")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Vcs, E> {
                match u8::try_from(number) {
                    Ok(count) => Ok(Vcs::All(count)),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vcs, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(Vcs::Classes)
            }
        }
        deserializer.deserialize_any(VcsVisitor)
    }
}

impl Serialize for Vcs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Vcs::All(count) => serializer.serialize_u8(*count),
            Vcs::Classes(vcs) => vcs.serialize(serializer),
        }
    }
}

impl JsonSchema for Vcs {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Vcs".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let classes = generator.subschema_for::<ClassVcs>();
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1, "maximum": 16 }, classes] })
    }
}
