"""Impact factors of Odonata beside those of machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from gpcnet_study import published
from gpcnet_study.cells import MAP, VICTIMS
from gpcnet_study.machines import OWN_CONTROL
from gpcnet_study.measures import Row, slowest_impacts


def draw(folder: Path, rows: Sequence[Row]) -> None:
    """Writes the figure; equal drawings are equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "gpcnet"}):
        victim_map(rows).savefig(folder / "gpcnet.svg", metadata={"Date": None})


def victim_map(rows: Sequence[Row]) -> Figure:
    """A panel per aggressor: factors of each victim, Odonata's as bars, published ones as lines."""
    picture = Figure(figsize=(12, 3), layout="constrained")
    factors = {
        (row.machine, row.control, row.aggressor, row.percent, row.victim): factor
        for row, factor in slowest_impacts(rows).items()
        if row.suite == "map"
    }
    for place, cell in enumerate(MAP):
        machine, control, aggressor, percent = cell
        axes = picture.add_subplot(1, len(MAP), place + 1)
        for tick, victim in enumerate(VICTIMS):
            if (*cell, victim) in factors:
                axes.bar(tick, factors[*cell, victim], 0.7, color="#0b6e75")
            theirs = published.impact(machine, victim, aggressor, percent)
            # No machine was measured with a control that it lacks.
            if theirs is not None and control == OWN_CONTROL[machine]:
                axes.plot([tick - 0.45, tick + 0.45], [theirs.factor] * 2, color="#c4501b", linewidth=2)
        axes.set_yscale("log")
        axes.set_ylim(0.7, 1000)
        axes.axhline(1, color="grey", linewidth=0.5)
        axes.set_xticks(range(len(VICTIMS)), list(VICTIMS), rotation=90)
        axes.set_title(f"{machine}, {control}:\n{aggressor} {percent}%", fontsize=8, loc="left")
        axes.tick_params(labelsize=7)
    picture.axes[0].set_ylabel("congested / alone", fontsize=8)
    return picture
