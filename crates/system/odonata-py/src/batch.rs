//! A batch queue for Python.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use odonata_system::batch::{BatchRequest, BatchRun, Pattern, batch_machine, flows};
use odonata_system::scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{input_error, json_text};
use crate::interrupt::detached;
use crate::simulation::folder_of;

/// A batch queue on the machine of a scenario, which advances in slices of wall time.
#[pyclass(name = "Batch", module = "odonata._core", frozen)]
pub(crate) struct PyBatch {
    run: Mutex<BatchRun>,
}

#[pymethods]
impl PyBatch {
    /// Loads the machine of a scenario, and `request` (JSON: settings, jobs). Raises `InputError`.
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        path: &str,
        overrides: Vec<String>,
        seed: Option<u64>,
        request: &str,
    ) -> PyResult<Self> {
        let request: BatchRequest =
            serde_json::from_str(request).map_err(|cause| PyValueError::new_err(cause.to_string()))?;
        let run = detached(py, || {
            let loaded = scenario::load_to_check(text, path, &overrides, seed, folder_of(path))?;
            BatchRun::new(&loaded, request)
        })?;
        Ok(PyBatch {
            run: Mutex::new(run.map_err(input_error)?),
        })
    }

    /// Handles events for `seconds` of wall time, one instant at least; false if there are no more.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        detached(py, || {
            let end = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
            let mut run = self.run.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            while run.step() {
                if Instant::now() >= end {
                    return true;
                }
            }
            false
        })
    }

    /// The simulated time in seconds, and the number of jobs that have ended.
    fn progress(&self) -> (f64, u32) {
        let run = self.run.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        run.progress()
    }

    /// The results so far, as JSON.
    fn results(&self, py: Python<'_>) -> PyResult<String> {
        let results = detached(py, || {
            let run = self.run.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            run.results()
        })?;
        json_text(&results)
    }
}

/// The compute nodes of a scenario's machine, as JSON: their groups, and the number of storage servers.
#[pyfunction]
fn batch_nodes(py: Python<'_>, text: &str, path: &str, overrides: Vec<String>) -> PyResult<String> {
    let machine = detached(py, || {
        let loaded = scenario::load_to_check(text, path, &overrides, None, folder_of(path))?;
        Ok::<_, scenario::InputError>(batch_machine(&loaded))
    })?;
    json_text(&machine.map_err(input_error)?)
}

/// The flows of a pattern between the nodes of a job: sender, receiver, fraction of the sender's bytes.
#[pyfunction]
fn batch_flows(pattern: u8, nodes: u32, seed: u64) -> Vec<(u32, u32, f64)> {
    let found = Pattern::of(pattern).map_or(Vec::new(), |pattern| flows(pattern, nodes.max(1), seed));
    found.iter().map(|flow| (flow.source, flow.target, flow.part)).collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyBatch>()?;
    module.add_function(wrap_pyfunction!(batch_nodes, module)?)?;
    module.add_function(wrap_pyfunction!(batch_flows, module)?)
}
