//! Text as a coNCePTuaL program: parsed in both dialects, checked, expanded for a few tasks and carried out without a
//! clock. Under `cfg(fuzzing)` the library's limits on lists and on steps between two operations are small.
//!
//! The first byte is the number of tasks, 1 to 8; the rest is the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use odonata_conceptual::{Conceptual, Dialect};
use odonata_workload::{Comm, Program, operations};

/// Operations of a rank that are looked at.
const MOST: usize = 100;

fuzz_target!(|data: &[u8]| {
    let Some((&first, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let tasks = u32::from(first % 8) + 1;
    let read = |name: &str| match name {
        "table" => Ok("1 2 3\n4 5\n\n-6 7.5 x\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    // An error has a text, whatever was read.
    let strict = Dialect {
        strict: true,
        ..Dialect::default()
    };
    if let Err(errors) = Conceptual::parse_as("strict.ncptl", text, strict) {
        assert!(!errors.to_string().is_empty());
    }
    let parsed = match Conceptual::parse("fuzz.ncptl", text) {
        Ok(parsed) => parsed,
        Err(errors) => {
            assert!(!errors.to_string().is_empty());
            return;
        }
    };
    parsed.rendered_warnings();
    match parsed.program(tasks, &[], 1, &read) {
        Ok(program) => {
            for rank in 0..tasks {
                for op in operations(&program, rank).take(MOST) {
                    if let odonata_workload::OpKind::Report { report, .. } = op.kind {
                        program.report(report);
                    }
                }
                program.group(rank, Comm(1));
            }
        }
        Err(abort) => assert!(!abort.message.is_empty()),
    }
    let record = parsed.record(tasks, &[], 1, &read);
    assert!(record.json()["verdict"].is_string());
});
