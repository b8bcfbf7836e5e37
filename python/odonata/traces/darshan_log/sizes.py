"""Sizes of accesses, from Darshan's sums.

A record has the number of accesses and their bytes by direction. At the POSIX and MPI-IO interfaces it also
has the number in each of ten ranges of size, and the four most common sizes with their counts, reads and
writes taken together. The reconstruction keeps numbers, bytes and ranges exactly. It assigns common sizes
first. The other accesses get sizes at the same relative position in each range, such that the bytes match.
"""

from __future__ import annotations

from typing import NamedTuple

#: Bounds of Darshan's ranges of size, inclusive (darshan-common.h, `DARSHAN_BUCKET_INC`); the last is
#: unbounded.
RANGES = (
    (0, 100),
    (101, 1024),
    (1025, 10 << 10),
    ((10 << 10) + 1, 100 << 10),
    ((100 << 10) + 1, 1 << 20),
    ((1 << 20) + 1, 4 << 20),
    ((4 << 20) + 1, 10 << 20),
    ((10 << 20) + 1, 100 << 20),
    ((100 << 20) + 1, 1 << 30),
    ((1 << 30) + 1, None),
)
#: Their names in counters.
RANGE_NAMES = (
    "0_100",
    "100_1K",
    "1K_10K",
    "10K_100K",
    "100K_1M",
    "1M_4M",
    "4M_10M",
    "10M_100M",
    "100M_1G",
    "1G_PLUS",
)

#: Counted sizes: (size, count).
Runs = list[tuple[int, int]]


class Direction(NamedTuple):
    """The data about a record's reads, or writes."""

    number: int
    bytes: int
    #: Accesses in each range of size; `None` if the interface keeps none, or they contradict the count.
    ranges: tuple[int, ...] | None


def range_of(size: int) -> int:
    """The range of a size.

    >>> [range_of(size) for size in (0, 100, 101, 1024, 1025, 1 << 20, (1 << 30) + 1)]
    [0, 0, 1, 1, 2, 4, 9]
    """
    return next(i for i, (_, most) in enumerate(RANGES) if most is None or size <= most)


def sizes(read: Direction, write: Direction, common: Runs) -> tuple[Runs, Runs, bool]:
    """Sizes of the reads and of the writes, and whether the ranges fit the bytes.

    >>> megabyte = (0, 0, 0, 0, 4, 0, 0, 0, 0, 0)
    >>> sizes(Direction(4, 4 << 20, megabyte), Direction(4, 4 << 20, megabyte), [(1 << 20, 8)])
    ([(1048576, 4)], [(1048576, 4)], True)
    >>> sizes(Direction(3, 10, None), Direction(0, 0, None), [])
    ([(3, 2), (4, 1)], [], True)
    """
    # Common sizes cover reads and writes together: the first direction takes those that fit its ranges.
    for reads_first in (True, False):
        left = list(common)
        found = {}
        for is_read in (reads_first, not reads_first):
            direction = read if is_read else write
            taken, left = _take(direction, left)
            found[is_read] = _fill(direction, taken)
        reads, writes = found[True], found[False]
        if reads is not None and writes is not None:
            return reads, writes, True
    # Common sizes of a shared record are merged from those of its ranks, and may not fit.
    reads, writes = _fill(read, []), _fill(write, [])
    fits = reads is not None and writes is not None
    return (
        _even(read) if reads is None else reads,
        _even(write) if writes is None else writes,
        fits,
    )


def _take(direction: Direction, common: Runs) -> tuple[Runs, Runs]:
    """The common sizes that fit the ranges of the direction, and the remaining ones."""
    if direction.ranges is None:
        return [], common
    room = list(direction.ranges)
    taken, left = [], []
    for size, count in common:
        which = range_of(size)
        mine = min(count, room[which])
        room[which] -= mine
        if mine:
            taken.append((size, mine))
        if count > mine:
            left.append((size, count - mine))
    return taken, left


def _fill(direction: Direction, taken: Runs) -> Runs | None:
    """`taken`, and sizes for the other accesses such that the bytes match; `None` if impossible."""
    if direction.ranges is None:
        return _even(direction)
    room = list(direction.ranges)
    rest = direction.bytes
    for size, count in taken:
        room[range_of(size)] -= count
        rest -= size * count
    least = sum(count * low for count, (low, _) in zip(room, RANGES, strict=True))
    # The last range ends where a single access would take all remaining bytes.
    bounds = [(low, max(low, rest) if high is None else high) for low, high in RANGES]
    most = sum(count * high for count, (_, high) in zip(room, bounds, strict=True))
    if not least <= rest <= most:
        return None
    runs: dict[int, int] = {}
    span = most - least
    above = rest - least
    places = [
        (low + (above * (high - low) // span if span else 0), count)
        for count, (low, high) in zip(room, bounds, strict=True)
    ]
    missing = rest - sum(size * count for size, count in places)
    for size, count in taken:
        runs[size] = runs.get(size, 0) + count
    # Rounding lost less than a byte per access.
    for (size, count), (_, high) in zip(reversed(places), reversed(bounds), strict=True):
        larger = min(missing, count) if size < high else 0
        missing -= larger
        for value, number in ((size, count - larger), (size + 1, larger)):
            if number:
                runs[value] = runs.get(value, 0) + number
    return sorted(runs.items()) if missing == 0 else None


def _even(direction: Direction) -> Runs:
    """Sizes that are equal within a byte."""
    if direction.number == 0:
        return []
    size, larger = divmod(direction.bytes, direction.number)
    return [
        (value, count) for value, count in ((size, direction.number - larger), (size + 1, larger)) if count
    ]
