//! Trace formats of other tools that are not read here, so that whoever has such a file is told what it is instead of "unknown".
//! Some are read by packages of Python: the command that converts them is said.
//!
//! They go by the ending of a file's name alone: nothing is opened. A format that comes to be read is found before anybody
//! looks here, and its line is taken out.

use std::path::Path;

/// Ending, what such a file is, and whose it is.
const UNSUPPORTED: &[(&str, &str)] = &[("prv", "a Paraver trace (Extrae)")];

/// The same of formats that `odonata trace convert` reads by a package of Python.
const CONVERTED: &[(&str, &str)] = &[
    ("darshan", "a Darshan log"),
    ("et", "a Chakra execution trace (MLCommons)"),
    ("otf2", "an OTF2 archive (Score-P, VampirTrace)"),
    ("sqlite", "an export of NVIDIA Nsight Systems"),
];

/// Formats of which their own tool writes one that is converted, and its command.
const EXPORTED: &[(&str, &str)] = &[
    ("nsys-rep", "a report of NVIDIA Nsight Systems"),
    ("qdrep", "a report of NVIDIA Nsight Systems"),
];

/// What the file at `path` is by its name, and what can be done with it, if it is of a format that is known but not read here.
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
            "{name}, of which nsys export -t sqlite makes a database, and that is converted: \
             odonata trace convert FILE.sqlite NAME.program"
        )
    };
    find(CONVERTED)
        .map(converted)
        .or_else(|| find(EXPORTED).map(exported))
        .or_else(|| find(UNSUPPORTED).map(|name| format!("{name}, a format that is not read yet")))
}
