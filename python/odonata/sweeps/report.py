"""The report of a sweep: the page selects axes, intervals come from replications.

A sweep is a tidy table, a row per point and job. The metadata of a column's field has a `role`:

- `axis`: a setting that the sweep varies, text or number, named by its dotted key;
- `replication`: a column that distinguishes repetitions of a point, such as the seed;
- `metric`: a measurement, with `unit` and `description` as in all tables.

Without roles, columns of the tables `jobs` and `slowdown` are metrics, `seed` is the replication,
`PASSED_OVER` lists ignored columns, and all other columns are axes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from odonata.analysis import parquet
from odonata.analysis.parquet import documentation
from odonata.base.wording import quantity
from odonata.errors import InputError
from odonata.report.blocks import Cell, Column, Control, Drawing, Facts, Section, Table
from odonata.report.page import page
from odonata.sweeps import labels, statistics
from odonata.sweeps.labels import together
from odonata.sweeps.statistics import quantile
from odonata.sweeps.table import words

#: Columns that identify a row.
PASSED_OVER = ("point", "digest", "outcome", "folder", "workload")

#: Metrics that lists begin with; the first one that a sweep has is drawn.
FIRST_METRICS = (
    *("elapsed_ratio", "elapsed_s"),
    *("message_latency_p99_ratio", "message_latency_p99_s"),
    *("io_bandwidth_ratio", "io_bandwidth_bytes_per_s"),
)

#: Half-width of a 95% interval in standard errors, by degrees of freedom from 1 on.
STUDENT_T = tuple(round(quantile(0.95, freedom), 3) for freedom in range(1, 31))

#: Most rows of the table in the page.
MOST_ROWS = 2000


def html(file: Path) -> str:
    """The report of the sweep whose table is `file`."""
    table = parquet.read(file)
    roles = {field.name: _role(field) for field in table.schema}
    if "job" not in roles or "metric" not in roles.values():
        raise InputError(
            "not a table of a sweep", file=str(file), expected="a column job, and columns with metrics"
        )
    columns = {name: [_plain_value(value) for value in table[name].to_pylist()] for name in roles}
    axes = [name for name, role in roles.items() if role == "axis"] or ["job"]
    # Points that set different keys are distinguished by their names.
    if chosen := labels.of_points([name for name in axes if name != "job"], columns):
        columns[labels.POINTS] = [
            labels.label(dict(zip(chosen, values, strict=True)))
            for values in zip(*(columns[name] for name in chosen), strict=True)
        ]
        axes = [labels.POINTS, *(name for name in axes if name not in chosen)]
    # Without baselines there are no slowdowns to draw.
    metrics = _ordered(
        name
        for name, role in roles.items()
        if role == "metric" and any(value is not None for value in columns[name])
    )
    if not metrics:
        raise InputError("no point has measurements", file=str(file), expected="a point that has ended")
    units = {
        field.name: (field.metadata or {}).get(b"unit", b"").decode(errors="replace")
        for field in table.schema
    }
    repeats = [name for name, role in roles.items() if role == "replication"]
    count = _replications(columns, [*axes, "job"])
    # Of keys that change together only one is an axis: fixing another would leave a single point.
    alike = together({name: columns[name] for name in axes})
    drawn = list(alike)
    compared = " A slowdown compares runs of one point; to compare points, choose time."
    ratios = compared if "elapsed_ratio" in metrics and "elapsed_s" in metrics else ""
    sections = [
        Section(
            "sweep",
            "Sweep",
            "Choose the axes. Points are means over replications, bars their 95% confidence "
            f"intervals (Student's t); a single run has no bar.{ratios}{_said_together(alike)}",
            [
                Facts(_facts(table.num_rows, drawn, columns, repeats, count)),
                _drawing(columns, drawn, metrics, units),
            ],
        ),
        Section("rows", "All points", "", [_table(columns, axes, repeats, metrics, units)]),
    ]
    return page(file.parent.name or "sweep", f"a sweep over {', '.join(axes)}", sections)


def interval(values: list[float]) -> tuple[float, float | None]:
    """Mean and half-width of its 95% confidence interval; None for a single value.

    >>> interval([1.0, 2.0, 3.0])[0], round(interval([1.0, 2.0, 3.0])[1], 3)
    (2.0, 2.484)
    >>> interval([7.0])
    (7.0, None)
    """
    found = statistics.interval(values)
    return found.mean, None if found.number < 2 else found.half_width


def _said_together(alike: dict[str, list[str]]) -> str:
    """The note about settings that change together.

    >>> _said_together({"load": [], "routing": ["levels", "via"]})
    ' Settings that change with routing: levels, via.'
    """
    return "".join(
        f" Settings that change with {name}: {', '.join(others)}." for name, others in alike.items() if others
    )


def _role(field: Any) -> str:
    recorded = (field.metadata or {}).get(b"role")
    if recorded is not None:
        return str(recorded.decode(errors="replace"))
    if field.name == "job" or field.name in PASSED_OVER:
        return "name"
    if field.name == "seed":
        return "replication"
    return "metric" if field.name in _measured() else "axis"


@functools.cache
def _measured() -> frozenset[str]:
    """Columns of the tables jobs and slowdown."""
    return frozenset(
        column["name"]
        for table in documentation()
        if table["table"] in ("jobs", "slowdown")
        for column in table["columns"]
        if column["type"] != "string"
    )


def _ordered(metrics: Iterable[str]) -> list[str]:
    """The metrics for a list: those of most questions first, then by their words.

    >>> _ordered(["ranks", "mpi_s", "elapsed_s", "elapsed_ratio"])
    ['elapsed_ratio', 'elapsed_s', 'ranks', 'mpi_s']
    """
    first = {name: number for number, name in enumerate(FIRST_METRICS)}
    return sorted(metrics, key=lambda name: (first.get(name, len(first)), words(name).casefold()))


def _plain_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float | str) else None if value is None else str(value)


def _replications(columns: dict[str, list[Any]], keys: list[str]) -> int:
    """The largest number of rows that differ only in replications."""
    counts: dict[tuple[Any, ...], int] = {}
    for key in zip(*(columns[name] for name in keys), strict=True):
        counts[key] = counts.get(key, 0) + 1
    return max(counts.values(), default=0)


def _facts(
    rows: int, axes: list[str], columns: dict[str, list[Any]], repeats: list[str], count: int
) -> list[tuple[str, str]]:
    facts = [(name, f"{len(set(columns[name]))} values") for name in axes]
    facts += [("jobs", str(len(set(columns["job"])))), ("rows", f"{rows:,}")]
    if repeats:
        facts.append(("replications", f"up to {count} ({', '.join(repeats)})"))
    return facts


def _drawing(
    columns: dict[str, list[Any]], axes: list[str], metrics: list[str], units: dict[str, str]
) -> Drawing:
    jobs = list(dict.fromkeys(columns["job"]))
    by = [name for name in ("job", *axes) if name != axes[0]]
    controls = [
        Control("y", "Vertical axis", [(name, words(name)) for name in metrics]),
        Control("x", "Horizontal axis", [(name, name) for name in dict.fromkeys((*axes, "job"))]),
        Control(
            "by",
            "Color",
            [(name, name) for name in by] + ([(axes[0], axes[0])] if axes[0] not in by else []),
        ),
        Control("scale", "Scale", [("linear", "linear"), ("log", "logarithmic")]),
    ]
    texts = {
        name: {json_key(value): _shown(name, value, units).text for value in dict.fromkeys(columns[name])}
        for name in dict.fromkeys(("job", *axes))
    }
    for name in texts:
        values = list(texts[name].items())
        # An axis that is neither across nor in color is fixed at a value: means over settings have no
        # meaning.
        choices = [*values, ("", "all")] if name in axes else [("", "all"), *values]
        controls.append(Control(f"only:{name}", f"{name}, where not an axis", choices))
    data = {
        "rows": {name: columns[name] for name in dict.fromkeys(("job", *axes, *metrics))},
        "units": {name: units.get(name, "") for name in (*axes, *metrics)},
        "texts": texts,
        "words": {name: words(name) for name in metrics},
        "axes": axes,
        "jobs": jobs,
        "t": STUDENT_T,
    }
    return Drawing(
        "sweep-chart",
        "Metrics over settings",
        "A setting that is neither on the axis nor in color is fixed at its selected value. "
        'With "all", points are means over its values, without intervals.',
        "sweep",
        data,
        controls,
        height=520,
    )


def json_key(value: Any) -> str:
    """A value as the script of the page writes it, for comparisons.

    >>> json_key(1.0), json_key(True), json_key("a"), json_key(None)
    ('1', 'true', 'a', 'null')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "null" if value is None else repr(value) if isinstance(value, float) else str(value)


def _table(
    columns: dict[str, list[Any]],
    axes: list[str],
    repeats: list[str],
    metrics: list[str],
    units: dict[str, str],
) -> Table:
    names = [*axes, *repeats, "job", *metrics[:12]]
    rows = []
    for row in zip(*(columns[name][:MOST_ROWS] for name in names), strict=True):
        rows.append([_shown(name, value, units) for name, value in zip(names, row, strict=True)])
    heads = [
        Column(words(name), number=True, help=name) if name in metrics else Column(name, number=False)
        for name in names
    ]
    count = len(columns["job"])
    caption = f"The first {len(rows):,} of {count:,} rows" if count > len(rows) else f"All {count:,} rows"
    return Table("sweep-rows", caption, heads, rows, search=True)


def _shown(name: str, value: Any, units: dict[str, str]) -> Cell:
    if value is None or isinstance(value, bool | str):
        return Cell("-" if value is None else str(value))
    unit = units.get(name, "")
    return Cell(quantity(value, unit).replace(" us", " µs") if unit else f"{value:.6g}", float(value))
