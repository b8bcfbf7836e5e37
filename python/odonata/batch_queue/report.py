"""The HTML page of a batch result: confidence, queue, nodes over time, disturbance, slowdowns."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.analysis import parquet
from odonata.analysis.measured import damaged, file_of
from odonata.base import foreign
from odonata.base.wording import factor, share
from odonata.batch_queue import report_waits
from odonata.batch_queue.confirm import moments
from odonata.batch_queue.lines import node_numbers
from odonata.batch_queue.page import lowered, rerun
from odonata.batch_queue.run import BATCH_FILE, JOBS, LINKS, LOADS, LOST, SERIES
from odonata.errors import InputError
from odonata.report.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Facts,
    Section,
    Table,
    Text,
    axis,
    duration,
    share_cell,
    size_cell,
    time_cell,
)
from odonata.report.page import page

if TYPE_CHECKING:
    from odonata.answers.batch import Batch

#: Rows and columns of the chart of nodes, and points of the series.
NODE_ROWS, TIME_COLUMNS, MOST_POINTS = 160, 400, 4000
#: Most names of a side of a matrix.
MATRIX_NAMES = 25
#: Most jobs of the table.
MOST_ROWS = 2000
LONGEST = 1 << 28


def answer_of(folder: Path) -> Batch:
    """The content of batch.json in a result folder; raises `InputError` if it is damaged."""
    from odonata.answers.batch import Batch
    from odonata.base.json_types import Wrong, check

    file = folder / BATCH_FILE
    try:
        content = json.loads(foreign.read_bytes(file, LONGEST))
        check(content, Batch)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", file=str(file), expected="a batch result"
        ) from None
    except (ValueError, RecursionError):
        raise InputError("damaged: not JSON", file=str(file), expected="a batch result") from None
    except Wrong as error:
        raise InputError(
            "damaged", file=str(file), key=error.key, value=error.value, expected=error.expected
        ) from None
    return cast("Batch", content)


def html(folder: Path) -> str:
    """The page of the result in `folder`."""
    answer = answer_of(folder)
    jobs = parquet.read(file_of(folder, JOBS)).to_pylist()
    series = parquet.read(file_of(folder, SERIES)).to_pylist()
    queue = answer["queue"]
    subtitle = (
        f"{answer['jobs']} jobs on {answer['nodes']} nodes of {answer['machine']}: {queue['policy']} by "
        f"{queue['order']}, placement {queue['placement']}"
    )
    lost = parquet.read(file_of(folder, LOST)).to_pylist()
    sections = [
        Section("confidence", "Confidence", "How sure the slowdowns are.", _confidence(answer, folder)),
        Section(
            "batch", "Batch queue", "How busy the machine is, and how long jobs wait.",
            _overview(answer, series),
        ),
        Section("waits", "Waits", "Which jobs wait, and when.", report_waits.charts(jobs)),
        Section(
            "nodes", "Nodes over time", "Which nodes ran jobs, and how much contention slowed them.",
            [_gantt(answer, jobs, folder)],
        ),
        Section(
            "links", "Link loads", "How much of their capacity the links carried.", _links(answer, folder),
        ),
        Section(
            "disturbance", "Disturbance", "Which jobs slowed each other, and at which links.",
            _disturbance(answer, jobs, lost),
        ),
        Section("jobs", "Jobs", "Every job with its wait and slowdown.", [_jobs(jobs), _slowdowns(jobs)]),
    ]  # fmt: skip
    return page(answer["name"], subtitle, sections)


def _confidence(answer: Batch, folder: Path) -> list[Block]:
    """The comparison with packets, and what was assumed."""
    confirmed = answer["confirmation"]
    sentence = (
        "The slowdowns were not compared with packets: odonata batch --confirm N does that."
        if confirmed is None
        else confirmed["sentence"]
    )
    compared = [job for moment in moments(folder) for job in moment["jobs"]]
    how = rerun(answer, folder)
    blocks: list[Block] = [Text([sentence, *([how] if how else [])])]
    if confirmed is not None and compared:
        most = max(max(job["rates"], job["packets"]) for job in compared)
        traces = [
            {
                "type": "scatter", "mode": "markers", "name": "job at a moment", "color": 0,
                "x": [job["packets"] for job in compared], "y": [job["rates"] for job in compared],
                "text": [job["job"] for job in compared],
                "hovertemplate": "job %{text}: %{y:.2f}x by rates, %{x:.2f}x by packets<extra></extra>",
            },
            {
                "type": "scatter", "mode": "lines", "name": "equal", "color": 1, "x": [1.0, most],
                "y": [1.0, most], "hoverinfo": "skip",
            },
        ]  # fmt: skip
        layout = {"xaxis": axis("slowdown by packets"), "yaxis": axis("slowdown by rates")}
        caption = "A point is a job at a moment that packets repeated; on the line, both agree."
        blocks.append(Chart("confidence-chart", "Rates and packets", caption, traces, layout))
    notes = [*([lowered(answer)] if answer["clipped_jobs"] else []), *answer["assumptions"]]
    return [*blocks, Text(notes or ["Nothing else was assumed."], items=True)]


def _overview(answer: Batch, series: list[dict[str, Any]]) -> list[Block]:
    """Facts, and the series of busy nodes and waiting jobs."""
    wait, slowdown = answer["wait_s"], answer["slowdown"]
    facts = [
        ("simulated", duration(answer["simulated_s"])),
        ("utilization", share(answer["utilization"], 1)),
        (
            "waiting jobs, mean and largest",
            f"{answer['mean_waiting_jobs']:.1f}, {answer['max_waiting_jobs']}",
        ),
        (
            "wait, median and p90",
            "-" if wait is None else f"{duration(wait['p50'])}, {duration(wait['p90'])}",
        ),
        (
            "slowdown by contention, mean and largest",
            "-" if slowdown is None else f"{factor(slowdown['mean'])}, {factor(slowdown['max'])}",
        ),
        ("node time lost to contention", share(answer["lost_share"], 1)),
        ("digest", answer["digest"]),
    ]
    step = max(1, len(series) // MOST_POINTS)
    points = series[::step]
    times = [point["time_s"] / 3600 for point in points]
    lines = [
        {
            "type": "scatter", "mode": "lines", "line": {"shape": "hv"}, "name": name, "x": times,
            "y": [point[key] for point in points], "color": color,
        }
        for color, (name, key) in enumerate(
            [
                ("busy nodes", "busy_nodes"),
                ("nodes down", "down_nodes"),
                ("waiting jobs", "waiting_jobs"),
                ("running jobs", "running_jobs"),
            ]
        )
    ]  # fmt: skip

    def chart(name: str, title: str, caption: str, kind: str, traces: list[dict[str, Any]]) -> Block:
        layout = {"xaxis": axis("hours"), "yaxis": axis(kind, rangemode="tozero")}
        return Chart(name, title, caption, traces, layout, height=300)

    return [
        Facts(facts),
        chart("use-chart", "Utilization", "Nodes that have a job or failed.", "nodes", lines[:2]),
        chart("queue-chart", "Queue", "Jobs that wait, and jobs that run.", "jobs", lines[2:]),
    ]


def grid(
    jobs: list[dict[str, Any]], nodes: int, rows: int, columns: int
) -> tuple[list[list[float | None]], float]:
    """The largest slowdown - 1 in each cell of nodes by time, None without a job, and the hours of a column.

    >>> job = {"start_s": 0.0, "end_s": 7200.0, "slowdown": 1.5, "node_list": "0-1"}
    >>> grid([job, job | {"start_s": 3600.0, "slowdown": None, "node_list": "2"}], 4, 4, 2)
    ([[0.5, 0.5], [0.5, 0.5], [None, 0.0], [None, None]], 1.0)
    """
    end = max((job["end_s"] for job in jobs if job["end_s"] is not None), default=0.0)
    if end <= 0 or nodes == 0:
        return [], 0.0
    rows = min(rows, nodes)
    cells: list[list[float | None]] = [[None] * columns for _ in range(rows)]
    for job in jobs:
        if job["start_s"] is None or job["end_s"] is None:
            continue
        first = min(columns - 1, int(job["start_s"] / end * columns))
        last = min(columns, max(first + 1, math.ceil(job["end_s"] / end * columns)))
        value = 0.0 if job["slowdown"] is None else job["slowdown"] - 1.0
        listed = node_numbers(job["node_list"])
        for row in sorted({node * rows // nodes for node in listed if node < nodes}):
            of_row = cells[row]
            for column in range(first, last):
                known = of_row[column]
                of_row[column] = value if known is None else max(known, value)
    return cells, end / columns / 3600


def _gantt(answer: Batch, jobs: list[dict[str, Any]], folder: Path) -> Block:
    """Nodes over time, colored by slowdown."""
    try:
        cells, hours = grid(jobs, answer["nodes"], NODE_ROWS, TIME_COLUMNS)
    except ValueError as error:
        raise damaged(file_of(folder, JOBS), str(error), key="node_list") from None
    if not cells:
        return Text(["No job ended."])
    per_row = answer["nodes"] / len(cells)
    trace = {
        "type": "heatmap",
        "z": cells,
        "x": [(column + 0.5) * hours for column in range(TIME_COLUMNS)],
        "y": [(row + 0.5) * per_row for row in range(len(cells))],
        "scale": "heat",
        "hoverongaps": False,
        "hovertemplate": "%{x:.2f} h, node %{y:.0f}: %{z:.0%} longer<extra></extra>",
        "colorbar": {"thickness": 12, "tickformat": "~%"},
    }
    caption = "How much longer than without contention the slowest job of a cell took; blank: no job."
    layout = {"xaxis": axis("hours"), "yaxis": axis("node")}
    return Chart("nodes-chart", "Nodes over time by slowdown", caption, [trace], layout, height=520)


def _links(answer: Batch, folder: Path) -> list[Block]:
    """Loads of the classes of links over time, and the links with the largest loads."""
    if not answer["busiest_links"]:
        return [Text(["No link carried bytes of a job."])]
    loads = parquet.read(file_of(folder, LOADS)).to_pylist()
    classes = list(dict.fromkeys(row["link_class"] for row in loads))
    keys = (("mean_load", "mean", "solid"), ("most_load", "busiest link", "dot"))
    traces = [
        {
            "type": "scatter", "mode": "lines", "name": f"{name}, {label}", "color": color,
            "line": {"shape": "hv", "dash": dash},
            "x": [row["start_s"] / 3600 for row in loads if row["link_class"] == name],
            "y": [row[key] for row in loads if row["link_class"] == name],
        }
        for color, name in enumerate(classes)
        for key, label, dash in keys
    ]  # fmt: skip
    layout = {"xaxis": axis("hours"), "yaxis": axis("load", "share", rangemode="tozero")}
    chart = Chart(
        "loads-chart", "Loads by class of links",
        "Carried bytes / capacity: mean over the links of a class (solid), and its busiest link (dotted). "
        "Server: time of the devices in use.",
        traces, layout, height=420,
    )  # fmt: skip
    rows = [
        [
            Cell(one["name"]),
            Cell(one["link_class"]),
            size_cell(one["bytes"]),
            share_cell(one["mean_load"], shaded=True),
            share_cell(one["peak_load"], shaded=True),
        ]
        for one in answer["busiest_links"]
    ]
    columns = [
        Column("link", number=False, help="r: router, n: node, numbered with storage servers."),
        Column("class", number=False),
        Column("bytes"),
        Column("mean load", help="Over the whole time."),
        Column(
            "largest load", help="The largest at a time; rates are estimates, so it may exceed 100% a little."
        ),
    ]
    used = parquet.read(file_of(folder, LINKS)).num_rows
    caption = f"Links with the largest mean loads, of {used} that carried bytes"
    return [chart, Table("links-table", caption, columns, rows, sorted_by=3)]


def _disturbance(answer: Batch, jobs: list[dict[str, Any]], lost: list[dict[str, Any]]) -> list[Block]:
    """Losses by users, by profiles and by pairs of jobs."""
    if not answer["pairs"]:
        return [Text(["No job slowed another one."])]
    profiles = [
        [
            Cell(one["victim_profile"]),
            Cell(one["culprit_profile"]),
            Cell(one["link_class"]),
            Cell(f"{one['lost_node_s'] / 3600:.2f}", one["lost_node_s"]),
        ]
        for one in answer["by_profile"]
    ]
    pairs = [
        [
            Cell(f"{one['victim']} ({one['victim_profile']})"),
            Cell(f"{one['culprit']} ({one['culprit_profile']})"),
            Cell(one["link_class"]),
            time_cell(one["lost_s"]),
            Cell(f"{one['lost_node_s'] / 3600:.2f}", one["lost_node_s"]),
        ]
        for one in answer["pairs"]
    ]
    names = (Column("slowed", number=False), Column("by", number=False), Column("links", number=False))
    hours = Column("lost node hours", help="Lost time of the slowed job times its nodes.")
    return [
        *_matrices(jobs, lost),
        Table("profiles-table", "By profile", (*names, hours), profiles, sorted_by=3),
        Table("pairs-table", "Pairs of jobs", (*names, Column("lost"), hours), pairs, sorted_by=4),
    ]


def _matrices(jobs: list[dict[str, Any]], lost: list[dict[str, Any]]) -> list[Block]:
    """A matrix by profile, application, user and job, of those that tell jobs apart."""
    named = [
        # Results of earlier versions have no applications; without one, the name of a job tells it.
        job | {"application": job.get("application") or job["name"], "job and profile": _labeled(job)}
        for job in jobs
    ]
    found = []
    for key in ("profile", "application", "user", "job and profile"):
        cells, victims, culprits = matrix(key, named, lost)
        if len({*victims, *culprits}) > 1:
            found.append(_matrix("job" if key == "job and profile" else key, cells, victims, culprits))
    return found


def _labeled(job: dict[str, Any]) -> str:
    """A job with its profile."""
    return f"{job['job']} ({job['profile']})"


def _matrix(key: str, cells: list[list[float | None]], victims: list[str], culprits: list[str]) -> Block:
    """Lost node hours by slowed and slowing jobs, the largest sums first."""
    trace = {
        "type": "heatmap",
        "z": cells,
        "x": culprits,
        "y": victims,
        "scale": "heat",
        "hoverongaps": False,
        "hovertemplate": "%{y} lost %{z:.2f} node hours to %{x}<extra></extra>",
        "colorbar": {"thickness": 12},
    }
    layout = {
        "xaxis": axis(f"{key} that slowed others", type="category"),
        "yaxis": axis(f"slowed {key}", type="category", autorange="reversed"),
    }
    height = 160 + 26 * len(victims)
    names = f"jobs of {'an' if key == 'application' else 'a'} {key}" if key != "job" else "a job"
    caption = f"Node hours that {names} (row) lost to {names} (column)."
    if MATRIX_NAMES in (len(victims), len(culprits)):
        caption += f" At most {MATRIX_NAMES} of each, those with the largest losses."
    return Chart(f"{key}-matrix", f"Disturbance by {key}", caption, [trace], layout, height=height)


def matrix(
    key: str, jobs: list[dict[str, Any]], lost: list[dict[str, Any]]
) -> tuple[list[list[float | None]], list[str], list[str]]:
    """Lost node hours by victim and culprit, None where there are none, and the names of both.

    >>> jobs = [{"job": "1", "user": "ann", "nodes": 2}, {"job": "2", "user": "bob", "nodes": 4}]
    >>> matrix("user", jobs, [{"victim": "1", "culprit": "2", "lost_s": 3600.0}])
    ([[2.0]], ['ann'], ['bob'])
    """
    by_id = {job["job"]: job for job in jobs}
    sums: dict[tuple[str, str], float] = {}
    for one in lost:
        victim, culprit = by_id.get(one["victim"]), by_id.get(one["culprit"])
        if victim is not None and culprit is not None:
            pair = victim[key] or "-", culprit[key] or "-"
            sums[pair] = sums.get(pair, 0.0) + one["lost_s"] * victim["nodes"] / 3600
    names = []
    for side in (0, 1):
        totals: dict[str, float] = {}
        for pair, hours in sums.items():
            totals[pair[side]] = totals.get(pair[side], 0.0) + hours
        names.append(sorted(totals, key=lambda name: (-totals[name], name))[:MATRIX_NAMES])
    cells = [[sums.get((victim, culprit)) for culprit in names[1]] for victim in names[0]]
    return cells, names[0], names[1]


def _jobs(jobs: list[dict[str, Any]]) -> Table:
    """A row per job; of many, those that lost the most."""
    listed = sorted(jobs, key=lambda job: -job["lost_s"] * job["nodes"])[:MOST_ROWS]
    rows = [
        [
            Cell(job["job"], title=job["name"]),
            Cell(job["user"]),
            Cell(job["profile"]),
            Cell(str(job["nodes"]), job["nodes"]),
            time_cell(job["wait_s"]),
            time_cell(job["elapsed_s"]),
            Cell("-" if job["slowdown"] is None else factor(job["slowdown"]), job["slowdown"]),
            time_cell(job["lost_s"]),
            Cell(job["outcome"]),
        ]
        for job in listed
    ]
    columns = [
        Column("job", number=False),
        Column("user", number=False),
        Column("profile", number=False),
        Column("nodes"),
        Column("wait"),
        Column("elapsed"),
        Column("slowdown", help="Elapsed time / time without contention."),
        Column("lost", help="Time lost to other jobs."),
        Column("outcome", number=False),
    ]
    caption = "Jobs" if len(listed) == len(jobs) else f"The {MOST_ROWS} jobs that lost the most node time"
    return Table("jobs-table", caption, columns, rows, search=True, sorted_by=7)


def _slowdowns(jobs: list[dict[str, Any]]) -> Block:
    """The distribution of slowdowns by profile."""
    by_profile: dict[str, list[float]] = {}
    for job in jobs:
        if job["slowdown"] is not None:
            by_profile.setdefault(job["profile"], []).append(job["slowdown"])
    traces = []
    for color, (name, values) in enumerate(sorted(by_profile.items())):
        values.sort()
        step = max(1, len(values) // 500)
        places = sorted({*range(0, len(values), step), len(values) - 1})
        traces.append(
            {
                "type": "scatter", "mode": "lines", "name": name, "color": color,
                "x": [values[place] for place in places],
                "y": [(place + 1) / len(values) for place in places],
            }
        )  # fmt: skip
    layout = {"xaxis": axis("slowdown"), "yaxis": axis("share of jobs", "share")}
    return Chart(
        "slowdowns-chart", "Slowdown by profile", "Share of jobs with at most this slowdown.", traces, layout
    )
