"""Ping-pongs on Blue Gene/P and /Q (figures 6 to 8): one pair alone, all nodes in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import odonata

#: "4 B to 130 KB".
SIZES = (4, 64, 256, 1024, 4096, 16384, 65536, 133120)
ITERATIONS = 4


@dataclass(frozen=True)
class Machine:
    """A machine of the paper."""

    name: str
    preset: str
    dims: tuple[int, ...]
    #: Hops -> distance of a partner along each dimension. On /P no side is half a ring, so that there is one
    #: shortest path in dimension order; on /Q, with rings of 4 and 2, that holds up to 6 hops only.
    distances: dict[int, tuple[int, ...]]
    #: Bytes/s of a link for a program, from the paper.
    link: float


MACHINES = (
    Machine("P", "bluegene-p", (8, 8, 8), {1: (1, 0, 0), 8: (3, 3, 2)}, 374e6),
    Machine(
        "Q",
        "bluegene-q",
        (8, 4, 4, 4, 2),
        {1: (1, 0, 0, 0, 0), 6: (3, 1, 1, 1, 0), 8: (4, 2, 1, 1, 0), 11: (4, 2, 2, 2, 1)},
        1.8 * 2**30,
    ),
)


@dataclass(frozen=True)
class Time:
    """Half a round trip."""

    #: "P" or "Q".
    machine: str
    hops: int
    #: "one pair", "one pair, mesh" (the same path without another of equal length) or "all pairs".
    pairs: str
    bytes: int
    #: Time of the slowest pair.
    seconds: float


def measure() -> list[Time]:
    """All of them."""
    times = []
    for machine in MACHINES:
        for hops, distance in machine.distances.items():
            pairs = partners(machine.dims, distance)
            times += run(machine, hops, "one pair", pairs[:1])
            times += run(machine, hops, "one pair, mesh", pairs[:1])
            times += run(machine, hops, "all pairs", pairs)
    return times


def run(machine: Machine, hops: int, how: str, pairs: Sequence[tuple[int, int]]) -> list[Time]:
    """Every size, ITERATIONS times there and back."""
    results = odonata.run(scenario(machine, how, pairs))
    if results.run["outcome"] != "completed":
        raise RuntimeError(f"{machine.name}, {hops} hops, {how}: {results.run['outcome']}")
    ends = [0.0, *(row["last_s"] for row in results.rows("iterations"))]
    return [
        # The first round trip of a size overlaps with the last one of the previous size.
        Time(
            machine.name, hops, how, size, (ends[last] - ends[last - ITERATIONS + 1]) / (2 * (ITERATIONS - 1))
        )
        for number, size in enumerate(SIZES)
        for last in [(number + 1) * ITERATIONS]
    ]


def scenario(machine: Machine, how: str, pairs: Sequence[tuple[int, int]]) -> dict[str, object]:
    """The preset with its software costs; as on the machines, all messages of the test are eager."""
    nodes = [first for first, _ in pairs] + [second for _, second in pairs]
    job = {
        "name": "mpptest",
        "ranks": len(nodes),
        "placement": {"nodes": nodes},
        "workload": {
            "ping-pong": {
                "bytes": [f"{size} B" for size in SIZES],
                "iterations": ITERATIONS,
                "pairs": "halves",
            }
        },
    }
    found: dict[str, object] = {
        "preset": machine.preset,
        "mpi": {"eager_threshold": "none"},
        "run": {"threads": 1, "message_rows": 0},
        "jobs": [job],
    }
    if how.endswith("mesh"):
        found["machine"] = {"mesh": {"dims": list(machine.dims)}}
        found["network"] = {"routing": {"algorithm": "dimension-order"}}
    return found


def partners(dims: Sequence[int], distance: Sequence[int]) -> list[tuple[int, int]]:
    """All nodes in pairs, the second `distance` further on: every second step of each cycle of such steps."""
    nodes = math.prod(dims)
    pairs, done = [], set()
    for node in range(nodes):
        first = node
        while first not in done:
            second = moved(first, dims, distance)
            pairs.append((first, second))
            done |= {first, second}
            first = moved(second, dims, distance)
    return pairs


def moved(node: int, dims: Sequence[int], distance: Sequence[int]) -> int:
    """The node at this distance; the first dimension is the fastest."""
    found, stride = 0, 1
    for side, steps in zip(dims, distance, strict=True):
        found += (node // stride + steps) % side * stride
        stride *= side
    return found
