//! Cables: how many there are between groups, and which are broken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cable between two routers that carries nothing.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailedLink {
    /// The two routers, numbered over the machine.
    pub routers: [u32; 2],
    /// Which cable between them, from 0, in the order of the first router's ports. Default: all of them.
    #[serde(default)]
    pub index: Option<u32>,
}

/// A cable between two routers that carries less than others of its class.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DegradedLink {
    /// The two routers, numbered over the machine.
    pub routers: [u32; 2],
    /// Which cable between them, from 0, in the order of the first router's ports. Default: all of them.
    #[serde(default)]
    pub index: Option<u32>,
    /// Its bandwidth, as a multiple of that of its class: above 0, at most 1.
    #[schemars(range(min = 0, max = 1))]
    pub factor: f64,
}

/// Cables between any two groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cables {
    /// As many as the ports allow.
    #[default]
    All,
    /// So many.
    Count(u32),
}

impl<'de> Deserialize<'de> for Cables {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::{Error, Unexpected, Visitor};
        struct CablesVisitor;
        impl Visitor<'_> for CablesVisitor {
            type Value = Cables;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a positive whole number or \"all\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Cables, E> {
                match text {
                    "all" => Ok(Cables::All),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Cables, E> {
                match u32::try_from(number) {
                    Ok(count) if count > 0 => Ok(Cables::Count(count)),
                    _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(CablesVisitor)
    }
}

impl Serialize for Cables {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cables::All => serializer.serialize_str("all"),
            Cables::Count(count) => serializer.serialize_u32(*count),
        }
    }
}

impl JsonSchema for Cables {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cables".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "oneOf": [{ "const": "all" }, { "type": "integer", "minimum": 1 }] })
    }
}
