"""How long the runs of a sweep take, and by that how long it will go on.

A run counts as the mean of all that have ended. At the start of a sweep nothing has; what its folder holds
from an earlier start is then all that is known, and counts as a few runs that would have ended just now.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass

#: Runs of an earlier start count as so many of each process: those of this one soon count for more.
EARLIER_PER_PROCESS = 2
#: Of nothing that has ended and next to nothing that has begun no time follows.
LEAST_RUNS = 0.05


@dataclass(frozen=True)
class Pace:
    """What runs have taken so far."""

    #: Wall time since the start, in seconds.
    wall_s: float
    #: Runs that have ended since then, with the shares of those that go on.
    ended: float
    #: Runs that go on side by side.
    side_by_side: int
    #: Wall time of each run of an earlier start, in seconds.
    earlier_s: Collection[float] = ()

    def left_s(self, runs: float) -> float | None:
        """Estimated wall time of so many more runs, in seconds; None as long as there is nothing to go by.

        >>> Pace(wall_s=60.0, ended=4.0, side_by_side=2).left_s(8.0)
        120.0

        Just resumed, after forty runs of 30 s, two at a time:

        >>> Pace(wall_s=0.6, ended=1e-6, side_by_side=2, earlier_s=[30.0] * 40).left_s(100.0)
        1514.99...
        >>> Pace(wall_s=0.6, ended=1e-6, side_by_side=2).left_s(100.0)
        """
        known, wall_s = self.ended, self.wall_s
        if self.earlier_s:
            side_by_side = max(1, self.side_by_side)
            count = min(len(self.earlier_s), EARLIER_PER_PROCESS * side_by_side)
            known += count
            wall_s += count * statistics.fmean(self.earlier_s) / side_by_side
        return wall_s * runs / known if known >= LEAST_RUNS else None
