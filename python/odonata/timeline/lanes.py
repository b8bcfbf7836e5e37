"""Assignment of overlapping slices to as few tracks as possible: on a track, slices do not overlap."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Lanes:
    """Tracks for slices in the order of their begin; `make` makes a track.

    >>> tracks = iter("abc")
    >>> lanes = Lanes(lambda: next(tracks))
    >>> lanes.take(0, 5), lanes.take(2, 3), lanes.take(3, 9), lanes.take(5, 6), lanes.take(6, 6)
    ('a', 'b', 'b', 'a', 'a')
    """

    def __init__(self, make: Callable[[], int]) -> None:
        self._make = make
        self._tracks: list[int] = []
        self._busy: list[tuple[int, int]] = []
        self._free: list[int] = []

    def take(self, begin: int, end: int) -> int:
        """The track of a slice: the first free one."""
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            lane = len(self._tracks)
            self._tracks.append(self._make())
        heapq.heappush(self._busy, (end, lane))
        return self._tracks[lane]
