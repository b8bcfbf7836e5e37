//! Programs in coNCePTuaL: checks and listings, as JSON.

use odonata_conceptual::{Conceptual, Dialect, MOST_TASKS, format, line_and_column, reject};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::json_text;

/// Errors and warnings of the program `text` of file `path`, and its parameters. `strict` and `ignore_unknown_backend`
/// are those of [`Dialect`].
#[pyfunction]
#[pyo3(signature = (text, path, strict=false, ignore_unknown_backend=false))]
fn conceptual_check(text: &str, path: &str, strict: bool, ignore_unknown_backend: bool) -> PyResult<String> {
    let dialect = Dialect {
        strict,
        ignore_unknown_backend,
    };
    json_text(&match Conceptual::parse_as(path, text, dialect) {
        Ok(program) => {
            let parameter = |p: &odonata_conceptual::Parameter| json!({ "name": p.name, "about": p.about, "long": p.long, "short": p.short, "default": p.default });
            let parameters: Vec<_> = program.parameters().iter().map(parameter).collect();
            json!({ "valid": true, "errors": [], "warnings": program.rendered_warnings(), "parameters": parameters })
        }
        Err(errors) => {
            let error = |error: &odonata_conceptual::Diagnostic| {
                let (line, column) = line_and_column(text, error.span.start);
                json!({
                    "line": line, "column": column, "reason": error.reason, "message": error.message,
                    "hint": error.hint, "shown": error.render("error", path, text),
                })
            };
            let list: Vec<_> = errors.errors.iter().map(error).collect();
            json!({ "valid": false, "errors": list, "warnings": [], "parameters": [] })
        }
    })
}

/// The record of the program `text` of file `path` for `tasks` tasks, as JSON, and the reason if it was refused.
/// `folder` holds the files that it reads.
#[pyfunction]
#[pyo3(signature = (text, path, folder, tasks, args=Vec::new(), seed=1, strict=false, ignore_unknown_backend=false))]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
fn conceptual_record(
    py: Python<'_>,
    text: &str,
    path: &str,
    folder: std::path::PathBuf,
    tasks: u32,
    args: Vec<String>,
    seed: u64,
    strict: bool,
    ignore_unknown_backend: bool,
) -> PyResult<(String, Option<String>)> {
    let dialect = Dialect {
        strict,
        ignore_unknown_backend,
    };
    let record = py.detach(|| {
        let read = |name: &str| odonata_system::text_file::read_text(&folder.join(name), 16 << 20);
        match Conceptual::parse_as(path, text, dialect) {
            Ok(program) => program.record(tasks.min(MOST_TASKS), &args, seed, &read),
            Err(errors) => reject(path, tasks, &args, &errors),
        }
    });
    Ok((json_text(record.json())?, record.failure))
}

/// The program `text` of file `path` in the common layout. Raises `ValueError` with the first lexical error.
#[pyfunction]
fn conceptual_format(text: &str, path: &str) -> PyResult<String> {
    format(path, text).map_err(|errors| PyValueError::new_err(errors.to_string()))
}

/// Adds these functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(conceptual_check, module)?)?;
    module.add_function(wrap_pyfunction!(conceptual_format, module)?)?;
    module.add_function(wrap_pyfunction!(conceptual_record, module)?)
}
