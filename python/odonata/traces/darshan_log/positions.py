"""Offsets of accesses, from the numbers of consecutive and sequential ones.

For each record Darshan counts the accesses that began where the previous one ended (consecutive) and those
that began at or after that position (sequential). It also keeps the four most common distances between
accesses. The reconstruction has as many of each, evenly mixed. Other accesses return to the starting offset
of their rank. Ranks that share a file start at equal parts of its length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from odonata.traces.darshan_log.sizes import Runs

#: Largest file size in bytes; larger sizes are damaged numbers.
LONGEST = 1 << 60


def mixed(runs: Runs) -> NDArray[np.int64]:
    """A sequence of counted values, in which each value is spread evenly.

    >>> mixed([(7, 4), (9, 2)]).tolist()
    [7, 9, 7, 7, 9, 7]
    """
    if not runs:
        return np.empty(0, np.int64)
    values = np.concatenate([np.full(count, value, np.int64) for value, count in runs])
    keys = np.concatenate([(np.arange(count) + 0.5) / count for _, count in runs])
    return values[np.argsort(keys, kind="stable")]


def offsets(
    sizes: NDArray[np.int64],
    blocks: NDArray[np.int64],
    consecutive: int,
    sequential: int,
    strides: Runs,
    extent: int,
) -> NDArray[np.int64]:
    """Offsets of the accesses to a file.

    Args:
        sizes: Bytes of each access, in order.
        blocks: Number of accesses of each rank, one rank after the other; without zeros.
        consecutive: Accesses that began where the previous one ended.
        sequential: Accesses that began there or after it.
        strides: Distances between an access and the previous one, with counts.
        extent: Length of the file in bytes.

    Of four accesses of 10 B, two are consecutive and one follows a hole of 5 B:

    >>> offsets(np.full(4, 10), np.array([4]), 2, 3, [(5, 1)], 100).tolist()
    [0, 10, 25, 35]

    Two ranks, each in its half; the third access of each goes back:

    >>> offsets(np.full(6, 10), np.array([3, 3]), 2, 2, [], 200).tolist()
    [0, 10, 0, 100, 110, 100]
    """
    count = len(sizes)
    if count == 0:
        return np.empty(0, np.int64)
    extent = min(max(extent, int(sizes.max()), 1), LONGEST)
    begins = np.concatenate(([0], np.cumsum(blocks)[:-1]))
    first = np.zeros(count, bool)
    first[begins] = True
    moves = count - len(blocks)
    follow = min(max(consecutive, 0), moves)
    jump = min(max(sequential - follow, 0), moves - follow)
    kinds = mixed(
        [(kind, number) for kind, number in ((0, follow), (1, jump), (2, moves - follow - jump)) if number]
    )
    kind = np.full(count, 2, np.int64)
    kind[~first] = kinds
    gaps = np.zeros(count, np.int64)
    if jump:
        gaps[kind == 1] = _gaps(jump, strides, max(1, (extent - int(sizes.astype(np.float64).sum())) // jump))
    steps = np.zeros(count, np.int64)
    steps[1:] = sizes[:-1]
    steps += gaps
    # Relative to the last access that went back; modulo 2^64, since differences come out right.
    place = np.cumsum(steps)
    anew = np.maximum.accumulate(np.where(kind == 2, np.arange(count), 0))
    relative = place - place[anew]
    bases = np.repeat((begins.astype(np.float64) / count * extent).astype(np.int64), blocks)
    # Accesses beyond the end wrap to the beginning.
    room = extent - sizes + 1
    return (bases + relative) % np.maximum(room, 1)


def _gaps(count: int, strides: Runs, usual: int) -> NDArray[np.int64]:
    """This many distances: the known ones, and the usual one for the rest."""
    known: Runs = []
    left = count
    for stride, number in strides:
        mine = min(number, left)
        if mine > 0 and 0 < stride < LONGEST:
            known.append((stride, mine))
            left -= mine
    if left:
        known.append((min(usual, LONGEST), left))
    return mixed(known)
