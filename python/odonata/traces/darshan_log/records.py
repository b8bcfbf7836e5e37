"""Records of files in a Darshan log: what an interface counted of one file, by one rank or by all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from odonata.errors import InputError
from odonata.traces.darshan_log.log import Log
from odonata.traces.darshan_log.sizes import RANGE_NAMES, Direction, Runs

#: Operations of a log that are replayed, at most: they are in memory at once.
MOST_OPERATIONS = 30_000_000
#: Times beyond this, in seconds, are damaged numbers.
LATEST_S = 4e6


@dataclass
class File:
    """A file of the log, and what is replayed of it."""

    number: int
    #: Darshan's number of it.
    record: int
    name: str
    #: The interfaces whose records are replayed.
    interfaces: list[str]
    opens: int = 0
    reads: int = 0
    writes: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    #: Reads and writes whose rank, offset and time are recorded.
    exact: int = 0
    #: Stripe size in bytes and number of OSTs, where recorded.
    stripe_bytes: int | None = None
    stripe_count: int | None = None


class Record(NamedTuple):
    """A record of a file at an interface: its counters by their names without the interface's."""

    interface: str
    id: int
    rank: int
    values: dict[str, Any]

    def count(self, *names: str) -> int:
        """The sum of counters; what was not watched counts as nothing."""
        return sum(max(0, self.values.get(name, 0)) for name in names)

    def time(self, name: str) -> float:
        """A time in seconds; 0 where there is none."""
        value = self.values.get(f"F_{name}", 0.0)
        return min(value, LATEST_S) if math.isfinite(value) and value > 0 else 0.0

    def variance(self) -> float:
        """Of the bytes of all ranks, in bytes squared."""
        value: float = self.values.get("F_VARIANCE_RANK_BYTES", 0.0)
        return value if math.isfinite(value) else 0.0

    def opens(self) -> int:
        """How often it was opened."""
        if self.interface == "DFS":
            return self.count("OPENS", "GLOBAL_OPENS", "LOOKUPS")
        return self.count("INDEP_OPENS", "COLL_OPENS") if self.interface == "MPI-IO" else self.count("OPENS")

    def direction(self, read: bool) -> Direction:
        """What it says of reads or writes."""
        name, done = ("READ", "READ") if read else ("WRITE", "WRITTEN")
        bytes = self.count(f"BYTES_{done}")
        if self.interface == "MPI-IO":
            count = self.count(*(f"{way}_{name}S" for way in ("INDEP", "COLL", "SPLIT", "NB")))
            ranges = tuple(self.count(f"SIZE_{name}_AGG_{text}") for text in RANGE_NAMES)
        else:
            # DFS counts non-blocking and vectored accesses apart.
            ways = (f"{name}S", f"{name}XS", f"NB_{name}S") if self.interface == "DFS" else (f"{name}S",)
            count = self.count(*ways)
            ranges = tuple(self.count(f"SIZE_{name}_{text}") for text in RANGE_NAMES)
        if bytes > 0 and count == 0:
            count = 1
        return Direction(count, bytes, ranges if sum(ranges) == count else None)

    def common(self, what: str, value: str) -> Runs:
        """A list of common values with counts: `ACCESS` sizes or `STRIDE`s."""
        pairs = [
            (self.count(f"{what}{number}_{value}"), self.count(f"{what}{number}_COUNT"))
            for number in range(1, 5)
        ]
        return [(value, count) for value, count in pairs if count > 0]


def damaged(log: Log, problem: str, expected: str = "a log that is whole") -> InputError:
    """That a number in the log is impossible."""
    return InputError(problem, file=str(log.path), expected=expected)
