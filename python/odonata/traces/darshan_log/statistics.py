"""Statistics of a Darshan log, by module: sums and maxima of counters, bytes by rank, DXT totals.

Sums are over raw records, so that -1, Darshan's value for unmonitored counters, counts as -1.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from odonata.base import foreign
from odonata.traces.darshan_log.log import DXT, Log

#: Most records of a module that are listed individually.
MOST_RECORDS = 500
#: Numbers of the records of heat maps (PyDarshan's table).
_HEATMAPS = {
    16592106915301738621: "POSIX",
    3989511027826779520: "STDIO",
    3668870418325792824: "MPIIO",
    1597927878319380788: "DFS",
    4131494093108637317: "DAOS",
}


def info(log: Log) -> dict[str, Any]:
    """The content of a log."""
    data = foreign.read_bytes(log.path)
    return {
        "file": log.path.name,
        "file_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "job": log.job,
        "job_metadata": log.job_metadata,
        "exe": log.exe,
        "n_mounts": len(log.mounts),
        "n_name_records": log.n_name_records,
        "modules": {name: _module(log, name) for name in log.modules},
    }


def _module(log: Log, name: str) -> dict[str, Any]:
    module = log.modules[name]
    entry: dict[str, Any] = {key: module[key] for key in ("ver", "len", "idx", "partial")}
    for key in ("records", "columns", "error", "note"):
        if key in module:
            entry[key] = module[key]
    if "heatmaps" in module:
        entry["heatmaps"] = {
            _HEATMAPS.get(int(number), number): found for number, found in module["heatmaps"].items()
        }
    elif name in DXT.values() and name in log.tables:
        entry |= _segments(log.tables[f"{name}.records"], log.tables[name])
    elif name == "LUSTRE" and name in log.tables:
        entry["layouts"] = _layouts(log.tables[name])
    elif "counter_names" in module and (table := log.tables.get(name.replace("/", ""))) is not None:
        entry |= _counters(table, module["counter_names"], module["fcounter_names"])
    return entry


def _counters(table: pa.Table, names: list[str], times: list[str]) -> dict[str, Any]:
    """Sums, maxima, and the bytes of each rank."""

    def both(values: list[Any]) -> dict[str, Any]:
        # As Python's integers, which do not overflow.
        return {"sum": sum(values), "max": max(values)} if values else {"sum": 0, "max": None}

    entry: dict[str, Any] = {
        "counters": {name: both(table[name].to_pylist()) for name in names},
        "fcounters": {name: both(table[name].to_pylist()) for name in times},
    }
    moved = [
        name for name in names if name.endswith(("_BYTES_READ", "_BYTES_WRITTEN")) and "RANK" not in name
    ]
    if moved:
        by_rank: dict[str, dict[str, int]] = {}
        columns = [table[name].to_pylist() for name in ("rank", *moved)]
        for rank, *values in sorted(zip(*columns, strict=True), key=lambda row: row[0]):
            sums = by_rank.setdefault(str(rank), dict.fromkeys(moved, 0))
            for name, value in zip(moved, values, strict=True):
                sums[name] += value
        entry["bytes_per_rank"] = by_rank
        if table.num_rows <= MOST_RECORDS:
            columns = [[str(number) for number in table["id"].to_pylist()], *columns]
            entry["per_record"] = [list(row) for row in zip(*columns, strict=True)]
            entry["per_record_columns"] = ["id", "rank", *moved]
    return entry


def _segments(records: pa.Table, segments: pa.Table) -> dict[str, Any]:
    """Totals of DXT, and of each of its records."""
    sums = {}
    lengths = []
    for write in (True, False):
        rows = segments.filter(pc.equal(segments["write"], write))
        by_record = rows.group_by("record").aggregate([("length", "sum")])
        lengths.append(
            dict(zip(by_record["record"].to_pylist(), by_record["length_sum"].to_pylist(), strict=True))
        )
        name = "write" if write else "read"
        sums[f"{name}_segments"] = rows.num_rows
        sums[f"{name}_bytes"] = pc.sum(rows["length"]).as_py() or 0
    entry: dict[str, Any] = {
        **sums,
        "first_start": pc.min(segments["start"]).as_py(),
        "last_end": pc.max(segments["end"]).as_py(),
    }
    if records.num_rows <= MOST_RECORDS:
        rows = records.select(["id", "rank", "writes", "reads"]).to_pylist()
        entry["per_record_id_rank_wsegs_wbytes_rsegs_rbytes"] = [
            [
                str(row["id"]),
                row["rank"],
                row["writes"],
                lengths[0].get(i, 0),
                row["reads"],
                lengths[1].get(i, 0),
            ]
            for i, row in enumerate(rows)
        ]
    return entry


def _layouts(table: pa.Table) -> list[dict[str, Any]]:
    """Number of file components for each stripe size and count."""
    keys = ["LUSTRE_COMP_STRIPE_SIZE", "LUSTRE_COMP_STRIPE_COUNT"]
    counts = table.group_by(keys).aggregate([([], "count_all")]).to_pylist()
    rows = sorted((row[keys[0]], row[keys[1]], row["count_all"]) for row in counts)
    return [
        {"stripe_bytes": size, "stripe_count": count, "components": number} for size, count, number in rows
    ]
