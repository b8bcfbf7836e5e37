//! The keys of devices on the page `docs/storage-devices.md`, from their declarations.

mod page;

use std::fmt::Write;

use odonata_device::{Hdd, Nvme, Rate, SeekCurve, Ssd};
use schemars::{JsonSchema, Schema, schema_for};

/// The type of a key, as shown to readers.
fn kind(property: &serde_json::Value) -> String {
    let name = |reference: &str| reference.rsplit('/').next().unwrap_or_default().to_owned();
    match (&property["$ref"], &property["type"]) {
        (serde_json::Value::String(reference), _) => match name(reference).as_str() {
            "Time" => "time".into(),
            "Bytes" => "size".into(),
            "Bandwidth" => "bandwidth".into(),
            _ => "table".into(),
        },
        _ => "number".into(),
    }
}

fn table<T: JsonSchema>(name: &str) -> String {
    let schema: Schema = schema_for!(T);
    let schema = schema.to_value();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().replace('\n', " ");
    let mut table = format!(
        "### `{name}`\n\n{}\n\n| key | type | default | what it is |\n|---|---|---|---|\n",
        text(&schema["description"])
    );
    // Sorted: features of other crates in the build decide whether declaration order is kept.
    let keys: std::collections::BTreeMap<_, _> =
        schema["properties"].as_object().expect("it has keys").iter().collect();
    for (key, property) in keys {
        let about = text(&property["description"]);
        assert!(!about.is_empty(), "{name}.{key} has no comment");
        let default = match &property["default"] {
            serde_json::Value::Null => "none".into(),
            serde_json::Value::Object(_) => "below".into(),
            value => format!("`{value}`"),
        };
        writeln!(table, "| `{key}` | {} | {default} | {about} |", kind(property)).expect("a text has room");
    }
    table
}

#[test]
fn the_page_has_every_key_as_it_is_declared() {
    let tables = [
        table::<Rate>("rate"),
        table::<Ssd>("ssd"),
        table::<Nvme>("nvme"),
        table::<Hdd>("hdd"),
        table::<SeekCurve>("hdd.read_seek, hdd.write_seek"),
    ];
    page::hold("keys", &tables.join("\n"));
}
