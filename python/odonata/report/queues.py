"""Queues of the links that `run.queue_links` names: fill of their buffers over time, waiting packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from odonata.report.blocks import Chart, axis, duration
from odonata.report.contents import Contents

#: Most links that a chart shows: as many as there are colors that can be told apart.
MOST_LINKS = 10


def charts(contents: Contents) -> list[Chart]:
    """The charts; none if no queue was recorded."""
    if "queue_series" not in contents.results.tables or contents.interval_s is None:
        return []
    columns = ["link", "name", "start_s", "buffered_bytes", "capacity_bytes", "waiting_packets", "stalled_s"]
    rows = contents.rows("queue_series", columns)
    if not rows:
        return []
    fill: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    waiting: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    names: dict[int, str] = {}
    for row in rows:
        link, interval = row["link"], round(row["start_s"] / contents.interval_s)
        names[link] = row["name"]
        fill[link][interval] = max(fill[link][interval], row["buffered_bytes"] / row["capacity_bytes"])
        waiting[link][interval] += row["waiting_packets"]
    # The links with the most waiting packets; of those without any, the fullest.
    order = sorted(names, key=lambda link: (-sum(waiting[link].values()), -sum(fill[link].values()), link))
    shown = order[:MOST_LINKS]
    left = (
        f" The {MOST_LINKS} of {len(order)} links at which most packets wait."
        if len(order) > MOST_LINKS
        else ""
    )
    means = f"mean over intervals of {duration(contents.interval_s)}.{left}"
    made = [
        _chart(
            contents,
            (
                "queues-fill",
                "Buffers behind chosen links",
                f"Share of the fullest virtual channel's buffer in use, {means}",
            ),
            [(names[link], fill[link]) for link in shown],
            ("buffer in use", "share", "at %{x:.4~s}s: %{y:.1%} of the buffer"),
        )
    ]
    if any(waiting[link] for link in shown):
        made.append(
            _chart(
                contents,
                (
                    "queues-waiting",
                    "Packets that wait for chosen links",
                    f"Packets in the router that wait for the link, {means}",
                ),
                [(names[link], waiting[link]) for link in shown],
                ("packets", None, "at %{x:.4~s}s: %{y:.3~g} packets wait"),
            )
        )
    return made


def _chart(
    contents: Contents,
    words: tuple[str, str, str],
    series: list[tuple[str, Mapping[int, float]]],
    y: tuple[str, str | None, str],
) -> Chart:
    """A line per link over all intervals of the run; intervals without a row are 0."""
    interval_s = contents.interval_s or 0.0
    last = max((number for _, values in series for number in values), default=0)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": [(number + 0.5) * interval_s for number in range(last + 1)],
            "y": [values.get(number, 0.0) for number in range(last + 1)],
            "color": color,
            "hovertemplate": f"{y[2]}<extra>{name}</extra>",
        }
        for color, (name, values) in enumerate(series)
    ]
    name, title, caption = words
    units = () if y[1] is None else (y[1],)
    layout = {"xaxis": axis("simulated time", "s"), "yaxis": axis(y[0], *units, rangemode="tozero")}
    return Chart(name, title, caption, traces, layout, time=True)
