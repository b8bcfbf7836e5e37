"""Writes SQLite exports of Nsight Systems for tests; shares nothing with the reader.

Tables and columns as `nsys export --type sqlite` makes them, and payloads of NCCL 2.26 (its
`nvtx_payload_schemas.h`).
"""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

DOMAIN, INIT, REDUCTION, PLAIN, ROOTED, PEER = 3, 101, 102, 103, 104, 105
UINT64, SIZE, INT = 18, 22, 5
_COMM = ("NCCL communicator ID", UINT64)
_BYTES = ("Message size [bytes]", SIZE)
#: Entries of each schema: name, type, place.
SCHEMAS = {
    INIT: [(*_COMM, None), ("No. of ranks", INT, 8), ("Rank", INT, 12), ("CUDA device", INT, 16)],
    REDUCTION: [(*_COMM, None), (*_BYTES, 8), ("Reduction operation", 1 << 24, 16)],
    PLAIN: [(*_COMM, None), (*_BYTES, 8)],
    ROOTED: [(*_COMM, None), (*_BYTES, 8), ("Root", INT, 16)],
    PEER: [(*_COMM, None), (*_BYTES, 8), ("Peer rank", INT, 16)],
}
_SCHEMA_OF = {
    "ncclAllReduce": REDUCTION,
    "ncclReduceScatter": REDUCTION,
    "ncclAllGather": PLAIN,
    "ncclBroadcast": ROOTED,
    "ncclSend": PEER,
    "ncclRecv": PEER,
}

TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER
  NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId
  INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName
  INTEGER, launchType INTEGER, gridX INTEGER NOT NULL, blockX INTEGER NOT NULL, gridId INTEGER,
  graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER
  NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid
  INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER
  NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT
  NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId
  INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, eventSyncId
  INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER
  NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  eventId INTEGER NOT NULL, eventSyncId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId
  INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId
  INTEGER, domainId INTEGER, uint64Value INTEGER, jsonTextId INTEGER, jsonText TEXT, binaryData BLOB);
CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags
  INTEGER, numEntries INTEGER, payloadSize INTEGER, alignTo INTEGER);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx
  INTEGER NOT NULL, flags INTEGER, type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER,
  offset INTEGER);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, nameId INTEGER NOT NULL);
"""


def process(pid: int) -> int:
    """The number of a process in an export: bits of the computer, of the process, and 24 bits for the
    thread.
    """
    return (1 << 56) | (pid << 24)


class Export:
    """An export that is being written; times in ns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.base = sqlite3.connect(path)
        self.base.executescript(TABLES)
        self.texts: dict[str, int] = {}
        self.launches = 0
        self._add("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "3.20.4")
        for schema, entries in SCHEMAS.items():
            self._add("NVTX_PAYLOAD_SCHEMAS", DOMAIN, schema, None, 1, None, len(entries), 24, None)
            for index, (name, type, place) in enumerate(entries):
                row = (DOMAIN, schema, index, None, type, name, None, None, place)
                self._add("NVTX_PAYLOAD_SCHEMA_ENTRIES", *row)

    def _add(self, table: str, *values: object) -> None:
        marks = ", ".join("?" * len(values))
        self.base.execute(f"INSERT INTO {table} VALUES ({marks})", values)

    def close(self) -> Path:
        self.base.commit()
        self.base.close()
        return self.path

    def text(self, value: str) -> int:
        if value not in self.texts:
            self.texts[value] = 100 + len(self.texts)
            self._add("StringIds", self.texts[value], value)
        return self.texts[value]

    def launch(self, pid: int, at: int) -> int:
        """A CUDA call of 5 ns that launches an activity."""
        self.launches += 1
        row = (at, at + 5, 0, process(pid) + 1, self.launches, self.text("cudaLaunchKernelExC_v11060"), 0)
        self._add("CUPTI_ACTIVITY_KIND_RUNTIME", *row)
        return self.launches

    def kernel(
        self,
        name: str,
        start: int,
        end: int,
        *,
        stream: int = 7,
        pid: int = 1,
        device: int = 0,
        launched: int | None = None,
    ) -> None:
        """A kernel, whose launch is recorded if its time is given."""
        number = 0 if launched is None else self.launch(pid, launched)
        full = self.text(f"{name}(Args)")
        row = (
            start,
            end,
            device,
            1,
            None,
            stream,
            number,
            process(pid),
            full,
            self.text(name),
            None,
            1,
            8,
            512,
            1,
            None,
        )
        self._add("CUPTI_ACTIVITY_KIND_KERNEL", *row)

    def graph(
        self, number: int, start: int, end: int, *, stream: int = 7, pid: int = 1, device: int = 0
    ) -> None:
        """A launch of CUDA graph `number` that is recorded as a whole."""
        self.base.execute(
            "CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER "
            "NOT NULL, deviceId INTEGER NOT NULL, graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL, "
            "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER)"
        )
        row = (start, end, device, number, number, 1, stream, 0, process(pid))
        self._add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", *row)

    def record(self, event: int, stream: int, *, at: int, pid: int = 1, device: int = 0) -> None:
        """`cudaEventRecord` on a stream, at this time of the host."""
        row = (0, device, 1, None, stream, self.launch(pid, at), process(pid), event, None)
        self._add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", *row)

    def wait(self, event: int, stream: int, *, at: int, kind: int = 2, pid: int = 1, device: int = 0) -> None:
        """`cudaStreamWaitEvent`; another kind of synchronization by `kind`."""
        row = (at, at + 5, device, 1, None, stream, self.launch(pid, at), process(pid), kind, event, None)
        self._add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", *row)

    def copy(
        self, kind: int, bytes: int, start: int, end: int, *, stream: int = 7, pid: int = 1, device: int = 0
    ) -> None:
        row = (start, end, device, 1, stream, 0, process(pid), bytes, kind)
        self._add("CUPTI_ACTIVITY_KIND_MEMCPY", *row)

    def range(
        self,
        name: str,
        start: int,
        end: int | None,
        *,
        pid: int = 1,
        payload: bytes | None = None,
        by_id: bool = True,
        type: int = 59,
    ) -> None:
        """A range of NVTX."""
        text, id = (None, self.text(name)) if by_id else (name, None)
        self._add(
            "NVTX_EVENTS",
            start,
            end,
            type,
            None,
            None,
            None,
            text,
            process(pid) + 1,
            None,
            id,
            DOMAIN,
            None,
            None,
            None,
            payload,
        )

    def init(self, comm: int, rank: int, ranks: int, *, pid: int = 1, at: int = 0) -> None:
        body = struct.pack("<Qiiii", comm, ranks, rank, 0, 0)
        self.range("ncclCommInitRank", at, at + 10, pid=pid, payload=payload(INIT, body))

    def call(
        self, name: str, comm: int, bytes: int, start: int, end: int, *, last: int = 0, pid: int = 1
    ) -> None:
        """A call of NCCL with its payload; `last`: root, peer or operation."""
        body = struct.pack("<QQii", comm, bytes, last, 0)
        self.range(name, start, end, pid=pid, payload=payload(_SCHEMA_OF[name], body))


def payload(schema: int, body: bytes) -> bytes:
    return struct.pack("<QQQQ", DOMAIN, schema, len(body), 32) + body
