"""The section about the network: load and saturation of links by class, between groups, and over time."""

from __future__ import annotations

from typing import Any

from odonata.report import queues
from odonata.report.blocks import (
    Block,
    Chart,
    Column,
    Control,
    Section,
    Table,
    axis,
    count_cell,
    duration,
    name_cell,
    share_cell,
    size_cell,
    time_cell,
)
from odonata.report.contents import Contents
from odonata.report.quantiles import GRID
from odonata.scenario import run_fidelity

#: Classes in the order in which a packet meets them; "nic" are the links from nodes to their routers.
CLASSES = {
    "nic": "from nodes",
    "terminal": "to nodes",
    "local": "local",
    "column": "column",
    "global": "global",
}


#: Colors of the classes in the palette; further classes get the following numbers.
_COLORS = {"nic": 6, "terminal": 1, "local": 2, "column": 0, "global": 3}


def _color(name: str, number: int) -> int:
    return _COLORS.get(name, len(_COLORS) + number)


def class_of(link: dict[str, Any]) -> str:
    """Class of a link; links of nodes are a class of their own."""
    return "nic" if link["source_kind"] == "node" else str(link["class"])


def by_class(contents: Contents) -> dict[str, list[dict[str, Any]]]:
    """The links of each class."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CLASSES}
    for link in contents.links:
        found.setdefault(class_of(link), []).append(link)
    return {name: links for name, links in found.items() if links}


def section(contents: Contents) -> Section | None:
    """The section; None without links."""
    if not contents.links or contents.simulated_s <= 0:
        return None
    charts = [_load(contents), _between_groups(contents), _over_time(contents)]
    blocks: list[Block] = [table(contents), *(chart for chart in charts if chart is not None)]
    blocks += queues.charts(contents)
    lead = "Utilization of the links, by direction of each cable"
    if contents.fidelity.has_packets:
        lead += ", and the time during which packets found the next buffer full"
    if contents.fidelity.has(run_fidelity.ANALYTIC):
        lead += ". Jobs under the analytic model use no links"
    return Section("network", "Links", f"{lead}.", blocks)


def table(contents: Contents) -> Table:
    """A row per class."""
    packets = contents.fidelity.has_packets
    rows = []
    for name, links in by_class(contents).items():
        busy = sorted(link["busy_s"] / contents.simulated_s for link in links)
        saturated = [link["saturation_s"] for link in links]
        most = max(links, key=lambda link: link["busy_s"])
        rows.append(
            [
                name_cell(CLASSES.get(name, name)),
                count_cell(len(links)),
                share_cell(sum(busy) / len(busy), shaded=True),
                share_cell(busy[min(len(busy) - 1, int(0.99 * len(busy)))], shaded=True),
                share_cell(busy[-1], shaded=True),
                name_cell(most["name"] if most["busy_s"] else "-"),
                *(
                    [count_cell(sum(value > 0 for value in saturated)), time_cell(max(saturated))]
                    if packets
                    else []
                ),
                size_cell(sum(link["bytes"] for link in links)),
            ]
        )
    columns = [
        Column("class", number=False),
        Column("links", help="Directions of cables."),
        Column("busy, mean", help="Share of the simulated time during which a link transmits."),
        Column("busy, p99", help="99% of the links are less busy."),
        Column("busiest"),
        Column("which", number=False, help="r3>n12: from router 3 to node 12."),
        *(
            [
                Column("saturated links", help="Links for which a packet ever found the next buffer full."),
                Column("saturated, longest"),
            ]
            if packets
            else []
        ),
        Column("carried"),
    ]
    return Table("links-classes", "Links by class", columns, rows)


def _load(contents: Contents) -> Chart:
    """Sorted load of the links of each class."""
    traces = []
    shows = {"busy": ("transmitting", "busy_s")}
    if contents.fidelity.has_packets:
        shows["saturation"] = ("saturated", "saturation_s")
    for number, (name, links) in enumerate(by_class(contents).items()):
        for show, (_, column) in shows.items():
            ordered = sorted((link[column] / contents.simulated_s for link in links), reverse=True)
            # The grid is finer for the busiest links.
            places = sorted({min(len(ordered) - 1, int((1 - part) * len(ordered))) for part in GRID} | {0})
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": CLASSES.get(name, name),
                    "x": [(place + 1) / len(ordered) for place in places],
                    "y": [ordered[place] for place in places],
                    "color": _color(name, number),
                    "line": {"width": 2, "shape": "hv"},
                    "hovertemplate": "%{x:.2~%} of the links: %{y:.1%} of the time and more",
                    "when": {"show": show},
                }
            )
    return Chart(
        "links-load",
        "Distribution of utilization",
        "The share of a class's links, the hottest first, that is busy "
        + ("(or saturated) " if "saturation" in shows else "")
        + "for at least this share of the simulated time. A steep fall on the left means few "
        "hot spots; a high plateau means a full class.",
        traces,
        {
            "xaxis": axis("share of the links", "share", range=[0, 1]),
            "yaxis": axis("share of the time", "share", rangemode="tozero"),
        },
        [Control("show", "Show", [(show, words) for show, (words, _) in shows.items()])],
    )


def group_sums(contents: Contents) -> dict[tuple[int, int], dict[str, float]]:
    """Links between routers, by the groups of their ends: number, load, saturation and bytes."""
    groups = contents.groups
    found: dict[tuple[int, int], dict[str, float]] = {}
    for link in contents.links:
        if link["source_kind"] != "router" or link["target_kind"] != "router":
            continue
        key = (groups[link["source"]], groups[link["target"]])
        cell = found.setdefault(key, {"links": 0, "busy": 0.0, "most": 0.0, "saturation": 0.0, "bytes": 0})
        busy = link["busy_s"] / contents.simulated_s
        cell["links"] += 1
        cell["busy"] += busy
        cell["most"] = max(cell["most"], busy)
        cell["saturation"] += link["saturation_s"] / contents.simulated_s
        cell["bytes"] += link["bytes"]
    for cell in found.values():
        cell["busy"] /= cell["links"]
        cell["saturation"] /= cell["links"]
    return found


def _between_groups(contents: Contents) -> Chart | None:
    sums = group_sums(contents)
    groups = sorted({group for pair in sums for group in pair})
    if len(groups) < 2:
        return None
    shows = {
        "busy": ("mean share of the time transmitting", "%{z:.1%} busy, mean of "),
        "most": ("busiest link", "%{z:.1%} busy, the busiest of "),
        "saturation": ("mean share of the time saturated", "%{z:.1%} saturated, mean of "),
        "bytes": ("bytes carried", "%{z:.3~s}B over "),
    }
    if not contents.fidelity.has_packets:
        del shows["saturation"]
    traces = [
        {
            "type": "heatmap",
            "x": groups,
            "y": groups,
            "z": [[sums[a, b][show] if (a, b) in sums else None for b in groups] for a in groups],
            "customdata": [[sums[a, b]["links"] if (a, b) in sums else 0 for b in groups] for a in groups],
            "hovertemplate": "group %{y} to group %{x}<br>" + words + "%{customdata} links<extra></extra>",
            "scale": "heat",
            "colorbar": {"thickness": 12, "tickformat": "~s" if show == "bytes" else "~%"},
            "xgap": 1 if len(groups) <= 40 else 0,
            "ygap": 1 if len(groups) <= 40 else 0,
            "when": {"show": show},
        }
        for show, (_, words) in shows.items()
    ]
    return Chart(
        "links-groups",
        "Traffic between groups",
        ("Rows send, columns receive; the diagonal has the links within a group. Blank: no cable."),
        traces,
        {
            "xaxis": axis("to group", side="top", dtick=1 if len(groups) <= 40 else None),
            "yaxis": axis("from group", autorange="reversed", dtick=1 if len(groups) <= 40 else None),
            "square": True,
            "margin": {"t": 64, "b": 10},
        },
        [Control("show", "Show", [(name, words) for name, (words, _) in shows.items()])],
        height=560,
    )


def _over_time(contents: Contents) -> Chart | None:
    interval_s = contents.interval_s
    rows = contents.chosen("series", ["start_s", "class", "bytes", "busy_s"], kind="links")
    if interval_s is None or not rows:
        return None
    counts = {name: len(links) for name, links in by_class(contents).items()}
    numbers = contents.intervals_of(rows)
    traces = []
    for name in CLASSES:
        busy = {contents.interval_of(row): row["busy_s"] for row in rows if row["class"] == name}
        if busy:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": CLASSES[name],
                    "x": [(number + 0.5) * interval_s for number in numbers],
                    "y": [busy.get(number, 0.0) / interval_s / counts[name] for number in numbers],
                    "color": _color(name, 0),
                    "hovertemplate": f"at %{{x:.4~s}}s: %{{y:.1%}} busy<extra>{CLASSES[name]}</extra>",
                }
            )
    return Chart(
        "links-time",
        "Links over time",
        "Share of the time during which the routers' links of a class transmit, mean over "
        f"links and intervals of {duration(interval_s)}.",
        traces,
        {
            "xaxis": axis("simulated time", "s"),
            "yaxis": axis("busy", "share", rangemode="tozero"),
        },
        time=True,
    )
