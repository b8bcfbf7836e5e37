"""Conversion of tables between the core, Arrow and Parquet.

Every field carries its `description` and `unit` as metadata, so that a file explains itself:

>>> field = describe("busy_s", "float64", unit="s", doc="Time in which the link transmits.")
>>> field.metadata[b"unit"]
b's'
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odonata import _core
from odonata.analysis.measured import file_of
from odonata.base.output_file import whole_file

#: Types of the core's documentation -> types of Arrow.
TYPES: dict[str, pa.DataType] = {
    "float64": pa.float64(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "uint32": pa.uint32(),
    "string": pa.string(),
}


def describe(name: str, kind: str, *, unit: str, doc: str) -> pa.Field:
    """The Arrow field of a column, with unit and description as metadata."""
    metadata = {"description": doc} | ({"unit": unit} if unit else {})
    return pa.field(name, TYPES[kind], nullable=False, metadata=metadata)


def from_core(simulation: _core.Simulation, name: str) -> pa.Table:
    """Table `name` of a finished simulation; its arrays share the core's memory."""
    return pa.Table.from_batches([simulation.table(name)])


def write(table: pa.Table, folder: Path, name: str, *, synced: bool = True) -> None:
    """Writes `table` as `folder/NAME.parquet`; `synced` as for `whole_file`."""
    with whole_file(file_of(folder, name), synced=synced) as file:
        # Checksums reveal later changes to the file.
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)
