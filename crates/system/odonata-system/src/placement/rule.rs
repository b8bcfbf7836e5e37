//! The key `placement` of a job: its nodes.

use super::hosts;
use std::borrow::Cow;
use std::fmt;

use odonata_units::{Filled, Problem};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum PlacementRule {
    /// Free nodes, in some order.
    Free(FreeNodes),
    /// Nodes named by exactly one of the keys.
    Table(PlacementTable),
}

/// The order of the free compute nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreeNodes {
    /// The lowest free compute nodes.
    #[default]
    Contiguous,
    /// Random free compute nodes.
    Random,
    /// Random routers; all free compute nodes of a router before those of the next.
    RandomRouter,
    /// Random groups; all free compute nodes of a group, in order, before those of the next.
    RandomGroup,
}

/// Explicit nodes: `{ nodes = [...] }`, `{ hosts = [...] }`, `{ clients = [...] }`, `{ file = "...", slot = 0 }`; or `{ dims = [...], block
/// = [...] }`.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementTable {
    /// Node numbers, counted over the machine, one per node of the job: ranks / ranks_per_node, rounded up.
    pub nodes: Option<Vec<u32>>,
    /// Names of hosts, on a preset of a machine whose hosts have names: `lumi` ("x1302c0s3b0n0" or "nid006742"), `leonardo`
    /// ("lrdn0183"), `marenostrum5` ("as03r2b17"), `alps` ("x1100c0s6b1n0"), `aurora` ("x4109c0s5b0n0"), `cori` and
    /// `theta-full` ("c3-0c1s15n2").
    pub hosts: Option<Vec<String>>,
    /// Numbers counted over compute nodes only, without storage servers.
    pub clients: Option<Vec<u32>>,
    /// Arranges the nodes of the job as a grid with this number along each dimension, the first fastest. Each block of
    /// `block` nodes shares a router; blocks are assigned to the routers of the machine in order. This is the node
    /// numbering of concentrated networks: on a grid of 4 x 4 routers with 4 nodes each, dims = [8, 8] and block = [2, 2].
    pub dims: Option<Vec<u32>>,
    /// With `dims`: nodes of a block along each dimension.
    pub block: Option<Vec<u32>>,
    /// A CSV file with a header and the columns slot, rank, terminal (node number); relative to the scenario's folder.
    pub file: Option<String>,
    /// The slot whose rows of the file are used. Default: 0.
    pub slot: Filled<u32>,
}

impl PlacementRule {
    /// These nodes, numbered over the machine.
    pub fn nodes(nodes: Vec<u32>) -> Self {
        PlacementRule::Table(PlacementTable {
            nodes: Some(nodes),
            ..PlacementTable::default()
        })
    }

    /// The file that names the nodes, relative to the scenario's folder, if given.
    pub fn file(&self) -> Option<&str> {
        match self {
            PlacementRule::Free(_) => None,
            PlacementRule::Table(table) => table.file.as_deref(),
        }
    }

    /// Fills in and checks the rule at key `at`; relative file names start from `folder`, names of hosts are those of
    /// `preset`.
    ///
    /// # Errors
    /// The rule is not exactly one, or a host is unknown.
    pub(crate) fn resolve(&mut self, at: &str, preset: Option<&str>, folder: &std::path::Path) -> Result<(), Problem> {
        let PlacementRule::Table(table) = self else {
            return Ok(());
        };
        if let (Some(names), None) = (&table.hosts, &table.nodes) {
            let node = |(place, name): (usize, &String)| {
                hosts::node(preset.unwrap_or_default(), name).map_err(|expected| {
                    let problem = format!("there is no host {name:?}");
                    Problem::new(format!("{at}.hosts.{place}"), problem, expected)
                })
            };
            table.nodes = Some(names.iter().enumerate().map(node).collect::<Result<_, _>>()?);
            table.hosts = None;
        }
        if let (Some(dims), Some(block)) = (&table.dims, &table.block) {
            let single = table.nodes.is_none() && table.clients.is_none() && table.file.is_none();
            if single && table.slot.given().is_none() {
                return check_blocks(at, dims, block);
            }
        }
        let blocks = table.dims.is_some() || table.block.is_some();
        match (&table.nodes, &table.clients, &table.file, table.slot.given()) {
            _ if table.hosts.is_some() => Err(Problem::new(at, "no single rule", "hosts or nodes")),
            _ if blocks => Err(Problem::new(at, "no single rule", "dims and block, and nothing else")),
            (Some(_), None, None, None) | (None, Some(_), None, None) => Ok(()),
            (None, None, Some(file), _) => {
                table.file = Some(folder.join(file).display().to_string());
                table.slot.fill(0);
                Ok(())
            }
            _ => {
                let expected = "exactly one of nodes, hosts, clients, dims (with block), file (with slot)";
                Err(Problem::new(at, "no single rule", expected))
            }
        }
    }
}

/// Maximum number of dimensions of a grid of nodes.
const MOST_DIMS: usize = 16;

/// Checks that `block` divides `dims` in every dimension.
fn check_blocks(at: &str, dims: &[u32], block: &[u32]) -> Result<(), Problem> {
    if dims.is_empty() || dims.len() > MOST_DIMS {
        let problem = format!("a grid of {} dimensions", dims.len());
        return Err(Problem::new(format!("{at}.dims"), problem, format!("1 to {MOST_DIMS}")));
    }
    if block.len() != dims.len() {
        let problem = format!("{} extents for {} dimensions", block.len(), dims.len());
        return Err(Problem::new(
            format!("{at}.block"),
            problem,
            format!("{} extents", dims.len()),
        ));
    }
    for (place, (&extent, &block)) in dims.iter().zip(block).enumerate() {
        if extent == 0 {
            return Err(Problem::new(
                format!("{at}.dims.{place}"),
                "no nodes in a dimension",
                "at least 1",
            ));
        }
        if block == 0 || !extent.is_multiple_of(block) {
            let problem = format!("{block} of {extent} nodes");
            return Err(Problem::new(
                format!("{at}.block.{place}"),
                problem,
                format!("a divisor of {extent}"),
            ));
        }
    }
    Ok(())
}

impl Default for PlacementRule {
    fn default() -> Self {
        PlacementRule::Free(FreeNodes::default())
    }
}

/// Resolved: the single key that names the nodes, with its companions.
impl Serialize for PlacementTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct File<'a> {
            path: &'a str,
            slot: Filled<u32>,
        }
        let mut map = serializer.serialize_map(Some(1))?;
        if let Some(nodes) = &self.nodes {
            map.serialize_entry("nodes", nodes)?;
        } else if let Some(clients) = &self.clients {
            map.serialize_entry("clients", clients)?;
        } else if let (Some(dims), Some(block)) = (&self.dims, &self.block) {
            map.serialize_entry("dims", dims)?;
            map.serialize_entry("block", block)?;
        } else if let Some(path) = &self.file {
            let slot = self.slot;
            map.serialize_entry("file", &File { path, slot })?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for PlacementRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RuleVisitor;
        impl<'de> Visitor<'de> for RuleVisitor {
            type Value = PlacementRule;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"contiguous\", \"random\", \"random-router\", \"random-group\", { nodes = [...] }, { hosts = [...] }, { clients = [...] }, { dims = [...], block = [...] } or { file = \"...\" }")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<PlacementRule, E> {
                let name: StrDeserializer<'_, E> = name.into_deserializer();
                FreeNodes::deserialize(name).map(PlacementRule::Free)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PlacementRule, A::Error> {
                PlacementTable::deserialize(MapAccessDeserializer::new(map)).map(PlacementRule::Table)
            }
        }
        deserializer.deserialize_any(RuleVisitor)
    }
}

impl JsonSchema for PlacementRule {
    fn schema_name() -> Cow<'static, str> {
        "Placement".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<PlacementTable>();
        json_schema!({
            "description": "Which nodes a job gets.",
            "default": "contiguous",
            "oneOf": [
                { "const": "contiguous", "description": "The lowest free compute nodes." },
                { "const": "random", "description": "Random free compute nodes." },
                {
                    "const": "random-router",
                    "description": "Random routers; all free compute nodes of a router before those of the next.",
                },
                {
                    "const": "random-group",
                    "description": "Random groups; all free compute nodes of a group, in order, before those of the next.",
                },
                table,
            ],
        })
    }
}
