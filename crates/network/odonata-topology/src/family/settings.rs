//! Common settings of families: errors, bounds of sizes, and cables between groups.

use odonata_units::{Filled, Problem, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sizes::{MOST_PORTS, MOST_PORTS_PER_ROUTER};

/// Largest size: products of two sizes fit into 64 bits with room to spare.
pub(super) const MOST: u32 = 1 << 20;

/// A problem of a family's table as a whole.
pub(super) fn whole(problem: impl Into<String>, expected: impl Into<String>) -> Problem {
    Problem::new("", problem, expected)
}

/// The size of a machine's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Routers.
    pub routers: u64,
    /// Upper bound of the ports of all routers.
    pub ports: u64,
}

/// Reads a file named by a setting: its location, and its text or the error.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> (String, Result<String, String>);

/// A size from `least` on.
pub(super) fn size(key: &str, value: u32, least: u32) -> Result<u32, Problem> {
    within(key, value, least, MOST)
}

/// A size without a default.
pub(super) fn required(key: &str, value: &Filled<u32>, least: u32) -> Result<u32, Problem> {
    match value.given() {
        None => Err(Problem::new(key, "the key is missing", "a whole number")),
        Some(&value) => size(key, value, least),
    }
}

/// The extents of a grid: 1 to 16 positive numbers.
pub(super) fn extents<'a>(key: &str, extents: &'a Filled<Vec<u32>>) -> Result<&'a [u32], Problem> {
    let Some(extents) = extents.given() else {
        return Err(Problem::new(key, "the key is missing", "a list such as [8, 8, 8]"));
    };
    if extents.is_empty() || extents.len() > 16 {
        let problem = format!("{} dimensions", extents.len());
        return Err(Problem::new(key, problem, "1 to 16 numbers"));
    }
    sizes(key, extents)?;
    Ok(extents)
}

/// Positive numbers.
pub(super) fn sizes(key: &str, list: &[u32]) -> Result<(), Problem> {
    for (at, &number) in list.iter().enumerate() {
        size(&format!("{key}.{at}"), number, 1)?;
    }
    Ok(())
}

/// The size of a machine with this number of routers and at most `per_router` ports each.
pub(super) fn ports(routers: u64, per_router: u64) -> Result<Size, Problem> {
    if per_router > MOST_PORTS_PER_ROUTER {
        let problem = format!("a router would have {per_router} ports");
        return Err(whole(problem, "at most 4096 ports per router"));
    }
    all_ports(routers, routers.saturating_mul(per_router))
}

/// The size of a machine with these numbers of routers and ports.
pub(super) fn all_ports(routers: u64, ports: u64) -> Result<Size, Problem> {
    if ports > MOST_PORTS {
        let problem = format!("the machine would have {ports} ports");
        return Err(whole(problem, "at most 2^28 ports"));
    }
    Ok(Size { routers, ports })
}

/// Checks that `g` groups with `ports` global ports each can reach `g - 1` others; `reach` explains the number.
pub(super) fn groups(g: u32, ports: u64, reach: String) -> Result<(), Problem> {
    if u64::from(g) <= ports + 1 {
        return Ok(());
    }
    let problem = format!("{g} groups need more global ports than the machine has");
    Err(Problem::new("groups", problem, format!("at most {} groups", ports + 1)).hint(reach))
}

/// Cables between each pair of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cables {
    /// As many as the ports allow.
    #[default]
    All,
    /// So many.
    Count(u32),
}

impl Cables {
    /// The number, if given.
    pub fn count(self) -> Option<u32> {
        match self {
            Cables::All => None,
            Cables::Count(count) => Some(count),
        }
    }

    /// So many, if there are any.
    pub(super) fn of(count: Option<u32>) -> Cables {
        count.map_or(Cables::All, Cables::Count)
    }

    /// Checks the number of cables between each pair of `g` groups with `ports` global ports each. A single group has
    /// no such cables.
    pub(super) fn resolve(&mut self, g: u32, ports: u64) -> Result<(), Problem> {
        let Cables::Count(count) = *self else {
            return Ok(());
        };
        if g <= 1 {
            *self = Cables::All;
            return Ok(());
        }
        let fit = ports / u64::from(g - 1);
        if u64::from(count) > fit {
            let problem = format!("{count} cables between each pair of {g} groups need more global ports");
            return Err(Problem::new("cables", problem, format!("at most {fit}, or \"all\"")));
        }
        Ok(())
    }
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

/// Resolved: a number, or none for as many as fit.
impl Serialize for Cables {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.count().serialize(serializer)
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

/// A cable between two routers that carries no traffic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table: { routers = [A, B] }")]
pub struct FailedLink {
    /// The two routers, numbered over the machine.
    pub routers: [u32; 2],
    /// The index of the cable among those between the routers, from 0, in the order of the first router's ports.
    /// Default: all of them.
    #[serde(default)]
    pub index: Option<u32>,
}

/// A cable between two routers with reduced bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table: { routers = [A, B], factor = 0.5 }")]
pub struct DegradedLink {
    /// The two routers, numbered over the machine.
    pub routers: [u32; 2],
    /// The index of the cable among those between the routers, from 0, in the order of the first router's ports.
    /// Default: all of them.
    #[serde(default)]
    pub index: Option<u32>,
    /// Its bandwidth relative to its class: above 0, at most 1.
    #[schemars(range(min = 0, max = 1))]
    pub factor: f64,
}
