"""Distribution over ranks of values that Darshan has summed.

A shared record has, beside the sums over all ranks, the ranks with the shortest and the longest time, their
bytes, and the variance of bytes over ranks. The reconstruction gives these two ranks their bytes. Of the
other ranks, as many as fit the variance best get equal parts of the rest; they are spread evenly over the
job.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Spread(NamedTuple):
    """The distribution of bytes over ranks in a shared record."""

    bytes: int
    fastest: tuple[int, int]
    slowest: tuple[int, int]
    #: Variance over all ranks of the job, in bytes squared.
    variance: float


def weights(ranks: int, spread: Spread) -> NDArray[np.float64]:
    """The share of each rank, up to a factor.

    One rank wrote everything:

    >>> weights(4, Spread(800, (2, 0), (0, 800), 120000.0)).tolist()
    [800.0, 0.0, 0.0, 0.0]

    Two of eight ranks wrote, as aggregators of collective buffering, neither the fastest nor the slowest:

    >>> weights(8, Spread(800, (1, 0), (7, 0), 2 * 400**2 / 8 - 100**2)).tolist()
    [400.0, 0.0, 0.0, 0.0, 400.0, 0.0, 0.0, 0.0]

    Unknown or impossible distributions:

    >>> weights(2, Spread(800, (0, 900), (1, -1), 0.0)).tolist()
    [1.0, 1.0]
    """
    named = dict([spread.fastest, spread.slowest])
    known = sum(named.values())
    possible = all(0 <= rank < ranks and bytes >= 0 for rank, bytes in named.items())
    rest = spread.bytes - known
    if not possible or rest < 0 or spread.bytes <= 0:
        return np.ones(ranks)
    others = np.setdiff1d(np.arange(ranks), list(named)).astype(np.int64)
    found = np.zeros(ranks)
    for rank, bytes in named.items():
        found[rank] = bytes
    if rest == 0:
        return found
    if len(others) == 0:
        return np.ones(ranks)
    # With k ranks of rest / k each: ranks x (variance + mean^2) = squares of the two named ranks + rest^2 /
    # k.
    mean = spread.bytes / ranks
    squares = ranks * (max(spread.variance, 0.0) + mean * mean) - sum(
        bytes * bytes for bytes in named.values()
    )
    busy = round(min(max(rest * rest / squares, 1), len(others))) if squares > 0 else len(others)
    found[others[np.arange(busy) * len(others) // busy]] = rest / busy
    return found


def deal(count: int, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Splits `count` items by weights: largest remainders first, lower ranks first among equals.

    >>> deal(7, np.array([1.0, 1.0, 0.0, 1.0])).tolist()
    [3, 2, 0, 2]
    """
    total = weights.sum()
    exact = count * (weights / total)
    dealt: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = count - int(dealt.sum())
    if missing > 0:
        order = np.lexsort((np.arange(len(weights)), -(exact - dealt), weights <= 0))
        full, part = divmod(missing, max(1, int((weights > 0).sum())))
        dealt[weights > 0] += full
        dealt[order[:part]] += 1
    elif missing < 0:  # rounding of very large counts
        dealt[int(np.argmax(dealt))] += missing
    return dealt
