"""The paper's figures 6 to 16, drawn from runs of Odonata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from tpds2016_study.bluegene import Time
from tpds2016_study.claims_torus import DIMENSIONS, spread
from tpds2016_study.measures import PROGRAMS, ROUTINGS, Point, Run

COLORS = ("#c4501b", "#0b6e75", "#6b5b95", "#b8860b")
NAMES = tuple(PROGRAMS.values())
PANELS = (
    ("hops", "cables per packet", 1.0),
    ("latency", "packet latency, us", 1e6),
    ("communication", "time in MPI, ms", 1e3),
    ("terminal", "buffers full: node links, ms", 1e3),
    ("local", "local links, ms", 1e3),
    ("global", "global links, ms", 1e3),
)


@dataclass(frozen=True)
class Data:
    """The data of all figures."""

    grid: Sequence[Run]
    points: Sequence[Point]
    #: Runs with the paper's ranks, and their distributions.
    paper: Sequence[Run]
    paper_points: Sequence[Point]
    times: Sequence[Time]


def draw(folder: Path, data: Data) -> list[str]:
    """Writes the figures; equal drawings are equal files. Returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "tpds2016-dragonfly.svg": dragonfly(data.grid, data.points),
        "tpds2016-torus.svg": torus(data.grid),
        "tpds2016-bluegene.svg": bluegene(data.times),
    }
    machines = {run.machine for run in data.paper}
    if "dragonfly" in machines:
        pictures["tpds2016-paper-dragonfly.svg"] = dragonfly(data.paper, data.paper_points)
    if machines & set(DIMENSIONS):
        pictures["tpds2016-paper-torus.svg"] = torus(data.paper)
    with matplotlib.rc_context({"svg.hashsalt": "tpds2016"}):
        for name, picture in pictures.items():
            picture.savefig(folder / name, metadata={"Date": None})
    return list(pictures)


def dragonfly(runs: Sequence[Run], points: Sequence[Point]) -> Figure:
    """Cumulative distributions over ranks and links: figures 9 to 12 and 14; a row per program."""
    programs = [name for name in NAMES if any(run.program == name for run in runs)]
    picture = Figure(figsize=(12.5, len(programs) / len(NAMES) * 6.4), layout="constrained")
    for row, program in enumerate(programs):
        for column, (what, title, scale) in enumerate(PANELS):
            axes = picture.add_subplot(len(programs), len(PANELS), row * len(PANELS) + column + 1)
            for color, routing in zip(COLORS, ROUTINGS.values(), strict=False):
                names = {
                    run.name
                    for run in runs
                    if (run.machine, run.program, run.routing) == ("dragonfly", program, routing)
                }
                chosen = [point for point in points if point.run in names and point.what == what]
                axes.plot(
                    [scale * point.value for point in chosen],
                    [100 * point.share for point in chosen],
                    color=color,
                    linewidth=1.4,
                    label=routing,
                )
            plain(axes)
            if row == 0:
                axes.set_title(title, fontsize=8, loc="left")
            if column == 0:
                axes.set_ylabel(f"{program}: % of all", fontsize=8)
    picture.axes[0].legend(fontsize=7, frameon=False)
    return picture


def torus(runs: Sequence[Run]) -> Figure:
    """Means over dimensions: figures 13, 15 and 16."""
    picture = Figure(figsize=(9, 2.8), layout="constrained")
    measures = (
        ("communication_s", "longest time in MPI, ms", 1e3),
        ("latency_s", "mean packet latency, us", 1e6),
        ("hops", "mean cables per packet", 1.0),
    )
    for place, (measure, title, scale) in enumerate(measures):
        axes = picture.add_subplot(1, 3, place + 1)
        for number, program in enumerate(NAMES):
            for tick, machine in enumerate(DIMENSIONS):
                found = [run for run in runs if (run.program, run.machine) == (program, machine)]
                if found:
                    value = scale * getattr(min(found, key=spread), measure)
                    label = program if program not in axes.get_legend_handles_labels()[1] else None
                    axes.bar(tick + 0.27 * (number - 1), value, 0.25, color=COLORS[number], label=label)
        axes.set_xticks(range(len(DIMENSIONS)), DIMENSIONS)
        axes.set_title(title, fontsize=8, loc="left")
        plain(axes)
    picture.axes[2].legend(fontsize=7, frameon=False, loc="upper right")
    return picture


def bluegene(times: Sequence[Time]) -> Figure:
    """Half a round trip over bytes: figures 6 to 8."""
    picture = Figure(figsize=(9, 3), layout="constrained")
    styles = {"one pair": "-", "one pair, mesh": ":", "all pairs": "--"}
    for place, machine in enumerate(("P", "Q")):
        axes = picture.add_subplot(1, 2, place + 1)
        distances = sorted({time.hops for time in times if time.machine == machine})
        for color, hops in zip(COLORS, distances, strict=False):
            for pairs, style in styles.items():
                chosen = [
                    time for time in times if (time.machine, time.hops, time.pairs) == (machine, hops, pairs)
                ]
                label = f"{hops} hops" if pairs == "one pair" else None
                axes.plot(
                    [time.bytes for time in chosen],
                    [1e6 * time.seconds for time in chosen],
                    style,
                    color=color,
                    linewidth=1.3,
                    label=label,
                )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"Blue Gene/{machine}: half a round trip, us, over bytes", fontsize=8, loc="left")
        axes.legend(fontsize=7, frameon=False)
        plain(axes)
    return picture


def plain(axes: Any) -> None:
    """Small numbers, a thin grid."""
    axes.tick_params(which="both", labelsize=7)
    axes.grid(visible=True, linewidth=0.3)
