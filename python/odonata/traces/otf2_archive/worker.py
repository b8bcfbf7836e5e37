"""Reads an OTF2 archive with the package otf2, in a process of its own.

The package and its C library trust an archive. Their crash on a damaged one ends only this process, which
`reader_worker.py` bounds. It writes `events.parquet` to a folder, returns the definitions, and prints each
step on standard output. It imports nothing of Odonata.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

#: Rows written at once.
ROWS = 1 << 16
#: Columns of a kept event; absent values are null.
NUMBERS = ("location", "time", "region", "peer", "comm", "tag", "bytes", "received", "request", "op")
#: Kept events beside entering and leaving MPI calls, and their kept attributes.
KEPT = {
    "MpiSend": ("receiver", "communicator", "msg_tag", "msg_length"),
    "MpiRecv": ("sender", "communicator", "msg_tag", "msg_length"),
    "MpiIsend": ("receiver", "communicator", "msg_tag", "msg_length", "request_id"),
    "MpiIrecv": ("sender", "communicator", "msg_tag", "msg_length", "request_id"),
    "MpiIsendComplete": ("request_id",),
    "MpiIrecvRequest": ("request_id",),
    "MpiRequestTest": ("request_id",),
    "MpiRequestCancelled": ("request_id",),
    "MpiCollectiveEnd": ("collective_op", "communicator", "root", "size_sent", "size_received"),
    "NonBlockingCollectiveRequest": ("request_id",),
    "NonBlockingCollectiveComplete": (
        "collective_op",
        "communicator",
        "root",
        "size_sent",
        "size_received",
        "request_id",
    ),
}
_COLUMN = {
    "receiver": "peer",
    "sender": "peer",
    "root": "peer",
    "communicator": "comm",
    "msg_tag": "tag",
    "msg_length": "bytes",
    "size_sent": "bytes",
    "size_received": "received",
    "request_id": "request",
    "collective_op": "op",
}


def step(where: str) -> None:
    """Prints the next step."""
    print(where, flush=True)


def upper(name: str) -> str:
    """MPI_ISEND_COMPLETE for MpiIsendComplete, as in the format's own tools."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def name_of(value: Any) -> str:
    """The name of an enumerated value."""
    return str(value).rpartition(".")[2]


def definitions(trace: Any, paradigm: Any, kinds: Any) -> dict[str, Any]:
    """Clock, locations, groups, regions and communicators, by their numbers."""
    found = trace.definitions
    order: list[int] = []
    for group in found.groups:
        if group.paradigm == paradigm and group.group_type == kinds.COMM_LOCATIONS:
            order = [location._ref for location in group.members]
    comms = []
    for comm in found.comms:
        if hasattr(comm, "groupA"):
            comms.append({"ref": comm._ref, "name": comm.name, "kind": "inter", "members": []})
            continue
        group = comm.group
        if group.paradigm != paradigm:
            continue
        own = group.group_type == kinds.COMM_SELF
        members = [] if own else [location._ref for location in group.members]
        comms.append(
            {"ref": comm._ref, "name": comm.name, "kind": "self" if own else "group", "members": members}
        )
    return {
        "resolution": trace.timer_resolution,
        "locations": [
            {
                "ref": location._ref,
                "name": location.name,
                "type": name_of(location.type),
                "group": location.group._ref,
                "process": location.group.name,
                "events": location.number_of_events,
            }
            for location in found.locations
        ],
        "mpi_locations": order,
        "comms": comms,
    }


def with_files(trace: Any, anchor: Path) -> list[Any] | None:
    """Locations with a file of events, as a missing file would end the whole reading; `None` for all of
    them.
    """
    locations = list(trace.definitions.locations)
    there = [location for location in locations if (anchor.with_suffix("") / f"{location._ref}.evt").exists()]
    # Other storage methods have other files.
    return there if 0 < len(there) < len(locations) else None


def events(trace: Any, out: Path, paradigm: Any, locations: list[Any] | None) -> dict[str, Any]:
    """Writes the kept events; returns counts of all events by location, and the reason for an early end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("kind", pa.string())] + [(name, pa.uint64()) for name in NUMBERS])
    counts: dict[int, Counter[str]] = {}
    ticks: dict[int, list[int]] = {}
    ops: dict[int, str] = {}
    collectives: Counter[str] = Counter()
    regions: dict[int, str] = {}
    others: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    problem = ""
    with pq.ParquetWriter(out / "events.parquet", schema) as writer:

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            rows.clear()

        source = iter(trace.events(locations))
        while True:
            try:
                location, event = next(source)
            except StopIteration:
                break
            except MemoryError:
                raise
            except Exception as error:  # the message of the package is reported
                problem = f"{type(error).__name__}: {error}"
                break
            kind, ref = type(event).__name__, location._ref
            counts.setdefault(ref, Counter())[kind] += 1
            first_last = ticks.setdefault(ref, [event.time, event.time])
            first_last[0] = min(first_last[0], event.time)
            first_last[1] = max(first_last[1], event.time)
            row: dict[str, Any] = {"kind": kind, "location": ref, "time": event.time}
            if kind in ("Enter", "Leave"):
                region = event.region
                if region.paradigm != paradigm and not region.name.startswith("MPI_"):
                    others[region.name[:200]] += 1
                    continue
                regions.setdefault(region._ref, region.name)
                row["region"] = region._ref
            elif kind in KEPT:
                for field in KEPT[kind]:
                    value = getattr(event, field)
                    if field == "communicator":
                        value = value._ref
                    elif field == "collective_op":
                        ops.setdefault(value.value, name_of(value))
                        collectives[name_of(value)] += 1
                        value = value.value
                    row[_COLUMN[field]] = value
            else:
                continue
            rows.append({name: row.get(name) for name in schema.names})
            if len(rows) >= ROWS:
                flush()
        flush()
    return {
        "problem": problem[:500],
        "counts": {str(ref): {upper(kind): n for kind, n in found.items()} for ref, found in counts.items()},
        "ticks": {str(ref): found for ref, found in ticks.items()},
        "ops": {str(number): name for number, name in ops.items()},
        "collectives": dict(collectives),
        "regions": {str(ref): name for ref, name in regions.items()},
        "other_regions": len(others),
    }


def load() -> None:
    """Imports the package."""
    step("package otf2")
    import otf2.enums  # noqa: F401


def read(path: str, folder: Path) -> dict[str, Any]:
    """Reads the archive at `path`; writes its events to `folder`, and returns its definitions."""
    import otf2
    from otf2.enums import GroupType, Paradigm

    found: dict[str, Any] = {"package": getattr(otf2, "__version__", "otf2"), "problem": ""}
    step("definitions")
    trace = otf2.reader.Reader(path)
    found |= definitions(trace, Paradigm.MPI, GroupType)
    step("events")
    found |= events(trace, folder, Paradigm.MPI, with_files(trace, Path(path)))
    step("end")
    return found
