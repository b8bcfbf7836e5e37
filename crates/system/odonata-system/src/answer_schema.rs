//! JSON Schemas of the output of `check`, `describe`, `bench` and `load-sweep` with `--json`, from the printed
//! structures.

use crate::bench::Figures;
use crate::check::Report;
use crate::describe::Description;
use crate::load_sweep::PointResult;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The schema of each answer, by command; for `bench` of a case, for `load-sweep` of a point.
pub fn answer_schemas() -> [(&'static str, Schema); 4] {
    [
        ("check", of::<Report>()),
        ("describe", of::<Description>()),
        ("bench", of::<Figures>()),
        ("load-sweep", of::<PointResult>()),
    ]
}

/// Describes output, not input: keys that are always present are not optional. Types are inlined, so the schema can be
/// embedded in others.
fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .with(|s| s.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
}
