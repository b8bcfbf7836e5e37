//! The coNCePTuaL front end against the reference implementation, operation by operation.
//!
//! The data are records of release 1.5.1b (expected.json) and values of its run-time library (functions.json);
//! `oracle/README.md` describes their origin.

use std::path::Path;

use odonata_conceptual::{Conceptual, Dialect, evaluate, reject};
use serde_json::Value;

/// Number of records.
const RECORDS: usize = 119;

fn text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap()
}

/// Equal up to number formats.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[test]
fn every_record_of_the_reference_is_reproduced() {
    let records = json("expected.json");
    let records = records.as_array().unwrap();
    let mut wrong = Vec::new();
    for expected in records {
        let name = expected["program"].as_str().unwrap();
        let tasks = expected["tasks"].as_u64().unwrap() as u32;
        let args: Vec<String> = serde_json::from_value(expected["args"].clone()).unwrap();
        let file = format!("{name}.ncptl");
        let text = text(&format!("programs/{file}"));
        let dialect = Dialect {
            strict: expected["scope"] == "1.5.1b",
            ..Dialect::default()
        };
        let parsed = Conceptual::parse_as(&file, &text, dialect);
        let record = match &parsed {
            Ok(program) => program.record(tasks, &args, 1, &|_| Err("no files".into())),
            Err(errors) => reject(&file, tasks, &args, errors),
        };
        for (key, expected) in expected.as_object().unwrap() {
            if matches!(key.as_str(), "scope" | "confirmed_by" | "note") {
                continue;
            }
            let found = &record.json()[key];
            if !same(found, expected) {
                wrong.push(format!(
                    "{name} {tasks} {args:?} {key}:\n  found    {}\n  expected {}\n  {}",
                    found.to_string().chars().take(1500).collect::<String>(),
                    expected.to_string().chars().take(1500).collect::<String>(),
                    record.failure.as_deref().unwrap_or(""),
                ));
            }
        }
        // The record has no further keys.
        let extra = record
            .json()
            .as_object()
            .unwrap()
            .keys()
            .find(|key| expected.get(key.as_str()).is_none());
        if let Some(extra) = extra {
            wrong.push(format!(
                "{name} {tasks} {args:?}: {extra} is not in the reference's record"
            ));
        }
    }
    assert_eq!(records.len(), RECORDS);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_value_of_the_run_time_library_is_reproduced() {
    let functions = json("functions.json");
    let mut wrong = Vec::new();
    let mut count = 0;
    for (context, floating) in [("integer_context", false), ("float_context", true)] {
        for pair in functions[context].as_array().unwrap() {
            let expression = pair[0].as_str().unwrap();
            let expected = pair[1].as_f64().unwrap();
            // The language has no decimal literals: 7.5 is 75/10 in floating context.
            let written = decimals(expression);
            count += 1;
            match evaluate(&written, floating) {
                Ok(value) if value == expected || (value - expected).abs() <= 1e-15 * expected.abs() => {}
                other => wrong.push(format!("{context}: {expression} = {other:?}, expected {expected}")),
            }
        }
    }
    assert!(count > 2000);
    let shown: Vec<_> = wrong.iter().take(40).cloned().collect();
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

/// `text` with decimal numbers as quotients.
fn decimals(text: &str) -> String {
    let mut out = String::new();
    let mut number = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_digit() || (c == '.' && !number.is_empty()) {
            number.push(c);
            continue;
        }
        match number.split_once('.') {
            Some((whole, part)) => out.push_str(&format!("({whole}{part}/1{})", "0".repeat(part.len()))),
            None => out.push_str(&number),
        }
        number.clear();
        out.push(c);
    }
    out.trim_end().to_owned()
}
