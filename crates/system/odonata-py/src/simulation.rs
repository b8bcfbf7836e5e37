//! A running simulation, for Python.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use arrow_pyarrow::ToPyArrow;
use odonata_system::results::Table;
use odonata_system::{Interrupt, Others, Simulation, Snapshot, Time, scenario};
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{input_error, json_text};
use crate::interrupt::{PyInterrupt, detached};

/// The folder for relative file names in the scenario at `path`.
pub(crate) fn folder_of(path: &str) -> &Path {
    Path::new(path).parent().unwrap_or(Path::new("."))
}

/// The state of a run: first a simulation, then, once, its results.
enum State {
    Running(Box<Simulation>),
    Finished {
        run: serde_json::Value,
        tables: Vec<Table>,
    },
    /// The first of the processes that share the run has the results.
    Elsewhere,
    /// An earlier step panicked; the state is unknown.
    Broken,
}

/// Loads a scenario for a run shared by all MPI processes; the run resumes from `snapshot`, if given.
#[cfg(feature = "mpi")]
fn shared_run(
    text: &str,
    path: &str,
    overrides: &[String],
    seed: Option<u64>,
    snapshot: Option<&Path>,
    interrupt: Interrupt,
) -> PyResult<Simulation> {
    use odonata_system::ProcessGroup;
    let connect = || odonata_mpi_transport::Mpi::connect().map_err(PyRuntimeError::new_err);
    let mut others = Others {
        transport: Box::new(connect()?),
        group: ProcessGroup::new(Box::new(connect()?)),
        interrupt,
    };
    let loaded = scenario::load(text, path, overrides, seed, folder_of(path)).and_then(|scenario| {
        let open = |folder| Snapshot::open(|process| Snapshot::file_in(folder, process), &scenario, &others.group);
        let snapshot = snapshot.map(open).transpose()?;
        Ok((scenario, snapshot))
    });
    // If one process cannot run, the others must not wait for it.
    let all = others.group.all(loaded.is_ok()).map_err(PyRuntimeError::new_err)?;
    let (scenario, snapshot) = loaded.map_err(input_error)?;
    if !all {
        return Err(PyRuntimeError::new_err(
            "another process cannot read the scenario, or its snapshot",
        ));
    }
    match snapshot {
        Some(snapshot) => Simulation::resume_shared(scenario, snapshot, others),
        None => Simulation::shared(scenario, others),
    }
    .map_err(input_error)
}

#[cfg(not(feature = "mpi"))]
fn shared_run(_: &str, _: &str, _: &[String], _: Option<u64>, _: Option<&Path>, _: Interrupt) -> PyResult<Simulation> {
    Err(PyRuntimeError::new_err("this build has no MPI support"))
}

/// One run of one scenario: `advance` until it returns `finished`, then `finish`, then take the results.
#[pyclass(name = "Simulation", module = "odonata._core")]
pub(crate) struct PySimulation {
    /// A lock because pyo3 requires `Sync`.
    state: Mutex<State>,
}

#[pymethods]
impl PySimulation {
    /// Loads a scenario and builds the machine. With `only`, that job has the machine for itself, on its nodes of the
    /// full run; `sends_for_s` is the duration of its traffic if that depends on other jobs. With `snapshot`, the run
    /// resumes from the files in that folder. `shared`: all MPI processes share the run and make the following calls
    /// together; the first process has the results. `interrupt` ends the run within an event, also during the build.
    /// Raises `InputError`, or `KeyError` if no job has this name; nothing has been written then.
    #[new]
    #[pyo3(signature = (text, path, overrides=Vec::new(), seed=None, only=None, sends_for_s=None, snapshot=None, shared=false, interrupt=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        text: &str,
        path: &str,
        overrides: Vec<String>,
        seed: Option<u64>,
        only: Option<&str>,
        sends_for_s: Option<f64>,
        snapshot: Option<PathBuf>,
        shared: bool,
        interrupt: Option<&PyInterrupt>,
    ) -> PyResult<Self> {
        let interrupt = interrupt.map(|interrupt| interrupt.0.clone()).unwrap_or_default();
        if sends_for_s.is_some_and(|seconds| !(0.0..=Time::LONGEST.seconds()).contains(&seconds)) {
            return Err(PyValueError::new_err("sends_for_s exceeds the longest possible run"));
        }
        let sends_for = sends_for_s.map(Time::from_seconds);
        if shared {
            return detached(py, || {
                shared_run(text, path, &overrides, seed, snapshot.as_deref(), interrupt)
            })?
            .map(PySimulation::running_now);
        }
        let simulation = detached(py, || {
            let mut loaded = scenario::load(text, path, &overrides, seed, folder_of(path))?;
            if let Some(job) = only {
                match loaded.alone(job, sends_for)? {
                    Some(alone) => loaded = alone,
                    None => return Ok(None),
                }
            }
            let others = Others {
                interrupt,
                ..Others::default()
            };
            match &snapshot {
                Some(folder) => {
                    let file = |process| Snapshot::file_in(folder, process);
                    let snapshot = Snapshot::open(file, &loaded, &others.group)?;
                    Simulation::resume_shared(loaded, snapshot, others)
                }
                None => Simulation::shared(loaded, others),
            }
            .map(Some)
        })?;
        match simulation.map_err(input_error)? {
            Some(simulation) => Ok(PySimulation::running_now(simulation)),
            None => Err(PyKeyError::new_err(format!(
                "no job is named {}",
                only.unwrap_or_default()
            ))),
        }
    }

    /// The resolved scenario, as JSON.
    fn scenario_json(&mut self) -> PyResult<String> {
        match self.state_mut() {
            State::Running(simulation) => json_text(simulation.scenario()),
            State::Finished { run, .. } => json_text(&run["scenario"]),
            State::Elsewhere => Err(PyRuntimeError::new_err("another process has the results")),
            State::Broken => Err(PyRuntimeError::new_err("an earlier error ended the simulation")),
        }
    }

    /// The warnings about the scenario: a list of key, message, expected, as JSON.
    fn warnings(&mut self) -> PyResult<String> {
        json_text(&self.running()?.warnings())
    }

    /// Wall time between two snapshots in seconds, if the scenario sets it.
    fn checkpoint_interval_s(&mut self) -> PyResult<Option<f64>> {
        Ok(self.running()?.scenario().run.checkpoint_interval.map(|time| time.0))
    }

    /// Wall time of the run in seconds before this process resumed it.
    fn earlier_wall_s(&mut self) -> PyResult<f64> {
        Ok(self.running()?.earlier_wall().as_secs_f64())
    }

    /// Saves the run, or this process's share of it, to `path`, replacing an older snapshot when complete; returns the
    /// size in bytes. Raises `OSError`.
    fn save(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        let simulation = self.running()?;
        Ok(py.detach(|| simulation.save_to(&path))?)
    }

    /// Simulates for about `seconds` of wall time with the interpreter released, and returns the progress.
    fn advance<'py>(&mut self, py: Python<'py>, seconds: f64) -> PyResult<Bound<'py, PyDict>> {
        let wall = Duration::try_from_secs_f64(seconds).map_err(|cause| PyValueError::new_err(cause.to_string()))?;
        let State::Running(simulation) = self.state_mut() else {
            return Err(PyRuntimeError::new_err("the simulation has been finished"));
        };
        let progress = detached(py, || simulation.advance(wall))?;
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

    /// Ends the run, by its own end or, if `interrupted`, now, and builds the results.
    #[pyo3(signature = (interrupted=false))]
    fn finish(&mut self, py: Python<'_>, interrupted: bool) -> PyResult<()> {
        match std::mem::replace(self.state_mut(), State::Broken) {
            State::Running(simulation) => {
                let results = py.detach(|| simulation.finish_shared(interrupted));
                *self.state_mut() = match results.map_err(PyRuntimeError::new_err)? {
                    Some(results) => State::Finished {
                        run: results.run_json(),
                        tables: (results.tables()).map_err(|error| PyOverflowError::new_err(error.to_string()))?,
                    },
                    None => State::Elsewhere,
                };
                Ok(())
            }
            State::Finished { run, tables } => {
                *self.state_mut() = State::Finished { run, tables };
                Ok(())
            }
            State::Elsewhere => {
                *self.state_mut() = State::Elsewhere;
                Ok(())
            }
            State::Broken => Err(PyRuntimeError::new_err("an earlier error ended the simulation")),
        }
    }

    /// The run and its outcome, as JSON (the contents of `run.json`).
    fn run_json(&mut self) -> PyResult<String> {
        let (run, _) = self.finished()?;
        json_text(run)
    }

    /// Names of the tables, in their documented order.
    fn table_names(&mut self) -> PyResult<Vec<String>> {
        let (_, tables) = self.finished()?;
        Ok(tables.iter().map(|table| table.name.to_string()).collect())
    }

    /// Table `name` as a `pyarrow.RecordBatch`, by Arrow's C data interface: nothing is copied.
    fn table<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let (_, tables) = self.finished()?;
        let table = tables
            .iter()
            .find(|table| table.name == name)
            .ok_or_else(|| PyKeyError::new_err(format!("no table is named {name}")))?;
        table.batch.to_pyarrow(py)
    }
}

impl PySimulation {
    fn running_now(simulation: Simulation) -> PySimulation {
        PySimulation {
            state: Mutex::new(State::Running(Box::new(simulation))),
        }
    }

    fn state_mut(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(|broken| broken.into_inner())
    }

    fn running(&mut self) -> PyResult<&mut Simulation> {
        match self.state_mut() {
            State::Running(simulation) => Ok(simulation),
            _ => Err(PyRuntimeError::new_err("the simulation has been finished")),
        }
    }

    fn finished(&mut self) -> PyResult<(&serde_json::Value, &[Table])> {
        match self.state_mut() {
            State::Finished { run, tables } => Ok((run, tables)),
            _ => Err(PyRuntimeError::new_err("the simulation has not been finished")),
        }
    }
}
