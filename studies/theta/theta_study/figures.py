"""Ping-pong by distance, pairing by number of nodes, a pair by ranks, beside published numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from theta_study import published
from theta_study.machine import DISTANCES
from theta_study.runs import NODES, RANKS, SIZES, Time

COLORS = ("#c4501b", "#0b6e75", "#6b5b95", "#b8860b", "#444444")
NAME = "theta.svg"


def draw(folder: Path, times: Sequence[Time]) -> None:
    """Writes the figure; equal drawings are equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    picture = Figure(figsize=(12.5, 3.8), layout="constrained")
    ping_pong(picture.add_subplot(1, 3, 1), times)
    pairing(picture.add_subplot(1, 3, 2), times)
    ranks(picture.add_subplot(1, 3, 3), times)
    with matplotlib.rc_context({"svg.hashsalt": "theta"}):
        picture.savefig(folder / NAME, metadata={"Date": None})


def curve(axes: Any, found: Sequence[Time], style: str, color: str, label: str | None) -> None:
    """Half a round trip over the size; 0 B is drawn at 4 B."""
    chosen = sorted((time for time in found if time.bytes in SIZES), key=lambda time: time.bytes)
    xs = [max(time.bytes, 4) for time in chosen]
    axes.plot(xs, [1e6 * time.seconds for time in chosen], style, color=color, linewidth=1.3, label=label)


def ping_pong(axes: Any, times: Sequence[Time]) -> None:
    for color, where in zip(COLORS, DISTANCES, strict=False):
        for variant, style in (("preset", "-"), ("fitted", ":")):
            found = [t for t in times if (t.variant, t.test, t.where) == (variant, "ping-pong", where)]
            curve(axes, found, style, color, where if variant == "preset" else None)
    for point in published.LATENCIES[1:]:
        color = COLORS[list(DISTANCES).index(point.where)]
        axes.plot([point.bytes], [point.value], "o", color=color, markersize=5, fillstyle="none")
    title(axes, "ping-pong of a pair, us, over bytes", log=True)


def pairing(axes: Any, times: Sequence[Time]) -> None:
    for color, nodes in zip(COLORS, NODES, strict=False):
        for variant, style in (("preset", "-"), ("minimal", "--")):
            found = [t for t in times if (t.variant, t.test, t.nodes) == (variant, "pairing", nodes)]
            curve(axes, found, style, color, f"{nodes:,} nodes" if variant == "preset" else None)
    title(axes, "bisection pairing, slowest pair, us, over bytes", log=True)


def ranks(axes: Any, times: Sequence[Time]) -> None:
    for color, variant in zip(COLORS, ("preset", "fitted"), strict=False):
        rates = {
            t.ranks_per_node: t.rate / 1e9
            for t in times
            if (t.variant, t.test, t.where) == (variant, "one way", "same blade")
        }
        chosen = [count for count in RANKS if count in rates]
        axes.plot(chosen, [rates[count] for count in chosen], "-", color=color, label=variant)
    theirs = published.BLADE
    axes.plot(
        [point.ranks_per_node for point in theirs],
        [point.value for point in theirs],
        "o",
        color="#444444",
        fillstyle="none",
        label="Theta (read off a figure)",
    )
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    title(axes, "64 KiB between two nodes of a blade, GB/s, over ranks per node", log=False)


def title(axes: Any, text: str, *, log: bool) -> None:
    """Small letters, a thin grid."""
    if log:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
    axes.set_title(text, fontsize=8, loc="left")
    axes.tick_params(which="both", labelsize=7)
    axes.grid(visible=True, linewidth=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)
