"""Access to the tables of results: required tables and columns, and the outcomes that count as success."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from odonata.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.results.results import Results

#: Outcomes that count as success: all jobs ended, or the time limit of the scenario was reached.
GOOD_OUTCOMES = ("completed", "time-limit")

#: Beginnings of columns of the table `jobs` -> the column that is 0 if nothing was measured. Of messages this
#: is the largest latency: GOAL schedules under LogGOPS count messages and measure no latencies, which are
#: positive.
_COUNTED_BY = {
    "message_latency": "message_latency_max_s",
    "mpi_packet_latency": "mpi_packets",
    "mpi_hops": "mpi_packets",
    "io_message_latency": "io_messages",
    "io_packet_latency": "io_packets",
    "io_hops": "io_packets",
    "io_bandwidth": "io_operations",
    "io_completion": "io_operations",
    "io_s": "io_operations",
    "io_max_s": "io_operations",
}


def counted_by(column: str) -> str | None:
    """The column of the table `jobs` that is 0 if `column` means nothing; None for columns that always do.

    >>> counted_by("message_latency_p99_s"), counted_by("elapsed_s")
    ('message_latency_max_s', None)
    """
    return next((count for start, count in _COUNTED_BY.items() if column.startswith(start)), None)


def offers(results: Results, name: str) -> bool:
    """Whether the results have a table `name`; `InputError` if a result folder has lost it.

    >>> from odonata import Results
    >>> offers(Results({}), "blame")
    False
    """
    if name in results.tables:
        return True
    if results.path is not None:
        needed(results, name, ())
    return False


def needed(results: Results, name: str, columns: Iterable[str]) -> pa.Table:
    """Returns table `name` of `results`; `InputError` if it or one of `columns` is missing.

    >>> import pyarrow as pa
    >>> from odonata import Results
    >>> needed(Results({}, {"jobs": pa.table({"job": ["milc"]})}), "jobs", ["job"]).num_rows
    1
    """

    file = None if results.path is None else file_of(results.path, name)
    if name not in results.tables:
        raise damaged(file, f"the table {name} is missing")
    table = results.table(name)
    for column in columns:
        if column not in table.schema.names:
            raise damaged(file, f"the table {name} lacks a column", key=column)
    return table


def file_of(folder: Path, name: str) -> Path:
    """The file of table `name`."""
    return folder / f"{name}.parquet"


def damaged(
    file: Path | None,
    problem: str,
    *,
    key: str | None = None,
    value: str | None = None,
    expected: str = "a table as odonata wrote it",
) -> InputError:
    """Returns the error for a damaged table."""
    name = None if file is None else str(file)
    return InputError(f"the result is damaged: {problem}", file=name, key=key, value=value, expected=expected)
