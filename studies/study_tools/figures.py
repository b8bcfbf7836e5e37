"""Figures of studies in `docs/figures`: one style, and equal files for equal data.

A figure is drawn on white, which both color schemes of the site show. Its series differ in marker or line
style, and not in color alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[2] / "docs" / "figures"

#: Colors of series in their order.
COLORS = ("#0b6e75", "#c4501b", "#6b5b95", "#b8860b", "#444444")
#: Markers of series in their order.
MARKERS = ("o", "s", "^", "D", "v")
#: Lines and bands that series are compared with.
REFERENCE, BAND = "#555555", "#e4e9ed"
#: Inches: 700 px on a page.
WIDTH = 7.3

#: Settings of matplotlib.
STYLE: Any = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.3,
    "grid.color": "#b0b0b0",
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
}


@dataclass(frozen=True)
class Drawing:
    """A figure of `docs/figures`, drawn from the stored results of a study."""

    name: str
    draw: Callable[[], Figure]

    @property
    def file(self) -> Path:
        """The stored figure."""
        return FOLDER / f"{self.name}.svg"

    def svg(self) -> str:
        """The figure; settings of the user's matplotlib do not matter."""
        drawn = io.StringIO()
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update({**STYLE, "svg.hashsalt": self.name})
            self.draw().savefig(drawn, format="svg", metadata={"Date": None})
        # Paths of matplotlib end in spaces.
        return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines()) + "\n"

    def write(self) -> None:
        """Writes the figure, and prints its name."""
        self.file.write_text(self.svg(), encoding="utf-8")
        print(f"written: docs/figures/{self.file.name}")


def panels(height: float, columns: int = 1, **shared: Any) -> tuple[Figure, Sequence[Axes]]:
    """An empty figure with a row of panels; `height` is in inches."""
    picture = Figure(figsize=(WIDTH, height), layout="constrained")
    return picture, list(picture.subplots(1, columns, squeeze=False, **shared)[0])


def rows(axes: Axes, names: Sequence[str]) -> None:
    """Names the rows 0, 1, 2, ... of a panel, from the top down, with lines between them."""
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", which="both", length=0)
    axes.grid(visible=False, axis="y")
    for place in range(1, len(names)):
        axes.axhline(place - 0.5, color=STYLE["grid.color"], linewidth=0.5)


def legend(picture: Figure, axes: Axes, columns: int) -> None:
    """A legend of the series of a panel, below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=columns)
