"""A latency-load curve for people: a table, and a picture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, TextIO

from odonata.load_sweep import Progress, unit
from odonata.pictures import save
from odonata.progress import LOG_EVERY_S, LiveLine
from odonata.terminal import console, explain, show_table, table
from odonata.wording import digits, duration


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
        remarks.append("interrupted: loads that had not ended are missing")
    reasons = [
        f"- {point['offered']:.4g}: {point['reason']}" for point in report["points"] if point["reason"]
    ]
    return remarks + reasons


def draw(report: dict[str, Any], file: Path) -> None:
    """Writes the curve to `file`, whole or not at all: latency and accepted load over offered load."""
    from matplotlib.figure import Figure

    points = report["points"]
    name = unit(points)
    figure = Figure(figsize=(7, 6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    stable = [point for point in points if not point["saturated"] and point[f"latency_{name}"]]
    for key, label in (("mean", "mean"), ("p99", "99th percentile"), ("network_mean", "mean in the network")):
        drawn = [(p["offered"], p[f"latency_{name}"][key]) for p in stable]
        drawn = [(x, y) for x, y in drawn if y is not None]
        upper.plot([x for x, _ in drawn], [y for _, y in drawn], marker="o", markersize=3, label=label)
    high = report["saturation"]["first_saturated"]
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
        if high is not None:
            axes.axvline(high, color="tab:red", linestyle=":", label="saturated")
    upper.set_ylim(bottom=0)
    upper.set_ylabel(f"latency [{name}]")
    upper.set_title(f"{report['name'] or 'sweep'}: {report['job']}")
    if points:
        offered = [point["offered"] for point in points]
        lower.plot(offered, [p["accepted"] for p in points], marker="o", markersize=3, label="accepted")
        lower.plot([0, max(offered)], [0, max(offered)], color="grey", linewidth=0.8, label="offered")
    lower.set_xlabel("offered load [fraction of the terminal link's bandwidth per sending rank]")
    lower.set_ylabel("accepted")
    for axes in (upper, lower):
        axes.legend(loc="upper left", fontsize="small")
    save(figure, file)


class SweepLine(LiveLine):
    """Shows how far a sweep has come: a live line on a terminal, a line now and then elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._logged_s = time.perf_counter()

    def __call__(self, now: Progress) -> None:
        """Shows `now`."""
        loads = ", ".join(f"{load:.4g}" for load in now.running)
        text = f"{now.done} of {now.planned} loads"
        if loads:
            text += f" | running {loads} | {now.packets:,} packets"
        if self._live is not None:
            self._live.update(text)
        elif time.perf_counter() - self._logged_s >= LOG_EVERY_S:
            self._console.print(text, soft_wrap=True, markup=False)
            self._logged_s = time.perf_counter()
