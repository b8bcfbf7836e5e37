"""Records of files in a Darshan log: the counters of an interface for one file, for one rank or all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from odonata.errors import InputError
from odonata.traces.darshan_log.log import Log
from odonata.traces.darshan_log.sizes import RANGE_NAMES, Direction, Runs

#: Most replayed operations of a log: they are in memory at once.
MOST_OPERATIONS = 30_000_000
#: Later times, in seconds, are damaged numbers.
LATEST_S = 4e6


@dataclass
class File:
    """A file of the log, and its replayed part."""

    number: int
    #: Darshan's record number.
    record: int
    name: str
    #: The replayed interfaces.
    interfaces: list[str]
    opens: int = 0
    reads: int = 0
    writes: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    #: Reads and writes with recorded rank, offset and time.
    exact: int = 0
    #: Stripe size in bytes and number of OSTs, if recorded.
    stripe_bytes: int | None = None
    stripe_count: int | None = None


class Record(NamedTuple):
    """A record of a file at an interface; its counters without the prefix of the interface."""

    interface: str
    id: int
    rank: int
    values: dict[str, Any]

    def count(self, *names: str) -> int:
        """The sum of counters; unmonitored ones count as 0."""
        return sum(max(0, self.values.get(name, 0)) for name in names)

    def time(self, name: str) -> float:
        """A time in seconds; 0 if absent."""
        value = self.values.get(f"F_{name}", 0.0)
        return min(value, LATEST_S) if math.isfinite(value) and value > 0 else 0.0

    def variance(self) -> float:
        """Variance of the ranks' bytes, in bytes squared."""
        value: float = self.values.get("F_VARIANCE_RANK_BYTES", 0.0)
        return value if math.isfinite(value) else 0.0

    def opens(self) -> int:
        """Number of opens."""
        if self.interface == "DFS":
            return self.count("OPENS", "GLOBAL_OPENS", "LOOKUPS")
        return self.count("INDEP_OPENS", "COLL_OPENS") if self.interface == "MPI-IO" else self.count("OPENS")

    def direction(self, read: bool) -> Direction:
        """The counts of its reads or writes."""
        name, done = ("READ", "READ") if read else ("WRITE", "WRITTEN")
        bytes = self.count(f"BYTES_{done}")
        if self.interface == "MPI-IO":
            count = self.count(*(f"{way}_{name}S" for way in ("INDEP", "COLL", "SPLIT", "NB")))
            ranges = tuple(self.count(f"SIZE_{name}_AGG_{text}") for text in RANGE_NAMES)
        else:
            # DFS counts non-blocking and vectored accesses separately.
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
    """The error for an impossible number in the log."""
    return InputError(problem, file=str(log.path), expected=expected)
