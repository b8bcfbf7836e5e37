"""Tables on their way from the core to Parquet.

Every field carries its `description` and `unit` as metadata, so that a file explains itself to whoever opens
it:

>>> field = describe("busy_s", "float64", unit="s", doc="Time in which the link transmits.")
>>> field.metadata[b"unit"]
b's'
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odonata import _core

_TYPES: dict[str, pa.DataType] = {
    "float64": pa.float64(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "uint32": pa.uint32(),
    "string": pa.string(),
}


def describe(name: str, kind: str, *, unit: str, doc: str) -> pa.Field:
    """The Arrow field of a column, with unit and description as metadata."""
    metadata = {"description": doc} | ({"unit": unit} if unit else {})
    return pa.field(name, _TYPES[kind], nullable=False, metadata=metadata)


def from_core(simulation: _core.Simulation, name: str) -> pa.Table:
    """Table `name` of a finished simulation; its arrays are the core's buffers, not copies."""
    doc, columns = simulation.table(name)
    fields, arrays = [], []
    for column, unit, column_doc, kind, length, buffers in columns:
        field = describe(column, kind, unit=unit, doc=column_doc)
        fields.append(field)
        # The first buffer of an Arrow array is its validity; no column of ours has missing values.
        arrays.append(pa.Array.from_buffers(field.type, length, [None, *map(pa.py_buffer, buffers)]))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"description": doc}))


def write(table: pa.Table, folder: Path, name: str) -> None:
    """Writes `table` as `folder/NAME.parquet`."""
    pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
