"""Charts of the time that jobs wait: by size, and by the time of submission.

Sizes are classes of node counts between powers of two: 1, 2 to 3, 4 to 7, and so on. Neighboring classes are
joined until few are left, so that lines stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from odonata.base.wording import counted
from odonata.batch_queue.summary import quantile
from odonata.report.blocks import Block, Chart, Text, axis

Value = Callable[[list[float]], float]

#: Lines of the chart by size, as functions of sorted waits.
LINES: dict[str, Value] = {
    "median": lambda waits: quantile(waits, 0.5),
    "mean": lambda waits: sum(waits) / len(waits),
    "p90": lambda waits: quantile(waits, 0.9),
    "largest": lambda waits: waits[-1],
}
#: Most classes of sizes over time, and intervals of the time.
MOST_CLASSES, INTERVALS = 4, 48

Jobs = Sequence[Mapping[str, Any]]


def charts(jobs: Jobs) -> list[Block]:
    """The waits of the jobs that started."""
    started = [job for job in jobs if job["wait_s"] is not None]
    if not started:
        return [Text(["No job started."])]
    return [_by_size(started), _over_time(started)]


def classes(jobs: Jobs, most: int | None = None) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Jobs by class of size, the smallest first; at most `most` classes, with about as many powers of two.

    >>> jobs = [{"nodes": nodes} for nodes in (1, 3, 2, 70, 9)]
    >>> [(name, len(members)) for name, members in classes(jobs)]
    [('1 node', 1), ('2-3 nodes', 2), ('8-15 nodes', 1), ('64-127 nodes', 1)]
    >>> [name for name, _ in classes(jobs, 2)]
    ['1-15 nodes', '16-127 nodes']
    """
    powers = [job["nodes"].bit_length() - 1 for job in jobs]
    first, last = min(powers), max(powers)
    width = 1 if most is None else -(-(last - first + 1) // most)
    found: dict[int, list[Mapping[str, Any]]] = {}
    for job, power in zip(jobs, powers, strict=True):
        found.setdefault((power - first) // width, []).append(job)
    begins = {place: first + place * width for place in sorted(found)}
    return [(_name(begin, min(begin + width, last + 1)), found[place]) for place, begin in begins.items()]


def _name(begin: int, end: int) -> str:
    """The class of numbers of nodes from 2^`begin` to below 2^`end`."""
    low, high = 1 << begin, (1 << end) - 1
    return counted(low, "node") if low == high else f"{low}-{high} nodes"


def _by_size(jobs: Jobs) -> Block:
    """Quantiles of the wait by class of size."""
    found = [(name, sorted(job["wait_s"] for job in members)) for name, members in classes(jobs)]
    names = [name.removesuffix(" nodes").removesuffix(" node") for name, _ in found]
    traces = [
        {
            "type": "scatter", "mode": "lines+markers", "name": label, "color": color, "x": names,
            "y": [value(waits) / 3600 for _, waits in found],
            "text": [counted(len(waits), "job") for _, waits in found],
            "hovertemplate": "%{x} nodes: %{y:.2f} h, %{text}<extra>" + label + "</extra>",
        }
        for color, (label, value) in enumerate(LINES.items())
    ]  # fmt: skip
    layout = {
        "xaxis": axis("nodes of the job", type="category"),
        "yaxis": axis("hours", rangemode="tozero"),
    }
    caption = "Time from submission to start, over the jobs of a class of sizes."
    return Chart("waits-by-size-chart", "Wait by size", caption, traces, layout, height=320)


def _over_time(jobs: Jobs) -> Block:
    """The mean wait of the jobs that were submitted in an interval, by class of size."""
    end = max(job["submit_s"] for job in jobs)
    width = end / INTERVALS if end > 0 else 1.0
    traces = []
    for color, (name, members) in enumerate(classes(jobs, MOST_CLASSES)):
        waits: dict[int, list[float]] = {}
        for job in members:
            waits.setdefault(min(INTERVALS - 1, int(job["submit_s"] / width)), []).append(job["wait_s"])
        places = sorted(waits)
        traces.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": name, "color": color,
                "x": [(place + 0.5) * width / 3600 for place in places],
                "y": [sum(waits[place]) / len(waits[place]) / 3600 for place in places],
                "text": [counted(len(waits[place]), "job") for place in places],
                "hovertemplate": "%{x:.1f} h: %{y:.2f} h, %{text}<extra>" + name + "</extra>",
            }
        )  # fmt: skip
    layout = {
        "xaxis": axis("hour of submission"),
        "yaxis": axis("hours", rangemode="tozero"),
    }
    caption = "Mean wait of the jobs that were submitted in an interval, by size."
    return Chart("waits-over-time-chart", "Wait over time", caption, traces, layout, height=320)
