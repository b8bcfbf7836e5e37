"""The HTML page of load sweeps: latency and accepted load of several machines, and what each is made of.

sweep.json has the ports, cables and bisection of a machine, and the proof that its routing is free of
deadlock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from odonata.base.wording import rate
from odonata.load_curves.curve import unit
from odonata.load_curves.load_sweep import LoadSweep
from odonata.machines import prices
from odonata.report.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Section,
    Table,
    axis,
    count_cell,
    rate_cell,
)
from odonata.report.page import page


def html(sweeps: Sequence[LoadSweep]) -> str:
    """The page of load sweeps."""
    names = _names(sweeps)
    machines = [sweep.description["machine"] for sweep in sweeps]
    title = names[0] if len(sweeps) == 1 else f"{len(sweeps)} load sweeps"
    sections = [
        Section(
            "curves", "Latency and accepted load", "How much traffic each network accepts, and how fast.",
            _curves(sweeps, names),
        ),
        Section(
            "machines", "Machines", "What each network is made of, and whether its routing can deadlock.",
            _machines(names, machines),
        ),
    ]  # fmt: skip
    return page(title, "Offered load: payload per sending rank, as a part of its terminal link.", sections)


def _names(sweeps: Sequence[LoadSweep]) -> list[str]:
    """A name per sweep; equal ones get the names of their folders.

    >>> _names([LoadSweep({"name": "a"}), LoadSweep({"name": None})])
    ['a', 'sweep 2']
    """
    names = [sweep.description["name"] or f"sweep {place}" for place, sweep in enumerate(sweeps, 1)]
    return [
        f"{name} ({sweep.path})" if names.count(name) > 1 else name
        for name, sweep in zip(names, sweeps, strict=True)
    ]


def _curves(sweeps: Sequence[LoadSweep], names: Sequence[str]) -> list[Block]:
    """Latency and accepted load over offered load, and a row per sweep."""
    # Cycles compare only if all traffic has a clock.
    units = {unit(sweep.points) for sweep in sweeps}
    name = units.pop() if len(units) == 1 else "ns"
    latency, accepted = [], []
    for color, (sweep, label) in enumerate(zip(sweeps, names, strict=True)):
        stable = [one for one in sweep.points if not one["saturated"] and one[f"latency_{name}"]]
        base = {"type": "scatter", "mode": "lines+markers", "name": label, "color": color}
        latency.append(
            base
            | {
                "x": [one["offered"] for one in stable],
                "y": [one[f"latency_{name}"]["mean"] for one in stable],
            }
        )
        accepted.append(
            base
            | {
                "x": [one["offered"] for one in sweep.points],
                "y": [one["accepted"] for one in sweep.points],
            }
        )
    offered = axis("offered load", "share", rangemode="tozero")
    rows = [
        [
            Cell(label),
            Cell(f"{sweep.description['job']}, {sweep.description['senders']} senders"),
            Cell(sweep.description["method"]["method"]),
            _load(low),
            _load(high),
            Cell(f"{best:.3g}", best),
        ]
        for sweep, label in zip(sweeps, names, strict=True)
        for low, high in [sweep.saturation]
        for best in [max((one["accepted"] for one in sweep.points), default=0.0)]
    ]
    columns = [
        Column("network", number=False),
        Column("traffic", number=False),
        Column("method", number=False),
        Column("highest stable load"),
        Column("lowest saturated load"),
        Column("most accepted", help="The largest accepted load of all points."),
    ]
    return [
        Chart(
            "latency-chart", "Latency", "Mean latency of packets at loads that do not saturate the network.",
            latency, {"xaxis": offered, "yaxis": axis(f"mean latency [{name}]", rangemode="tozero")},
        ),
        Chart(
            "accepted-chart", "Accepted load", "What arrives, in the unit of the offered load.",
            accepted, {"xaxis": offered, "yaxis": axis("accepted load", "share", rangemode="tozero")},
        ),
        Table("saturation-table", "Saturation", columns, rows),
    ]  # fmt: skip


def _load(value: float | None) -> Cell:
    return Cell("-" if value is None else f"{value:.4g}", value)


def _machines(names: Sequence[str], machines: Sequence[dict[str, Any]]) -> list[Block]:
    """A row per machine, and a row per machine and class of cables."""
    rows, cables = [], []
    for name, found in zip(names, machines, strict=True):
        cost = prices.of_machine(found, 0, prices.Prices())
        few, many = found["ports_per_router"]
        bisection = found["bisection"]
        rows.append(
            [
                Cell(name),
                Cell(found["kind"]),
                count_cell(found["nodes"]),
                count_cell(found["routers"]),
                Cell(str(many) if few == many else f"{few} to {many}", many),
                count_cell(found["free_ports"]),
                count_cell(sum(one["cables"] for one in found["links"])),
                Cell(
                    f"{'' if bisection['defined'] else 'at most '}{bisection['cables']}",
                    bisection["cables"],
                ),
                count_cell(found["diameter"]["routers"]),
                Cell(f"{rate(cost.total / found['nodes'])}", cost.total / found["nodes"]),
            ]
        )
        cables += [
            [
                Cell(name),
                Cell(one["class"]),
                count_cell(one["cables"]),
                rate_cell(one["bandwidth_bytes_per_s"]),
                Cell(f"{one['latency_s'] * 1e9:g} ns", one["latency_s"]),
            ]
            for one in found["links"]
        ]
    columns = [
        Column("network", number=False),
        Column("kind", number=False),
        Column("nodes"),
        Column("routers"),
        Column("ports of a router"),
        Column("free ports"),
        Column("cables"),
        Column("bisection", help="Cables between two halves of the machine."),
        Column("diameter", help="The longest of the shortest paths between routers, in cables."),
        Column("price per node", help="Routers and cables at the default prices of odonata advise, dollars."),
    ]
    of_cable = [
        Column("network", number=False),
        Column("class", number=False),
        Column("cables"),
        Column("bandwidth"),
        Column("latency"),
    ]
    of_proof = [
        Column("network", number=False),
        Column("virtual channels", help="Of each class of links."),
        Column("channels"),
        Column("dependencies"),
        Column("verdict", number=False),
        Column("proved on", number=False),
    ]
    return [
        Table("machines-table", "Networks", columns, rows),
        Table("cables-table", "Cables by class", of_cable, cables),
        Table(
            "proofs-table", "Channel dependency graphs of the routings", of_proof,
            [_proof(name, found["routing"]) for name, found in zip(names, machines, strict=True)],
        ),
    ]  # fmt: skip


def _proof(name: str, routing: dict[str, Any]) -> list[Cell]:
    """A row about the proof against deadlock."""
    is_free = routing["deadlock_free"]
    verdict = Cell("no cycle: free of deadlock") if is_free else Cell("a cycle: can deadlock", shade=1.0)
    channels = "/".join(str(one) for one in routing["virtual_channels"] if one)
    return [
        Cell(name),
        Cell(channels),
        count_cell(routing["channels"]),
        count_cell(routing["dependencies"]),
        verdict,
        Cell(routing["proved_on"]),
    ]
