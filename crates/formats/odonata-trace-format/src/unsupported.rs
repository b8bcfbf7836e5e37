//! Trace formats of other tools that have no reader. The error names the format, and its own tool's way to one that has.
//!
//! They are recognized by the file ending alone. A format that gets a reader loses its line here.

use std::path::Path;

/// Ending; format and its tool, and what to do with it.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("prv", "a Paraver trace (Extrae), an unsupported format"),
    ("nsys-rep", NSIGHT),
    ("qdrep", NSIGHT),
];
const NSIGHT: &str =
    "a report of NVIDIA Nsight Systems, which nsys export -t sqlite turns into a database in a known format";

/// The format of the file at `path` by its name, and the way to use it, for known formats without a reader.
pub(crate) fn named(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    let row = UNSUPPORTED.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending));
    row.map(|(_, name)| *name)
}
