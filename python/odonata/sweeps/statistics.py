"""Confidence intervals of a mean, by Student's t distribution."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple


class Interval(NamedTuple):
    """Mean of independent observations, and the half-width of its confidence interval.

    >>> interval([1.0, 2.0, 3.0]).low < 2.0 < interval([1.0, 2.0, 3.0]).high
    True
    """

    number: int
    mean: float
    #: Standard deviation of the sample; NaN for a single observation, like the half-width.
    deviation: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width

    @property
    def relative(self) -> float:
        """Half-width as a share of the mean."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean else math.inf


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The interval of the mean of `values`: mean ± t s / sqrt(n).

    >>> found = interval([10.0, 12.0, 14.0])
    >>> found.number, found.mean, found.deviation, round(found.half_width, 4)
    (3, 12.0, 2.0, 4.9683)
    """
    count = len(values)
    if not count:
        return Interval(0, math.nan, math.nan, math.nan)
    mean = math.fsum(values) / count
    if count == 1:
        return Interval(1, mean, math.nan, math.nan)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    return Interval(count, mean, deviation, quantile(confidence, count - 1) * deviation / math.sqrt(count))


@functools.cache
def quantile(confidence: float, freedom: int) -> float:
    """The t such that Student's distribution has this probability between -t and t.

    >>> [round(quantile(0.95, n), 3) for n in (1, 2, 4, 9, 30)]
    [12.706, 4.303, 2.776, 2.262, 2.042]
    """
    low, high = 0.0, 1.0
    while central_probability(high, freedom) < confidence:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if central_probability(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2


def central_probability(t: float, freedom: int) -> float:
    """The probability between -t and t of Student's distribution with `freedom` degrees of freedom.

    Finite sums for integers: Abramowitz and Stegun, 26.7.3 and 26.7.4.

    >>> round(central_probability(1.0, 1), 12), round(central_probability(1.0, 2), 6)
    (0.5, 0.57735)
    """
    angle = math.atan2(t, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    if freedom % 2:
        term = total = math.cos(angle) if freedom > 1 else 0.0
        for number in range(3, freedom - 1, 2):
            term *= square * (number - 1) / number
            total += term
        return 2 / math.pi * (angle + sine * total)
    term = total = 1.0
    for number in range(2, freedom - 1, 2):
        term *= square * (number - 1) / number
        total += term
    return sine * total


class Paired(NamedTuple):
    """The ratio of two measurements that were made in pairs, and its confidence interval.

    >>> paired([10.0, 20.0], [8.0, 16.0]).in_words
    '0.80x in all 2 seeds'
    >>> paired([10.0, 10.0], [8.0, 9.0]).in_words
    '0.85x (0.40x to 1.79x), not certain'
    """

    pairs: int
    #: Geometric mean of after / before.
    ratio: float
    #: Ends of its interval; NaN for a single pair.
    low: float
    high: float
    #: Pairs in which the value fell, and in which it rose.
    fell: int
    rose: int

    @property
    def differs(self) -> bool:
        """Whether the interval excludes 1."""
        return self.low > 1 or self.high < 1

    @property
    def in_words(self) -> str:
        """The ratio, its interval, and how many seeds point the same way; each pair has a seed."""
        words = self.with_interval
        if self.pairs == 1:
            return words
        same = self.fell if self.ratio < 1 else self.rose
        if self.fell or self.rose:
            if same < self.pairs:
                return f"{words}, {same} of {self.pairs} seeds agree"
            # Few seeds that agree may do so by chance.
            if not self.differs and "(" in words:
                return f"{words}, not certain"
        return f"{words} in all {self.pairs} seeds"

    @property
    def with_interval(self) -> str:
        """The ratio and its interval, if that has a width."""
        ends = f"{self.low:.2f}x", f"{self.high:.2f}x"
        span = "" if self.pairs == 1 or ends[0] == ends[1] else f" ({ends[0]} to {ends[1]})"
        return f"{self.ratio:.2f}x{span}"


def paired(before: Sequence[float], after: Sequence[float], confidence: float = 0.95) -> Paired | None:
    """The ratio of paired observations; None unless all are positive.

    What both of a pair share, such as the seed's placement, cancels. The interval of the mean of
    log(after / before) by Student's t distribution, exponentiated: paired observations, R. Jain, The Art of
    Computer Systems Performance Analysis, Wiley 1991, section 13.4.1.

    >>> found = paired([1.0, 2.0, 4.0], [0.9, 1.7, 3.5])
    >>> found.differs, found.fell, round(found.ratio, 3)
    (True, 3, 0.875)
    >>> paired([1.0], [0.0]) is None
    True
    """
    if not before or any(value <= 0 for value in (*before, *after)):
        return None
    logs = [math.log(two / one) for one, two in zip(before, after, strict=True)]
    found = interval(logs, confidence)
    return Paired(
        found.number,
        math.exp(found.mean),
        math.exp(found.low),
        math.exp(found.high),
        sum(one < 0 for one in logs),
        sum(one > 0 for one in logs),
    )
