"""A latency-load curve for people: a table, and a picture."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TextIO

from odonata.base import notebook
from odonata.base.output_file import OutputFile
from odonata.base.pictures import save
from odonata.base.terminal import console, explain, show_table, table
from odonata.base.wording import digits, duration
from odonata.load_curves import figure
from odonata.load_curves.curve import Progress, unit
from odonata.running.progress import LiveLine


def show(report: dict[str, Any], stream: TextIO | None = None) -> None:
    """Prints the table of a curve to `stream` (default: standard output)."""
    out = console(stream)
    points = report["points"]
    name = unit(points)
    method = report["method"]["method"]
    explain(
        out, f"{report['name'] or 'sweep'}: {report['job']}, {report['senders']} ranks send, method {method}"
    )
    page = table(
        "load", "accepted", f"mean {name}", "p50", "p99", "max", "network", "hops", "packets", "CPU", ""
    )
    for point in points:
        latency = point[f"latency_{name}"] or {}
        page.add_row(
            f"{point['offered']:.4g}",
            f"{point['accepted']:.4f}",
            _mean(latency),
            *(_number(latency.get(key)) for key in ("p50", "p99", "max", "network_mean")),
            _number(point["hops"]),
            str(point["packets"]),
            duration(point["cpu_s"]),
            _state(point),
        )
    show_table(out, page)
    explain(out, *_remarks(report))


def _mean(latency: dict[str, Any]) -> str:
    if not latency:
        return "-"
    width = latency["half_width"]
    return _number(latency["mean"]) + (f" ±{digits(width)}" if width is not None else "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}" if value < 1e4 else f"{value:.0f}"


def _state(point: dict[str, Any]) -> str:
    if point["failed"]:
        return "failed"
    if point["saturated"]:
        return "saturated"
    return "" if point["converged"] else "not converged"


def _remarks(report: dict[str, Any]) -> list[str]:
    found = report["saturation"]
    low, high = found["last_stable"], found["first_saturated"]
    remarks = []
    if high is not None:
        remarks.append(f"saturates between {low or 0:.4g} and {high:.4g} of the terminal link's bandwidth")
    elif low is not None:
        remarks.append(f"not saturated up to {low:.4g} of the terminal link's bandwidth")
    if report["outcome"] == "interrupted":
        remarks.append("interrupted: unfinished loads are missing")
    reasons = [
        f"- {point['offered']:.4g}: {point['reason']}" for point in report["points"] if point["reason"]
    ]
    return remarks + reasons


def draw(report: dict[str, Any], output: OutputFile) -> None:
    """Writes the curve as a picture: latency and accepted load over offered load."""
    save(figure.draw(report), output)


def line(now: Progress) -> str:
    """One line of progress.

    >>> line(Progress(3, 20, (0.2, 0.25), 12000))
    '3 of 20 loads | running 0.2, 0.25 | 12,000 packets'
    """
    loads = ", ".join(f"{load:.4g}" for load in now.running)
    text = f"{now.done} of {now.planned} loads"
    return f"{text} | running {loads} | {now.packets:,} packets" if loads else text


class SweepLine(LiveLine):
    """The progress of a sweep: a live line on a terminal, a line now and then elsewhere."""

    def __call__(self, now: Progress) -> None:
        """Shows `now`."""
        self._update(line(now))


def load_progress(
    wanted: Callable[[Progress], None] | bool | None,
) -> contextlib.AbstractContextManager[Callable[[Progress], None] | None]:
    """The function to call with the progress of a load sweep: `wanted`, a line, or nothing."""
    return notebook.shown(wanted, lambda now: (line(now), now.done / max(1, now.planned)), SweepLine)
