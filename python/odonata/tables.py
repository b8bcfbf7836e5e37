"""Tables on their way from the core to Parquet, and back.

Every field carries its `description` and `unit` as metadata, so that a file explains itself to whoever opens
it:

>>> field = describe("busy_s", "float64", unit="s", doc="Time in which the link transmits.")
>>> field.metadata[b"unit"]
b's'
"""

from __future__ import annotations

import functools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odonata import _core, foreign
from odonata.errors import InputError, is_mistake
from odonata.output_file import whole_file

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
    """Table `name` of a finished simulation; its arrays are the core's, not copies."""
    return pa.Table.from_batches([simulation.table(name)])


def write(table: pa.Table, folder: Path, name: str) -> None:
    """Writes `table` as `folder/NAME.parquet`."""
    with whole_file(file_of(folder, name)) as file:
        # With checksums, what is altered later is noticed when it is read.
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)


def file_of(folder: Path, name: str) -> Path:
    """The file of table `name`."""
    return folder / f"{name}.parquet"


def read(file: Path) -> pa.Table:
    """The table in `file`, or an `InputError` that names it.

    Documented columns that are there have their documented types, and no missing values. Which have to be
    there, whoever uses them says.
    """
    try:
        foreign.check(file)
        # Not a file of Python's: threads of the reader would ask for the interpreter when it is about to end.
        with pa.OSFile(str(file)) as content:
            table = pq.read_table(content, page_checksum_verification=True)
        table.validate(full=True)
    except MemoryError:
        raise MemoryError(f"not enough memory for the table in {file}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and not is_mistake(error):
            raise
        # Whatever a damaged file makes of its reader.
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


def damaged(
    file: Path | None,
    problem: str,
    *,
    key: str | None = None,
    value: str | None = None,
    expected: str = "a table as odonata wrote it",
) -> InputError:
    """That a table is not as it was written."""
    name = None if file is None else str(file)
    return InputError(f"the result is damaged: {problem}", file=name, key=key, value=value, expected=expected)


def _as(kind: pa.DataType, column: pa.ChunkedArray, file: Path, name: str) -> pa.ChunkedArray:
    """A column with another type of numbers or of text, as other programs write them."""
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
    from odonata.results_reference import documentation

    for table in documentation():
        if table["table"] == name:
            return {column["name"]: _TYPES[column["type"]] for column in table["columns"]}
    return {}
