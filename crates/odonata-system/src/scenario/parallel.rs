//! How a run is spread over the cores of a computer: keys of `[run]`, the same in their written and their resolved form.
//!
//! Nothing here changes what is measured. Results, and the digest over them, are the same whatever is chosen.

use std::borrow::Cow;
use std::fmt;

use odonata_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use super::error::nearest;

/// Who handles the events. Results are the same with all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Whichever is expected to be fastest here; `odonata check` says which that is, and why.
    #[default]
    Auto,
    /// One event after the other; part by part where the machine is larger than the caches of a core.
    Sequential,
    /// The machine in parts, each as far as the others cannot influence it: windows as long as the shortest delay
    /// between two parts (Chandy and Misra 1979; Lubachevsky 1989).
    Conservative,
    /// The machine in parts that run ahead; what turns out to have been too early is taken back (Time Warp, Jefferson
    /// 1985).
    Optimistic,
}

impl Scheduler {
    /// The name in scenarios and results.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Auto => "auto",
            Scheduler::Sequential => "sequential",
            Scheduler::Conservative => "conservative",
            Scheduler::Optimistic => "optimistic",
        }
    }
}

/// Threads of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// As many as there are cores that the process may use.
    #[default]
    Auto,
    /// So many.
    Count(u32),
}

/// Parts of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// As suits threads, caches and the groups of the machine.
    #[default]
    Auto,
    /// So many, as equal as can be.
    Count(u32),
    /// These.
    Listed(ListedParts),
}

/// Parts by their first routers: `{ first_routers = [0, 96, 192] }`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedParts {
    /// The first router of each part, rising from 0; a part ends where the next one begins.
    pub first_routers: Vec<u32>,
}

/// Bounds of the optimistic scheduler. They decide how far it runs ahead, and thus how fast it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Optimism {
    /// A part goes beyond its window as long as it has handled fewer events than this in the round, counting those of earlier
    /// rounds that it may still have to take back.
    #[schemars(range(min = 1))]
    pub events_per_round: u32,
    /// Most memory that a process keeps in order to take events back; at least 1 MiB.
    pub journal: Bytes,
}

impl Default for Optimism {
    fn default() -> Self {
        Optimism {
            events_per_round: 128,
            journal: Bytes::mib(256),
        }
    }
}

/// All of it, resolved.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Parallel {
    /// Who handles the events.
    pub scheduler: Scheduler,
    /// Threads of each process.
    pub threads: Threads,
    /// Parts of the machine.
    pub parts: Parts,
    /// Bounds of the optimistic scheduler.
    pub optimism: Optimism,
}

impl<'de> Deserialize<'de> for Threads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ThreadsVisitor;
        impl Visitor<'_> for ThreadsVisitor {
            type Value = Threads;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a positive whole number or \"auto\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Threads, E> {
                auto(text, &self).map(|()| Threads::Auto)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Threads, E> {
                count(number, &self).map(Threads::Count)
            }
        }
        deserializer.deserialize_any(ThreadsVisitor)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor;
        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Parts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a positive whole number, \"auto\" or { first_routers = [...] }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Parts, E> {
                auto(text, &self).map(|()| Parts::Auto)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Parts, E> {
                count(number, &self).map(Parts::Count)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Parts, A::Error> {
                ListedParts::deserialize(MapAccessDeserializer::new(map)).map(Parts::Listed)
            }
        }
        deserializer.deserialize_any(PartsVisitor)
    }
}

/// Accepts "auto" and nothing else.
fn auto<E: Error>(text: &str, expected: &dyn serde::de::Expected) -> Result<(), E> {
    if text == "auto" {
        return Ok(());
    }
    let hint = nearest(text, ["auto"]).map_or(String::new(), |hint| format!("; {hint}"));
    let expected = format!("{expected}{hint}");
    Err(E::invalid_value(Unexpected::Str(text), &expected.as_str()))
}

fn count<E: Error>(number: i64, expected: &dyn serde::de::Expected) -> Result<u32, E> {
    match u32::try_from(number) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(E::invalid_value(Unexpected::Signed(number), expected)),
    }
}

impl Serialize for Threads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Threads::Auto => serializer.serialize_str("auto"),
            Threads::Count(count) => serializer.serialize_u32(*count),
        }
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Parts::Auto => serializer.serialize_str("auto"),
            Parts::Count(count) => serializer.serialize_u32(*count),
            Parts::Listed(parts) => parts.serialize(serializer),
        }
    }
}

impl JsonSchema for Threads {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Threads".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "auto", "type": "string" }, { "type": "integer", "minimum": 1 }] })
    }
}

impl JsonSchema for Parts {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Parts".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<ListedParts>();
        json_schema!({
            "anyOf": [{ "const": "auto", "type": "string" }, { "type": "integer", "minimum": 1 }, table],
        })
    }
}
