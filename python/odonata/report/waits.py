"""The section about interference between jobs: the table blame as a matrix, over time, and place by place."""

from __future__ import annotations

from typing import Any

from odonata.analysis import blame
from odonata.analysis.blame import ROUTER_PLACES, Finding
from odonata.analysis.measured import needed
from odonata.base.wording import share
from odonata.report import verdict
from odonata.report.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Control,
    Section,
    Table,
    axis,
    duration,
    name_cell,
    time_cell,
)
from odonata.report.contents import Contents

#: Places of waits: name -> (in words, places, the victim's time that shares refer to, by class).
WHERE: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "network": ("in the network", ROUTER_PLACES, {"mpi": "mpi_network_s", "io": "io_network_s"}),
    "servers": ("at storage servers", ("server",), {"io": "io_calls_s"}),
    "below": ("at lower tiers", ("file-system",), {}),
    "metadata": ("at metadata servers", ("metadata",), {"io": "metadata_calls_s"}),
    "nic": ("at network interfaces", ("nic",), {}),
}
CLASSES = {"": ("mpi", "io"), "mpi": ("mpi",), "io": ("io",)}

#: Most pairs of jobs over time.
MOST_PAIRS = 24
#: Most rows of the table of all waits.
MOST_ROWS = 400

#: The name of an unknown culprit.
UNKNOWN = "unknown"


def section(contents: Contents) -> Section | None:
    """The section; None if waits were not charged to jobs."""
    if not contents.blames:
        return None
    blocks: list[Block] = [matrix(contents)]
    if over_time := _over_time(contents):
        blocks.append(over_time)
    blocks.append(_table(contents))
    return Section(
        "waits",
        "Interference between jobs",
        "Every wait is charged to the job that held the resource. The diagonal has waits behind own traffic.",
        blocks,
    )


def sums(contents: Contents) -> dict[tuple[str, str, str, str], float]:
    """Seconds waited, by (place, victim's class, victim, culprit)."""
    by = ["place", "server", "victim_class", "victim", "culprit"]
    table = needed(contents.results, "blame", [*by, "waited_s"])
    where = {place: name for name, (_, places, _) in WHERE.items() for place in places}
    lower = blame.servers_below(contents.results)
    found: dict[tuple[str, str, str, str], float] = {}
    for row in table.group_by(by).aggregate([("waited_s", "sum")]).to_pylist():
        at = blame.where_of(row, lower) if row["place"] == "server" else where.get(row["place"])
        if at is not None:
            key = (at, row["victim_class"], row["victim"], row["culprit"])
            found[key] = found.get(key, 0.0) + row["waited_s_sum"]
    return found


def _places(contents: Contents) -> list[tuple[str, str]]:
    """The places of waits; the place of the verdict comes first."""
    found = verdict.foremost(contents)
    first = found.where if found is not None and found.where in WHERE else "network"
    return [(name, WHERE[name][0]) for name in sorted(WHERE, key=lambda name: name != first)]


def matrix(contents: Contents) -> Chart:
    """Victim by culprit, as a heat map."""
    waited = sums(contents)
    jobs = contents.shown
    culprits = [*jobs, *([""] if any(key[3] == "" for key in waited) else [])]
    rows = {row["job"]: row for row in contents.jobs}
    traces = []
    for where, (_, _, wholes) in WHERE.items():
        for chosen, classes in CLASSES.items():
            z: list[list[float]] = []
            seconds: list[list[str]] = []
            for victim in jobs:
                whole = sum(rows[victim][wholes[name]] for name in classes if name in wholes)
                line = [
                    sum(waited.get((where, name, victim, culprit), 0.0) for name in classes)
                    for culprit in culprits
                ]
                seconds.append([duration(value) for value in line])
                # If a run ended early, work in flight has waited but is missing from the total.
                z.append(
                    [min(1.0, value / whole) if whole > 0 else 0.0 for value in line] if wholes else line
                )
            words = [[share(value, 1.0) for value in line] for line in z] if wholes else seconds
            traces.append(
                {
                    "type": "heatmap",
                    "x": [culprit or UNKNOWN for culprit in culprits],
                    "y": jobs,
                    "z": z,
                    "text": words if len(jobs) <= 12 else None,
                    "texttemplate": "%{text}" if len(jobs) <= 12 else None,
                    "customdata": seconds,
                    "hovertemplate": "<b>%{y}</b> waited for <b>%{x}</b><br>"
                    + ("%{z:.1%} of its time there: " if wholes else "")
                    + "%{customdata}<extra></extra>",
                    "xgap": 2,
                    "ygap": 2,
                    "scale": "heat",
                    "showscale": False,
                    "when": {"where": where, "class": chosen},
                }
            )
    return Chart(
        "waits-matrix",
        "Waits: victims in rows, culprits in columns",
        "As a share of the victim's time in the network or in I/O calls, summed over packets "
        "and requests. Waits at network interfaces precede the network and are in seconds, "
        "summed over messages.",
        traces,
        {
            "xaxis": axis("culprit", side="top", type="category"),
            "yaxis": axis("victim", autorange="reversed", type="category"),
            "margin": {"t": 70, "b": 10},
        },
        [
            Control("where", "Where", _places(contents)),
            Control("class", "Traffic", [("", "messages and I/O"), ("mpi", "messages"), ("io", "I/O")]),
        ],
        height=100 + 44 * max(2, len(jobs)),
    )


def _over_time(contents: Contents) -> Chart | None:
    interval_s = contents.interval_s
    columns = ["start_s", "victim", "culprit", "place", "waited_s"]
    series = contents.rows("blame_series", columns)
    if interval_s is None or not series:
        return None
    traces: list[dict[str, Any]] = []
    numbers = contents.intervals_of(series)
    for where, (_, places, _) in WHERE.items():
        pairs: dict[tuple[str, str], dict[int, float]] = {}
        for row in series:
            if row["place"] in places:
                cell = pairs.setdefault((row["victim"], row["culprit"]), {})
                number = contents.interval_of(row)
                cell[number] = cell.get(number, 0.0) + row["waited_s"]
        for who in ("others", "all"):
            mine = [pair for pair in pairs if who == "all" or pair[0] != pair[1]]
            most = sorted(mine, key=lambda pair: -sum(pairs[pair].values()))[:MOST_PAIRS]
            traces.append(
                {
                    "type": "heatmap",
                    "x": [(number + 0.5) * interval_s for number in numbers],
                    "y": [f"{victim} ← {culprit or UNKNOWN}" for victim, culprit in most],
                    "z": [[pairs[pair].get(one, 0.0) / interval_s for one in numbers] for pair in most],
                    "hovertemplate": "%{y}<br>at %{x:.4~s}s: %{z:.3~s} waiting<extra></extra>",
                    "ygap": 1,
                    "scale": "heat",
                    "colorbar": {"title": {"text": "waiting"}, "thickness": 12},
                    "when": {"where": where, "who": who},
                }
            )
    return Chart(
        "waits-time",
        "Waits over time",
        "Packets (in the network), messages (at network interfaces) or requests (at servers) "
        "of the victim, left of ←, that wait for the culprit on its right: mean over "
        f"intervals of {duration(interval_s)}.",
        traces,
        {
            "xaxis": axis("simulated time", "s"),
            "yaxis": {"autorange": "reversed", "type": "category", "automargin": True},
        },
        [
            Control("where", "Where", _places(contents)),
            Control("who", "Culprits", [("others", "other jobs"), ("all", "others and itself")]),
        ],
        height=150 + 24 * max(4, max(len(trace["y"]) for trace in traces)),
        time=True,
    )


def _table(contents: Contents) -> Table:
    ordered = sorted(contents.findings, key=lambda found: -found.waited_s)
    columns = [
        Column("victim", number=False),
        Column("culprit", number=False),
        Column("where", number=False),
        Column("waited", help="Packet-seconds in the network, request-seconds at servers."),
        Column("share", help="Of the victim's time in the network, or in I/O calls."),
        Column("places", help="Links or servers at which it waited."),
        Column("worst place", number=False),
        Column("resource", number=False, help="The resource with the longest waits."),
    ]
    return Table(
        "waits-table",
        "All waits in the network and at servers",
        columns,
        [_row(found) for found in ordered[:MOST_ROWS]],
        search=True,
        folded=True,
    )


def _row(found: Finding) -> list[Cell]:
    part = found.share if found.whole_s > 0 else None
    # Without a share, or with one that may be anything.
    part = None if found.is_unknown else part
    shown_share = "-" if part is None else ("≤ " if found.at_most else "") + share(part, 1.0)
    at = f"server {found.most}" if found.where != "network" else f"{found.most} ({found.most_place})"
    return [
        name_cell(f"{found.victim} ({_class(found.victim_class)})"),
        name_cell(f"{found.culprit} ({_class(found.culprit_class)})" if found.culprit else UNKNOWN),
        name_cell(found.where),
        time_cell(found.waited_s),
        Cell(shown_share, part, min(1.0, part or 0.0)),
        Cell(f"{found.places:,}", found.places),
        name_cell(at),
        name_cell(found.resource),
    ]


def _class(name: str) -> str:
    return {"mpi": "messages", "io": "I/O"}.get(name, name)
