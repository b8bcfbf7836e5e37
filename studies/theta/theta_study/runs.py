"""The tests: ping-pong of a pair, bisection pairing, bandwidth of a pair by ranks, bisection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from study_tools import parquet

import odonata
from odonata.operations import irecv, isend, recv, send, wait_all
from theta_study.machine import DISTANCES, GROUP, scenario

#: "0 to 64 KiB".
SIZES = (0, 8, 64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
#: IMB's largest.
LONG = 4194304
ITERATIONS = 4
#: Nodes of bisection pairing.
NODES = (2, 128, 512, 1024, 2048)
#: Ranks per node of the pair for the bandwidth test.
RANKS = (1, 8, 16, 64)
MESSAGE = 65536
#: Outstanding messages of a rank, as in OSU's test.
WINDOW = 64
#: Groups of the machine for the bisection test; messages from a node to each group of the other half.
GROUPS = (6, 8)
ROUNDS = 2


@dataclass(frozen=True)
class Time:
    """A test."""

    variant: str
    #: "ping-pong", "pairing", "one way", "both ways" or "bisection".
    test: str
    #: Distance; "" for pairing and bisection.
    where: str
    nodes: int
    ranks_per_node: int
    #: Bytes of a message.
    bytes: int
    #: Half a round trip; for pairing, an exchange of the slowest pair; otherwise the whole test.
    seconds: float
    #: Bytes that all ranks sent in that time; for the first two tests, bytes of a message.
    sent: int

    @property
    def rate(self) -> float:
        """Bytes/s."""
        return self.sent / self.seconds


def ping_pong(variant: str, where: str, sizes: Iterable[int] = (*SIZES, LONG)) -> list[Time]:
    """One pair of nodes on an idle machine."""
    sizes = tuple(sizes)
    workload = {"ping-pong": {"bytes": [f"{size} B" for size in sizes], "iterations": ITERATIONS}}
    job = {"ranks": 2, "placement": {"nodes": list(DISTANCES[where])}, "workload": workload}
    results = odonata.run(scenario(variant, job))
    ends = [row["last_s"] for row in results.rows("iterations")]
    found = []
    for number, size in enumerate(sizes):
        # The first round trip of a size overlaps with the last one of the previous size.
        first, last = number * ITERATIONS, (number + 1) * ITERATIONS - 1
        seconds = (ends[last] - ends[first]) / (2 * (ITERATIONS - 1))
        found.append(Time(variant, "ping-pong", where, 2, 1, size, seconds, size))
    return found


def exchange(rank: int, ranks: int, *, size: int, times: int = ITERATIONS) -> Iterator[Any]:
    """Both ranks of a pair send and receive at once, repeatedly."""
    partner = (rank + ranks // 2) % ranks
    for _ in range(times):
        yield irecv(partner, size, request=0)
        yield isend(partner, size, request=1)
        yield wait_all(0, 2)


def pairing(variant: str, nodes: int, size: int, where: str = "") -> Time:
    """The first nodes of the machine, each paired with the node half way on, all at once; or one pair."""
    chosen = list(DISTANCES[where]) if where else list(range(nodes))
    job = {"ranks": nodes, "placement": {"nodes": chosen}, "python": exchange, "args": {"size": size}}
    row = odonata.run(scenario(variant, job)).rows("jobs")[0]
    return Time(variant, "pairing", where, nodes, 1, size, row["elapsed_s"] / ITERATIONS, size)


def stream(rank: int, ranks: int, *, both: bool, window: int = WINDOW, size: int = MESSAGE) -> Iterator[Any]:
    """Ranks of the first half send a window of messages to the second, or both do; an answer ends it."""
    half = ranks // 2
    partner = (rank + half) % ranks
    sends, receives = both or rank < half, both or rank >= half
    if receives:
        for number in range(window):
            yield irecv(partner, size, request=number)
    if sends:
        for number in range(window):
            yield isend(partner, size, request=window + number)
    yield wait_all(0 if receives else window, window * (sends + receives))
    if not both:
        yield send(partner, 0, tag=1) if receives else recv(partner, 0, tag=1)


def rate(variant: str, where: str, ranks_per_node: int, *, both: bool) -> Time:
    """A pair of nodes with several ranks each."""
    results = odonata.run(
        scenario(
            variant,
            {
                "ranks": 2 * ranks_per_node,
                "ranks_per_node": ranks_per_node,
                "placement": {"nodes": list(DISTANCES[where])},
                "python": stream,
                "args": {"both": both},
            },
        )
    )
    job = results.rows("jobs")[0]
    test = "both ways" if both else "one way"
    return Time(variant, test, where, 2, ranks_per_node, MESSAGE, job["elapsed_s"], job["bytes_sent"])


def across(rank: int, ranks: int, *, rounds: int, size: int = MESSAGE) -> Iterator[Any]:
    """Every node in turn exchanges with the corresponding node in each group of the other half."""
    half = ranks // GROUP // 2
    group, place = divmod(rank, GROUP)
    count = rounds * half
    # In the first half, group g pairs with half + (g + turn) % half; the other half mirrors this.
    turns = [
        half + (group + turn) % half if group < half else (group - half - turn) % half
        for turn in range(count)
    ]
    for number, other in enumerate(turns):
        yield irecv(other * GROUP + place, size, request=number)
    for number, other in enumerate(turns):
        yield isend(other * GROUP + place, size, request=count + number)
    yield wait_all(0, 2 * count)


def bisection(variant: str, groups: int, rounds: int = ROUNDS) -> Time:
    """All nodes of a machine with this many groups, with all groups of the other half."""
    nodes = groups * GROUP
    job = {"ranks": nodes, "python": across, "args": {"rounds": rounds}}
    row = odonata.run(scenario(variant, job, groups=groups)).rows("jobs")[0]
    return Time(variant, "bisection", "", nodes, 1, MESSAGE, row["elapsed_s"], row["bytes_sent"])


def read(file: Path) -> list[Time]:
    """Stored rows."""
    return parquet.read(file, Time)
