"""Figures 5 to 9 of the paper, drawn from runs of Odonata; dashed, the numbers that its text prints.

Times are those of the whole checkpoint: of a scaled one, times what it is smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from cluster2017_study.claims import sizes, where
from cluster2017_study.measures import PLACEMENTS, Completion, Run

COLORS = dict(zip(PLACEMENTS.values(), ("#0b6e75", "#c4501b", "#6b5b95"), strict=True))
ROUTINGS = ("adaptive", "minimal")
#: The worst packet: 4,700 times the mean of 0.001 ms (abstract, figure 5a); 5 to 25 times the worst one
#: without checkpoint (V-E, figure 6b).
WORST_MS = 4.7
WORST_RATIOS = (5.0, 25.0)
#: Seconds for 60 GiB on one device (V-F), and the first and the last rank of figure 9a.
DEVICE_S = 10.0
RANKS_S = (0.4, 16.0)
#: Lines of the paper's numbers.
PRINTED: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 0.8}


def draw(
    folder: Path,
    runs: Sequence[Run],
    completions: Sequence[Completion],
    single: Sequence[Run] = (),
    *,
    prefix: str = "cluster2017",
    numbers: Sequence[int] = (5, 6, 7, 8, 9),
) -> list[str]:
    """Writes the figures with these numbers; returns their names.

    `single` are runs at scale 1, for single packets.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[int, Callable[[], Figure]] = {
        5: lambda: latency(runs, "random", single),
        6: lambda: latency(runs, "nearest", single),
        7: lambda: times(runs, "random"),
        8: lambda: times(runs, "nearest"),
        9: lambda: completion(runs, completions),
    }
    names = {number: f"{prefix}-figure-{number}.svg" for number in numbers}
    for number, name in names.items():
        _write(folder / name, figures[number]())
    return list(names.values())


def _write(file: Path, figure: Figure) -> None:
    # Equal drawings are equal files.
    with matplotlib.rc_context({"svg.hashsalt": "cluster2017"}):
        figure.savefig(file, metadata={"Date": None})


def latency(runs: Sequence[Run], buffers: str, single: Sequence[Run] = ()) -> Figure:
    """Mean latency of background packets, with lines from the smallest to the largest: figures 5 and 6.

    Crosses are worst packets at scale 1.
    """
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    chosen = where(runs, buffers=buffers)
    first = None
    for place, routing in enumerate(ROUTINGS, start=1):
        axes = first = figure.add_subplot(1, 2, place, sharey=first)
        for column, (_, mark) in _columns(runs):
            for run in where(chosen, routing=routing, nodes=mark[0], placement=mark[1]):
                low, mean, high = (
                    1e3 * v for v in (run.latency_min_s, run.latency_mean_s, run.latency_max_s)
                )
                axes.vlines(column, low, high, color=COLORS[run.placement], linewidth=2)
                axes.plot(column, mean, "o", color=COLORS[run.placement], markersize=4)
            for run in where(single, buffers=buffers, routing=routing, nodes=mark[0], placement=mark[1]):
                axes.plot(column, 1e3 * run.latency_max_s, "x", color=COLORS[run.placement], markersize=5)
        if (buffers, routing) == ("random", "adaptive"):
            axes.axhline(WORST_MS, **PRINTED)
        if (buffers, routing) == ("nearest", "minimal"):
            without = [1e3 * run.latency_max_alone_s for run in where(chosen, routing=routing)]
            for ratio in WORST_RATIOS if without else ():
                axes.axhline(ratio * sum(without) / len(without), **PRINTED)
        alone = [1e3 * run.latency_mean_alone_s for run in where(chosen, routing=routing)]
        if alone:
            axes.axhline(sum(alone) / len(alone), color="red", linewidth=0.8)
        axes.set_yscale("log")
        _dress(axes, runs, f"({'ab'[place - 1]}) {buffers} buffers, {routing} routing")
    if first is not None:
        figure.axes[0].set_ylabel("packet latency of background traffic, ms", fontsize=8)
    _legend(figure)
    return figure


def times(runs: Sequence[Run], buffers: str) -> Figure:
    """Time of the checkpoint with background traffic (solid) and without (hatched), as figures 7 and 8."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    chosen = where(runs, buffers=buffers)
    first = None
    for place, routing in enumerate(ROUTINGS, start=1):
        axes = first = figure.add_subplot(1, 2, place, sharey=first)
        for column, (_, mark) in _columns(runs):
            for run in where(chosen, routing=routing, nodes=mark[0], placement=mark[1]):
                color = COLORS[run.placement]
                axes.bar(column - 0.2, run.whole * run.checkpoint_s, 0.4, color=color)
                axes.bar(
                    column + 0.2,
                    run.whole * run.checkpoint_alone_s,
                    0.4,
                    facecolor="none",
                    edgecolor=color,
                    hatch="////",
                )
        if buffers == "nearest":
            axes.axhline(DEVICE_S, **PRINTED)
        _dress(axes, runs, f"({'ab'[place - 1]}) {buffers} buffers, {routing} routing")
    if first is not None:
        figure.axes[0].set_ylabel("time of the checkpoint, s", fontsize=8)
    _legend(figure)
    return figure


def completion(runs: Sequence[Run], completions: Sequence[Completion]) -> Figure:
    """Completion time of each rank of the smallest job, sorted, as figure 9."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    whole = {run.nodes: run.whole for run in runs}
    for place, buffers in enumerate(("random", "nearest"), start=1):
        axes = figure.add_subplot(1, 2, place)
        for placement, color in COLORS.items():
            ends = sorted(
                whole[one.nodes] * one.end_s
                for one in completions
                if (one.buffers, one.placement) == (buffers, placement)
            )
            if ends:
                axes.plot(range(1, len(ends) + 1), ends, color=color, linewidth=1.4)
        for seconds in RANKS_S if buffers == "random" else ():
            axes.axhline(seconds, **PRINTED)
        axes.set_title(f"({'ab'[place - 1]}) {buffers} buffers, minimal routing", fontsize=8, loc="left")
        axes.set_xlabel("ranks, by the time at which they had written", fontsize=8)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
        axes.grid(visible=True, linewidth=0.3)
    figure.axes[0].set_ylabel("time to complete, s", fontsize=8)
    _legend(figure)
    return figure


def _columns(runs: Sequence[Run]) -> list[tuple[float, tuple[str, tuple[int, str]]]]:
    """Position of each size and placement on the axis: placements of a size side by side."""
    found = []
    for i, nodes in enumerate(sizes(runs)):
        for j, placement in enumerate(COLORS):
            found.append((4.0 * i + j, (f"{nodes}", (nodes, placement))))
    return found


def _dress(axes: Any, runs: Sequence[Run], title: str) -> None:
    axes.set_title(title, fontsize=8, loc="left")
    axes.set_xticks([4.0 * i + 1 for i in range(len(sizes(runs)))], [f"{nodes:,}" for nodes in sizes(runs)])
    axes.set_xlabel("nodes that write the checkpoint", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(visible=True, axis="y", linewidth=0.3)


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, linewidth=4, label=name) for name, color in COLORS.items()]
    lines = [line.get_linestyle() for axes in figure.axes for line in axes.lines]
    if PRINTED["linestyle"] in lines:
        handles.append(Line2D([], [], label="printed in the paper", **PRINTED))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=7, frameon=False)
