"""Reduction of a timeline to a number of events: every n-th rank or server, and then a shorter period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from odonata.timeline.recorded import Rank

#: Largest shares of all events for links and servers; ranks get the rest.
LINKS_SHARE, SERVERS_SHARE = 0.1, 0.3

Item = TypeVar("Item")


@dataclass
class LeftOut:
    """Recorded parts that a trace omits, in words."""

    omissions: list[str] = field(default_factory=list)

    def say(self, what: str) -> None:
        """Adds an omission."""
        self.omissions.append(what)


def every(costs: Sequence[tuple[Item, int]], budget: int) -> tuple[list[Item], int]:
    """Every n-th item, with the smallest n whose cost is within `budget`; and n.

    >>> every([("a", 5), ("b", 1), ("c", 5), ("d", 1)], 12), every([("a", 5), ("b", 5), ("c", 5)], 10)
    ((['a', 'b', 'c', 'd'], 1), (['a', 'c'], 2))
    >>> every([("a", 5), ("b", 5)], 1)
    ([], 2)
    """
    step = 1
    while True:
        chosen = costs[::step]
        if sum(cost for _, cost in chosen) <= budget:
            return [item for item, _ in chosen], step
        if len(chosen) <= 1:
            return [], step
        step += 1


def ranks(costs: dict[Rank, int], budget: int) -> tuple[list[Rank], int]:
    """Every n-th rank of each job, as `every`.

    The first rank of each job is always included.

    >>> ranks({("a", 0): 4, ("a", 1): 4, ("b", 0): 4, ("b", 1): 4}, 8)
    ([('a', 0), ('b', 0)], 2)
    """
    jobs: dict[str, list[Rank]] = {}
    for job, rank in costs:
        jobs.setdefault(job, []).append((job, rank))
    most = max(map(len, jobs.values()), default=0)
    for step in range(1, most + 1):
        chosen = [rank for job in jobs.values() for rank in job[::step]]
        if sum(costs[rank] for rank in chosen) <= budget:
            break
    return ([rank for job in jobs.values() for rank in job[::step]], step) if jobs else ([], 1)
