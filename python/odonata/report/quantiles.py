"""Distributions of grouped values: cumulative distribution and density.

A value is (low, high, count): a histogram's bucket, or with low = high a single value. Buckets have unequal
widths, so that counts of neighbors cannot be compared. Shares of all values, and shares per decade, are
comparable.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence

#: (low, high, count).
Value = tuple[float, float, int]

#: Shares at which a distribution is drawn: every percent, with finer steps in its tail.
GRID = sorted(
    {
        *(n / 100 for n in range(1, 100)),
        *(1 - n * 10.0**-tail for tail in (3, 4, 5, 6) for n in (8, 6, 5, 4, 3, 2, 1)),
        1.0,
    }
)

#: Bins of a density.
BINS = 48


def cumulative(values: Sequence[Value]) -> tuple[list[float], list[float]]:
    """The values at which the distribution reaches the shares of `GRID`: (values, shares), both ascending.

    The value for a share is the smallest with that share at or below it (nearest rank); for a bucket, its
    upper end.

    >>> xs, shares = cumulative([(1.0, 1.0, 3), (2.0, 4.0, 1)])
    >>> xs[0], xs[-1], dict(zip(shares, xs))[0.75], dict(zip(shares, xs))[0.76]
    (1.0, 4.0, 1.0, 4.0)
    >>> cumulative([])
    ([], [])
    """
    ordered = sorted((high, count) for _, high, count in values if count)
    if not ordered:
        return [], []
    sums = list(itertools.accumulate(count for _, count in ordered))
    total = sums[-1]
    # Shares finer than a single value repeat the same value.
    shares = [part for part in GRID if part <= 1 - 0.5 / total or part == 1.0]
    # Slightly less, because a share is not an exact number.
    places = (bisect.bisect_left(sums, part * total * (1 - 1e-12)) for part in shares)
    return [ordered[min(place, len(ordered) - 1)][0] for place in places], shares


def density(values: Sequence[Value], low: float, high: float) -> tuple[list[float], list[float]]:
    """Share of all values per decade, in `BINS` bins between `low` and `high`: (middles, densities).

    A bucket is spread evenly, on a logarithmic scale, over the bins that it covers.

    >>> middles, densities = density([(1.0, 100.0, 5)], 1.0, 100.0)
    >>> len(middles), round(min(densities), 6), round(max(densities), 6)
    (48, 0.5, 0.5)
    """
    total = sum(count for *_, count in values)
    if not total or low <= 0 or high <= low:
        return [], []
    first, width = math.log10(low), (math.log10(high) - math.log10(low)) / BINS
    sums = [0.0] * BINS
    for start, end, count in values:
        left, right = ((math.log10(max(value, low)) - first) / width for value in (start, end))
        begin, last = (min(BINS - 1, max(0, int(place))) for place in (left, right))
        if begin == last:
            sums[begin] += count
            continue
        for number in range(begin, last + 1):
            sums[number] += count * (min(right, number + 1) - max(left, number)) / (right - left)
    middles = [10 ** (first + (number + 0.5) * width) for number in range(BINS)]
    return middles, [value / total / width for value in sums]
