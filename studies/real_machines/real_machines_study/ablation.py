"""What each mechanism of host and interface brings: given collectives with one mechanism less at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from study_tools.table import Table

from odonata.machines import measured, validation
from odonata.machines.measured import Point

HERE = Path(__file__).parents[1]
PAGE = HERE / "ABLATION.md"

#: Points that run in a fraction of a second. None of them was fitted.
MOST_RANKS, LARGEST = 32, 1 << 20

#: One point in so many, in the order of the table.
STRIDE = 3

#: Costs of the library that are those of table `mpi` by default.
DEFAULTS = {
    "mpi.send_delay": "300 ns",
    "mpi.send_overhead": "200 ns",
    "mpi.recv_overhead": "200 ns",
}

#: A rate at which local work takes no time.
INSTANT = "1000000 GB/s"


@dataclass(frozen=True)
class Mechanism:
    """Keys that switch a mechanism off, by preset; a preset that does not have it is left out."""

    name: str
    off: dict[str, dict[str, Any]]


MECHANISMS = (
    Mechanism("delay and overheads of the library", dict.fromkeys(("lumi", "leonardo", "fugaku"), DEFAULTS)),
    Mechanism(
        "eager copies by the processor",
        {
            preset: {"mpi.send_overhead_per_byte": "0 ns/B", "mpi.recv_overhead_per_byte": "0 ns/B"}
            for preset in ("leonardo", "fugaku")
        },
    ),
    Mechanism(
        "fetch of data that are not inline",
        {preset: {"mpi.fetch_delay": "0 s"} for preset in ("lumi", "leonardo", "fugaku")},
    ),
    Mechanism("overhead of a collective", {"leonardo": {"mpi.collective_overhead": "0 s"}}),
    Mechanism("completion by acknowledgment", {"lumi": {"mpi.acknowledged_above": "none"}}),
    Mechanism(
        "rendezvous by get", {preset: {"mpi.rendezvous": "put"} for preset in ("lumi", "leonardo", "fugaku")}
    ),
    Mechanism(
        "own delay of control messages",
        {
            "lumi": {"mpi.control_delay": "1910 ns"},
            "leonardo": {"mpi.control_delay": "692 ns"},
            "fugaku": {"mpi.control_delay": "1261 ns"},
        },
    ),
    Mechanism(
        "sums and copies inside collectives",
        {
            preset: {
                "mpi.reduce_rate": INSTANT,
                "mpi.reduce_rates": [],
                "mpi.copy_rate": INSTANT,
                "mpi.copy_rates": [],
            }
            for preset in ("lumi", "leonardo", "fugaku")
        },
    ),
    Mechanism("queues per peer", {preset: {"nic.queues": "fifo"} for preset in ("lumi", "fugaku")}),
    Mechanism(
        "rate of the interface",
        {"lumi": {"nic.rate": "25 GB/s"}, "leonardo": {"nic.rate": "25 GB/s", "nic.message_rates": []}},
    ),
    Mechanism("headers", {preset: {"network.header": "0 B"} for preset in ("lumi", "leonardo")}),
    Mechanism("detours inside groups", {"lumi": {"network.routing.in_group": "minimal"}}),
)


@dataclass(frozen=True)
class Agreement:
    """How far simulated times are from measured ones."""

    points: int
    mean_factor: float
    within: float

    @staticmethod
    def of(ratios: list[float]) -> Agreement:
        factor = math.exp(sum(abs(math.log(ratio)) for ratio in ratios) / len(ratios))
        return Agreement(len(ratios), factor, sum(abs(ratio - 1) <= 0.2 for ratio in ratios) / len(ratios))

    def shown(self) -> str:
        """The mean factor of error and the share within 20%."""
        return f"{self.mean_factor:.2f}, {100 * self.within:.0f}%"


def points(preset: str) -> list[Point]:
    """The given points of a preset that this study repeats."""
    given = [
        point
        for point in measured.points(preset)
        if point.split == "given"
        and point.ranks <= MOST_RANKS
        and point.bytes <= LARGEST
        and measured.workload(point) is not None
    ]
    return given[::STRIDE]


def agreement(preset: str, changes: dict[str, Any]) -> Agreement:
    """How far a preset with `changes` is from its points."""
    ratios = []
    for point in points(preset):
        simulated = validation.simulate(point, preset, changes)
        assert simulated is not None
        ratios.append(simulated / point.median_s)
    return Agreement.of(ratios)


def measure() -> Iterator[tuple[str, dict[str, Agreement]]]:
    """Name and agreement by preset: of the whole presets, then without each mechanism."""
    yield "all mechanisms", {preset: agreement(preset, {}) for preset in measured.MACHINES}
    for mechanism in MECHANISMS:
        found = {preset: agreement(preset, changes) for preset, changes in mechanism.off.items()}
        yield f"without: {mechanism.name}", found
    without: dict[str, dict[str, Any]] = {preset: {} for preset in measured.MACHINES}
    for mechanism in MECHANISMS:
        for preset, changes in mechanism.off.items():
            without[preset].update(changes)
    # An own delay of control messages is measured from that of the library.
    for changes in without.values():
        changes["mpi.control_delay"] = DEFAULTS["mpi.send_delay"]
    yield "without all of them", {preset: agreement(preset, changes) for preset, changes in without.items()}


def text(found: list[tuple[str, dict[str, Agreement]]]) -> str:
    """The page."""
    whole = dict(found)["all mechanisms"]
    rows = [
        [name, *(by[preset].shown() if preset in by else "" for preset in measured.MACHINES)]
        for name, by in found
    ]
    header = ["preset", *(f"{preset}, {whole[preset].points} points" for preset in measured.MACHINES)]
    return (
        "# Mechanisms of host and interface, one at a time\n\n"
        f"Collectives on at most {MOST_RANKS} ranks and of at most 1 MiB: one in {STRIDE} of the\n"
        "given points, none of them fitted. A cell has the geometric mean factor of error and the share\n"
        "within 20%. The other costs stay as they were fitted with all mechanisms.\n"
        "`make study-real-machines WHAT=ablation` writes this page.\n\n"
        f"{Table('', header, rows, left=1).markdown().strip()}\n"
    )
