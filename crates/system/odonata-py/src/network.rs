//! A network that a Python program drives.

use odonata_system::{NetworkSession, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Mutex;

use crate::errors::{input_error, json_text};
use crate::interrupt::detached;
use crate::simulation::folder_of;

/// The network of a scenario, without its jobs. Times are picoseconds.
#[pyclass(name = "Network", module = "odonata._core")]
pub(crate) struct PyNetwork {
    /// A lock because pyo3 requires `Sync`.
    session: Mutex<NetworkSession>,
}

impl PyNetwork {
    fn session(&mut self) -> &mut NetworkSession {
        self.session.get_mut().unwrap_or_else(|broken| broken.into_inner())
    }
}

#[pymethods]
impl PyNetwork {
    /// Loads a scenario. Raises `InputError`.
    #[new]
    #[pyo3(signature = (text, path, overrides=Vec::new(), seed=None))]
    fn new(py: Python<'_>, text: &str, path: &str, overrides: Vec<String>, seed: Option<u64>) -> PyResult<Self> {
        let session = detached(py, || {
            NetworkSession::load(text, path, &overrides, seed, folder_of(path))
        })?;
        Ok(PyNetwork {
            session: Mutex::new(session.map_err(input_error)?),
        })
    }

    /// The number of nodes.
    #[getter]
    fn nodes(&mut self) -> u32 {
        self.session().nodes()
    }

    /// The time that the network has reached.
    #[getter]
    fn now_ps(&mut self) -> u64 {
        self.session().now().0
    }

    /// Whether nothing is in flight.
    #[getter]
    fn is_idle(&mut self) -> bool {
        self.session().is_idle()
    }

    /// When something happens next within the network.
    #[getter]
    fn next_event_ps(&mut self) -> Option<u64> {
        self.session().next_time().map(|at| at.0)
    }

    /// Sends a message; returns its number.
    #[pyo3(signature = (source, target, bytes, at_ps=None, notify_sent=false))]
    fn send(&mut self, source: u32, target: u32, bytes: u64, at_ps: Option<u64>, notify_sent: bool) -> PyResult<u32> {
        let sent = self
            .session()
            .send((source, target), bytes, at_ps.map(Time), notify_sent);
        sent.map_err(PyValueError::new_err)
    }

    /// Advances to the next event of a message, at most to `until_ps`, or without it to the end. Returns the events at that
    /// time: message, whether it is delivered, time.
    #[pyo3(signature = (until_ps=None))]
    fn advance(&mut self, py: Python<'_>, until_ps: Option<u64>) -> PyResult<Vec<(u32, bool, u64)>> {
        let until = until_ps.map_or(Time::NEVER, Time);
        let session = self.session();
        let events = detached(py, || session.advance(until))?;
        Ok(events
            .into_iter()
            .map(|event| (event.message, event.is_delivered, event.at.0))
            .collect())
    }

    /// The counters of all messages together, as JSON.
    fn totals(&mut self) -> PyResult<String> {
        json_text(&self.session().totals())
    }

    /// The counters of every link, as JSON.
    fn links(&mut self) -> PyResult<String> {
        json_text(&self.session().links())
    }
}
