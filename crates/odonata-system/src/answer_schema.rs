//! JSON Schemas of the answers that are made here: what `check`, `describe`, `bench` and `load-sweep` print with
//! `--json`, from the structures that are printed.

use crate::bench::Figures;
use crate::check::Report;
use crate::describe::Description;
use crate::load_sweep::PointResult;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The schema of each answer, by the command that prints it; of `bench` that of a case, of `load-sweep` that of a point.
pub fn answer_schemas() -> [(&'static str, Schema); 4] {
    [
        ("check", of::<Report>()),
        ("describe", of::<Description>()),
        ("bench", of::<Figures>()),
        ("load-sweep", of::<PointResult>()),
    ]
}

/// What is written, not what is read: no key that is always there is optional. Types stand where they are used, for
/// whoever puts the schema into one of his own.
fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .with(|s| s.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
}
