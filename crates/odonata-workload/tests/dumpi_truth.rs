//! The reader of DUMPI traces against what the reference dumper says of real ones.
//!
//! The traces are not part of the project: they are looked for beside it, in `../shared/traces/dumpi`, or where
//! `ODONATA_TRACES` says.

use odonata_workload::dumpi::{Statistics, TraceFiles};
use serde_json::Value;
use std::path::PathBuf;

/// The folders of the traces; none where there are none.
fn sets() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = [
        std::env::var_os("ODONATA_TRACES").map(PathBuf::from),
        Some(root.join("../shared/traces/dumpi")),
    ];
    let mut found: Vec<PathBuf> = (places.into_iter().flatten())
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|folder| folder.filter_map(|entry| entry.ok().map(|entry| entry.path())))
        .filter(|path| path.join("ground-truth.json").exists())
        .collect();
    found.sort();
    if found.is_empty() {
        eprintln!("no reference traces here: nothing is compared");
    }
    found
}

/// The paths of all values that differ.
fn differences(at: String, seen: &Value, truth: &Value, list: &mut Vec<String>) {
    match (seen, truth) {
        (Value::Object(seen), Value::Object(truth)) => {
            for key in seen.keys().filter(|key| !truth.contains_key(*key)) {
                list.push(format!("{at}.{key}: not in the truth: {}", seen[key]));
            }
            for (key, value) in truth {
                let other = seen.get(key).unwrap_or(&Value::Null);
                differences(format!("{at}.{key}"), other, value, list);
            }
        }
        (Value::Array(seen), Value::Array(truth)) if seen.len() == truth.len() => {
            for (number, (seen, truth)) in seen.iter().zip(truth).enumerate() {
                differences(format!("{at}[{number}]"), seen, truth, list);
            }
        }
        _ if seen == truth => {}
        _ => list.push(format!("{at}: {seen}, in truth {truth}")),
    }
}

#[test]
fn every_field_of_every_reference_trace_is_as_the_reference_dumper_says() {
    for set in sets() {
        let text = std::fs::read_to_string(set.join("ground-truth.json")).expect("it is there");
        let truth: Value = serde_json::from_str(&text).expect("it is JSON");
        let files = TraceFiles::find(&set).unwrap_or_else(|error| panic!("{error}"));
        let statistics = Statistics::of(&files).unwrap_or_else(|error| panic!("{error}"));
        let seen = serde_json::to_value(&statistics).expect("it is JSON");
        let mut list = Vec::new();
        differences(String::new(), &seen, &truth, &mut list);
        list.truncate(10);
        assert!(list.is_empty(), "{}:\n{}", set.display(), list.join("\n"));
    }
}
