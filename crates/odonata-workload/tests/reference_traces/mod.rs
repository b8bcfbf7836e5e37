//! Where the reference traces are.

use std::io::Write;
use std::path::PathBuf;

/// How many there are.
const SETS: usize = 13;

/// The folders of the traces, where `ODONATA_TRACES` says or else in `../shared/traces/dumpi` beside the project; none
/// where there are none.
///
/// # Panics
/// There are none where `ODONATA_TRACES` says, or fewer than there should be.
pub(crate) fn sets() -> Vec<PathBuf> {
    let named = std::env::var_os("ODONATA_TRACES").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/dumpi");
    let place = named.clone().unwrap_or(beside);
    let mut found: Vec<PathBuf> = (std::fs::read_dir(&place).into_iter().flatten())
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("ground-truth.json").exists())
        .collect();
    found.sort();
    if found.is_empty() && named.is_none() {
        // Past the test runner, which shows the output of tests only where they fail.
        let _ = writeln!(std::io::stderr(), "SKIPPED: no reference traces in {}", place.display());
    } else {
        assert!(
            found.len() >= SETS,
            "{} of {SETS} traces in {}",
            found.len(),
            place.display()
        );
    }
    found
}
