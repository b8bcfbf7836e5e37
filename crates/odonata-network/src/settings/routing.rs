//! How paths are chosen.

use std::borrow::Cow;
use std::fmt;

use odonata_topology::LinkClass;
use odonata_units::{Bytes, Filled, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::Algorithm;
use crate::params::{Broadcast, Detour, Knowledge};
use crate::routing::{Divert, Intermediate, Selection, Ties, Up, VcRule};

/// How paths are chosen. A key that the algorithm has no use for on this machine is refused, unless it is from a preset, or
/// from the file where `--set` names the algorithm; `docs/routing.md` has the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// The algorithm; an algorithm that the machine's family does not have is refused with a list of those that it has.
    /// On dragonflies, traffic inside a group is always minimal. Default: the family's deterministic minimal one, which is
    /// "dimension-order" on tori and meshes, "nearest-common-ancestor" on fat trees, "minimal" on all others but graphs
    /// from files, which have "up-down". That one goes around failed cables on every machine of up to 8,192 routers.
    pub algorithm: Filled<Algorithm>,
    /// UGAL: which loads the source router knows. Default: "local".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<KnowledgeKind>,
    /// Of "global" and "piggyback": routers tell their group at multiples of this time what has changed at their global
    /// ports; positive. Default: "100 ns".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_interval: Option<Time>,
    /// Likewise: from then until the group knows it; at least the latency of the shortest way between any two routers of a
    /// group that have to do with it, which is the default: one local link, or a row and a column of two-dimensional groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knowledge_delay: Option<Time>,
    /// Of "piggyback": a global port is congested if its load is more than this factor times the mean of its router's; 0 to
    /// 1000. With n global ports a factor of n or more lets none be congested. Default: 1.5.
    #[schemars(range(min = 0, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_factor: Option<f64>,
    /// Likewise: and if its load is more than this. Default: what a global link and its credits have on their way at full
    /// rate, and two packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_threshold: Option<Bytes>,
    /// Fat trees, rail-optimised clusters and up*/down* routing: how the way up is chosen. Default: "d-mod-k", of up*/down*
    /// "random".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Up>,
    /// Dragonflies: what a non-minimal path goes through. Default: "group".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Intermediate>,
    /// Adaptive routing: a packet leaves its minimal path only if more than this waits there. UGAL: only if that much more
    /// waits there than on the other path. Default: "16 KiB"; UGAL: "0 B".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// Adaptive routing: a packet leaves its minimal path if more waits there than this factor times what waits on
    /// the other path; 0 to 1000. UGAL counts what waits times the links of the path. Default: 2; UGAL: 1.
    #[schemars(range(min = 0, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// Adaptive routing: how `threshold` and `bias` are taken together. Default: "both"; UGAL: "sum".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Adaptive routing: whether the load of a path counts times the hops of the path. Default: false; UGAL: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weigh_hops: Option<bool>,
    /// UGAL and progressive adaptive routing: random non-minimal paths that are compared, 1 to 64. `up = "adaptive"`: random
    /// ports up of which the lightest is taken. Default: 2.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,
    /// Minimal adaptive routing: which of several ports with room a packet takes. Default: "lightest".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Tori: which way a packet goes around a dimension in which both are as long. Default: "random".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ties: Option<Ties>,
    /// Virtual channels per port, 1 to 16: a number for every class of links, or a table such as
    /// { terminal = 4, local = 3 }; where the algorithm needs more to be free of deadlock, it gets what it needs.
    /// Default: as many as it needs.
    pub vcs: Option<Vcs>,
    /// Progressive adaptive routing on a dragonfly: over what a second router of the source group may divert a packet.
    /// Default: "any".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divert: Option<Divert>,
    /// Dragonfly: how virtual channels are assigned to the hops of a path. Default: "stage".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vc_rule: Option<VcRule>,
    /// What happens to a routing that can deadlock.
    pub deadlock_check: DeadlockCheck,
}

impl Routing {
    /// When packets leave their minimal path; algorithms that never do have no use for it.
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

    /// Which loads routers know; resolved, all keys that go with a kind of knowledge are there.
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

/// How the loads of a minimal and of another path, m and o, are compared; b is `bias`, T `threshold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// The packet leaves its minimal path if m > T and m > b o.
    #[default]
    Both,
    /// The packet leaves its minimal path if m > b o + T.
    Sum,
}

/// Which loads the source router of an adaptive algorithm knows. What it knows of others it has been told, a while ago:
/// they publish at multiples of `knowledge_interval` what has changed, and it is known after `knowledge_delay`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Knowledge")]
pub enum KnowledgeKind {
    /// Those of its own ports (UGAL-L).
    #[default]
    Local,
    /// Those of the global ports of its group as well: the load of such a port counts with that of the way to it (UGAL-G: J.
    /// Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008).
    Global,
    /// Which global ports of its group are congested: a packet whose minimal path goes over one of them takes another path,
    /// for others its own ports decide (piggybacking: N. Jiang, J. Kim, W. Dally, ISCA 2009).
    Piggyback,
}

impl KnowledgeKind {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            KnowledgeKind::Local => "local",
            KnowledgeKind::Global => "global",
            KnowledgeKind::Piggyback => "piggyback",
        }
    }
}

/// What happens to a routing whose dependency graph has a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeadlockCheck {
    /// It is not run.
    #[default]
    Refuse,
    /// It is run, as some other simulators do, and the results say so. The run may come to a halt.
    Warn,
}

/// Virtual channels per port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vcs {
    /// The same on every class of links.
    All(u8),
    /// By class of links.
    Classes(ClassVcs),
}

/// Virtual channels per port by class of links; where nothing is said, as many as the algorithm needs.
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
    /// The second kind between routers of a group. Default: as many as the algorithm needs.
    #[schemars(range(min = 1, max = 16))]
    pub column: Option<u8>,
}

impl Vcs {
    /// Those of links of `class`, if anything is said of them.
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
