//! The JSON Schema of the written form.

use serde_json::Value;

use super::written::Written;

/// Quantities that scenarios may also write in cycles and flits: type, pattern of the unit, and its description.
const COUNTED: [(&str, &str, &str); 3] = [
    ("Time", "cycles?", "with network.clock also cycles"),
    ("Bytes", "flits?", "or flits of network.flit"),
    ("Bandwidth", "flits?/cycle", "with network.clock also flits/cycle"),
];

/// Adds a unit to the schema of a quantity.
fn count(kind: &mut Value, unit: &str, text: &str) {
    let Some(kind) = kind.as_object_mut() else { return };
    if let Some(Value::String(pattern)) = kind.get_mut("pattern") {
        // The units are the last group of the pattern.
        if let Some(at) = pattern.rfind(')') {
            pattern.insert_str(at, &format!("|{unit}"));
        }
    }
    if let Some(Value::String(description)) = kind.get_mut("description") {
        let end = description.trim_end_matches('.').len();
        description.insert_str(end, &format!("; {text}"));
    }
}

/// The JSON Schema (draft 2020-12) of a scenario, as indented text with a final newline. Its descriptions are the
/// option reference.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Written);
    let types = schema.get_mut("$defs").and_then(|types| types.as_object_mut());
    if let Some(types) = types {
        for (name, unit, text) in COUNTED {
            if let Some(kind) = types.get_mut(name) {
                count(kind, unit, text);
            }
        }
    }
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
