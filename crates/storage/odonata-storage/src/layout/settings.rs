//! The settings of layouts.

use odonata_units::{Bytes, Problem};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Which servers a file is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Each rank's part of a file is on the server that its node is assigned to, as in burst buffers that keep the data
    /// of their own clients.
    #[default]
    Assigned,
    /// The whole file on one server, by a hash of its name.
    Hash,
    /// The whole file on one server, drawn from the seed for every file.
    Random,
    /// The whole file on one server: file number f of a directory on server f mod servers.
    RoundRobin,
    /// In stripes on several servers, e.g. { striped = { stripe = "1 MiB", count = 4 } }.
    Striped(Striped),
}

/// Stripes of a file, dealt out to servers in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Striped {
    /// Size of a stripe, at least 1 B.
    #[default(Bytes::mib(1))]
    pub stripe: Bytes,
    /// Servers that a file is on: a number, or "all".
    #[default(StripeCount::All)]
    pub count: StripeCount,
    /// The server of the first stripe; the others follow in the order of their numbers.
    #[default(Start::Hash)]
    pub start: Start,
}

/// Where a file begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// By a hash of the file's name.
    #[default]
    Hash,
    /// Drawn from the seed for every file.
    Random,
    /// File number f of a directory begins on server f mod servers.
    RoundRobin,
    /// All files begin on the server with this number.
    Server(u32),
}

/// How many servers a file is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StripeCount {
    /// All servers.
    #[default]
    All,
    /// This number.
    Number(u32),
}

impl Serialize for StripeCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            StripeCount::All => serializer.serialize_str("all"),
            StripeCount::Number(count) => serializer.serialize_u32(*count),
        }
    }
}

impl<'de> Deserialize<'de> for StripeCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = StripeCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of servers, or \"all\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<StripeCount, E> {
                match text {
                    "all" => Ok(StripeCount::All),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_u64<E: Error>(self, count: u64) -> Result<StripeCount, E> {
                u32::try_from(count)
                    .map(StripeCount::Number)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(count), &self))
            }

            fn visit_i64<E: Error>(self, count: i64) -> Result<StripeCount, E> {
                u32::try_from(count)
                    .map(StripeCount::Number)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(count), &self))
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

impl JsonSchema for StripeCount {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "StripeCount".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "enum": ["all"] }] })
    }
}

impl Layout {
    /// Checks the layout at `key` on a machine with this many servers.
    ///
    /// # Errors
    /// The stripe has no bytes, or the layout needs more servers.
    pub fn check(&self, key: &str, servers: u32) -> Result<(), Problem> {
        let Layout::Striped(Striped { stripe, count, start }) = *self else {
            return Ok(());
        };
        let key = |name: &str| format!("{key}.striped.{name}");
        if stripe == Bytes::ZERO {
            return Err(Problem::new(key("stripe"), "a stripe of no bytes", "at least 1 B"));
        }
        if let StripeCount::Number(count) = count
            && !(1..=servers).contains(&count)
        {
            let problem = format!("stripes on {count} of {servers} servers");
            return Err(Problem::new(
                key("count"),
                problem,
                format!("1 to {servers}, or \"all\""),
            ));
        }
        match start {
            Start::Server(server) if server >= servers => {
                let problem = format!("there is no server {server}");
                Err(Problem::new(
                    key("start.server"),
                    problem,
                    format!("0 to {}", servers - 1),
                ))
            }
            _ => Ok(()),
        }
    }
}
