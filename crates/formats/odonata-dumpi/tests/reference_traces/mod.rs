//! Traces with known contents: those of `tests/traces`, and real ones if available.

#[path = "../../../odonata-trace-format/tests/reference/mod.rs"]
mod reference;

use std::path::{Path, PathBuf};

/// The folders of all traces: those of the repository, then the available reference traces.
///
/// # Panics
/// `ODONATA_REFERENCE` names a folder without traces.
pub(crate) fn sets() -> Vec<PathBuf> {
    [our_sets(), reference::sets("dumpi")].concat()
}

/// The folders of the traces of the repository.
pub(crate) fn our_sets() -> Vec<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/traces/dumpi");
    let entries = std::fs::read_dir(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.join("ground-truth.json").exists()).collect();
    assert!(!found.is_empty(), "no traces in {}", place.display());
    found.sort();
    found
}

/// The folder of one trace.
#[allow(dead_code, reason = "not every test that is compiled with this names one")]
pub(crate) fn our_set(name: &str) -> PathBuf {
    let found = our_sets().into_iter().find(|set| set.ends_with(name));
    found.unwrap_or_else(|| panic!("no trace {name} in tests/traces"))
}
