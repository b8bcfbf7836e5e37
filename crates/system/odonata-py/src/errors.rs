//! Errors passed to Python.

use std::io::Error as IoError;
use std::path::Path;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;

pyo3::create_exception!(
    _core,
    InputError,
    pyo3::exceptions::PyValueError,
    "The input is wrong. `args[0]` is a JSON object: where (file, line, key), what was seen, what was expected, a hint."
);

/// The Python exception for an error of the core: the whole structure as JSON, rendered by Python.
pub(crate) fn input_error(error: odonata_system::InputError) -> PyErr {
    match serde_json::to_string(&error) {
        Ok(text) => InputError::new_err(text),
        Err(cause) => PyRuntimeError::new_err(format!("an input error could not be written as JSON: {cause}")),
    }
}

/// The exception for a problem with `file` as a whole.
pub(crate) fn refused(file: &Path, message: String, expected: &str) -> PyErr {
    input_error(odonata_system::InputError {
        file: file.display().to_string(),
        line: None,
        column: None,
        key: String::new(),
        message,
        value: None,
        expected: expected.into(),
        hint: None,
    })
}

/// The exception for a failed write of `file`, by the system's error number: Python decides how to report it.
pub(crate) fn unwritable(number: i32, file: &Path) -> PyErr {
    // Like Python: the text without the appended number.
    let text = IoError::from_raw_os_error(number).to_string();
    let words = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, words, file.to_path_buf()))
}

/// `value` as JSON text.
pub(crate) fn json_text<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|cause| PyRuntimeError::new_err(cause.to_string()))
}
