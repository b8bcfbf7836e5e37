"""A small writer of DUMPI traces, to have own files that can be damaged.

The layout is that of docs/traces.md: big-endian records, an end mark, header, footer, sizes of datatypes,
index.
"""

from __future__ import annotations

import random
from pathlib import Path
from struct import pack

MAGIC, FOOTER = 0xFFAADD44554D5049, 0xF007FEE7
#: Calls that the format knows.
CALLS = 290
SEND, RECV, ISEND, IRECV, WAIT, WAITALL, SENDRECV = 0, 1, 8, 12, 13, 18, 33
BARRIER, BCAST, GATHER, ALLTOALLV, ALLREDUCE = 52, 53, 54, 61, 65
COMM_DUP, COMM_SPLIT, COMM_FREE, INIT, FINALIZE = 84, 86, 87, 124, 125
FILE_OPEN, FILE_CLOSE, WRITE_AT = 230, 231, 244
#: MPI_INT, MPI_COMM_WORLD, MPI_SUM.
INT, WORLD, SUM = 9, 2, 2


def status(count: int, source: int, tag: int) -> bytes:
    """A list of one status, of `count` bytes."""
    return pack(">iiiBBi", 1, count, source, 0, 0, tag)


class Rank:
    """The file of one rank, call by call."""

    def __init__(self) -> None:
        self._body = pack(">ii", 0, 0)
        self._calls = [0] * CALLS
        self._now_ns = 0

    def call(self, label: int, arguments: bytes) -> None:
        """A call that takes 1 us, some time after the one before."""
        self._now_ns += 5_000
        for label_part in (pack(">HB", label, 0x08 | 3), self._stamp(), self._stamp(1_000)):
            self._body += label_part
        self._body += arguments
        self._calls[label] += 1

    def _stamp(self, later_ns: int = 0) -> bytes:
        self._now_ns += later_ns
        return pack(">HI", *divmod(self._now_ns, 10**9))

    def content(self) -> bytes:
        """The whole file."""
        data = pack(">Q", MAGIC) + self._body + pack(">H", 293)
        header = len(data)
        data += pack(">BBB Q H4s H4s ii", 13, 0, 0, 0, 4, b"host", 4, b"user", 0, 0)
        footer = len(data)
        data += pack(">Q 291I 291I", FOOTER, *self._calls, sum(self._calls), *[0] * 291)
        sizes = len(data)
        data += pack(">i 28i", 28, *(4 if kind == INT else 1 for kind in range(28)))
        return data + pack(">8Q", MAGIC, sizes, 0, 0, header, 8, footer, 0)


def write(folder: Path, ranks: int, rounds: int, lot: random.Random, *, files: bool) -> None:
    """Writes a trace of `rounds` rounds on which all ranks agree to `folder`."""
    folder.mkdir(parents=True)
    script = [
        (lot.choice(["shift", "swap", "whole", "split"] + ["file"] * files), lot.choice([1, 100, 5000]))
        for _ in range(rounds)
    ]
    for rank in range(ranks):
        file = Rank()
        file.call(INIT, pack(">i", 0))
        for number, (kind, count) in enumerate(script):
            _round(file, kind, count, rank, ranks, number)
        file.call(FINALIZE, b"")
        (folder / f"t-{rank:04}.bin").write_bytes(file.content())
    (folder / "t.meta").write_text(
        f"hostname=host\nnumprocs={ranks}\nusername=user\nfileprefix=t\nversion=1\n"
    )


def _round(file: Rank, kind: str, count: int, rank: int, ranks: int, number: int) -> None:
    to, source = (rank + 1) % ranks, (rank - 1) % ranks
    match kind:
        case "shift":
            file.call(IRECV, pack(">ihiihi", count, INT, source, number, WORLD, 5))
            file.call(ISEND, pack(">ihiihi", count, INT, to, number, WORLD, 6))
            statuses = pack(">i", 2) + 2 * status(4 * count, source, number)[4:]
            file.call(WAITALL, pack(">ii2i", 2, 2, 5, 6) + statuses)
        case "swap":
            both = pack(">ihiiihiih", count, INT, to, number, count, INT, source, number, WORLD)
            file.call(SENDRECV, both + status(4 * count, source, number))
        case "whole":
            file.call(BCAST, pack(">ihih", count, INT, number % ranks, WORLD))
            file.call(ALLREDUCE, pack(">ihBh", count, INT, SUM, WORLD))
            file.call(BARRIER, pack(">h", WORLD))
        case "split":
            file.call(COMM_SPLIT, pack(">hiih", WORLD, rank % 2, rank, 7))
            file.call(ALLREDUCE, pack(">ihBh", count, INT, SUM, 7))
            file.call(COMM_FREE, pack(">h", 7))
        case "file":
            name = f"out{number}".encode()
            file.call(FILE_OPEN, pack(f">hi{len(name)}sBhh", WORLD, len(name), name, 5, 0, 3))
            file.call(WRITE_AT, pack(">hqih", 3, rank * 4 * count, count, INT) + status(4 * count, 0, 0))
            file.call(FILE_CLOSE, pack(">h", 3))
