"""What matters of a run, as data: who took how long, what for, where it was crowded, and who slowed whom.

It reads only what was written, so that it works on old results too. `summary_page.py` shows it to people;
`odonata summary --json` prints it as it is. Its keys are documented in `json_reference.py`.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow.compute as pc

from odonata import blame, slowdown
from odonata.results import Results

#: Links and servers that are listed.
TOP = 5


def collect(results: Results) -> dict[str, Any]:
    """The summary of `results`; whatever does not apply is None, so that it can be written as JSON."""
    run = results.run
    return {
        "name": run.get("scenario", {}).get("name"),
        "outcome": results.outcome,
        "detail": run.get("detail"),
        "can_deadlock": bool(run.get("deadlock_cycle")),
        "simulated_s": run["simulated_s"],
        "wall_s": run["wall_s"],
        "packet_hops_per_cpu_s": run["packet_hops"] / run["cpu_s"] if run["cpu_s"] > 0 else None,
        "digest": run["digest"],
        "results": None if results.path is None else str(results.path),
        "jobs": [_job(results, row) for row in results.rows("jobs")],
        "links": _links(results),
        "servers": _servers(results),
        "blame": _blame(results),
        "slowdown": _slowdowns(results),
        "failed_baselines": results.failed_baselines,
        "single_job": bool(run.get("scenario", {}).get("run", {}).get("baselines"))
        and not run.get("baselines"),
    }


def _job(results: Results, row: dict[str, Any]) -> dict[str, Any]:
    # A rank's own time, mean over ranks: the whole that the three shares are shares of.
    whole = row["compute_s"] + row["non_compute_s"]
    shares = {
        f"{part}_share": row[f"{part}_s"] / whole if whole > 0 else None for part in ("compute", "mpi", "io")
    }
    copied = ("job", "ranks", "ranks_finished", "elapsed_s")
    moved = ("bytes_written", "bytes_read")
    return (
        {name: row[name] for name in copied}
        | shares
        | {name: row[name] for name in moved}
        | {"io_bandwidth_bytes_per_s": row["io_bandwidth_bytes_per_s"] if row["io_operations"] else None}
        | _latency(row, "message_latency", ("p50", "p99", "max"), row["messages"])
        | _latency(row, "mpi_packet_latency", ("p50", "p99"), row["mpi_packets"])
        | _io_calls(results, row["job"])
    )


def _latency(row: dict[str, Any], name: str, measures: tuple[str, ...], count: int) -> dict[str, Any]:
    return {f"{name}_{measure}_s": row[f"{name}_{measure}_s"] if count else None for measure in measures}


def _io_calls(results: Results, job: str) -> dict[str, Any]:
    """Median and 99th percentile of a job's reads and writes, request to acknowledgement."""
    calls = results.table("io")
    calls = calls.filter(pc.equal(calls["job"], job))
    times = pc.subtract(calls["end_s"], calls["start_s"])
    values = pc.quantile(times, q=[0.5, 0.99]).to_pylist() if calls.num_rows else [None, None]
    return {"io_call_p50_s": values[0], "io_call_p99_s": values[1]}


def _links(results: Results) -> list[dict[str, Any]]:
    links = results.table("links")
    links = links.filter(pc.equal(links["source_kind"], "router"))
    return [
        {
            "name": row["name"],
            "class": row["class"],
            "busy_share": _part(row["busy_s"], results.run["simulated_s"]),
            "saturation_s": row["saturation_s"],
            "bytes": row["bytes"],
            "packets": row["packets"],
        }
        for row in _largest(links, "busy_s")
    ]


def _servers(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "server": row["server"],
            "node": row["node"],
            "busy_share": _part(row["device_busy_s"], results.run["simulated_s"]),
            "bytes_written": row["bytes_written"],
            "bytes_read": row["bytes_read"],
            "requests": row["requests"],
            "request_mean_s": _part(row["request_time_s"], row["requests"]),
            "wait_space_s": row["wait_space_s"],
        }
        for row in _largest(results.table("servers"), "device_busy_s")
    ]


def _blame(results: Results) -> list[dict[str, Any]] | None:
    found = blame.findings(results)
    if found is None:
        return None
    servers = results.table("servers").num_rows
    return [finding.as_dict(servers) for finding in found]


def _slowdowns(results: Results) -> dict[str, dict[str, dict[str, float | None]]] | None:
    if slowdown.NAME not in results.tables:
        return None
    return {
        job: {name: _numbers(found) for name, found in metrics.items()}
        for job, metrics in results.slowdown().items()
    }


def _numbers(found: slowdown.Slowdown) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in found._asdict().items()}


def _part(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _largest(rows: Any, column: str) -> list[dict[str, Any]]:
    """The `TOP` rows with the largest positive `column`; of equals the one that comes first."""
    order = pc.sort_indices(rows[column], sort_keys=[(column, "descending")])
    return [row for row in rows.take(order[:TOP]).to_pylist() if row[column] > 0]
