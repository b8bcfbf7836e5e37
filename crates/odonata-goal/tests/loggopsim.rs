//! Finish times of LogGOPSim for its own schedules, of which each rank's must be ours to the nanosecond.
//!
//! The schedules are not part of the repository: `ODONATA_GOAL_SCHEDULES` names a folder with a folder for each, in which
//! `NAME.goal`, `NAME.goal.bin` and `ground-truth.json` (parameters, and the times that the simulator printed) are.

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

/// Folders with a schedule and what is known of it; none if they are not at hand.
fn folders() -> Vec<PathBuf> {
    let Ok(all) = std::env::var("ODONATA_GOAL_SCHEDULES") else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = std::fs::read_dir(all)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.retain(|folder| folder.join("ground-truth.json").is_file());
    folders.sort();
    assert!(
        !folders.is_empty(),
        "ODONATA_GOAL_SCHEDULES names a folder without schedules"
    );
    folders
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
fn every_rank_ends_when_it_does_in_loggopsim() {
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
                    // Of many hosts the simulator prints the last one alone.
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
fn text_and_binary_say_the_same() {
    for folder in folders() {
        let truth = truth(&folder);
        for schedule in schedules(&folder) {
            for (rank, said) in schedule.ranks().iter().zip(truth["ranks"].as_array().unwrap()) {
                let number = |name: &str| said[name].as_u64().unwrap();
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
