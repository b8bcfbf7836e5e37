"""Published measurements of machines, with their sources and certainty.

Certainty: "exact" in a text, "table" printed in a table or on an axis or heat map, "read" by eye off a
figure, "second-hand".
"""

from __future__ import annotations

from dataclasses import dataclass

SLINGSHOT = "D. De Sensi et al., SC 2020, fig. 9"
SHS = "HPE, Slingshot Host Software, fabric validation, GPCNeT on 64 nodes"


@dataclass(frozen=True)
class Impact:
    """Congested over alone, mean."""

    machine: str
    victim: str
    aggressor: str
    #: Percent of 512 nodes that the aggressor has.
    percent: int
    factor: float
    source: str = SLINGSHOT
    certainty: str = "table"


def row(victim: str, aries: tuple[float, float, float], all_to_all: float, slingshot: float) -> list[Impact]:
    """A victim's cells: Aries under incasts of 10, 50, 90% and an all-to-all, Slingshot under an incast."""
    return [
        *(
            Impact("Aries", victim, "incast", percent, factor)
            for percent, factor in zip((10, 50, 90), aries, strict=True)
        ),
        Impact("Aries", victim, "all-to-all", 90, all_to_all),
        Impact("Slingshot", victim, "incast", 90, slingshot),
    ]


#: Crystal (Aries, 698 nodes in 2 groups) and Shandy or Malbec (Slingshot); 512 nodes in their order,
#: aggressor 128 KiB.
MAP = [
    *row("ping-pong 8 B", (13, 44, 80), 1.5, 1.3),
    *row("ping-pong 128 KiB", (13, 44, 67), 1.2, 1.1),
    *row("all-reduce 8 B", (14, 59, 62), 1.9, 1.1),
    *row("barrier", (11, 59, 77), 2.0, 1.0),
    *row("all-to-all 8 B", (8.4, 56, 70), 1.9, 1.0),
]

#: Factors of GPCNeT's load test, mean; 64 nodes of 8 interfaces, 2,048 ranks, of an unnamed Slingshot
#: 11 machine.
CANARIES = {
    ("Slingshot", "latency"): 1.0,
    ("Slingshot", "bandwidth + sync"): 1.0,
    ("Slingshot", "all-reduce"): 1.0,
}
#: The same alone, mean / 99%, as printed; 32 ranks per node, so that only the first can be compared
#: with one rank per node.
ALONE = {
    ("Slingshot", "latency"): "2.9 / 4.3 us",
    ("Slingshot", "bandwidth + sync"): "4,061 / 2,830 MiB/s",
    ("Slingshot", "all-reduce"): "20.2 / 22.2 us",
}
#: The text: worst impact of Aries 93, of Slingshot 1.3 (its map prints one 1.5).
WORST = {"Aries": 93.0, "Slingshot": 1.5}


def impact(machine: str, victim: str, aggressor: str, percent: int) -> Impact | None:
    """The published one of a cell."""
    wanted = (machine, victim, aggressor, percent)
    return next((one for one in MAP if (one.machine, one.victim, one.aggressor, one.percent) == wanted), None)
