"""Selection from a timeline: jobs, ranks and a period."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from odonata.base.nearest import did_you_mean, nearest
from odonata.errors import InputError, option

#: Seconds of a unit.
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}

#: More ranks than any job has.
_MOST_RANKS = 1 << 24


@dataclass(frozen=True)
class Selection:
    """Selected jobs (None: all), ranks, and period in simulated seconds."""

    jobs: frozenset[str] | None = None
    ranks: Ranks | None = None
    from_s: float = 0.0
    until_s: float = math.inf

    def has(self, job: str, rank: int) -> bool:
        """Whether a rank is selected."""
        return (self.jobs is None or job in self.jobs) and (self.ranks is None or rank in self.ranks)


@dataclass(frozen=True)
class Ranks(Container[int]):
    """Numbers of ranks: ranges, or every n-th.

    >>> [rank for rank in range(20) if rank in Ranks.read("0,5,8-10")]
    [0, 5, 8, 9, 10]
    >>> [rank for rank in range(20) if rank in Ranks.read("every:8")]
    [0, 8, 16]
    """

    ranges: tuple[range, ...] = ()
    every: int | None = None

    def __contains__(self, rank: object) -> bool:
        if not isinstance(rank, int):
            return False
        if self.every is not None:
            return rank % self.every == 0
        return any(rank in one for one in self.ranges)

    @classmethod
    def from_numbers(cls, numbers: Iterable[int]) -> Ranks:
        """The ranks with these numbers.

        >>> 3 in Ranks.from_numbers([1, 3]), 2 in Ranks.from_numbers([1, 3])
        (True, False)
        """
        return cls(tuple(range(number, number + 1) for number in numbers))

    @classmethod
    def read(cls, text: str) -> Ranks:
        """Parses ranks of the command line, `0,5,8-15` or `every:16`; raises `InputError` if invalid."""

        def wrong(problem: str) -> InputError:
            return InputError(
                problem, key=option("ranks"), value=_excerpt(text), expected="0,5,8-15 or every:16"
            )

        if every := re.fullmatch(r"\s*every:(\d{1,9})\s*", text, re.ASCII):
            if not int(every[1]):
                raise wrong("the step is 0")
            return cls(every=int(every[1]))
        ranges = []
        for part in text.split(","):
            match = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part, re.ASCII)
            if match is None:
                raise wrong("not a list of ranks")
            first = int(match[1])
            last = int(match[2]) if match[2] else first
            if last < first or last >= _MOST_RANKS:
                raise wrong("not a range of ranks")
            ranges.append(range(first, last + 1))
        return cls(tuple(ranges))


def seconds(text: str, key: str) -> float:
    """Parses a simulated time with a unit; raises `InputError` if invalid.

    >>> seconds("1.5 ms", "from"), seconds("20us", "from"), seconds("0", "from")
    (0.0015, 2e-05, 0.0)
    """
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{0,15})?)\s*([a-z]{0,2})\s*", text, re.ASCII)
    if match is not None:
        value, unit = float(match[1]), match[2]
        if unit in _UNITS:
            # Division makes `20 us` the nearest number to 0.00002.
            return value / round(1 / _UNITS[unit])
        if not unit and value == 0:
            return 0.0
    raise InputError(
        "not a time", key=key, value=_excerpt(text), expected='a number with a unit, such as "1.5 ms"'
    )


def choose(
    names: Sequence[str],
    jobs: Iterable[str] | None,
    ranks: Ranks | None,
    period: tuple[float, float],
) -> Selection:
    """The selection of `jobs` among `names`; raises `InputError` for an unknown job or empty period."""
    chosen = None
    if jobs is not None:
        chosen = frozenset(jobs)
        for job in sorted(chosen - set(names)):
            raise InputError(
                "no such job",
                key=option("jobs"),
                value=_excerpt(job),
                expected="one of "
                + ", ".join(map(_excerpt, names[:12]))
                + (", ..." if len(names) > 12 else ""),
                hint=did_you_mean(nearest(job, names), '"'),
            )
    from_s, until_s = period
    if not until_s > from_s:
        raise InputError(
            "the period ends before it starts",
            key=option("until_s", "--until"),
            value=f"{until_s} s",
            expected=f"more than {from_s} s",
        )
    return Selection(chosen, ranks, from_s, until_s)


def _excerpt(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"
