"""A Darshan log as a program in files (docs/program-format.md): its accesses, and computation between them.

Beside the tables of the program is `origin.json`: the number of each file of the log, its replayed part, and
unknown facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from odonata.traces.darshan_log.accesses import KINDS, READ, WRITE, Accesses
from odonata.traces.darshan_log.log import Log

PS = 1e12
#: Rows of a row group.
ROWS = 1 << 16
#: Most sentences of a kind that are kept.
MOST_SENTENCES = 100

_COMPUTE = len(KINDS)
_NAMES = pa.array([*KINDS, "compute"])


def write(
    log: Log,
    found: Accesses,
    folder: Path,
    progress: Callable[[int, int, int], None],
    *,
    call_time: bool = False,
) -> tuple[int, int]:
    """Writes the program to the empty `folder`; returns ranks and operations.

    With `call_time`, time in accesses counts as computation too.
    """
    (folder / "origin.json").write_text(json.dumps(origin(log, found), indent=1) + "\n", encoding="utf-8")
    program = {
        "format": "odonata-program",
        "version": 1,
        "ranks": found.ranks,
        "description": description(log),
        "made_by": f"odonata trace convert, PyDarshan {log.pydarshan}",
    }
    (folder / "program.json").write_text(json.dumps(program, indent=1) + "\n", encoding="utf-8")
    operations = _operations(log, found, folder / "operations.parquet", progress, call_time=call_time)
    comms = {"comm": pa.array([], pa.uint32()), "members": pa.array([], pa.list_(pa.uint32()))}
    pq.write_table(pa.table(comms), folder / "communicators.parquet")
    lists = pa.array([], pa.list_(pa.uint64()))
    numbers = {name: pa.array([], pa.uint32()) for name in ("rank", "counts", "member")}
    pq.write_table(pa.table({**numbers, "by_giver": lists, "by_taker": lists}), folder / "counts.parquet")
    return found.ranks, operations


def description(log: Log) -> str:
    """One line for people."""
    return f"Darshan log {log.path.name}: job {log.job['jobid']}, {log.exe}"[:500]


def origin(log: Log, found: Accesses) -> dict[str, Any]:
    """The origin of the program, file by file."""
    return {
        "log": log.path.name,
        "log_version": log.job["log_ver"],
        "job": log.job,
        "exact": sum(file.exact for file in found.files),
        "reads_and_writes": sum(file.reads + file.writes for file in found.files),
        "unknown": found.unknown,
        "contradictions": found.contradictions[:MOST_SENTENCES],
        "partial_modules": log.partial,
        "not_read": [f"{where}: {text}" for where, text in log.problems],
        "files": [
            {
                "file": file.number,
                "record": str(file.record),
                "name": file.name,
                "interfaces": file.interfaces,
                "opens": file.opens,
                "reads": file.reads,
                "writes": file.writes,
                "bytes_read": file.bytes_read,
                "bytes_written": file.bytes_written,
                "exact": file.exact,
                "stripe_bytes": file.stripe_bytes,
                "stripe_count": file.stripe_count,
            }
            for file in found.files
        ],
    }


def _operations(
    log: Log,
    found: Accesses,
    path: Path,
    progress: Callable[[int, int, int], None],
    *,
    call_time: bool,
) -> int:
    """Writes the operations: accesses, and computation between them."""
    begins = np.searchsorted(found.rank, np.arange(found.ranks + 1))
    end_s = float(log.job["run_time"])
    end_s = end_s if 0 < end_s < 4e9 else 0.0
    columns: dict[str, list[Any]] = {
        name: [] for name in ("rank", "kind", "file", "offset", "bytes", "duration")
    }
    waiting = written = 0
    schema = pa.schema(
        [
            ("rank", pa.uint32()),
            ("kind", pa.string()),
            ("bytes", pa.uint64()),
            ("file", pa.uint64()),
            ("offset", pa.uint64()),
            ("duration_ps", pa.uint64()),
        ]
    )
    with pq.ParquetWriter(path, schema) as writer:

        def flush() -> None:
            nonlocal waiting, written
            if waiting:
                joined = {name: np.concatenate(values) for name, values in columns.items()}
                writer.write_table(_table(joined, schema), row_group_size=ROWS)
                for values in columns.values():
                    values.clear()
                written += waiting
                waiting = 0

        for rank in range(found.ranks):
            part = slice(int(begins[rank]), int(begins[rank + 1]))
            rows = _of_rank(found, part, end_s, call_time=call_time)
            number = len(rows["kind"])
            rows["rank"] = np.full(number, rank)
            for name, values in columns.items():
                values.append(rows[name])
            waiting += number
            if waiting >= ROWS:
                flush()
                progress(rank + 1, found.ranks, written)
        flush()
    return written


def _of_rank(found: Accesses, part: slice, end_s: float, *, call_time: bool) -> dict[str, Any]:
    """The operations of one rank, with the computation between them."""
    start = found.start_s[part]
    end = start if call_time else found.end_s[part]
    busy = np.maximum.accumulate(end) if len(end) else end
    before = np.concatenate(([0.0], busy[:-1])) if len(busy) else busy
    gaps = np.maximum(start - before, 0.0)
    last = max(end_s - (float(busy[-1]) if len(busy) else 0.0), 0.0)
    durations = np.rint(np.append(gaps, last) * PS).astype(np.int64)
    count = len(start)
    # Two rows for each access, computation first, and one at the end; empty computation is removed.
    kinds = np.full(2 * count + 1, _COMPUTE)
    kinds[1::2] = found.kind[part]
    rows: dict[str, Any] = {"kind": kinds, "duration": np.zeros(2 * count + 1, np.int64)}
    rows["duration"][0::2] = durations
    for name in ("file", "offset", "bytes"):
        rows[name] = np.zeros(2 * count + 1, np.int64)
        rows[name][1::2] = getattr(found, name)[part]
    keep = (kinds != _COMPUTE) | (rows["duration"] > 0)
    return {name: values[keep] for name, values in rows.items()}


def _table(rows: dict[str, Any], schema: pa.Schema) -> pa.Table:
    kind = rows["kind"]
    is_compute = kind == _COMPUTE
    has_place = (kind == READ) | (kind == WRITE)
    return pa.table(
        [
            pa.array(rows["rank"].astype(np.uint32)),
            _NAMES.take(pa.array(kind)),
            pa.array(rows["bytes"].astype(np.uint64), mask=~has_place),
            pa.array(rows["file"].astype(np.uint64), mask=is_compute),
            pa.array(rows["offset"].astype(np.uint64), mask=~has_place),
            pa.array(rows["duration"].astype(np.uint64), mask=~is_compute),
        ],
        schema=schema,
    )
