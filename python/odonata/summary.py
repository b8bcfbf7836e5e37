"""The summary at the end of a run: who took how long, what for, and where it was crowded.

It reads only what was written, so that it works on old results too (`odonata summary DIR`).
"""

from __future__ import annotations

from typing import Any, TextIO

import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from odonata.results import Results
from odonata.terminal import console, table
from odonata.wording import duration, rate, share, size

#: Links and servers that are listed.
TOP = 5


def show(results: Results, stream: TextIO | None = None) -> None:
    """Prints the summary of `results` to `stream` (default: standard output)."""
    out = console(stream)
    _print(out, _heading(results))
    _section(out, "Jobs", _jobs(results))
    _section(out, "Latency", _latencies(results))
    _section(out, f"Hottest links (busiest {TOP}, routers' side)", _links(results))
    _section(out, f"Busiest storage servers ({TOP})", _servers(results))
    _print(out, "", *_ending(results))


def _heading(results: Results) -> str:
    run = results.run
    name = run.get("scenario", {}).get("name") or "run"
    speed = rate(run["packet_hops"] / run["cpu_s"]) if run["cpu_s"] > 0 else "-"
    return (
        f"{name}: {results.outcome}, {duration(run['simulated_s'])} simulated in {duration(run['wall_s'])} "
        f"({speed} packet-hops per CPU-second)"
    )


def _jobs(results: Results) -> Table | None:
    rows = results.rows("jobs")
    page = table("job", "ranks", "time", "compute", "in MPI", "in I/O", "written", "read", "I/O rate")
    for row in rows:
        # A rank's own time, mean over ranks: the whole that the three shares are shares of.
        whole = row["compute_s"] + row["non_compute_s"]
        finished = row["ranks_finished"] == row["ranks"]
        page.add_row(
            row["job"],
            str(row["ranks"]) if finished else f"{row['ranks_finished']} of {row['ranks']}",
            duration(row["elapsed_s"]) if finished else f"> {duration(row['elapsed_s'])}",
            *(share(row[part], whole) for part in ("compute_s", "mpi_s", "io_s")),
            *(
                size(row[direction]) if row[direction] else "-"
                for direction in ("bytes_written", "bytes_read")
            ),
            f"{size(row['io_bandwidth_bytes_per_s'])}/s" if row["io_operations"] else "-",
        )
    return page if rows else None


def _latencies(results: Results) -> Table | None:
    page = table("job", "message p50", "p99", "max", "packet p50", "p99", "I/O call p50", "p99")
    for row in results.rows("jobs"):
        page.add_row(
            row["job"],
            *_measures(row, "message_latency", ("p50", "p99", "max"), row["messages"]),
            *_measures(row, "mpi_packet_latency", ("p50", "p99"), row["mpi_packets"]),
            *_io_call_percentiles(results, row["job"]),
        )
    return page if page.row_count else None


def _measures(row: dict[str, Any], name: str, measures: tuple[str, ...], count: int) -> list[str]:
    return [duration(row[f"{name}_{measure}_s"]) if count else "-" for measure in measures]


def _io_call_percentiles(results: Results, job: str) -> list[str]:
    """Median and 99th percentile of a job's reads and writes, request to acknowledgement."""
    calls = results.table("io")
    calls = calls.filter(pc.equal(calls["job"], job))
    if not calls.num_rows:
        return ["-", "-"]
    times = pc.subtract(calls["end_s"], calls["start_s"])
    return [duration(value) for value in pc.quantile(times, q=[0.5, 0.99]).to_pylist()]


def _links(results: Results) -> Table | None:
    links = results.table("links")
    links = links.filter(pc.equal(links["source_kind"], "router"))
    page = table("link", "class", "busy", "saturated", "carried", "packets", left=2)
    rows = _largest(links, "busy_s")
    for row in rows:
        page.add_row(
            row["name"],
            row["class"],
            share(row["busy_s"], results.run["simulated_s"]),
            duration(row["saturation_s"]),
            size(row["bytes"]),
            rate(row["packets"]),
        )
    return page if rows else None


def _servers(results: Results) -> Table | None:
    page = table("server", "busy", "written", "read", "requests", "mean request", "waits for space")
    rows = _largest(results.table("servers"), "device_busy_s")
    for row in rows:
        page.add_row(
            f"{row['server']} (node {row['node']})",
            share(row["device_busy_s"], results.run["simulated_s"]),
            size(row["bytes_written"]),
            size(row["bytes_read"]),
            rate(row["requests"]),
            duration(row["request_time_s"] / row["requests"]) if row["requests"] else "-",
            duration(row["wait_space_s"]),
        )
    return page if rows else None


def _largest(rows: Any, column: str) -> list[dict[str, Any]]:
    """The `TOP` rows with the largest positive `column`; of equals the one that comes first."""
    order = pc.sort_indices(rows[column], sort_keys=[(column, "descending")])
    return [row for row in rows.take(order[:TOP]).to_pylist() if row[column] > 0]


def _ending(results: Results) -> list[str]:
    lines = [
        "compute, in MPI, in I/O: share of a rank's time, mean over ranks; busy: share of the simulated",
        "time; saturated: time in which packets found the buffers full; r3>n12: from router 3 to node 12.",
    ]
    if results.path is not None:
        lines.append(f"Tables: {results.path}/*.parquet    run: {results.path}/run.json")
    lines.append(f"Digest: {results.run['digest']} (equal digests, equal results)")
    return lines


def _section(out: Console, title: str, page: Table | None) -> None:
    if page is not None:
        _print(out, "", title)
        out.print(page)


def _print(out: Console, *lines: str) -> None:
    for line in lines:
        out.print(line, soft_wrap=True, markup=False)
