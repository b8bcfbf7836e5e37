"""A sweep for people: a line of progress, a table of means with their intervals, sentences, failures."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from odonata.base import notebook
from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import duration, quantity
from odonata.running.progress import LiveLine
from odonata.sweeps import extremes, labels
from odonata.sweeps.labels import leading
from odonata.sweeps.scheduler import Progress
from odonata.sweeps.values import shown as shown_value
from odonata.sweeps.values import text as value_text

if TYPE_CHECKING:
    from odonata.sweeps.result import Sweep

#: Measures of each job in the table: with baselines, and without.
WITH_BASELINES = ("elapsed_s", "elapsed_ratio", "message_latency_p99_ratio", "io_ratio")
WITHOUT = ("elapsed_s", "mpi_s", "io_s")

_HEADINGS = {
    "elapsed_ratio": "slowdown",
    "message_latency_p99_ratio": "message p99",
    "io_ratio": "in I/O",
    "elapsed_s": "time",
    "mpi_s": "in MPI",
    "io_s": "in I/O",
}

#: Sources of randomness in a run, for a sweep whose seeds changed nothing.
VARIES = (
    "A seed changes random placement, drawn and adaptive routes, the arrivals and destinations of synthetic "
    "traffic, random assignment of storage servers, devices with random times, and starts with a jitter "
    "(jobs.start = { at, jitter })."
)

#: Most rows of the table; the files have all.
MOST_ROWS = 60

#: Most failures in the list.
MOST_FAILED = 20


def show(sweep: Sweep, stream: TextIO | None = None) -> None:
    """Prints the findings of a sweep."""
    out = console(stream)
    about = sweep.description
    seeds = about["seeds"]
    points = f"{about['points']} point{'s' if about['points'] != 1 else ''}"
    explain(
        out,
        f"{about['name']}: {about['outcome']}, {points}"
        f" with {'up to ' if _seeds_vary(sweep) else ''}{seeds} seed{'s' if seeds != 1 else ''} each, "
        f"{about['runs']['executed']} runs in {duration(about['wall_s'])}, {about['runs']['reused']} reused",
    )
    rows, names = _rows(sweep)
    if rows:
        say(out, "")
        keys, same = leading(sweep)
        page = table(*keys, "job", *(_HEADINGS[name] for name in names), "seeds", left=len(keys) + 1)
        for row in rows[:MOST_ROWS]:
            page.add_row(*row)
        show_table(out, page)
        if len(rows) > MOST_ROWS:
            say(out, f"... {len(rows) - MOST_ROWS} more rows in intervals.parquet")
        say(out, "")
        explain(out, *extremes.sentences(sweep), *seeds_alike(sweep))
        explain(out, *(f"{', '.join(others)}: vary with {key}." for key, others in same.items()))
        compared = [_HEADINGS[name] for name in names if name.endswith("_ratio")]
        explain(
            out,
            *([f"{', '.join(compared)}: together / alone."] if compared else []),
            f"Values are means over seeds ± half-width of the {100 * about['confidence']:g}% "
            "confidence interval.",
        )
    if sweep.path is not None:
        say(out, f"Tables: {sweep.path}/points.parquet, {sweep.path}/intervals.parquet")


def _seeds_vary(sweep: Sweep) -> bool:
    points = sweep.table.select(["point", "seed"]).to_pylist()
    counts: dict[int, set[int]] = {}
    for row in points:
        counts.setdefault(row["point"], set()).add(row["seed"])
    return len({len(seeds) for seeds in counts.values()}) > 1


def _rows(sweep: Sweep) -> tuple[list[list[str]], tuple[str, ...]]:
    """Rows of the table of means, and the measures of its columns."""
    found: dict[tuple[int, str], dict[str, dict[str, Any]]] = {}
    _, measured_rows = labels.collapsed(sweep.swept, sweep.intervals(*WITH_BASELINES, *WITHOUT).to_pylist())
    for row in measured_rows:
        found.setdefault((row["point"], row["job"]), {})[row["measure"]] = row
    with_baselines = any("elapsed_ratio" in measured for measured in found.values())
    names: tuple[str, ...] = WITH_BASELINES if with_baselines else WITHOUT
    names = tuple(name for name in names if any(name in measured for measured in found.values()))
    units = {one["key"]: one["unit"] for one in sweep.description["swept"]}
    rows = []
    shown, _ = leading(sweep)
    for (_, job), measured in found.items():
        first = next(iter(measured.values()))
        keys = [shown_value(first[key], units.get(key, "")) for key in shown]
        cells = [_mean(measured.get(name)) for name in names]
        rows.append([*keys, job, *cells, _seeds(measured)])
    return rows, names


def _seeds(measured: dict[str, dict[str, Any]]) -> str:
    """Number of seeds in a mean.

    >>> _seeds({"io_s": {"seeds": 5, "results": 5}}), _seeds({"io_s": {"seeds": 5, "results": 1}})
    ('5', '5, equal')
    """
    seeds = max(row["seeds"] for row in measured.values())
    equal = seeds > 1 and extremes.is_certain(next(iter(measured.values())))
    return f"{seeds}, equal" if equal else str(seeds)


def seeds_alike(sweep: Sweep) -> list[str]:
    """A note if seeds change no result, with the sources of randomness."""
    certain = {row["point"] for row in sweep.intervals().to_pylist() if extremes.is_certain(row)}
    if not certain:
        return []
    count = sweep.description["points"]
    where = "every point" if len(certain) == count else f"{len(certain)} of {count} points"
    return [
        f"At {where} all seeds gave equal results: nothing in these runs is random, so there "
        f"is no interval. {VARIES}"
    ]


def _mean(row: dict[str, Any] | None) -> str:
    """Mean and half-width.

    >>> _mean({"mean": 1.254, "half_width": 0.0312, "unit": ""}), _mean(None)
    ('1.25x ±0.03', '-')
    >>> _mean({"mean": 0.00125, "half_width": None, "unit": "s"})
    '1.25 ms'
    """
    if row is None:
        return "-"
    width = row["half_width"]
    if row["unit"]:
        shown = quantity(row["mean"], row["unit"])
        return shown if width is None else f"{shown} ±{quantity(width, row['unit'])}"
    places = 2 if row["mean"] < 10 else 1
    # As many places as show the width.
    if width and width < 0.5 * 10**-places:
        places = min(4, math.ceil(-math.log10(width)))
    return f"{row['mean']:.{places}f}x" + ("" if width is None else f" ±{width:.{places}f}")


def failures(sweep: Sweep) -> list[str]:
    """Failed runs, a line each."""
    lines = []
    for one in sweep.failed[:MOST_FAILED]:
        values = ", ".join(
            f"{key} = {value_text(value)}" for key, value in one["values"].items() if value is not None
        )
        alone = f", {one['alone']} alone" if one["alone"] else ""
        attempts = f" ({one['attempts']} attempts)" if one["attempts"] > 1 else ""
        where = f"point {one['point']}, seed {one['seed']}{alone}" + (f" ({values})" if values else "")
        detail = f": {one['detail']}" if one["detail"] else ""
        lines.append(f"{where}: {one['outcome']}{attempts}{detail}")
    if len(sweep.failed) > MOST_FAILED:
        lines.append(f"... and {len(sweep.failed) - MOST_FAILED} more, in sweep.json")
    return lines


def line(now: Progress) -> str:
    """One line of progress.

    >>> line(Progress(50, 200, 120, 30, 1, {"a": 0.5}, 60.0, 180.0))
    '50 of 200 points | 120 runs, 30 reused, 1 failed | 1 running | 3 min 00 s left'
    """
    parts = [f"{now.done} of {now.planned} points"]
    counts = [f"{now.runs} runs"]
    if now.reused:
        counts.append(f"{now.reused} reused")
    if now.failed:
        counts.append(f"{now.failed} failed")
    parts += [", ".join(counts), f"{len(now.running)} running"]
    if now.left_s is not None:
        parts.append(f"{duration(now.left_s)} left")
    return " | ".join(parts)


class SweepLine(LiveLine):
    """The progress of a sweep: a live line on a terminal, a line now and then elsewhere."""

    def __call__(self, now: Progress) -> None:
        """Shows `now`."""
        self._update(line(now), now.done / (now.planned or 1))


def sweep_progress(
    wanted: Callable[[Progress], None] | bool | None,
) -> contextlib.AbstractContextManager[Callable[[Progress], None] | None]:
    """The function to call with the progress of a sweep: `wanted`, a line, or nothing."""
    return notebook.shown(wanted, lambda now: (line(now), now.done / max(1, now.planned)), SweepLine)
