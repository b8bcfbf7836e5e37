"""Reads an export of Nsight Systems in a process of its own, with bounds on time and memory."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from odonata.traces import reader_process
from odonata.traces.nsys_export import files
from odonata.traces.nsys_export.files import wrong

_READER = reader_process.Reader(
    Path(__file__).with_name("worker.py"), "SQLite", "the database", files.FILES, "export.json"
)
#: Address space of the reading process in bytes, and its CPU time in seconds.
MEMORY = 8 << 30
CPU_S = 600


@dataclass
class Export:
    """The content of a file."""

    path: Path
    #: Kernels, graphs, copies and memsets, with process, device, context, stream, begin and end in ns.
    activities: pa.Table
    #: Begins of the calls that launched kernels of NCCL, by thread and number.
    launches: pa.Table
    #: Ranges of NCCL, with their payloads.
    calls: pa.Table
    #: Waits of streams for events of others: the streams, and the numbers of the waiting and the recording
    #: calls.
    waits: pa.Table
    #: Rows by kind, bytes of copies and memsets by name, and time by kind.
    counts: dict[str, int]
    copied: dict[str, int]
    took_ns: dict[str, int]
    #: Ranges of NVTX outside NCCL, and those without an end.
    other_ranges: int
    unfinished: int
    #: Waits of streams for unrecorded events.
    unknown_waits: int
    #: Rows of unused tables, and their time on GPUs.
    not_used: dict[str, int]
    not_used_ns: dict[str, int]
    #: The metadata of the export.
    about: dict[str, str]


def read(path: Path, *, memory: int = MEMORY, seconds: int = CPU_S) -> Export:
    """Reads the file at `path`.

    Args:
        path: The database, checked by `files.find`.
        memory: Address space of the reading process, in bytes.
        seconds: CPU time of the reading process.

    Raises:
        InputError: It is damaged, or has no kernels, with the place and the reason.
        OSError: The computer fails.
    """
    with tempfile.TemporaryDirectory(prefix="odonata-nsys-") as name:
        folder = Path(name)
        _READER.read(path, folder, memory=memory, seconds=seconds)
        found: dict[str, Any] = json.loads((folder / "export.json").read_text(encoding="utf-8"))
        if found["problem"]:
            raise wrong(path, f"it cannot be read: {found['problem']}")
        names = ("activities", "launches", "calls", "waits")
        tables = [pq.read_table(folder / f"{table}.parquet") for table in names]
    if not {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"} & set(found["tables"]):
        error = wrong(
            path,
            "it has no table CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
            "a recording with kernels",
        )
        error.hint = "nsys profile -t cuda,nvtx"
        raise error
    activities, launches, calls, waits = tables
    return Export(
        path,
        activities,
        launches,
        calls,
        waits,
        found["counts"],
        found["copied"],
        found["took_ns"],
        found["other_ranges"],
        found["unfinished"],
        found["unknown_waits"],
        found["not_used"],
        found["not_used_ns"],
        found["about"],
    )
