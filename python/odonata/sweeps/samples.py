"""Samples of a space of parameters: random, Latin hypercube, Sobol.

Points are drawn in the unit cube and mapped to the range of each key. Random and Latin hypercube samples use
Python's generator, whose numbers for a seed are stable across versions. Sobol's sequence is that of scipy,
scrambled; scipy is an optional dependency.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odonata.base.optional_packages import require
from odonata.sweeps.reader import Table
from odonata.sweeps.values import parse

METHODS = ("random", "latin-hypercube", "sobol")


@dataclass(frozen=True)
class Range:
    """The range of a key's values: an interval, or a list of choices."""

    low: float = 0.0
    high: float = 1.0
    #: The unit of both bounds, as the user wrote it; empty for plain numbers.
    unit: str = ""
    logarithmic: bool = False
    whole: bool = False
    choices: tuple[Any, ...] = ()

    def at(self, share: float) -> Any:
        """The value at a share, 0 to below 1, of the range.

        >>> Range(1, 100, logarithmic=True).at(0.5), Range(1, 4, whole=True).at(0.99)
        (10.0, 4)
        >>> Range(2, 4, unit="us").at(0.25), Range(choices=("a", "b")).at(0.7)
        ('2.5 us', 'b')
        """
        if self.choices:
            return self.choices[int(share * len(self.choices))]
        if self.logarithmic:
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
            value = float(f"{value:.9g}")
        elif self.whole:
            value = min(math.floor(self.low + share * (self.high - self.low + 1)), self.high)
        else:
            value = float(f"{self.low + share * (self.high - self.low):.9g}")
        number = round(value) if self.whole else value
        return f"{number:.9g} {self.unit}" if self.unit else number


def range_of(table: Table) -> Range:
    """The range in a table of a sweep file; raises `InputError` if invalid."""
    table.refuse_others(("low", "high", "scale", "integer"))
    bounds = []
    for name in ("low", "high"):
        value = table.values.get(name)
        number, unit = (value, "") if not isinstance(value, str) else parse(value) or (None, "")
        if number is None or isinstance(number, bool) or not isinstance(number, int | float):
            raise table.error("not a bound", name, value, 'a number, or a number and a unit such as "10 us"')
        bounds.append((number, unit))
    (low, unit), (high, other) = bounds
    if unit != other:
        raise table.error(
            "bounds with different units", "high", table.values["high"], f"a bound in {unit or 'no unit'}"
        )
    logarithmic = table.one_of("scale", ("linear", "log"), "linear") == "log"
    if not low < high or (logarithmic and low <= 0):
        least = "0 < low < high" if logarithmic else "low < high"
        raise table.error("an empty range", "high", table.values["high"], least)
    return Range(low, high, unit, logarithmic, bool(table.get("integer", bool, "true or false")))


def unit_cube(method: str, count: int, dimensions: int, seed: int) -> list[list[float]]:
    """Points in the unit cube, with coordinates from 0 to below 1.

    >>> points = unit_cube("latin-hypercube", 4, 2, seed=1)
    >>> [sorted(int(4 * x) for x in axis) for axis in zip(*points)]
    [[0, 1, 2, 3], [0, 1, 2, 3]]

    Raises:
        MissingPackage: Sobol's sequence needs scipy.
    """
    draw = random.Random(seed)
    if method == "random":
        return [[draw.random() for _ in range(dimensions)] for _ in range(count)]
    if method == "latin-hypercube":
        # One point in each of `count` strata of every coordinate.
        axes = []
        for _ in range(dimensions):
            strata = list(range(count))
            draw.shuffle(strata)
            axes.append([(stratum + draw.random()) / count for stratum in strata])
        return [list(point) for point in zip(*axes, strict=True)]
    points = (
        require("scipy.stats", "Sobol's sequence")
        .qmc.Sobol(dimensions, scramble=True, rng=seed)
        .random(count)
    )
    return [[min(float(x), math.nextafter(1.0, 0.0)) for x in point] for point in points]


def draw(method: str, count: int, ranges: Sequence[Range], seed: int) -> list[tuple[Any, ...]]:
    """A sample of `count` points of the space that the ranges span."""
    points = unit_cube(method, count, len(ranges), seed)
    return [tuple(one.at(share) for one, share in zip(ranges, point, strict=True)) for point in points]
