//! Trace formats that Python packages read: jobs run the programs that are converted from them.

use std::path::{Path, PathBuf};

use odonata_system::{Converted, Converter};
use odonata_trace_format::{FormatError, ReadOptions};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::interrupt::keep;

/// The Python side.
const FORMATS: &str = "odonata.traces.formats";
const CACHE: &str = "odonata.traces.program_cache";

/// The formats.
pub(crate) const CONVERTER: Converter = Converter { convert, files };

/// An answer of the Python side.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Program { folder: PathBuf, notes: Vec<String> },
    Refused(Refusal),
}

/// An `InputError`.
#[derive(Deserialize)]
struct Refusal {
    file: Option<PathBuf>,
    message: String,
    expected: Option<String>,
    hint: Option<String>,
    incomplete: bool,
}

fn files() -> String {
    let found: PyResult<String> = Python::attach(|py| py.import(FORMATS)?.call_method0("files")?.extract());
    found.unwrap_or_default()
}

fn convert(path: &Path, options: &ReadOptions, renew: bool) -> Result<Option<Converted>, FormatError> {
    let answer: PyResult<Option<String>> = Python::attach(|py| {
        let given = (path, options.incomplete, renew);
        py.import(CACHE)?.call_method1("program_of", given)?.extract()
    });
    let text = match answer {
        Ok(None) => return Ok(None),
        Ok(Some(text)) => text,
        Err(error) => return Err(raised(path, error)),
    };
    match serde_json::from_str(&text) {
        Ok(Answer::Program { folder, notes }) => Ok(Some(Converted { program: folder, notes })),
        Ok(Answer::Refused(refusal)) => Err(FormatError {
            file: refusal.file.unwrap_or_else(|| path.into()),
            hint: refusal.hint,
            incomplete: refusal.incomplete,
            ..FormatError::about(path, refusal.message, refusal.expected.unwrap_or_default())
        }),
        Err(cause) => Err(FormatError::about(path, cause.to_string(), "")),
    }
}

/// The error for an exception; Ctrl-C is raised again when the work is over.
fn raised(path: &Path, error: PyErr) -> FormatError {
    Python::attach(|py| match error.is_instance_of::<PyKeyboardInterrupt>(py) {
        true => {
            keep(error);
            FormatError::cancelled(path)
        }
        false => FormatError::about(path, error.to_string(), ""),
    })
}
