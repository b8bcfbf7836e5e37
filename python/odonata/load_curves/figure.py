"""The figure of a latency-load curve, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from odonata.base.pictures import figure
from odonata.load_curves.curve import unit


def draw(report: Mapping[str, Any]) -> Any:
    """Latency and accepted load over offered load, from the contents of sweep.json."""
    points = report["points"]
    name = unit(points)
    made = figure(7.0, 6.0)
    upper, lower = made.subplots(2, 1, sharex=True, height_ratios=[2, 1])
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
    # A name is not a formula.
    upper.set_title(f"{report['name'] or 'sweep'}: {report['job']}", parse_math=False)
    if points:
        offered = [point["offered"] for point in points]
        lower.plot(offered, [p["accepted"] for p in points], marker="o", markersize=3, label="accepted")
        lower.plot([0, max(offered)], [0, max(offered)], color="grey", linewidth=0.8, label="offered")
    lower.set_xlabel("offered load [fraction of the terminal link's bandwidth per sending rank]")
    lower.set_ylabel("accepted")
    for axes in (upper, lower):
        axes.legend(loc="upper left", fontsize="small")
    return made


def compare(reports: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Any:
    """Mean latency and accepted load of sweeps over offered load; saturated points have no latency."""
    units = {unit(report["points"]) for report in reports}
    name = units.pop() if len(units) == 1 else "ns"
    made = figure(7.0, 6.0)
    upper, lower = made.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    for report, label in zip(reports, labels, strict=True):
        points = report["points"]
        means = [
            (point["offered"], point[f"latency_{name}"]["mean"])
            for point in points
            if not point["saturated"] and point[f"latency_{name}"]
        ]
        # A label with a leading underscore would be left out of the legend, and one with $ is not a formula.
        shown = label.replace("$", r"\$").lstrip("_") or "sweep"
        upper.plot([x for x, _ in means], [y for _, y in means], marker="o", markersize=3, label=shown)
        offered = [point["offered"] for point in points]
        lower.plot(offered, [point["accepted"] for point in points], marker="o", markersize=3, label=shown)
    upper.set_ylim(bottom=0)
    upper.set_ylabel(f"mean latency [{name}]")
    lower.set_xlabel("offered load [fraction of the terminal link's bandwidth per sending rank]")
    lower.set_ylabel("accepted")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    upper.legend(loc="upper left", fontsize="small")
    return made
