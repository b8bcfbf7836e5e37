"""A sweep as a picture: a measure of every job over a swept key, with confidence intervals."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from odonata.base.pictures import figure as empty
from odonata.errors import InputError, option
from odonata.sweeps import labels
from odonata.sweeps.labels import together
from odonata.sweeps.reader import Source, unknown
from odonata.sweeps.table import job_columns, measure_names, words
from odonata.sweeps.values import text as value_text

if TYPE_CHECKING:
    from odonata.sweeps.result import Sweep

#: Common names of measures, and their columns.
COMMON_NAMES = {
    "slowdown": "elapsed_ratio",
    "elapsed": "elapsed_s",
    "time": "elapsed_s",
    "runtime": "elapsed_s",
    "latency": "message_latency_mean_s",
    "bandwidth": "io_bandwidth_bytes_per_s",
}


def check(measure: str, x: str | None, swept: list[str]) -> None:
    """Raises `InputError` before any run if there is nothing to draw."""
    if measure not in measure_names():
        raise unknown(
            Source(),
            option("measure"),
            measure,
            measure_names(),
            "unknown measure",
            meant=COMMON_NAMES.get(measure),
        )
    if not swept:
        raise InputError("the sweep has no axis", key=option("plot"), expected="a sweep with an axis")
    if x is not None and x not in swept:
        raise unknown(Source(), option("x"), x, swept, "no swept key of that name:")


def figure(sweep: Sweep, measure: str, x: str | None) -> Any:
    """The figure, by matplotlib."""
    check(measure, x, sweep.swept)
    # Points that set different keys are shown by their names.
    swept, rows = sweep.swept, sweep.intervals(measure).to_pylist()
    if x is None:
        swept, rows = labels.collapsed(swept, rows)
        x = swept[0]
    # The axis of the picture comes first, so that keys which change with it belong to it.
    alike = together({key: [row[key] for row in rows] for key in dict.fromkeys([x, *swept])})
    others = [key for key in alike if key != x]
    made = empty(7.0, 4.5)
    axes = made.subplots()
    values = list(dict.fromkeys(row[x] for row in rows))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    series: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        label = ", ".join([row["job"], *(f"{key} = {_label(row[key])}" for key in others)])
        series.setdefault(label, []).append(row)
    width = 0.8 / max(1, len(series))
    for number, (label, members) in enumerate(series.items()):
        heights = [row["mean"] for row in members]
        errors = [row["half_width"] or 0.0 for row in members]
        if numbers:
            members = sorted(members, key=lambda row: row[x])
            axes.errorbar(
                [row[x] for row in members], [row["mean"] for row in members],
                yerr=[row["half_width"] or 0.0 for row in members],
                marker="o", markersize=4, capsize=3, label=label,
            )  # fmt: skip
        else:
            places = [values.index(row[x]) + (number - (len(series) - 1) / 2) * width for row in members]
            axes.bar(places, heights, width, yerr=errors, capsize=3, label=label)
    if not numbers:
        axes.set_xticks(range(len(values)), [textwrap.fill(_label(value), 24) for value in values])
    column = next(one for one in job_columns() if one.name == measure)
    unit = {one["key"]: one["unit"] for one in sweep.description["swept"]}.get(x, "")
    # Names are not formulas.
    along = f"{x} [{unit}]" if unit else x
    if others := alike[x]:
        along += "\nwith " + (others[0] if len(others) == 1 else f"{len(others)} keys that change with it")
    axes.set_xlabel(along, parse_math=False)
    ratio = measure.endswith("_ratio")
    unit = "together / alone" if ratio else column.unit
    named = words(measure)
    axes.set_ylabel(f"{named} [{unit}]" if unit else named, parse_math=False)
    axes.set_title(str(sweep.description["name"]), parse_math=False)
    if ratio:
        axes.axhline(1.0, color="grey", linewidth=0.8, linestyle=":")
    if all(row["mean"] is None or row["mean"] >= 0 for row in rows):
        # An error bar must not suggest a negative time.
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3, axis="y")
    if series:
        # Beside the axes, so that bars of any height stay visible.
        made.legend(loc="outside right upper", fontsize="small")
    return made


def _label(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else value_text(value)
