//! Collectives of NCCL as operations of Python programs: the steps of the skeleton [`Nccl`], for one rank.

use std::collections::BTreeMap;

use odonata_program_file::{Field, to_row};
use odonata_workload::skeletons::{Nccl, NcclParams, Parameters};
use odonata_workload::{Cursor, OpKind, Program};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Kind, numbers by column, stream, and the operations before it that must be complete, relative to its own number.
type Made = (&'static str, BTreeMap<&'static str, i128>, u16, Vec<i64>);

/// One call of a collective, as one rank makes it.
#[pyclass(name = "NcclCall", module = "odonata._core")]
pub(crate) struct PyNcclCall {
    program: Nccl,
    rank: u32,
    cursor: Cursor,
}

#[pymethods]
impl PyNcclCall {
    /// The call of `rank`, one of `ranks`; `settings` are keys of the workload `nccl` as JSON. Raises `ValueError`.
    #[new]
    fn new(settings: &str, rank: u32, ranks: u32) -> PyResult<PyNcclCall> {
        if rank >= ranks {
            let problem = format!("there is no rank {rank} of {ranks}");
            return Err(PyValueError::new_err(problem));
        }
        let params: Result<NcclParams, _> = serde_json::from_str(settings);
        let mut params = params.map_err(|error| PyValueError::new_err(error.to_string()))?;
        params.resolve("nccl", ranks).map_err(|problem| {
            let text = format!("{}: {}; expected {}", problem.key, problem.problem, problem.expected);
            PyValueError::new_err(text)
        })?;
        let program = Nccl::new(ranks, &params).map_err(PyValueError::new_err)?;
        Ok(PyNcclCall {
            program,
            rank,
            cursor: Cursor::default(),
        })
    }

    /// The next operations, at most `count`; none at the end.
    fn take(&mut self, count: usize) -> Vec<Made> {
        let mut made = Vec::new();
        while made.len() < count {
            let Some(op) = self.program.next(self.rank, &mut self.cursor) else {
                break;
            };
            // The mark that ends an iteration of the workload; programs place their own.
            if matches!(op.kind, OpKind::Mark { .. }) {
                continue;
            }
            let (kind, row) = to_row(&op.kind);
            let numbers = Field::ALL
                .into_iter()
                .filter_map(|field| row[field as usize].map(|number| (field.name(), number)))
                .collect();
            let after = op.after.iter().map(|before| i64::from(before.0) - i64::from(op.id.0));
            made.push((kind, numbers, op.stream, after.collect()));
        }
        made
    }
}
