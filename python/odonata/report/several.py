"""The report of several runs: their differences in settings and measurements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from odonata.analysis import comparison
from odonata.analysis.measured import counted_by
from odonata.base.wording import factor
from odonata.report import latency, network, waits
from odonata.report.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Control,
    Section,
    Table,
    Text,
    axis,
    duration,
    name_cell,
    plain,
    rate_cell,
    ratio_cell,
    share_cell,
    time_cell,
)
from odonata.report.contents import Contents
from odonata.report.page import page
from odonata.report.quantiles import cumulative
from odonata.scenario import run_fidelity

if TYPE_CHECKING:
    from odonata.results.results import Results

#: Compared metrics of jobs: column -> (in words, unit).
METRICS = {
    "elapsed_s": ("time", "s"),
    "mpi_s": ("time in MPI, mean over ranks", "s"),
    "io_s": ("time in I/O, mean over ranks", "s"),
    "message_latency_p50_s": ("message latency, median", "s"),
    "message_latency_p99_s": ("message latency, 99th percentile", "s"),
    "io_bandwidth_bytes_per_s": ("I/O rate", "bytes/s"),
}


def html(results: Sequence[Results]) -> str:
    """The report that compares `results`."""
    runs = dict(zip(labels(results), (Contents(one) for one in results), strict=True))
    sections = [
        _verdict(runs),
        _settings(runs),
        _jobs(runs),
        *(section for section in (_latency(runs), _waits(runs)) if section is not None),
        _links(runs),
        _origin(runs),
    ]
    return page(", ".join(runs), f"{len(runs)} runs compared", sections)


def labels(results: Sequence[Results]) -> list[str]:
    """A short name for each result: that of its folder, with a number for duplicates.

    >>> from pathlib import Path
    >>> from odonata import Results
    >>> labels([Results({}, path=Path("a/out")), Results({}, path=Path("b/out")), Results({})])
    ['out', 'out (2)', 'run 3']
    """
    found: list[str] = []
    for number, one in enumerate(results, 1):
        name = one.path.name if one.path is not None and one.path.name else f"run {number}"
        found.append(name if name not in found else f"{name} ({number})")
    return found


def _common(runs: dict[str, Contents]) -> list[str]:
    """The jobs that exist in all runs."""
    first, *others = runs.values()
    return [job for job in first.names if all(job in other.names for other in others)]


def _value(contents: Contents, job: str, column: str) -> float | None:
    """A metric of a job; None if it does not apply, or the job did not end."""
    row = next(row for row in contents.jobs if row["job"] == job)
    count = counted_by(column)
    if count is not None and not row[count]:
        return None
    if column in ("elapsed_s", "mpi_s", "io_s") and row["ranks_finished"] < row["ranks"]:
        return None
    return float(row[column])


def _verdict(runs: dict[str, Contents]) -> Section:
    base, *others = runs
    lines = []
    spread: list[tuple[float, str]] = []
    for job in _common(runs):
        times = {name: _value(contents, job, "elapsed_s") for name, contents in runs.items()}
        known = {name: time for name, time in times.items() if time}
        if base in known:
            factors = [
                f"{factor(known[name] / known[base])} as long in {name} ({duration(known[name])})"
                for name in others
                if name in known
            ]
            lines.append(
                f"{job} took {duration(known[base])} in {base}; {', '.join(factors) or 'unknown elsewhere'}."
            )
        if len(known) > 1:
            slow, fast = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
            ratio = known[slow] / known[fast]
            words = f"{job} differs most: it took {factor(ratio)} as long in {slow} as in {fast}."
            spread.append((ratio, words))
    if len({contents.run["digest"] for contents in runs.values()}) == 1:
        lead = "All runs are equal: their digests match."
    else:
        ratio, words = max(spread, default=(1.0, ""))
        lead = (
            words
            if ratio >= 1.005
            else "The runs differ, but no common job took noticeably longer in one of them."
        )
    rows = [
        [
            name_cell(name),
            Cell(contents.results.outcome),
            Cell(f"{contents.run['nodes']:,}", contents.run["nodes"]),
            Cell(str(contents.run["scenario"].get("seed", "-"))),
            Cell(run_fidelity.WORDS[contents.fidelity.of_run]),
            time_cell(contents.simulated_s),
            Cell(contents.run["digest"]),
        ]
        for name, contents in runs.items()
    ]
    columns = [
        Column("run", number=False),
        Column("outcome", number=False),
        Column("nodes"),
        Column("seed"),
        Column("messages", number=False),
        Column("simulated"),
        Column("digest", number=False),
    ]
    return Section(
        "verdict", "Verdict", lead, [Text(lines, items=True), Table("runs", "Runs", columns, rows)]
    )


def _settings(runs: dict[str, Contents]) -> Section:
    """A row per setting in which any run differs from the first."""
    base, *others = runs
    scenarios = {name: contents.run["scenario"] for name, contents in runs.items()}
    found: dict[str, dict[str, Any]] = {}
    for name in others:
        for change in comparison.settings(scenarios[base], scenarios[name]):
            row = found.setdefault(change["key"], {base: change["a"]})
            row[name] = change["b"]
    rows = [
        # A run without a difference has the value of the first run.
        [name_cell(key), *(Cell(_setting(row.get(name, row[base]))) for name in runs)]
        for key, row in found.items()
    ]
    columns = [Column("setting", number=False), *(Column(name, number=False) for name in runs)]
    blocks: list[Block] = [Table("settings", "Different settings", columns, rows, search=len(rows) > 12)]
    return Section(
        "settings",
        "Settings",
        "Differences between the scenarios.",
        blocks if rows else [Text(["None: the settings are the same."])],
    )


def _setting(value: Any) -> str:
    if isinstance(value, dict) and "ranks" in value and "workload" in value:
        return f"a job of {value['ranks']} ranks"
    text = (
        value if isinstance(value, str) else "-" if value is None else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= 80 else f"{text[:77]}..."


def _jobs(runs: dict[str, Contents]) -> Section:
    jobs = _common(runs)
    traces = []
    offered = []
    for column, (words, unit) in METRICS.items():
        values = {name: [_value(contents, job, column) for job in jobs] for name, contents in runs.items()}
        if not any(value for line in values.values() for value in line):
            continue
        offered.append((column, words))
        suffix = {"s": "s", "bytes/s": "B/s"}[unit]
        for number, (name, line) in enumerate(values.items()):
            traces.append(
                {
                    "type": "bar",
                    "name": name,
                    "x": jobs,
                    "y": line,
                    "color": number,
                    "hovertemplate": f"%{{x}}: %{{y:.3~s}}{suffix}<extra>{plain(name)}</extra>",
                    "yunit": suffix,
                    "when": {"metric": column},
                }
            )
    chart = Chart(
        "jobs-compared",
        "Jobs",
        ("Jobs that all runs have. A bar is missing if the metric does not apply or the job did not end."),
        traces,
        {"barmode": "group", "xaxis": axis("", type="category"), "yaxis": axis("", "s", rangemode="tozero")},
        [Control("metric", "Show", offered)],
    )
    rows = [
        [
            name_cell(job),
            name_cell(words),
            *_cells([_value(contents, job, column) for contents in runs.values()], unit),
        ]
        for job in jobs
        for column, (words, unit) in METRICS.items()
        if any(_value(contents, job, column) for contents in runs.values())
    ]
    columns = [Column("job", number=False), Column("metric", number=False), *(Column(name) for name in runs)]
    table = Table("jobs-all", "All metrics", columns, rows, search=True)
    if not jobs:
        return Section("jobs", "Jobs", "The runs have no job in common.")
    return Section("jobs", "Jobs", "Metrics of the jobs in each run.", [chart, table] if traces else [table])


def _cells(values: list[float | None], unit: str) -> list[Cell]:
    """Values of a metric, shaded by the change from the first run."""
    base = values[0]
    made = []
    for value in values:
        cell = time_cell(value) if unit == "s" else rate_cell(value)
        if base and value:
            shade = ratio_cell(value / base, larger_is_better=unit != "s").shade
            cell = Cell(cell.text, cell.value, shade, f"{factor(value / base)} of the first run")
        made.append(cell)
    return made


def _latency(runs: dict[str, Contents]) -> Section | None:
    found = {name: latency.values(contents.results) for name, contents in runs.items()}
    shown = next(iter(runs.values())).shown
    jobs = [job for job in _common(runs) if job in shown]
    measures = [
        name
        for name in latency.MEASURES
        if any(name in run.get(job, {}) for run in found.values() for job in jobs)
    ]
    if not measures:
        return None
    traces = []
    for job in jobs:
        for measure in measures:
            for number, (name, run) in enumerate(found.items()):
                xs, shares = cumulative(run.get(job, {}).get(measure, []))
                traces.append(
                    {
                        "type": "scatter",
                        "mode": "lines",
                        "name": name,
                        "x": xs,
                        "y": shares,
                        "color": number,
                        "hovertemplate": f"%{{y:.2%}} within %{{x:.3~s}}s<extra>{plain(name)}</extra>",
                        "when": {"job": job, "measure": measure},
                    }
                )
    chart = Chart(
        "latency-compared",
        "Distribution of latency",
        "The share with at most this latency.",
        traces,
        {"xaxis": axis("latency", "s", log=True), "yaxis": axis("share", rangemode="tozero")},
        [
            Control("job", "Of", [(job, job) for job in jobs]),
            Control("measure", "What", [(name, latency.MEASURES[name]) for name in measures]),
        ],
        height=430,
    )
    return Section("latency", "Latency", "", [chart])


def _waits(runs: dict[str, Contents]) -> Section | None:
    """The matrix of waits, run by run."""
    measured = {name: contents for name, contents in runs.items() if contents.blames}
    if not measured:
        return None
    charts = {name: waits.matrix(contents) for name, contents in measured.items()}
    first = next(iter(charts.values()))
    traces = [
        {**trace, "when": {**trace["when"], "run": name}}
        for name, chart in charts.items()
        for trace in chart.traces
    ]
    controls = [Control("run", "Run", [(name, name) for name in charts]), *first.controls]
    height = max(chart.height for chart in charts.values())
    chart = Chart("waits-compared", first.title, first.caption, traces, first.layout, controls, height)
    return Section("waits", "Interference between jobs", "", [chart])


def _links(runs: dict[str, Contents]) -> Section:
    rows = []
    for name, contents in runs.items():
        for kind, links in network.by_class(contents).items():
            busy = [link["busy_s"] / contents.simulated_s for link in links]
            rows.append(
                [
                    name_cell(name),
                    name_cell(network.CLASSES.get(kind, kind)),
                    share_cell(sum(busy) / len(busy), shaded=True),
                    share_cell(max(busy), shaded=True),
                    time_cell(
                        sum(link["saturation_s"] for link in links) if contents.fidelity.has_packets else None
                    ),
                ]
            )
    if not rows:
        lead = "No run used links: all messages used the analytic model."
        return Section("links", "Links", lead)
    columns = [
        Column("run", number=False),
        Column("class", number=False),
        Column("busy, mean"),
        Column("busiest"),
        Column("saturated, summed"),
    ]
    return Section("links", "Links", "", [Table("links-compared", "Links by class", columns, rows)])


def _origin(runs: dict[str, Contents]) -> Section:
    lines = [
        f"{name}: {contents.results.path or 'in memory'}, odonata {contents.run['version']}, digest "
        f"{contents.run['digest']}"
        for name, contents in runs.items()
    ]
    ask = "The report of each run has its details and how to repeat it: odonata report DIR."
    return Section("origin", "Origin", ask, [Text(lines, items=True)])
