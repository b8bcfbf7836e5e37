//! A folder stands for the only schedule in it, among other files.

use std::fs;
use std::path::PathBuf;

use odonata_goal::Goal;
use odonata_trace_format::{Formats, ReadOptions, TraceFormat};

const SCHEDULE: &str = "num_ranks 2\nrank 0 { a: send 64b to 1 }\nrank 1 { a: recv 64b from 0 }\n";
const FORMATS: Formats = Formats(&[&Goal]);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("odonata-goal-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_stands_for_the_only_schedule_in_it() {
    let folder = Folder::new("only");
    fs::write(folder.0.join("README.md"), "how it was made").unwrap();
    // An unrelated binary file, and a file that macOS leaves in archives.
    fs::write(folder.0.join("topology.bin"), "no schedule").unwrap();
    fs::write(folder.0.join("._ring.goal"), "of macOS").unwrap();
    assert!(FORMATS.at(&folder.0).is_err());
    fs::write(folder.0.join("ring.goal"), SCHEDULE).unwrap();
    let format = FORMATS.at(&folder.0).ok().unwrap();
    let options = ReadOptions::default();
    assert_eq!(format.open(&folder.0, &options).unwrap().program.ranks(), 2);
    assert!(format.inspect(&folder.0, &options).unwrap().contains("\"ring.goal\""));
    assert_eq!(format.least_memory(&folder.0), 4 * SCHEDULE.len() as u64);
}

#[test]
fn several_schedules_need_a_choice() {
    let folder = Folder::new("several");
    for name in ["b.goal", "a.goal"] {
        fs::write(folder.0.join(name), SCHEDULE).unwrap();
    }
    let error = Goal.open(&folder.0, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.file, folder.0);
    assert_eq!(error.problem, "the folder holds 2 GOAL schedules: a.goal, b.goal");
    assert_eq!(error.expected, "the path of one of them");
}
