//! Several processes that share a run, as Python sees them: started, compared, ended.
//!
//! Built without the feature `mpi`, the module has [`mpi_library`] only, which says so.

use pyo3::prelude::*;

/// Name and version of the MPI library that this build speaks, if any. Starts nothing.
#[pyfunction]
fn mpi_library() -> Option<String> {
    #[cfg(feature = "mpi")]
    return Some(odonata_mpi_transport::library());
    #[cfg(not(feature = "mpi"))]
    None
}

/// Adds what there is of this to `module`.
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

    /// Starts MPI if it does not run yet; the number of this process and of all. Collective.
    #[pyfunction]
    fn mpi_start(py: Python<'_>) -> PyResult<(usize, usize)> {
        let mpi = py.detach(connect)?;
        Ok((mpi.rank(), mpi.size()))
    }

    /// The smallest of every value over all processes. Collective, with as many values everywhere.
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
