"""Tables in Parquet files, read and checked against their documentation."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from odonata import _core
from odonata.analysis import slowdown
from odonata.analysis.measured import damaged
from odonata.analysis.tables import TYPES
from odonata.base import foreign
from odonata.errors import is_mistake

#: Bytes of a file from which on several threads read it faster than one.
LARGE = 2**20


def read(file: Path) -> pa.Table:
    """Reads the table in `file`; raises an `InputError` that names the file.

    Documented columns have their documented types and no missing values. The caller checks which columns are
    there.
    """
    try:
        foreign.check(file)
        # Not a Python file: its reader threads would need the interpreter while it shuts down.
        # Not `read_table`: it imports the package for data sets, and with it pandas.
        with (
            pa.OSFile(str(file)) as content,
            pq.ParquetFile(content, page_checksum_verification=True) as parts,
        ):
            table = parts.read(use_threads=content.size() > LARGE)
        table.validate(full=True)
    except MemoryError:
        raise MemoryError(f"not enough memory for the table in {file}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and not is_mistake(error):
            raise
        # A damaged file may raise any of these errors.
        lines = str(error).strip().splitlines()
        raise damaged(file, f"it cannot be read: {lines[0] if lines else type(error).__name__}") from None
    known = _types(file.stem)
    for number, field in enumerate(table.schema):
        kind = known.get(field.name)
        if kind is None:
            continue
        column = table.column(number)
        if field.type != kind:
            column = _as(kind, column, file, field.name)
            table = table.set_column(number, field.with_type(kind), column)
        if column.null_count:
            raise damaged(file, "a column with missing values", key=field.name, expected=str(kind))
    return table


def documentation() -> list[dict[str, Any]]:
    """Every table of a result: the core's, and those computed from them."""
    core: list[dict[str, Any]] = json.loads(_core.table_docs())
    return [*core, slowdown.documentation()]


def _as(kind: pa.DataType, column: pa.ChunkedArray, file: Path, name: str) -> pa.ChunkedArray:
    """Converts a column that another program wrote with a related type of numbers or text."""
    alike = all(map(_is_number, (kind, column.type))) or not any(map(_is_number, (kind, column.type)))
    try:
        if alike:
            return column.cast(kind)
    except pa.ArrowException:
        pass
    raise damaged(file, "a column of another type", key=name, value=str(column.type), expected=str(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


@functools.cache
def _types(name: str) -> dict[str, pa.DataType]:
    """The documented columns of table `name`."""
    return {column["name"]: TYPES[column["type"]] for column in _columns().get(name, ())}


@functools.cache
def _columns() -> dict[str, list[dict[str, Any]]]:
    """The documented columns of every table."""
    return {table["table"]: table["columns"] for table in documentation()}
