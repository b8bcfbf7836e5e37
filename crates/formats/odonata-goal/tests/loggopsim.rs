//! Schedules with known end times of every rank, to the nanosecond.
//!
//! Schedules of `tests/traces/goal` have closed forms (`tests/traces/schedules.py`), reference schedules the output of
//! LogGOPSim. A folder holds `NAME.goal`, `NAME.goal.bin` and `ground-truth.json`: parameters, and the times.

#[path = "../../odonata-trace-format/tests/reference/mod.rs"]
mod reference;

use odonata_goal::loggops::simulate;
use odonata_goal::schedule::Schedule;
use odonata_goal::{binary, text};
use odonata_units::{PerByte, Time};
use odonata_workload::LogGops;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn never() -> bool {
    false
}

/// Folders with a schedule and its known times.
fn folders() -> Vec<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/traces/goal");
    let entries = std::fs::read_dir(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let mut ours: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    ours.retain(|folder| folder.join("ground-truth.json").is_file());
    ours.sort();
    assert_eq!(ours.len(), 6, "{ours:?}");
    [ours, reference::sets("goal")].concat()
}

fn schedules(folder: &Path) -> [Schedule; 2] {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let file = |ending: &str| std::fs::read(folder.join(format!("{name}{ending}"))).unwrap();
    [
        text::read(&file(".goal"), &never).unwrap(),
        binary::read(&file(".goal.bin"), &never).unwrap(),
    ]
}

fn truth(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("ground-truth.json")).unwrap()).unwrap()
}

fn params(of: &Value) -> LogGops {
    let number = |name: &str| of[name].as_u64().unwrap();
    let time = |name: &str| Time::from_ns(number(name));
    let per_byte = |name: &str| PerByte(1000.0 * number(name) as f64);
    LogGops {
        latency: time("L"),
        send_overhead: time("o"),
        recv_overhead: time("o"),
        gap: time("g"),
        gap_per_byte: per_byte("G"),
        overhead_per_byte: per_byte("O"),
        eager_threshold: number("S"),
    }
}

#[test]
fn every_rank_ends_when_its_truth_says() {
    for folder in folders() {
        let truth = truth(&folder);
        for schedule in schedules(&folder) {
            for run in truth["loggopsim"].as_array().unwrap() {
                let outcome = simulate(&schedule, &params(&run["params"]), 1.0, &never).unwrap();
                assert_eq!((outcome.stuck, outcome.unexpected), (None, 0));
                let ends: Vec<u64> = outcome.ranks.iter().map(|rank| rank.end.0 / 1000).collect();
                let here = format!("{}, {}", folder.display(), run["params"]);
                match run["host_finish_ns"].as_array() {
                    Some(hosts) => {
                        let hosts: Vec<u64> = hosts.iter().map(|host| host.as_u64().unwrap()).collect();
                        assert_eq!(ends, hosts, "{here}");
                    }
                    // For many hosts, LogGOPSim prints the last one only.
                    None => {
                        let last = run["max_host"].as_u64().unwrap() as usize;
                        assert_eq!(ends[last], run["max_finish_ns"].as_u64().unwrap(), "{here}");
                        assert_eq!(ends.iter().max(), Some(&ends[last]), "{here}");
                    }
                }
            }
        }
    }
}

#[test]
fn text_and_binary_are_equivalent() {
    for folder in folders() {
        let truth = truth(&folder);
        for schedule in schedules(&folder) {
            for (rank, expected) in schedule.ranks().iter().zip(truth["ranks"].as_array().unwrap()) {
                let number = |name: &str| expected[name].as_u64().unwrap();
                assert_eq!(
                    rank.tasks().len() as u64,
                    number("sends") + number("recvs") + number("calcs")
                );
                assert_eq!(rank.ends().len() as u64, number("requires"));
                assert_eq!(rank.begins().len() as u64, number("irequires"));
                assert_eq!(rank.roots().len() as u64, number("roots"));
            }
        }
        let [text, binary] = schedules(&folder);
        assert_eq!(text, binary, "{}", folder.display());
        assert_eq!(binary::read(&binary::write(&text), &never).unwrap(), text);
    }
}
