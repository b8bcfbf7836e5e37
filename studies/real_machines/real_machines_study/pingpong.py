"""Ping-pong of one pair of nodes on an idle machine, by distance and size, with unmodified presets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import odonata

SIZES = (8, 1024, 131072, 4194304)
ITERATIONS = 4

#: Machine -> its scenario, without jobs. Nothing is fitted to the compared numbers.
MACHINES: dict[str, dict[str, Any]] = {
    "Aries": {"preset": "theta"},
    # The machines of the paper had interfaces of 100 Gbit/s on switches of 200 Gbit/s.
    "Slingshot": {
        "preset": "frontier-like",
        "machine": {"dragonfly": {"groups": 4}},
        "nic": {"rate": "100 Gbit/s"},
    },
}
#: Machine -> distance -> the two nodes. An Aries blade is a router with 4 nodes, a chassis has 16 routers, a
#: group has 6 chassis.
DISTANCES = {
    "Aries": {"same blade": (0, 1), "same chassis": (0, 4), "same group": (0, 68), "other group": (0, 1000)},
    "Slingshot": {"same switch": (0, 1), "same group": (0, 16), "other group": (0, 1000)},
}


@dataclass(frozen=True)
class Time:
    """Half a round trip."""

    machine: str
    distance: str
    bytes: int
    seconds: float


def measure() -> list[Time]:
    """Measures all pairs."""
    return [
        time
        for machine, distances in DISTANCES.items()
        for distance, nodes in distances.items()
        for time in run(machine, distance, nodes)
    ]


def run(machine: str, distance: str, nodes: tuple[int, int]) -> list[Time]:
    """Every size, ITERATIONS times there and back."""
    sizes = [f"{size} B" for size in SIZES]
    results = odonata.run(
        {
            **MACHINES[machine],
            "mpi": {"eager_threshold": "none"},
            "run": {"threads": 1},
            "jobs": [
                {
                    "name": "pair",
                    "ranks": 2,
                    "placement": {"nodes": list(nodes)},
                    "workload": {"ping-pong": {"bytes": sizes, "iterations": ITERATIONS}},
                }
            ],
        }
    )
    ends = [row["last_s"] for row in results.rows("iterations")]
    return [
        # The first round trip of a size overlaps with the last one of the size before.
        Time(machine, distance, size, (ends[last] - ends[first]) / (2 * (ITERATIONS - 1)))
        for number, size in enumerate(SIZES)
        for first, last in [(number * ITERATIONS, (number + 1) * ITERATIONS - 1)]
    ]


def write(file: Path, times: Iterable[Time]) -> None:
    """Stores rows as Parquet, a column per field."""
    file.parent.mkdir(parents=True, exist_ok=True)
    plain = [asdict(time) for time in times]
    pq.write_table(pa.table({f.name: [row[f.name] for row in plain] for f in fields(Time)}), file)


def read(file: Path) -> list[Time]:
    """Reads the rows that `write` stored."""
    return [Time(**row) for row in pq.read_table(file).to_pylist()]
