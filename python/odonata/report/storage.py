"""The section about storage: activity of the servers, and requests over time."""

from __future__ import annotations

from typing import Any

from odonata.analysis.summary_page import draining
from odonata.report.blocks import (
    Block,
    Chart,
    Column,
    Control,
    Section,
    Table,
    Text,
    axis,
    count_cell,
    name_cell,
    plain,
    share_cell,
    size_cell,
    time_cell,
)
from odonata.report.contents import Contents

#: Intervals of the timeline.
BINS = 160
#: Most servers in the timeline; beyond it, those with the most requests.
MOST_SERVERS = 48


def section(contents: Contents) -> Section | None:
    """The section; None without servers."""
    if "servers" not in contents.results.tables or not contents.results.table("servers").num_rows:
        return None
    blocks: list[Block] = [table(contents)]
    if found := _metadata(contents):
        blocks.append(found)
    if sentence := draining(contents.summary):
        blocks.append(Text(sentence))
    blocks += [chart for chart in (_waits(contents), _over_time(contents), _by_server(contents)) if chart]
    return Section(
        "storage",
        "Storage",
        "The load of the storage servers, and the waits of their requests over time.",
        blocks,
    )


def table(contents: Contents) -> Table:
    """A row per server, the busiest first."""
    rows = [
        [
            name_cell(str(row["server"])),
            name_cell(str(row["node"])),
            share_cell(
                row["device_busy_s"] / contents.simulated_s if contents.simulated_s else None, shaded=True
            ),
            count_cell(row["requests"]),
            time_cell(row["request_time_s"] / row["requests"] if row["requests"] else None),
            size_cell(row["bytes_written"]),
            size_cell(row["bytes_read"]),
            size_cell(row["bytes_drained"]),
            size_cell(row["peak_used_bytes"]),
            size_cell(row["peak_memory_bytes"]),
            *(time_cell(row[f"wait_{what}_s"]) for what in ("space", "memory", "device", "lock")),
        ]
        for row in sorted(contents.results.rows("servers"), key=lambda row: -row["device_busy_s"])
    ]
    columns = [
        Column("server"),
        Column("node"),
        Column("busy", help="Share of the simulated time during which the device is busy, including drains."),
        Column("requests"),
        Column("mean request", help="From a request's arrival to its response."),
        Column("written"),
        Column("read"),
        Column("drained", help="Drained to the external file system."),
        Column("most used", help="Largest space in use on the device."),
        Column("most memory", help="Largest memory in use."),
        Column("waits for space", help="Summed over requests."),
        Column("for memory", help="Summed over pieces."),
        Column("for the device", help="Summed over accesses."),
        Column("for locks", help="Summed over requests."),
    ]
    return Table("storage-servers", "Servers", columns, rows, search=len(rows) > 12, sorted_by=2)


def _metadata(contents: Contents) -> Table | None:
    """Activity of the metadata servers; None without any."""
    if "metadata" not in contents.results.tables or not contents.results.table("metadata").num_rows:
        return None
    kinds = ("opens", "creates", "stats", "closes", "unlinks", "syncs", "mkdirs", "rmdirs")
    rows = [
        [
            name_cell(str(row["server"])),
            name_cell(str(row["node"])),
            share_cell(row["utilization"], shaded=True),
            *(count_cell(row[kind]) for kind in kinds),
            time_cell(row["wait_thread_s"]),
            time_cell(row["wait_directory_s"]),
            time_cell(row["longest_s"]),
            count_cell(row["peak_waiting"]),
        ]
        for row in sorted(contents.results.rows("metadata"), key=lambda row: -row["utilization"])
    ]
    columns = [
        Column("server"),
        Column("node"),
        Column("busy", help="Share of the simulated time during which its threads work."),
        *(Column(kind) for kind in kinds),
        Column("waits for a thread", help="Summed over calls."),
        Column("for a directory", help="Summed over calls."),
        Column("longest call", help="From a call's arrival to its answer."),
        Column("most waiting", help="Most calls waiting at once."),
    ]
    return Table("metadata-servers", "Metadata servers", columns, rows, search=len(rows) > 12, sorted_by=2)


def _waits(contents: Contents) -> Chart | None:
    """The waits of requests by resource, server by server."""
    rows = contents.results.rows("servers")
    kinds = {"space": "space", "memory": "memory", "device": "the device", "lock": "locks"}
    rows = [row for row in rows if any(row[f"wait_{kind}_s"] > 0 for kind in kinds)]
    if not rows:
        return None
    traces = [
        {
            "type": "bar",
            "name": f"for {words}",
            "x": [str(row["server"]) for row in rows],
            "y": [row[f"wait_{kind}_s"] for row in rows],
            "color": number,
            "hovertemplate": f"server %{{x}}: %{{y:.3~s}}s for {words}<extra></extra>",
        }
        for number, (kind, words) in enumerate(kinds.items())
        if any(row[f"wait_{kind}_s"] > 0 for row in rows)
    ]
    return Chart(
        "storage-waits",
        "Waits of requests by resource",
        "Summed over requests (space, locks), pieces (memory) and accesses (device).",
        traces,
        {
            "barmode": "stack",
            "xaxis": axis("server", type="category"),
            "yaxis": axis("time waited", "s", rangemode="tozero"),
        },
        height=320,
    )


def timeline(calls: list[dict[str, Any]], key: str, end_s: float) -> dict[Any, dict[str, list[float]]]:
    """Calls in flight (mean) and bytes per second completed, in each of `BINS` intervals, by the calls'
    `key`.

    The bytes of a call are spread evenly over its duration.

    >>> calls = [{"job": "a", "bytes": 80, "start_s": 0.0, "end_s": 0.5}]
    >>> found = timeline(calls, "job", 1.0)["a"]
    >>> found["outstanding"][0], found["outstanding"][-1], round(found["rate"][0])
    (1.0, 0.0, 160)
    """
    width = end_s / BINS
    found: dict[Any, dict[str, list[float]]] = {}
    for call in calls:
        lines = found.setdefault(call[key], {"outstanding": [0.0] * BINS, "rate": [0.0] * BINS})
        start, end = call["start_s"] / width, call["end_s"] / width
        speed = call["bytes"] / (call["end_s"] - call["start_s"]) if end > start else 0.0
        for number in range(min(BINS - 1, int(start)), min(BINS - 1, int(end)) + 1):
            part = max(0.0, min(end, number + 1) - max(start, number))
            lines["outstanding"][number] += part
            lines["rate"][number] += part * speed
    return found


def _calls(contents: Contents) -> list[dict[str, Any]]:
    rows = contents.rows("io", ["job", "server", "operation", "bytes", "start_s", "end_s"])
    return [row for row in rows if row["operation"] in ("read", "write")]


def _middles(contents: Contents) -> list[float]:
    return [(number + 0.5) * contents.simulated_s / BINS for number in range(BINS)]


def _over_time(contents: Contents) -> Chart | None:
    calls = _calls(contents)
    if not calls:
        return None
    traces = []
    for operation in ("write", "read"):
        lines = timeline(
            [call for call in calls if call["operation"] == operation], "job", contents.simulated_s
        )
        for job in contents.shown:
            for show in ("outstanding", "rate"):
                if job in lines:
                    unit = "B/s" if show == "rate" else " in flight"
                    traces.append(
                        {
                            "type": "scatter",
                            "mode": "lines",
                            "name": f"{job}, {operation}s",
                            "x": _middles(contents),
                            "y": lines[job][show],
                            "color": contents.color(job),
                            "line": {"dash": "solid" if operation == "write" else "dash", "width": 1.8},
                            "hovertemplate": f"at %{{x:.4~s}}s: %{{y:.3~s}}{unit}<extra>{plain(job)}</extra>",
                            "yunit": unit.strip() if show == "rate" else "",
                            "when": {"show": show},
                        }
                    )
    return Chart(
        "storage-time",
        "Reads and writes over time",
        "Calls in flight: from request to acknowledgement, including waits. Rate: the bytes "
        "of a call, spread evenly over its time.",
        traces,
        {"xaxis": axis("simulated time", "s"), "yaxis": axis("", "bytes", rangemode="tozero")},
        [Control("show", "Show", [("outstanding", "calls in flight"), ("rate", "bytes per second")])],
        time=True,
    )


def _by_server(contents: Contents) -> Chart | None:
    lines = timeline(_calls(contents), "server", contents.simulated_s)
    if len(lines) < 2:
        return None
    most = sorted(sorted(lines, key=lambda server: -sum(lines[server]["outstanding"]))[:MOST_SERVERS])
    cut = len(lines) > len(most)
    return Chart(
        "storage-queues",
        "Queues of the servers",
        "Reads and writes in flight at each server"
        + (f"; the {len(most)} of {len(lines)} servers with the longest queues." if cut else "."),
        [
            {
                "type": "heatmap",
                "x": _middles(contents),
                "y": [str(server) for server in most],
                "z": [[round(value, 3) for value in lines[server]["outstanding"]] for server in most],
                "hovertemplate": "server %{y} at %{x:.4~s}s: %{z:.2~f} in flight<extra></extra>",
                "scale": "heat",
                "colorbar": {"title": {"text": "calls"}, "thickness": 12},
            }
        ],
        {
            "xaxis": axis("simulated time", "s"),
            "yaxis": axis("server", type="category", autorange="reversed"),
        },
        height=140 + 14 * max(8, len(most)),
        time=True,
    )
