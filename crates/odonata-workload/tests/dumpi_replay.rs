//! Traces as programs: every message that is sent is received, every collective is called by all.

use odonata_workload::dumpi::{Trace, TraceFiles};
use odonata_workload::{Program, operations};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[test]
fn look() {
    for name in std::env::var("SETS").unwrap_or_default().split(',').filter(|n| !n.is_empty()) {
        let path = PathBuf::from("/work/shared/traces/dumpi").join(name);
        let start = std::time::Instant::now();
        let trace = Trace::of(TraceFiles::find(&path).unwrap(), 1.0).unwrap();
        println!("{} comms {} in {:?}", trace.describe(), trace.communicators(), start.elapsed());
        println!("  {:?} {:?}", trace.oddities(), trace.problems());
        let start = std::time::Instant::now();
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for rank in 0..trace.ranks() {
            for op in operations(&trace, rank) {
                let text = format!("{:?}", op.kind);
                let kind = text.split([' ', '(']).next().unwrap().to_string();
                *kinds.entry(kind).or_default() += 1;
            }
        }
        println!("  {kinds:?} in {:?}", start.elapsed());
    }
}
