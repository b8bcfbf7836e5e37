//! Errors on their way to Python.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

pyo3::create_exception!(
    _core,
    InputError,
    pyo3::exceptions::PyValueError,
    "The input is wrong. `args[0]` is a JSON object: where (file, line, key), what was seen, what was expected, a hint."
);

/// The Python exception for an error of the core: the whole structure as JSON, so that Python decides how it is shown.
pub(crate) fn input_error(error: odonata_system::InputError) -> PyErr {
    match serde_json::to_string(&error) {
        Ok(text) => InputError::new_err(text),
        Err(cause) => PyRuntimeError::new_err(format!("an input error could not be written as JSON: {cause}")),
    }
}

/// `value` as JSON text.
pub(crate) fn json_text<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|cause| PyRuntimeError::new_err(cause.to_string()))
}
