"""The section about slowdown: every job alone and together with the others."""

from __future__ import annotations

from odonata.analysis.slowdown import METRICS
from odonata.base.wording import column_words, quantity
from odonata.report.blocks import Cell, Column, Section, Table, Text, name_cell, ratio_cell
from odonata.report.contents import Contents

#: Metrics of the matrix, with their headings.
MATRIX = {
    "elapsed": "time",
    "mpi": "in MPI",
    "io": "in I/O",
    "message_latency_mean": "message mean",
    "message_latency_p50": "message median",
    "message_latency_p99": "message p99",
    "mpi_packet_latency_p99": "packet p99",
    "io_packet_latency_p99": "I/O packet p99",
    "io_bandwidth": "I/O rate",
}

_METRICS = {metric.name: metric for metric in METRICS}


def section(contents: Contents) -> Section | None:
    """The section; None without baselines."""
    found = contents.slowdowns
    if not found:
        return None
    return Section(
        "slowdown",
        "Slowdown",
        "Each job together with the others, divided by the same job alone on the same nodes. "
        "Above 1, the job takes longer; for an I/O rate, below 1 is worse.",
        [matrix(contents), *_missing(contents), _all(contents)],
    )


def matrix(contents: Contents) -> Table:
    """Job by metric: together / alone."""
    jobs = contents.slowdowns
    names = [name for name in MATRIX if any(name in metrics for metrics in jobs.values())]
    columns = [
        Column("job", number=False),
        *(Column(MATRIX[name], help=f"{_METRICS[name].doc}: together / alone.") for name in names),
    ]
    rows = []
    for job, metrics in jobs.items():
        cells = [name_cell(job)]
        for name in names:
            one = metrics.get(name)
            if one is None:
                cells.append(Cell("-", title="not applicable to this job"))
                continue
            title = f"alone {_value(name, one['alone'])}, together {_value(name, one['together'])}"
            cells.append(ratio_cell(one["ratio"], title, larger_is_better=name == "io_bandwidth"))
        rows.append(cells)
    return Table("slowdown-matrix", "Together / alone", columns, rows)


def _missing(contents: Contents) -> list[Text]:
    failed = contents.results.failed_baselines
    return [Text([f"No baseline for {job}: alone, {how}" for job, how in failed.items()])] if failed else []


def _all(contents: Contents) -> Table:
    """Every metric with its two values."""
    rows = [
        [
            name_cell(job),
            Cell(column_words(name), title=_METRICS[name].doc),
            Cell(_value(name, one["alone"]), one["alone"]),
            Cell(_value(name, one["together"]), one["together"]),
            ratio_cell(one["ratio"], larger_is_better=name == "io_bandwidth"),
        ]
        for job, metrics in contents.slowdowns.items()
        for name, one in metrics.items()
    ]
    columns = [
        Column("job", number=False),
        Column("metric", number=False),
        Column("alone"),
        Column("together"),
        Column("together / alone"),
    ]
    return Table("slowdown-all", "All metrics", columns, rows, search=True, folded=True)


def _value(name: str, value: float | None) -> str:
    return "-" if value is None else quantity(value, _METRICS[name].unit).replace(" us", " µs")
