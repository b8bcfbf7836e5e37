//! A running simulation, as Python sees it.

use std::path::Path;
use std::time::Duration;

use odonata_system::results::Table;
use odonata_system::{Results, Simulation, Time, scenario};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{self, PyColumn};
use crate::errors::{input_error, json_text};

/// The folder that relative file names in the scenario at `path` start from.
pub(crate) fn folder_of(path: &str) -> &Path {
    Path::new(path).parent().unwrap_or(Path::new("."))
}

/// What there is at each moment: first a simulation, then, once, its results.
enum State {
    Running(Box<Simulation>),
    Finished {
        run: serde_json::Value,
        tables: Vec<Table>,
    },
    /// A step in between panicked; nothing can be said about the rest.
    Broken,
}

/// One run of one scenario: `advance` until it says `finished`, then `finish`, then take the results.
#[pyclass(name = "Simulation", module = "odonata._core")]
pub(crate) struct PySimulation {
    state: State,
}

#[pymethods]
impl PySimulation {
    /// Loads a scenario and builds the machine. With `only`, that job has it for itself, on the nodes that it has
    /// beside the others; `sends_for_s` is how long its traffic lasts if that depends on others. Raises `InputError`,
    /// or `KeyError` if no job is called so; nothing has been written then.
    #[new]
    #[pyo3(signature = (text, path, overrides=Vec::new(), seed=None, only=None, sends_for_s=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        path: &str,
        overrides: Vec<String>,
        seed: Option<u64>,
        only: Option<&str>,
        sends_for_s: Option<f64>,
    ) -> PyResult<Self> {
        if sends_for_s.is_some_and(|seconds| !(0.0..=Time::LONGEST.seconds()).contains(&seconds)) {
            return Err(PyValueError::new_err("sends_for_s is no time that a run can take"));
        }
        let sends_for = sends_for_s.map(Time::from_seconds);
        let simulation = py.detach(|| {
            let mut loaded = scenario::load(text, path, &overrides, seed, folder_of(path))?;
            if let Some(job) = only {
                match loaded.alone(job, sends_for)? {
                    Some(alone) => loaded = alone,
                    None => return Ok(None),
                }
            }
            Simulation::new(loaded).map(Some)
        });
        match simulation.map_err(input_error)? {
            Some(simulation) => Ok(PySimulation {
                state: State::Running(Box::new(simulation)),
            }),
            None => Err(PyKeyError::new_err(format!(
                "no job is named {}",
                only.unwrap_or_default()
            ))),
        }
    }

    /// The resolved scenario, as JSON.
    fn scenario_json(&self) -> PyResult<String> {
        match &self.state {
            State::Running(simulation) => json_text(simulation.scenario()),
            State::Finished { run, .. } => json_text(&run["scenario"]),
            State::Broken => Err(PyRuntimeError::new_err("the simulation broke down earlier")),
        }
    }

    /// Simulates for about `seconds` of wall time with the interpreter released, and says how far it came.
    fn advance<'py>(&mut self, py: Python<'py>, seconds: f64) -> PyResult<Bound<'py, PyDict>> {
        let wall = Duration::try_from_secs_f64(seconds).map_err(|cause| PyValueError::new_err(cause.to_string()))?;
        let State::Running(simulation) = &mut self.state else {
            return Err(PyRuntimeError::new_err("the simulation has been finished"));
        };
        let progress = py.detach(|| simulation.advance(wall));
        let answer = PyDict::new(py);
        answer.set_item("finished", progress.finished)?;
        answer.set_item("simulated_s", progress.simulated_s)?;
        answer.set_item("events", progress.events)?;
        answer.set_item("packets", progress.packets)?;
        answer.set_item("packet_hops", progress.packet_hops)?;
        answer.set_item("messages", progress.messages)?;
        answer.set_item("fraction", progress.fraction)?;
        Ok(answer)
    }

    /// Ends the run, by its own end or, if `interrupted`, here, and makes its results.
    #[pyo3(signature = (interrupted=false))]
    fn finish(&mut self, py: Python<'_>, interrupted: bool) -> PyResult<()> {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Running(simulation) => {
                let (run, tables) = py.detach(|| {
                    let results: Results = simulation.finish(interrupted);
                    (results.run_json(), results.tables())
                });
                self.state = State::Finished { run, tables };
                Ok(())
            }
            State::Finished { run, tables } => {
                self.state = State::Finished { run, tables };
                Ok(())
            }
            State::Broken => Err(PyRuntimeError::new_err("the simulation broke down earlier")),
        }
    }

    /// What the run was and how it ended, as JSON (the contents of `run.json`).
    fn run_json(&self) -> PyResult<String> {
        let (run, _) = self.finished()?;
        json_text(run)
    }

    /// Names of the tables, in their documented order.
    fn table_names(&self) -> PyResult<Vec<String>> {
        let (_, tables) = self.finished()?;
        Ok(tables.iter().map(|table| table.name.to_string()).collect())
    }

    /// Documentation and columns of table `name`.
    ///
    /// One table at a time, so that of a large result only one exists twice in memory.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(String, Vec<PyColumn<'py>>)> {
        let (_, tables) = self.finished()?;
        let table = tables
            .iter()
            .find(|table| table.name == name)
            .ok_or_else(|| PyKeyError::new_err(format!("no table is named {name}")))?;
        let columns = table
            .columns
            .iter()
            .map(|column| columns::to_python(py, column))
            .collect::<PyResult<_>>()?;
        Ok((table.doc.to_string(), columns))
    }
}

impl PySimulation {
    fn finished(&self) -> PyResult<(&serde_json::Value, &[Table])> {
        match &self.state {
            State::Finished { run, tables } => Ok((run, tables)),
            _ => Err(PyRuntimeError::new_err("the simulation has not been finished")),
        }
    }
}
