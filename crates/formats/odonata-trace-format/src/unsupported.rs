//! Trace formats of other tools that are not read here. The error names the format and, if a Python package reads it,
//! the command that converts it.
//!
//! They are recognized by the file ending alone. A format that gets a reader loses its line here.

use std::path::Path;

/// Ending; format and its tool.
const UNSUPPORTED: &[(&str, &str)] = &[("prv", "a Paraver trace (Extrae)")];

/// Formats that `odonata trace convert` reads with a Python package.
const CONVERTED: &[(&str, &str)] = &[
    ("darshan", "a Darshan log"),
    ("et", "a Chakra execution trace (MLCommons)"),
    ("otf2", "an OTF2 archive (Score-P, VampirTrace)"),
    ("sqlite", "an export of NVIDIA Nsight Systems"),
];

/// Formats that their own tool exports to one that can be converted.
const EXPORTED: &[(&str, &str)] = &[
    ("nsys-rep", "a report of NVIDIA Nsight Systems"),
    ("qdrep", "a report of NVIDIA Nsight Systems"),
];

/// The format of the file at `path` by its name, and the way to use it, for known formats without a reader here.
pub(crate) fn named(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let find = |rows: &'static [(&str, &'static str)]| {
        let row = rows.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending));
        row.map(|(_, name)| *name)
    };
    let converted =
        |name| format!("{name}, which is converted before a job runs it: odonata trace convert FILE NAME.program");
    let exported = |name| {
        format!(
            "{name}, which nsys export -t sqlite turns into a database to convert: \
             odonata trace convert FILE.sqlite NAME.program"
        )
    };
    find(CONVERTED)
        .map(converted)
        .or_else(|| find(EXPORTED).map(exported))
        .or_else(|| find(UNSUPPORTED).map(|name| format!("{name}, an unsupported format")))
}
