"""Tracks of storage servers: accesses of each device, its queue, the drain, space and memory."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from odonata.timeline.lanes import Lanes
from odonata.timeline.recorded import Recorded
from odonata.timeline.trace import TraceWriter, ps

#: The process of all servers; jobs, at most 30,000, have smaller numbers.
PROCESS = 50_000
#: The kind of a transfer to the external file system.
DRAIN = "drain"
#: Largest value of a counter.
_MOST = 2**63 - 1


class Servers:
    """The shown servers."""

    def __init__(self, recorded: Recorded, accesses: pa.Table) -> None:
        self._accesses = accesses.sort_by(
            [("server", "ascending"), ("begin_s", "ascending"), ("end_s", "ascending")]
        )
        counts = accesses.group_by("server").aggregate([([], "count_all")]).sort_by("server")
        # A begin and an end, two changes of the queue, space and memory.
        rows = zip(counts["server"].to_pylist(), counts["count_all"].to_pylist(), strict=True)
        self.costs = [(server, 6 * count) for server, count in rows]
        self._nodes: dict[int, int] = {}
        if "servers" in recorded.results.tables:
            table = recorded.results.table("servers")
            if {"server", "node"} <= set(table.schema.names):
                columns = (table[name].to_pylist() for name in ("server", "node"))
                self._nodes = dict(zip(*columns, strict=True))

    def write(self, trace: TraceWriter, servers: list[int]) -> None:
        """Writes the tracks of these servers."""
        if not servers:
            return
        process = trace.process("storage servers", PROCESS)
        for server in servers:
            rows = self._accesses.filter(pc.equal(self._accesses["server"], server)).to_pylist()
            node = f" (node {self._nodes[server]})" if server in self._nodes else ""
            parent = trace.track(f"server {server}{node}", process)
            at_devices = [row for row in rows if row["kind"] != DRAIN]
            for device in sorted({row["device"] for row in at_devices}):
                own = [row for row in at_devices if row["device"] == device]
                _slices(trace, Lanes(partial(trace.track, f"device {device}", parent)), own)
                _queue(trace, trace.counter(f"waiting for device {device}", parent, "count"), own)
            drain = [row for row in rows if row["kind"] == DRAIN]
            _slices(trace, Lanes(partial(trace.track, "drain", parent)), drain)
            for name, column in (("space used", "used_bytes"), ("memory used", "memory_bytes")):
                counter = trace.counter(name, parent, "bytes")
                for row in sorted(rows, key=lambda row: row["end_s"]):
                    trace.value(counter, ps(row["end_s"]), min(row[column], _MOST))


def _slices(trace: TraceWriter, lanes: Lanes, rows: list[dict[str, Any]]) -> None:
    """The accesses, in the order of their begin."""
    for row in rows:
        joined, begin = ps(row["joined_s"]), ps(row["begin_s"])
        end = max(ps(row["end_s"]), begin)
        annotations = {
            "job": row["job"],
            "bytes": row["bytes"],
            "begin_ps": begin,
            "duration_ps": end - begin,
        }
        if row["rank"] >= 0:
            annotations["rank"] = row["rank"]
        if row["kind"] != DRAIN:
            annotations["waited_ps"] = max(begin - joined, 0)
        track = lanes.take(begin, end)
        trace.begin(track, begin, row["kind"], "storage", annotations)
        trace.end(track, end)


def _queue(trace: TraceWriter, track: int, rows: list[dict[str, Any]]) -> None:
    """Number of accesses that wait for the device: it grows when one joins the queue, and falls when one
    begins.
    """
    changes = [(ps(row["joined_s"]), 1) for row in rows] + [(ps(row["begin_s"]), -1) for row in rows]
    length = 0
    for at, together in itertools.groupby(sorted(changes), key=lambda change: change[0]):
        length += sum(change for _, change in together)
        trace.value(track, at, length)
