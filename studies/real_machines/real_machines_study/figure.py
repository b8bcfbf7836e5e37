"""Odonata's numbers over the published ones, by machine."""

from __future__ import annotations

from matplotlib.figure import Figure
from study_tools.figures import BAND, COLORS, MARKERS, REFERENCE, Drawing, legend, panels, rows

from real_machines_study import table
from real_machines_study.entries import entries

#: Unit of a published number -> its kind.
KINDS = {"us": "latency", "ns": "latency", "GB/s": "bandwidth", "MB/s": "bandwidth", "x": "impact factor"}


def draw() -> Figure:
    """A row per machine, a mark per number to which nothing was fitted; lower bounds are left out."""
    found = [one for one in entries(table.stored()) if not one.made_of_it and not one.at_least]
    machines = list(dict.fromkeys(one.machine for one in found))
    picture, [axes] = panels(0.9 + 0.28 * len(machines))
    axes.axvspan(1 / 1.2, 1.2, color=BAND, linewidth=0)
    axes.axvline(1.0, color=REFERENCE, linewidth=0.8)
    for kind, color, marker in zip(dict.fromkeys(KINDS.values()), COLORS, MARKERS, strict=False):
        of_kind = [one for one in found if KINDS.get(one.unit) == kind]
        axes.plot(
            [one.ours / one.published for one in of_kind],
            [machines.index(one.machine) for one in of_kind],
            marker,
            color=color,
            fillstyle="none",
            label=kind,
        )
    axes.set_xscale("log")
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    rows(axes, machines)
    axes.set_xlabel("Odonata / published (shaded: within 20%)")
    legend(picture, axes, 3)
    return picture


FIGURE = Drawing("real-machines", draw)
