"""Duration of a sweep's runs, and the estimate of the remaining time.

The estimate is the mean of the runs that have ended. A resumed sweep starts with the runs in its folder,
which count as a few runs that just ended.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass

#: Number of earlier runs per process that count, so that new runs soon dominate.
EARLIER_PER_PROCESS = 2
#: Fewer completed runs give no estimate.
LEAST_RUNS = 0.05


@dataclass(frozen=True)
class Pace:
    """Durations of runs so far."""

    #: Wall time since the start, in seconds.
    wall_s: float
    #: Runs that have ended since the start, including the completed shares of running ones.
    ended: float
    #: Number of simultaneous runs.
    side_by_side: int
    #: Wall time of each run before the resumption, in seconds.
    earlier_s: Collection[float] = ()

    def left_s(self, runs: float) -> float | None:
        """Estimated wall time of this many further runs, in seconds; None without data.

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
