//! Several processes that share a run, for Python: start, compare, end.
//!
//! Without the feature `mpi`, the module has only [`mpi_library`], which returns `None`.

use pyo3::prelude::*;

/// Name and version of the MPI library of this build, if any. Starts nothing.
#[pyfunction]
fn mpi_library() -> Option<String> {
    #[cfg(feature = "mpi")]
    return Some(odonata_mpi_transport::library());
    #[cfg(not(feature = "mpi"))]
    None
}

/// Adds the available functions to `module`.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mpi_library, module)?)?;
    #[cfg(feature = "mpi")]
    with_mpi::register(module)?;
    Ok(())
}

#[cfg(feature = "mpi")]
mod with_mpi {
    use odonata_engine::Transport;
    use odonata_mpi_transport::Mpi;
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::*;

    fn connect() -> PyResult<Mpi> {
        Mpi::connect().map_err(PyRuntimeError::new_err)
    }

    /// Starts MPI if it is not running; returns the rank of this process and the number of processes. Collective.
    #[pyfunction]
    fn mpi_start(py: Python<'_>) -> PyResult<(usize, usize)> {
        let mpi = py.detach(connect)?;
        Ok((mpi.rank(), mpi.size()))
    }

    /// The minimum of every value over all processes. Collective, with equally many values everywhere.
    #[pyfunction]
    fn mpi_all_min(py: Python<'_>, mut values: Vec<u64>) -> PyResult<Vec<u64>> {
        py.detach(|| connect()?.all_min(&mut values).map_err(PyRuntimeError::new_err))?;
        Ok(values)
    }

    /// Ends MPI. Collective; it cannot be started again.
    #[pyfunction]
    fn mpi_finish(py: Python<'_>) {
        py.detach(odonata_mpi_transport::finish);
    }

    /// Ends all processes at once, this one with `code`.
    #[pyfunction]
    fn mpi_abort(code: i32) {
        odonata_mpi_transport::abort(code);
    }

    pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add_function(wrap_pyfunction!(mpi_start, module)?)?;
        module.add_function(wrap_pyfunction!(mpi_all_min, module)?)?;
        module.add_function(wrap_pyfunction!(mpi_finish, module)?)?;
        module.add_function(wrap_pyfunction!(mpi_abort, module)?)?;
        Ok(())
    }
}
