"""The figure of docs/lost-time-accuracy.md: predictions beside the slowdowns that they take away."""

from __future__ import annotations

from matplotlib.figure import Figure
from study_tools import figures
from study_tools.figures import Drawing

from lost_time_study.measure import read
from lost_time_study.table import DATA, held_up


def figure() -> Figure:
    """Predicted and actual time of each delayed job, both over its time alone."""
    late = held_up(read(DATA))
    picture, (axes,) = figures.panels(3.8)
    axes.axhline(1, color=figures.REFERENCE, linewidth=0.8)
    axes.plot([1, 2.1], [1, 2.1], "--", color=figures.REFERENCE, linewidth=0.8)
    axes.annotate("exact prediction", (2.08, 1), (0, -4), textcoords="offset points", ha="right", va="top")
    axes.annotate(
        "the run itself,\nno prediction", (1.52, 1.52), (8, -2), textcoords="offset points", va="top"
    )
    for turn, (adaptive, label) in enumerate(((False, "routing ignores load"), (True, "routing uses load"))):
        jobs = [one for one in late if one.adaptive == adaptive]
        axes.plot(
            [one.together_s / one.alone_s for one in jobs],
            [one.predicted_s / one.alone_s for one in jobs],
            figures.MARKERS[turn],
            color=figures.COLORS[turn],
            fillstyle="none",
            label=f"{label}, {len(jobs)} jobs",
        )
    axes.set_xlim(1, 2.1)
    axes.set_ylim(0.85, 1.6)
    axes.set_xlabel("time beside the other jobs / time alone")
    axes.set_ylabel("predicted time alone / time alone")
    axes.legend(loc="upper left")
    return picture


FIGURE = Drawing("lost-time-accuracy", figure)
