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
