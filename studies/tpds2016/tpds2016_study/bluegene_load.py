"""Share of the peak of a rack of Blue Gene/Q: every node to its farthest partner, and all to all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import odonata
from odonata.operations import irecv, isend, wait_all
from tpds2016_study import bluegene

RACK = bluegene.MACHINES[1]
#: Bytes to the partner, and to each of all.
PAIR = 262144
EACH = 1024
ROUTINGS = {"deterministic": "bubble", "adaptive": "minimal-adaptive"}


@dataclass(frozen=True)
class Load:
    """A pattern under a routing."""

    #: "farthest pairs" or "all to all".
    pattern: str
    #: "deterministic" or "adaptive".
    routing: str
    seconds: float
    #: The same if the busiest links always carried data and all links of a dimension were used alike.
    bound_s: float

    @property
    def share(self) -> float:
        """Share of the peak."""
        return self.bound_s / self.seconds


def exchange(rank: int, ranks: int, *, size: int = PAIR) -> Iterator[Any]:
    """Both of a pair send and receive at once."""
    partner = (rank + ranks // 2) % ranks
    yield irecv(partner, size, request=0)
    yield isend(partner, size, request=1)
    yield wait_all(0, 2)


def bounds() -> dict[str, float]:
    """Rings of k nodes in the longest dimension decide, with two links of bandwidth b at each node.

    Farthest pairs: a message of m bytes crosses k / 2 links of the ring, and a node has 2 links: k m / (4 b).
    All to all: a message crosses k / 4 links on average, with n messages per node: n k m / (8 b).
    """
    longest, nodes = max(RACK.dims), 1024
    return {
        "farthest pairs": longest * PAIR / (4 * RACK.link),
        "all to all": nodes * longest * EACH / (8 * RACK.link),
    }


def measure() -> list[Load]:
    """Both patterns under both routings."""
    pairs = bluegene.partners(RACK.dims, RACK.distances[11])
    nodes = [first for first, _ in pairs] + [second for _, second in pairs]
    jobs: dict[str, dict[str, Any]] = {
        "farthest pairs": {"python": exchange, "placement": {"nodes": nodes}},
        "all to all": {
            "workload": {"alltoall": {"bytes": f"{EACH} B", "algorithm": "linear", "iterations": 1}}
        },
    }
    found = []
    for pattern, job in jobs.items():
        for name, algorithm in ROUTINGS.items():
            results = odonata.run(
                {
                    "preset": RACK.preset,
                    "mpi": {"eager_threshold": "none"},
                    "network": {"routing": {"algorithm": algorithm}},
                    "run": {"threads": 1, "message_rows": 0},
                    "jobs": [{"name": "load", "ranks": len(nodes), **job}],
                }
            )
            seconds = results.rows("jobs")[0]["elapsed_s"]
            found.append(Load(pattern, name, seconds, bounds()[pattern]))
    return found
