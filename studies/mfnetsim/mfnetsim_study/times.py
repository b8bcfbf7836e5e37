"""Times of the applications beside the stored ones: what README.md shows, and its figure.

`data/times.csv` has our means over ranks, which `compare.py --store` writes; theirs come from the overview of
the stored runs.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from study_tools import figures
from study_tools.figures import Drawing

from mfnetsim_study import stored
from mfnetsim_study.close import GOAL
from mfnetsim_study.report import Comparison

FILE = Path(__file__).parents[1] / "data" / "times.csv"

#: Column -> name of the quantity in a comparison, its place in the overview, name in the figure.
QUANTITIES = {
    "non_compute_ms": ("non-compute, mean", "comm_time_ns", "non-compute time"),
    "io_ms": ("I/O, mean", "io_time_ns", "I/O time"),
}


@dataclass(frozen=True)
class Difference:
    """A time of an application in a run."""

    run: str
    application: str
    column: str
    ours_ms: float
    stored_ms: float

    @property
    def percent(self) -> float:
        """Our time over theirs, less 1, in percent."""
        return 100 * (self.ours_ms / self.stored_ms - 1)


def write(comparisons: Sequence[Comparison]) -> None:
    """Stores our times of all runs with stored values."""
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "application", *QUANTITIES])
        for comparison in comparisons:
            for application, quantities in comparison.applications.items():
                ours = {one.name: one.ours for one in quantities if one.judged}
                found = [ours.get(name) for name, _, _ in QUANTITIES.values()]
                cells = ["" if value is None else f"{value:.2f}" for value in found]
                writer.writerow([comparison.ours.name, application, *cells])


def differences() -> list[Difference]:
    """All stored times beside those of the authors."""
    overview: Mapping[str, Any] = stored.summary()
    found = []
    with FILE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            theirs = overview[row["run"]]["apps"][row["application"]]
            for column, (_, place, _) in QUANTITIES.items():
                if row[column]:
                    stored_ms = 1e-6 * theirs[place]["mean"]
                    found.append(
                        Difference(row["run"], row["application"], column, float(row[column]), stored_ms)
                    )
    return found


def figure() -> Figure:
    """Difference of each time from the stored run, a row per run and application, with a band of the goal."""
    found = differences()
    names = list(dict.fromkeys((one.run, one.application) for one in found))
    picture, (axes,) = figures.panels(5.2)
    axes.axvspan(-100 * GOAL, 100 * GOAL, color=figures.BAND)
    axes.axvline(0, color=figures.REFERENCE, linewidth=0.8)
    for turn, (column, (_, _, label)) in enumerate(QUANTITIES.items()):
        times = [one for one in found if one.column == column]
        axes.plot(
            [one.percent for one in times],
            [names.index((one.run, one.application)) for one in times],
            figures.MARKERS[turn],
            color=figures.COLORS[turn],
            fillstyle="none",
            # One around the other where they are equal.
            markersize=5 + 3 * turn,
            label=label,
        )
    figures.rows(axes, [f"{run}, {application}" for run, application in names])
    axes.set_xlim(-6, 6)
    axes.set_xlabel(f"difference from the stored run, % (shaded: the goal of {100 * GOAL:.0f}%)")
    figures.legend(picture, axes, 2)
    return picture


FIGURE = Drawing("mfnetsim-times", figure)
