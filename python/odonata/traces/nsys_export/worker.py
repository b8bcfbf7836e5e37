"""Reads an export of Nsight Systems in a process of its own, which `reader_worker.py` bounds.

A database comes from outside: SQLite executes its schema, and a damaged one may trigger any code path. It is
opened read-only, only plain tables are read, and rows, lengths and types are bounded. The process writes
`activities.parquet`, `launches.parquet`, `calls.parquet` and `waits.parquet` to a folder, returns the rest,
and prints each step on standard output. It imports nothing of Odonata.
"""

from __future__ import annotations

import sqlite3
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: Bounds: used rows of a table, tables, bytes of a value, kept characters of a name.
MOST_ROWS = 1 << 22
MOST_TABLES = 2000
MOST_BYTES = 16 << 20
LONGEST_NAME = 300
#: Largest time in nanoseconds: picoseconds must fit into 63 bits.
MOST_NS = ((1 << 63) - 1) // 1000
#: Rows written at once.
ROWS = 1 << 16

KERNELS, GRAPHS = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
#: Tables of activities on streams, and their kinds.
ACTIVITIES = {
    KERNELS: "kernel",
    GRAPHS: "graph",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "memset",
}
RUNTIME, NVTX, STRINGS = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds"
SYNCHRONIZATIONS, EVENTS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
#: A synchronization by which a stream waits for an event (CUPTI, `CUpti_ActivitySynchronizationType`).
STREAM_WAIT_EVENT = 2
SCHEMAS, ENTRIES = "NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES"
META = "META_DATA_EXPORT"
USED = (*ACTIVITIES, RUNTIME, SYNCHRONIZATIONS, EVENTS, NVTX, STRINGS, SCHEMAS, ENTRIES, META)
#: A table about a GPU has one of these columns.
ON_GPU = {"deviceId", "gpuId", "gpu", "streamId"}
#: Tables that describe others, or the computer.
ABOUT = ("ENUM_", "META_DATA", "TARGET_INFO", "EXPORT_META", "NVTX_PAYLOAD", "ANALYSIS_", "sqlite_")

#: Process in the number of a thread: all but its last 24 bits.
PROCESS = ~0xFFFFFF
#: Ranges of NVTX, by push and pop, and by start and end.
RANGES = (59, 60)
#: Entries of NCCL's payloads and their names here; bytes and sign of the used entry types (NVTX,
#: `nvToolsExtPayload.h`).
FIELDS = {
    "NCCL communicator ID": "comm",
    "Message size [bytes]": "bytes",
    "Peer rank": "peer",
    "Root": "root",
    "No. of ranks": "nranks",
    "Rank": "rank",
}
TYPES = {5: "<i", 6: "<I", 9: "<q", 10: "<Q", 15: "<i", 16: "<I", 17: "<q", 18: "<Q", 22: "<Q"}
#: Bytes before a payload: domain, schema, length of the payload, its position.
HEADER = struct.Struct("<QQQQ")


class Wrong(Exception):
    """An error in a database, in a sentence."""


def step(where: str) -> None:
    """Prints the next step."""
    print(where, flush=True)


def text_of(data: bytes) -> str:
    """Decodes text of a database, which may hold any bytes."""
    return data.decode("utf-8", errors="replace")


class Database:
    """An open export, whose tables are read row by row."""

    def __init__(self, path: str) -> None:
        self.base = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
        self.base.text_factory = text_of
        self.base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "query_only = ON"):
            self.base.execute(f"PRAGMA {pragma}")
        #: Columns of each table.
        self.tables: dict[str, set[str]] = {}
        rows = self.base.execute("SELECT name, type, rootpage FROM sqlite_master")
        for number, (name, kind, page) in enumerate(rows):
            if number >= MOST_TABLES:
                raise Wrong(f"it has more than {MOST_TABLES} tables")
            if not isinstance(name, str) or '"' in name or "\0" in name or len(name) > LONGEST_NAME:
                raise Wrong(f"the name of a table is {str(name)[:50]!r}")
            if kind != "table" or not page:
                if name in USED:
                    raise Wrong(f"{name} is {'a virtual table' if kind == 'table' else f'a {kind}'}")
                continue
            # Computed columns are not read.
            self.tables[name] = {
                row[1] for row in self.base.execute(f'PRAGMA table_xinfo("{name}")') if row[6] == 0
            }

    def rows(
        self, table: str, needed: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> Iterator[dict[str, Any]]:
        """Rows with these columns; missing optional ones are None."""
        there = self.tables[table]
        for name in needed:
            if name not in there:
                raise Wrong(f"{table} has no column {name}")
        names = [*needed, *(name for name in optional if name in there)]
        columns = ", ".join(f'"{name}"' for name in names)
        empty = dict.fromkeys(optional)
        for number, row in enumerate(self.base.execute(f'SELECT {columns} FROM "{table}"')):
            if number >= MOST_ROWS:
                raise Wrong(f"{table} has more than {MOST_ROWS} rows")
            yield {**empty, **dict(zip(names, row, strict=True))}

    def gpu_time(self, table: str) -> int:
        """Nanoseconds of a table's rows on GPUs; 0 for other tables."""
        if not {"start", "end"} <= self.tables[table] or not ON_GPU & self.tables[table]:
            return 0
        query = f'SELECT total("end" - "start") FROM "{table}" WHERE "end" > "start"'
        found = self.base.execute(query).fetchone()[0]
        return min(int(found), MOST_NS) if isinstance(found, float) and 0 < found < 2.0**63 else 0

    def count(self, table: str) -> int:
        """Rows of a table."""
        found = self.base.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        assert isinstance(found, int)
        return found


def number(table: str, row: int, name: str, value: Any, most: int = (1 << 63) - 1) -> int:
    """A nonnegative integer; None is 0."""
    if value is None:
        return 0
    if not isinstance(value, int) or not 0 <= value <= most:
        raise Wrong(f"{table}, row {row}: {name} is {str(value)[:50]}, not a number from 0 to {most}")
    return value


def span(table: str, row: int, values: dict[str, Any]) -> tuple[int, int]:
    """Start and end, in nanoseconds."""
    if values["start"] is None or values["end"] is None:
        raise Wrong(f"{table}, row {row}: it has no start or no end")
    start = number(table, row, "start", values["start"], MOST_NS)
    end = number(table, row, "end", values["end"], MOST_NS)
    if end < start:
        raise Wrong(f"{table}, row {row}: it ends at {end} ns, before it starts at {start} ns")
    return start, end


class Rows:
    """A table that is being written."""

    def __init__(self, path: Path, columns: dict[str, Any]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.schema = pa.schema(list(columns.items()))
        self.table, self.file = pa.Table, pq.ParquetWriter(path, self.schema)
        self.rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        """Adds a row."""
        self.rows.append(row)
        if len(self.rows) >= ROWS:
            self.flush()

    def flush(self) -> None:
        """Writes the buffered rows."""
        self.file.write_table(self.table.from_pylist(self.rows, schema=self.schema))
        self.rows.clear()

    def close(self) -> None:
        """Writes the rest."""
        self.flush()
        self.file.close()


def strings(base: Database) -> dict[int, str]:
    """Texts by number."""
    if STRINGS not in base.tables:
        return {}
    found = {}
    for row, values in enumerate(base.rows(STRINGS, ("id", "value"))):
        found[number(STRINGS, row, "id", values["id"])] = str(values["value"])[:LONGEST_NAME]
    return found


def activities(
    base: Database, texts: dict[int, str], out: Path
) -> tuple[dict[str, Any], set[tuple[int, int]]]:
    """Writes the activities of streams; returns totals, and processes and numbers of NCCL's launches."""
    import pyarrow as pa

    whole = dict.fromkeys(("process", "device", "context", "stream", "start", "end", "launch"), pa.int64())
    rows = Rows(out / "activities.parquet", {"kind": pa.string(), "name": pa.string(), **whole})
    counts: Counter[str] = Counter()
    copied: Counter[str] = Counter()
    nccl: set[tuple[int, int]] = set()
    optional = (
        "contextId", "correlationId", "globalPid", "shortName", "demangledName", "bytes", "copyKind",
        "graphId",
    )  # fmt: skip
    took: Counter[str] = Counter()
    for table, kind in ACTIVITIES.items():
        if table not in base.tables:
            continue
        step(table)
        for row, values in enumerate(base.rows(table, ("start", "end", "deviceId", "streamId"), optional)):
            start, end = span(table, row, values)

            def whole_of(
                name: str, values: dict[str, Any] = values, table: str = table, row: int = row
            ) -> int:
                return number(table, row, name, values[name])

            name = kind
            if kind == "kernel":
                ids = [values["shortName"], values["demangledName"]]
                named = [texts[id] for id in ids if isinstance(id, int) and id in texts]
                name = named[0] if named else "(no name)"
            elif kind == "graph":
                name = f"CUDA graph {whole_of('graphId')}"
            elif kind == "memcpy":
                name = f"memcpy {whole_of('copyKind')}"
            process, launch = whole_of("globalPid"), whole_of("correlationId")
            counts[kind] += 1
            took[kind] += end - start
            if kind in ("memcpy", "memset"):
                copied[name] += whole_of("bytes")
            if name.startswith("nccl"):
                nccl.add((process & PROCESS, launch))
            rows.add(
                {
                    "kind": kind,
                    "name": name,
                    "process": process & PROCESS,
                    "device": whole_of("deviceId"),
                    "context": whole_of("contextId"),
                    "stream": whole_of("streamId"),
                    "start": start,
                    "end": end,
                    "launch": launch,
                }
            )
    rows.close()
    return {"counts": dict(counts), "copied": dict(copied), "took_ns": dict(took)}, nccl


def launches(base: Database, wanted: set[tuple[int, int]], out: Path) -> None:
    """Writes the calls that launched kernels of NCCL: thread, number and begin."""
    import pyarrow as pa

    rows = Rows(out / "launches.parquet", dict.fromkeys(("thread", "launch", "start"), pa.int64()))
    if wanted and RUNTIME in base.tables:
        step(RUNTIME)
        for row, values in enumerate(base.rows(RUNTIME, ("start", "globalTid", "correlationId"))):
            thread = number(RUNTIME, row, "globalTid", values["globalTid"])
            launch = number(RUNTIME, row, "correlationId", values["correlationId"])
            if (thread & PROCESS, launch) in wanted:
                start = number(RUNTIME, row, "start", values["start"], MOST_NS)
                rows.add({"thread": thread, "launch": launch, "start": start})
    rows.close()


def waits(base: Database, out: Path) -> dict[str, int]:
    """Writes the waits of streams for events of others; returns the number of unrecorded events.

    Calls of CUDA are numbered in order within a process. A wait refers to the last recording of its event.
    """
    import pyarrow as pa

    names = ("process", "context", "stream", "wait", "from_context", "from_stream", "record")
    rows = Rows(out / "waits.parquet", dict.fromkeys(names, pa.int64()))
    columns = ("contextId", "streamId", "eventId")
    optional = ("correlationId", "globalPid", "eventSyncId")
    # By process, context and event: numbers of the recording calls, and streams.
    records: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}

    def event_and_record(
        table: str, row: int, values: dict[str, Any]
    ) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        process, call, context, stream, event, link = (
            number(table, row, name, values[name])
            for name in ("globalPid", "correlationId", "contextId", "streamId", "eventId", "eventSyncId")
        )
        return (process & PROCESS, context, event), (call, stream, link)

    if EVENTS in base.tables and SYNCHRONIZATIONS in base.tables:
        step(EVENTS)
        for row, values in enumerate(base.rows(EVENTS, columns, optional)):
            event, record = event_and_record(EVENTS, row, values)
            records.setdefault(event, []).append(record)
        for recorded in records.values():
            recorded.sort()
    unknown = 0
    if SYNCHRONIZATIONS in base.tables:
        step(SYNCHRONIZATIONS)
        for row, values in enumerate(base.rows(SYNCHRONIZATIONS, (*columns, "syncType"), optional)):
            if values["syncType"] != STREAM_WAIT_EVENT:
                continue
            event, (call, stream, link) = event_and_record(SYNCHRONIZATIONS, row, values)
            recorded = records.get(event, [])
            last = bisect_left(recorded, (call, 0, 0)) - 1
            linked = [one for one in recorded[: last + 1] if link and one[2] == link] if last >= 0 else []
            found = linked[-1] if linked else recorded[last] if last >= 0 else None
            if found is None or call == 0 or found[0] == 0:
                unknown += 1
                continue
            process, context, _ = event
            rows.add(
                dict(zip(names, (process, context, stream, call, context, found[1], found[0]), strict=True))
            )
    rows.close()
    return {"unknown_waits": unknown}


def payloads(base: Database) -> dict[tuple[int, int], list[tuple[str, int, struct.Struct]]]:
    """Used entries of payloads, by domain and schema: name, position, type."""
    found: dict[tuple[int, int], list[tuple[str, int, struct.Struct]]] = {}
    if ENTRIES not in base.tables:
        return found
    for row, values in enumerate(base.rows(ENTRIES, ("schemaId", "type", "name"), ("domainId", "offset"))):
        field, form = FIELDS.get(str(values["name"])), TYPES.get(values["type"])
        if field is None or form is None:
            continue
        keys = (number(ENTRIES, row, "domainId", values["domainId"]), values["schemaId"])
        if isinstance(keys[1], int):
            place = number(ENTRIES, row, "offset", values["offset"], MOST_BYTES)
            found.setdefault(keys, []).append((field, place, struct.Struct(form)))
    return found


def decoded(data: Any, known: dict[tuple[int, int], list[tuple[str, int, struct.Struct]]]) -> dict[str, int]:
    """The values of a payload."""
    if not isinstance(data, bytes) or len(data) < HEADER.size:
        return {}
    domain, schema, length, _ = HEADER.unpack_from(data)
    body = data[HEADER.size : HEADER.size + length]
    # A program may choose any number for a schema.
    signed = schema - (1 << 64) if schema >> 63 else schema
    entries = known.get((domain, signed)) or known.get((domain & 0xFFFFFFFF, schema & 0xFFFFFFFF), [])
    return {
        field: form.unpack_from(body, place)[0]
        for field, place, form in entries
        if place + form.size <= len(body)
    }


def calls(base: Database, texts: dict[int, str], out: Path) -> dict[str, Any]:
    """Writes the ranges of NCCL with their payloads; returns the number of other ranges."""
    import pyarrow as pa

    whole = dict.fromkeys(("thread", "start", "end", "bytes", "peer", "root", "nranks", "rank"), pa.int64())
    rows = Rows(out / "calls.parquet", {"text": pa.string(), "comm": pa.string(), **whole})
    others = unfinished = 0
    if NVTX in base.tables:
        step(NVTX)
        known = payloads(base)
        optional = ("end", "text", "textId", "globalTid", "eventType", "binaryData")
        for row, values in enumerate(base.rows(NVTX, ("start",), optional)):
            text = values["text"]
            if text is None and isinstance(values["textId"], int):
                text = texts.get(values["textId"])
            if not isinstance(text, str) or not text.startswith(("nccl", "commHash")):
                others += 1
                continue
            if values["eventType"] is not None and values["eventType"] not in RANGES:
                if not text.startswith("commHash"):
                    others += 1
                    continue
                values["end"] = values["start"]
            if values["end"] is None:
                unfinished += 1
                continue
            start, end = span(NVTX, row, values)
            fields = decoded(values["binaryData"], known)
            for name, value in fields.items():
                if name != "comm" and not -1 <= value < 1 << 63:
                    raise Wrong(f"{NVTX}, row {row}: the payload of {text[:50]} has {name} {value}")
            comm = fields.pop("comm", None)
            rows.add(
                {
                    "text": text[:LONGEST_NAME],
                    "comm": None if comm is None else f"0x{comm & ((1 << 64) - 1):x}",
                    "thread": number(NVTX, row, "globalTid", values["globalTid"]),
                    "start": start,
                    "end": end,
                    **fields,
                }
            )
    rows.close()
    return {"other_ranges": others, "unfinished": unfinished}


def load() -> None:
    """Imports what writes tables."""
    step("pyarrow")
    import pyarrow.parquet  # noqa: F401


def read(path: str, folder: Path) -> dict[str, Any]:
    """Reads the export at `path`; writes its rows to `folder`, and returns the rest."""
    found: dict[str, Any] = {"problem": ""}
    try:
        step("tables")
        base = Database(path)
        found["tables"] = sorted(base.tables)
        texts = strings(base)
        what, wanted = activities(base, texts, folder)
        found |= what
        launches(base, wanted, folder)
        found |= calls(base, texts, folder)
        found |= waits(base, folder)
        step("other tables")
        versions = base.rows(META, ("name", "value")) if META in base.tables else iter(())
        found["about"] = {
            str(row["name"])[:LONGEST_NAME]: str(row["value"])[:LONGEST_NAME]
            for _, row in zip(range(1000), versions, strict=False)
        }
        others = [table for table in sorted(base.tables) if table not in USED and not table.startswith(ABOUT)]
        found["not_used"] = {table: base.count(table) for table in others}
        found["not_used_ns"] = {table: time for table in others if (time := base.gpu_time(table)) > 0}
    except Wrong as error:
        found["problem"] = str(error)
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        # The message of SQLite about a damaged database is reported, unless the text is undecodable.
        found["problem"] = f"SQLite: {error}"[:500]
    step("end")
    return found
