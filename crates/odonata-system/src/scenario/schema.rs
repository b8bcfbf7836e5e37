//! The JSON Schema of the written form.

use super::written::Written;

/// The JSON Schema (draft 2020-12) of a scenario, as indented text with a final newline. Its descriptions are the
/// option reference.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Written);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
