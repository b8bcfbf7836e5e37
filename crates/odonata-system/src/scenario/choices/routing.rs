//! The named choices of routing but the algorithm, and virtual channels.

use std::borrow::Cow;
use std::fmt;

use odonata_topology::LinkClass;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// Which loads the source router of an adaptive algorithm knows. What it knows of others it has been told, a while ago:
/// they publish at multiples of `knowledge_interval` what has changed, and it is known after `knowledge_delay`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Knowledge {
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

impl Knowledge {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Knowledge::Local => "local",
            Knowledge::Global => "global",
            Knowledge::Piggyback => "piggyback",
        }
    }
}

/// How the way up is chosen where several lead to the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Up {
    /// At random.
    Random,
    /// By the number of the destination (E. Zahavi, "D-Mod-K routing", 2010): all packets to a node share one way down.
    /// Fat trees only.
    DModK,
    /// The least loaded one.
    Adaptive,
}

impl Up {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Up::Random => "random",
            Up::DModK => "d-mod-k",
            Up::Adaptive => "adaptive",
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

/// What a non-minimal path goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// A random group, entered at whatever router its cable ends at.
    #[default]
    Group,
    /// A random router of a random group.
    Router,
}

/// Over what a second router of the source group may divert a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Divert {
    /// Over any port.
    #[default]
    Any,
    /// Over its own global ports only, as in CODES.
    OwnGlobalPorts,
}

/// How virtual channels are assigned to the hops of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VcRule {
    /// By the stage of the path: no more channels than freedom from deadlock needs.
    #[default]
    Stage,
    /// By the group the packet is in, as in CODES: source 0 or 1, intermediate 2, destination 3; four channels.
    Codes,
    /// By phase, as BookSim's dragonfly: 0 on the way to the intermediate, 1 on the minimal way, 2 from the global link into
    /// the destination group on. Detours can deadlock.
    Phase,
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
