//! Columns as raw buffers.
//!
//! pyarrow builds an array from plain memory in Arrow's layout: little-endian values one after the other, texts as
//! one run of UTF-8 with 32-bit offsets. A column is copied once into a `bytes` object of that layout, and never
//! turned into Python numbers or strings.

use odonata_system::results::{Column, ColumnData};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What Python gets of a column: name, unit, documentation, Arrow type, length, buffers.
pub(crate) type PyColumn<'py> = (String, String, String, &'static str, usize, Vec<Bound<'py, PyBytes>>);

/// Copies `column` into buffers of Arrow's layout.
pub(crate) fn to_python<'py>(py: Python<'py>, column: &Column) -> PyResult<PyColumn<'py>> {
    let (kind, length, buffers) = match &column.data {
        ColumnData::F64(values) => ("float64", values.len(), vec![words(py, values, f64::to_le_bytes)?]),
        ColumnData::U64(values) => ("uint64", values.len(), vec![words(py, values, u64::to_le_bytes)?]),
        ColumnData::I64(values) => ("int64", values.len(), vec![words(py, values, i64::to_le_bytes)?]),
        ColumnData::U32(values) => ("uint32", values.len(), vec![words(py, values, u32::to_le_bytes)?]),
        ColumnData::Text(values) => ("string", values.len(), texts(py, values)?),
    };
    Ok((
        column.name.to_string(),
        column.unit.to_string(),
        column.doc.to_string(),
        kind,
        length,
        buffers,
    ))
}

/// `values` one after the other, each as the `N` bytes that `encode` gives.
fn words<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    encode: fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |buffer| {
        for (cell, &value) in buffer.chunks_exact_mut(N).zip(values) {
            cell.copy_from_slice(&encode(value));
        }
        Ok(())
    })
}

/// The offsets (32-bit, one more than there are texts) and the characters of `values`.
fn texts<'py, T: AsRef<str>>(py: Python<'py>, values: &[T]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut offsets = Vec::with_capacity(values.len() + 1);
    let mut end = 0;
    offsets.push(0);
    for value in values {
        end += value.as_ref().len();
        offsets.push(i32::try_from(end).map_err(|_| PyOverflowError::new_err("a text column exceeds 2 GiB"))?);
    }
    let characters = PyBytes::new_with(py, end, |buffer| {
        let mut at = 0;
        for value in values {
            let bytes = value.as_ref().as_bytes();
            buffer[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        }
        Ok(())
    })?;
    Ok(vec![words(py, &offsets, i32::to_le_bytes)?, characters])
}
