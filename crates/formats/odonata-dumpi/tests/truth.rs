//! The DUMPI reader against the known contents of written traces, and the reference dumper of real ones.

mod reference_traces;

use odonata_dumpi::{Statistics, TraceFiles};
use serde_json::Value;

/// The paths of all differing values.
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
fn every_field_of_every_trace_is_as_its_ground_truth_says() {
    for set in reference_traces::sets() {
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
