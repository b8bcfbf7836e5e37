//! Latency-load curves for Python.

use std::sync::Mutex;
use std::time::Duration;

use odonata_system::load_sweep::{LoadSweep, Method, Point};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{input_error, json_text};
use crate::interrupt::detached;
use crate::simulation::folder_of;

/// A scenario whose traffic is measured at different loads; `point` starts the measurement of one.
#[pyclass(name = "LoadSweep", module = "odonata._core", frozen)]
pub(crate) struct PyLoadSweep {
    sweep: LoadSweep,
}

#[pymethods]
impl PyLoadSweep {
    /// Loads a scenario; `job` (or the only job) is its traffic. `method` is JSON. Raises `InputError`.
    #[new]
    #[pyo3(signature = (text, path, overrides=Vec::new(), seed=None, job=None, method="{\"method\":\"steady\"}"))]
    fn new(
        py: Python<'_>,
        text: &str,
        path: &str,
        overrides: Vec<String>,
        seed: Option<u64>,
        job: Option<&str>,
        method: &str,
    ) -> PyResult<Self> {
        let method: Method = serde_json::from_str(method).map_err(|cause| PyValueError::new_err(cause.to_string()))?;
        let sweep = detached(py, || {
            LoadSweep::load(text, path, &overrides, seed, folder_of(path), job, method)
        })?;
        Ok(PyLoadSweep {
            sweep: sweep.map_err(input_error)?,
        })
    }

    /// The common properties of all points, as JSON.
    fn description(&self) -> PyResult<String> {
        json_text(&serde_json::json!({
            "job": self.sweep.job(),
            "senders": self.sweep.senders(),
            "method": self.sweep.method(),
            "cycle_ns": self.sweep.cycle().map(|time| time.nanoseconds()),
            "zero_load_ns": self.sweep.zero_load().map(|time| time.nanoseconds()),
            "warnings": self.sweep.warnings(),
            "scenario": self.sweep.scenario(),
        }))
    }

    /// The measurement at `load`. Raises `InputError`.
    fn point(&self, py: Python<'_>, load: f64) -> PyResult<PyLoadPoint> {
        let point = detached(py, || self.sweep.point(load))?.map_err(input_error)?;
        Ok(PyLoadPoint {
            point: Mutex::new(point),
        })
    }
}

/// One measurement: `advance` until it says `finished`, then take the `result`.
#[pyclass(name = "LoadPoint", module = "odonata._core")]
pub(crate) struct PyLoadPoint {
    /// A lock because pyo3 requires `Sync`.
    point: Mutex<Point>,
}

#[pymethods]
impl PyLoadPoint {
    /// Simulates for about `seconds` of wall time with the interpreter released, and returns the progress.
    fn advance<'py>(&mut self, py: Python<'py>, seconds: f64) -> PyResult<Bound<'py, PyDict>> {
        let wall = Duration::try_from_secs_f64(seconds).map_err(|cause| PyValueError::new_err(cause.to_string()))?;
        let point = self.point.get_mut().unwrap_or_else(|broken| broken.into_inner());
        let progress = detached(py, || point.advance(wall))?;
        let answer = PyDict::new(py);
        answer.set_item("finished", progress.finished)?;
        answer.set_item("periods", progress.periods)?;
        answer.set_item("warm", progress.warm)?;
        answer.set_item("simulated_s", progress.simulated_s)?;
        answer.set_item("packets", progress.packets)?;
        Ok(answer)
    }

    /// The measured point, as JSON.
    fn result(&mut self) -> PyResult<String> {
        let point = self.point.get_mut().unwrap_or_else(|broken| broken.into_inner());
        match point.result() {
            Some(result) => json_text(&result),
            None => Err(PyRuntimeError::new_err("the measurement has not ended")),
        }
    }
}
