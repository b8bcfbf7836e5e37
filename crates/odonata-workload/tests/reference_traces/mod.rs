//! Where the reference traces are.

use std::path::PathBuf;

/// The folders of the traces, in `../shared/traces/dumpi` beside the project or where `ODONATA_TRACES` says; none where
/// there are none.
pub(crate) fn sets() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = [
        std::env::var_os("ODONATA_TRACES").map(PathBuf::from),
        Some(root.join("../shared/traces/dumpi")),
    ];
    let mut found: Vec<PathBuf> = (places.into_iter().flatten())
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|folder| folder.filter_map(|entry| entry.ok().map(|entry| entry.path())))
        .filter(|path| path.join("ground-truth.json").exists())
        .collect();
    found.sort();
    if found.is_empty() {
        eprintln!("no reference traces here: nothing is compared");
    }
    found
}
