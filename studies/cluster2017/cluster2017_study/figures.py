"""Figures 5 to 9 of the paper, drawn from runs of Odonata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from cluster2017_study.claims import sizes, where
from cluster2017_study.measures import PLACEMENTS, Completion, Run

COLORS = dict(zip(PLACEMENTS.values(), ("#0b6e75", "#c4501b", "#6b5b95"), strict=True))
ROUTINGS = ("adaptive", "minimal")


def draw(folder: Path, runs: Sequence[Run], completions: Sequence[Completion]) -> list[str]:
    """Writes the figures; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = {
        "cluster2017-figure-5.svg": latency(runs, "random"),
        "cluster2017-figure-6.svg": latency(runs, "nearest"),
        "cluster2017-figure-7.svg": times(runs, "random"),
        "cluster2017-figure-8.svg": times(runs, "nearest"),
        "cluster2017-figure-9.svg": completion(completions),
    }
    for name, figure in figures.items():
        _write(folder / name, figure)
    return list(figures)


def draw_completion(file: Path, completions: Sequence[Completion]) -> None:
    """Writes figure 9 alone."""
    _write(file, completion(completions))


def _write(file: Path, figure: Figure) -> None:
    # Equal drawings are equal files.
    with matplotlib.rc_context({"svg.hashsalt": "cluster2017"}):
        figure.savefig(file, metadata={"Date": None})


def latency(runs: Sequence[Run], buffers: str) -> Figure:
    """Mean latency of background packets, with lines from the smallest to the largest: figures 5 and 6."""
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
                axes.bar(column - 0.2, 1e3 * run.checkpoint_s, 0.4, color=color)
                axes.bar(
                    column + 0.2,
                    1e3 * run.checkpoint_alone_s,
                    0.4,
                    facecolor="none",
                    edgecolor=color,
                    hatch="////",
                )
        _dress(axes, runs, f"({'ab'[place - 1]}) {buffers} buffers, {routing} routing")
    if first is not None:
        figure.axes[0].set_ylabel("time of the scaled checkpoint, ms", fontsize=8)
    _legend(figure)
    return figure


def completion(completions: Sequence[Completion]) -> Figure:
    """Completion time of each rank of the smallest job, sorted, as figure 9."""
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for place, buffers in enumerate(("random", "nearest"), start=1):
        axes = figure.add_subplot(1, 2, place)
        for placement, color in COLORS.items():
            ends = sorted(
                1e3 * one.end_s for one in completions if (one.buffers, one.placement) == (buffers, placement)
            )
            if ends:
                axes.plot(range(1, len(ends) + 1), ends, color=color, linewidth=1.4)
        axes.set_title(f"({'ab'[place - 1]}) {buffers} buffers, minimal routing", fontsize=8, loc="left")
        axes.set_xlabel("ranks, by the time at which they had written", fontsize=8)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
        axes.grid(visible=True, linewidth=0.3)
    figure.axes[0].set_ylabel("time to complete, ms", fontsize=8)
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
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=7, frameon=False)
