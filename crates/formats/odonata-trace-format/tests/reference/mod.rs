//! Traces of real programs, which are not part of the repository: `ODONATA_REFERENCE` names their folder.
//!
//! Its folder `traces/KIND` holds a folder per trace, with a `ground-truth.json`; kinds are `dumpi`, `darshan`,
//! `chakra`, `otf2` and `goal`. Unset or empty means that no traces are available. A relative path starts at the
//! repository. `tests/traces/reference.py` is the same for Python.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The environment variable.
pub(crate) const VARIABLE: &str = "ODONATA_REFERENCE";

/// The folders of all reference traces of a kind. Without any, standard error says so once.
///
/// # Panics
/// The folder does not exist, or has no traces.
#[allow(dead_code, reason = "the tests of this module call `find`")]
pub(crate) fn sets(kind: &str) -> Vec<PathBuf> {
    static NOTE: Once = Once::new();
    match find(std::env::var_os(VARIABLE).as_deref(), kind) {
        Ok(Ok(sets)) => sets,
        Ok(Err(absence)) => {
            // Written past the capture of the test harness, which hides the output of passing tests.
            NOTE.call_once(|| drop(writeln!(std::io::stderr(), "note: {absence}")));
            Vec::new()
        }
        Err(error) => panic!("{error}"),
    }
}

/// The folders of all traces of a kind, or the reason why there are none; an error if `named` is not a reference
/// folder.
pub(crate) fn find(named: Option<&OsStr>, kind: &str) -> Result<Result<Vec<PathBuf>, String>, String> {
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return Ok(Err(format!(
            "{VARIABLE} is not set: only the {kind} traces of the repository are tested"
        )));
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(named);
    let wrong = |what: &dyn Display| format!("{VARIABLE} names {}: {what}", folder.display());
    if !folder.is_dir() {
        return Err(wrong(&"there is no such folder"));
    }
    if !folder.join("traces").is_dir() {
        return Err(wrong(&format!("it has no folder traces/{kind}, nor any traces")));
    }
    let place = folder.join("traces").join(kind);
    if !place.is_dir() {
        return Ok(Err(wrong(&format!(
            "it has no folder traces/{kind}; only the traces of the repository are tested"
        ))));
    }
    let entries = fs::read_dir(&place).map_err(|error| wrong(&format!("traces/{kind}: {error}")))?;
    let mut sets: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("ground-truth.json").is_file())
        .collect();
    if sets.is_empty() {
        return Err(wrong(&format!("no folder of traces/{kind} has a ground-truth.json")));
    }
    sets.sort();
    Ok(Ok(sets))
}
