"""The section about the machine: a map of its routers with the busiest links, drawn by a script of the
page.
"""

from __future__ import annotations

import math
from typing import Any

from odonata.analysis.measured import needed
from odonata.report.blocks import (
    Cell,
    Column,
    Control,
    Drawing,
    Section,
    Table,
    name_cell,
    share_cell,
    size_cell,
    time_cell,
)
from odonata.report.contents import Contents
from odonata.report.network import CLASSES, class_of

#: Most links of each class on the map, by each measure.
HOTTEST = 200
#: Most links in the table.
MOST_ROWS = 100
#: Most jobs for the filter of waits.
MOST_JOBS = 10


def section(contents: Contents) -> Section | None:
    """The section; None without routers."""
    if not contents.groups or not contents.links or contents.simulated_s <= 0:
        return None
    return Section(
        "machine",
        "The machine",
        "Each square is a router; a row is a group. Lines are the hottest links.",
        [_map(contents), _table(contents)],
    )


def positions(groups: list[int]) -> list[tuple[int, int]]:
    """Position of each router, (column, row): in the row of its group; in a square if there is one group.

    >>> positions([0, 0, 1, 1])
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    >>> positions([0, 0, 0, 0])
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    if len(set(groups)) == 1:
        width = math.ceil(math.sqrt(len(groups)))
        return [divmod(number, width)[::-1] for number in range(len(groups))]
    rows = {group: number for number, group in enumerate(sorted(set(groups)))}
    filled: dict[int, int] = {}
    found = []
    for group in groups:
        found.append((filled.get(group, 0), rows[group]))
        filled[group] = filled.get(group, 0) + 1
    return found


def _map(contents: Contents) -> Drawing:
    jobs = contents.shown[:MOST_JOBS] if contents.blames else []
    classes = [name for name in CLASSES if any(class_of(link) == name for link in contents.links)]
    waits = _waits(contents, jobs)
    places = positions(contents.groups)
    controls = [
        Control(
            "measure",
            "Show",
            [
                ("busy", "transmitting"),
                *([("saturation", "saturated")] if contents.fidelity.has_packets else []),
                *([("waits", "waits")] if jobs else []),
            ],
        ),
        Control("class", "Links", [("", "all links"), *((name, CLASSES[name]) for name in classes)]),
    ]
    if jobs:
        named = [(str(number), job) for number, job in enumerate(jobs)]
        controls += [
            Control("victim", "Of", [("", "any job"), *named]),
            Control("culprit", "For", [("", "any job"), ("other", "another job"), *named]),
        ]
    controls.append(Control("lines", "Lines", [("60", "60 hottest"), ("200", "200 hottest"), ("0", "none")]))
    data: dict[str, Any] = {
        "simulated_s": contents.simulated_s,
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "group": contents.groups,
        "classes": classes,
        "jobs": jobs,
        "packets": contents.fidelity.has_packets,
        "routers": _routers(contents, classes),
        "links": _links(contents, classes, waits),
        "waits": _router_waits(contents, classes, waits),
    }
    wide = len(set(contents.groups)) > 1
    return Drawing(
        "machine-map",
        "Map of routers and hot links",
        "The color of a router shows the hottest of its selected links; for waits, their "
        "sum. Hover over a router or the middle of a line for details. "
        + ("Waits: packets or messages that waited there, by job; " if jobs else "")
        + ("if a job is selected, those that it waited or caused. " if jobs else "")
        + "Single links are not recorded over time; charts over time show classes.",
        "machine",
        data,
        controls,
        height=max(420, min(820, 120 + 26 * (len(set(contents.groups)) if wide else 20))),
    )


def _number(value: float) -> float:
    """Colors and tooltips need three digits only."""
    return float(f"{value:.3g}")


def _source(link: dict[str, Any]) -> int:
    """The router at which a link is drawn: its sender, or the router of the sending node."""
    return int(link["target"] if link["source_kind"] == "node" else link["source"])


def _routers(contents: Contents, classes: list[str]) -> dict[str, dict[str, list[float]]]:
    """The largest share of time of a router's links, by measure, class and router."""
    count = len(contents.groups)
    found = {show: {name: [0.0] * count for name in classes} for show in ("busy", "saturation")}
    for link in contents.links:
        router, name = _source(link), class_of(link)
        for show, column in (("busy", "busy_s"), ("saturation", "saturation_s")):
            values = found[show][name]
            values[router] = max(values[router], _number(link[column] / contents.simulated_s))
    return found


def _waits(contents: Contents, jobs: list[str]) -> dict[int, dict[tuple[int, int], float]]:
    """link -> (victim, culprit) -> seconds waited; -1 is a job without a number, or unknown."""
    if not jobs:
        return {}
    table = needed(contents.results, "blame", ["link", "victim", "culprit", "waited_s"])
    sums = table.group_by(["link", "victim", "culprit"]).aggregate([("waited_s", "sum")])
    number = {job: place for place, job in enumerate(jobs)}
    found: dict[int, dict[tuple[int, int], float]] = {}
    columns = [sums[name].to_pylist() for name in ("link", "victim", "culprit", "waited_s_sum")]
    for link, victim, culprit, waited_s in zip(*columns, strict=True):
        if link >= 0:
            pairs = found.setdefault(link, {})
            pair = (number.get(victim, -1), number.get(culprit, -1))
            pairs[pair] = pairs.get(pair, 0.0) + waited_s
    return found


def _router_waits(
    contents: Contents, classes: list[str], waits: dict[int, dict[tuple[int, int], float]]
) -> list[list[float]]:
    """[router, class, victim, culprit, seconds], summed over links."""
    sums: dict[tuple[int, int, int, int], float] = {}
    links = {link["link"]: link for link in contents.links}
    for number, pairs in waits.items():
        link = links[number]
        for (victim, culprit), waited_s in pairs.items():
            key = (_source(link), classes.index(class_of(link)), victim, culprit)
            sums[key] = sums.get(key, 0.0) + waited_s
    return [[*key, _number(value)] for key, value in sums.items() if value > 0]


def _hottest(
    contents: Contents, classes: list[str], waits: dict[int, dict[tuple[int, int], float]]
) -> set[int]:
    """Numbers of the shown links: the largest of each class by each measure."""
    chosen: set[int] = set()
    for name in classes:
        mine = {link["link"]: link for link in contents.links if class_of(link) == name}
        for measure in ("busy_s", "saturation_s", "waits"):
            values = {
                number: sum(waits.get(number, {}).values()) if measure == "waits" else link[measure]
                for number, link in mine.items()
            }
            hottest = sorted(mine, key=values.__getitem__, reverse=True)[:HOTTEST]
            chosen |= {number for number in hottest if values[number] > 0}
    return chosen


def _links(
    contents: Contents, classes: list[str], waits: dict[int, dict[tuple[int, int], float]]
) -> list[list[Any]]:
    """Busiest links, in the form of the script.

    [name, class, router, router or -1, busy, saturated, bytes, [[victim, culprit, seconds], ...]].
    """
    found = []
    chosen = _hottest(contents, classes, waits)
    for link in contents.links:
        number = link["link"]
        if number not in chosen:
            continue
        ends = link["source_kind"] == "router" and link["target_kind"] == "router"
        found.append(
            [
                link["name"],
                classes.index(class_of(link)),
                _source(link),
                int(link["target"]) if ends else -1,
                _number(link["busy_s"] / contents.simulated_s),
                _number(link["saturation_s"] / contents.simulated_s),
                link["bytes"],
                [[*pair, _number(value)] for pair, value in waits.get(number, {}).items() if value > 0],
            ]
        )
    return found


def _table(contents: Contents) -> Table:
    routers = [link for link in contents.links if link["source_kind"] == "router"]
    packets = contents.fidelity.has_packets
    hottest = sorted(routers, key=lambda link: -link["busy_s"])[:MOST_ROWS]
    rows = [
        [
            name_cell(link["name"]),
            name_cell(CLASSES.get(link["class"], link["class"])),
            share_cell(link["busy_s"] / contents.simulated_s, shaded=True),
            *([time_cell(link["saturation_s"])] if packets else []),
            size_cell(link["bytes"]),
            *([Cell(f"{link['packets']:,}", link["packets"])] if packets else []),
        ]
        for link in hottest
        if link["busy_s"] > 0
    ]
    columns = [
        Column("link", number=False, help="r3>n12: from router 3 to node 12."),
        Column("class", number=False),
        Column("busy", help="Share of the simulated time during which it transmits."),
        *([Column("saturated", help="Time during which a packet found the next buffer full.")] * packets),
        Column("carried"),
        *([Column("packets")] * packets),
    ]
    return Table(
        "machine-links", f"Busiest links of routers ({len(rows)})", columns, rows, search=True, folded=True
    )
