//! The mesh: a [torus](super::torus) without wrap-around cables.

use odonata_units::Problem;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::settings::{ReadFile, Size};
use super::torus::{self, Torus};
use super::{FamilySettings, WorstCase};
use crate::LinkClass;

/// A mesh, with the settings of a torus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(pub torus::Settings);

/// The schema of a torus.
impl JsonSchema for Settings {
    fn schema_name() -> Cow<'static, str> {
        torus::Settings::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        torus::Settings::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        torus::Settings::json_schema(generator)
    }
}

impl FamilySettings for Settings {
    type Graph = Torus;

    const EXAMPLES: &'static [&'static str] = &["dims = [4, 4]\nnodes_per_router = 2"];

    fn resolve(&mut self, read: ReadFile<'_>) -> Result<Size, Problem> {
        if !self.0.open_dims.is_empty() {
            let problem = "all lines of a mesh are open";
            return Err(Problem::new("open_dims", problem, "no such key, or machine.torus"));
        }
        self.0.resolve(read)
    }

    fn build(&self) -> Result<Torus, String> {
        self.0.grid(false)
    }

    fn smaller(&self, few: bool) -> Option<(Self, String)> {
        let (small, routers) = self.0.smaller_grid(few);
        Some((Settings(small), format!("mesh {routers}")))
    }

    fn link_classes() -> &'static [LinkClass] {
        torus::Settings::link_classes()
    }

    fn worst_case(&self) -> WorstCase {
        self.0.worst_case()
    }
}
