//! The folder of real traces: unset, empty, missing, and incomplete folders.

mod reference;

use reference::{VARIABLE, find};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is removed after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("odonata-reference-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn find(&self, kind: &str) -> Result<Result<Vec<PathBuf>, String>, String> {
        find(Some(self.0.as_os_str()), kind)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn absence(named: Option<&str>) -> String {
    find(named.map(OsStr::new), "goal")
        .expect("no error")
        .expect_err("no traces")
}

#[test]
fn unset_means_that_no_reference_traces_are_at_hand() {
    assert!(absence(None).starts_with(&format!("{VARIABLE} is not set: only the goal traces")));
}

#[test]
fn empty_means_the_same() {
    assert_eq!(absence(Some("")), absence(None));
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    let error = find(Some(OsStr::new("/no/such/folder")), "goal").unwrap_err();
    assert_eq!(
        error,
        format!("{VARIABLE} names /no/such/folder: there is no such folder")
    );
    // A relative path starts at the repository, wherever Cargo runs the test.
    let error = find(Some(OsStr::new("crates")), "goal").unwrap_err();
    assert!(
        error.ends_with("it has no folder traces/goal, nor any traces"),
        "{error}"
    );
}

#[test]
fn a_missing_kind_is_reported_and_one_without_reference_is_an_error() {
    let scratch = Scratch::new("kinds");
    let goal = scratch.0.join("traces/goal");
    for set in ["b", "a", "no-truth"] {
        fs::create_dir_all(goal.join(set)).unwrap();
    }
    let error = scratch.find("goal").unwrap_err();
    assert!(
        error.ends_with("no folder of traces/goal has a ground-truth.json"),
        "{error}"
    );
    for set in ["b", "a"] {
        fs::write(goal.join(set).join("ground-truth.json"), "{}").unwrap();
    }
    let found = scratch.find("goal").unwrap().unwrap();
    let names: Vec<_> = found.iter().map(|set| set.file_name().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    let none = scratch.find("otf2").unwrap().unwrap_err();
    assert!(none.contains("it has no folder traces/otf2;"), "{none}");
    assert!(none.contains(Path::new(&scratch.0).to_str().unwrap()), "{none}");
}
