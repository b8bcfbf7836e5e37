"""Writes logs in the format of Darshan 3.4 and 3.2, for tests; shares nothing with any reader.

Layout as in darshan-log-format.h and the headers of the modules. Counters are given by name; others are 0.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

_RANGES = (
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
_BOUNDS = (100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30)
_EDGES = [
    f"{what}_{edge}_TIMESTAMP" for edge in ("START", "END") for what in ("OPEN", "READ", "WRITE", "CLOSE")
]
_RANKS = ["FASTEST_RANK", "FASTEST_RANK_BYTES", "SLOWEST_RANK", "SLOWEST_RANK_BYTES"]
_SPREAD = ["FASTEST_RANK_TIME", "SLOWEST_RANK_TIME", "VARIANCE_RANK_TIME", "VARIANCE_RANK_BYTES"]


def _words(text: str) -> list[str]:
    return text.split()


def _ranges(infix: str) -> list[str]:
    return [f"SIZE_{what}_{infix}{text}" for what in ("READ", "WRITE") for text in _RANGES]


def _four(what: str, value: str) -> list[str]:
    return [f"{what}{i}_{part}" for part in (value, "COUNT") for i in range(1, 5)]


#: Counters and times of the records of a module, in their order.
COUNTERS = {
    "POSIX": [
        *_words(
            "OPENS FILENOS DUPS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS RENAME_SOURCES RENAME_TARGETS "
            "RENAMED_FROM MODE BYTES_READ BYTES_WRITTEN MAX_BYTE_READ MAX_BYTE_WRITTEN CONSEC_READS "
            "CONSEC_WRITES SEQ_READS SEQ_WRITES RW_SWITCHES MEM_NOT_ALIGNED MEM_ALIGNMENT FILE_NOT_ALIGNED "
            "FILE_ALIGNMENT MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE"
        ),
        *_ranges(""),
        *_four("STRIDE", "STRIDE"),
        *_four("ACCESS", "ACCESS"),
        *_RANKS,
    ],
    "MPI-IO": [
        *_words(
            "INDEP_OPENS COLL_OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES SPLIT_READS SPLIT_WRITES "
            "NB_READS NB_WRITES SYNCS HINTS VIEWS MODE BYTES_READ BYTES_WRITTEN RW_SWITCHES "
            "MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE"
        ),
        *_ranges("AGG_"),
        *_four("ACCESS", "ACCESS"),
        *_RANKS,
    ],
    "DFS": [
        *_words(
            "OPENS GLOBAL_OPENS LOOKUPS DUPS READS READXS WRITES WRITEXS NB_READS NB_WRITES GET_SIZES "
            "PUNCHES REMOVES STATS BYTES_READ BYTES_WRITTEN RW_SWITCHES MAX_READ_TIME_SIZE "
            "MAX_WRITE_TIME_SIZE"
        ),
        *_ranges(""),
        *_four("ACCESS", "ACCESS"),
        "CHUNK_SIZE",
        *_RANKS,
    ],
    "STDIO": [
        *_words(
            "OPENS FDOPENS READS WRITES SEEKS FLUSHES BYTES_WRITTEN BYTES_READ MAX_BYTE_READ MAX_BYTE_WRITTEN"
        ),
        *_RANKS,
    ],
}
_MOST = ["READ_TIME", "WRITE_TIME", "META_TIME", "MAX_READ_TIME", "MAX_WRITE_TIME"]
TIMES = {
    "POSIX": _EDGES + _MOST + _SPREAD,
    "MPI-IO": _EDGES + _MOST + _SPREAD,
    "DFS": _EDGES + _MOST + _SPREAD[:2],
    "STDIO": ["META_TIME", "WRITE_TIME", "READ_TIME"]
    + [f"{what}_{edge}_TIMESTAMP" for edge in ("START", "END") for what in ("OPEN", "CLOSE", "WRITE", "READ")]
    + _SPREAD,
}
#: Numbers of modules: for logs of version 3.41, and for older ones; and the versions of their records.
MODULES = {
    "POSIX": (1, 1, 4),
    "MPI-IO": (2, 2, 3),
    "LUSTRE": (8, 7, 1),
    "STDIO": (9, 8, 2),
    "DXT_POSIX": (10, 9, 1),
    "DFS": (16, 15, 1),
}


def in_ranges(direction: str, sizes: list[int], infix: str = "") -> dict[str, int]:
    """Counters of these sizes by range, and of their bytes."""
    counts = dict.fromkeys(_RANGES, 0)
    for size in sizes:
        counts[_RANGES[sum(size > bound for bound in _BOUNDS)]] += 1
    done = {"READ": "BYTES_READ", "WRITE": "BYTES_WRITTEN"}[direction]
    return {f"SIZE_{direction}_{infix}{text}": count for text, count in counts.items()} | {done: sum(sizes)}


@dataclass
class Writer:
    """A log in the making."""

    ranks: int
    version: str = "3.41"
    #: `<` or `>`: the byte order of the recording machine.
    order: str = "<"
    exe: str = "./program with arguments"
    seconds: float = 10.0
    partial: tuple[str, ...] = ()
    names: dict[int, str] = field(default_factory=dict)
    _modules: dict[str, bytes] = field(default_factory=dict)

    def _add(self, module: str, id: int, name: str, record: bytes) -> None:
        self.names[id] = name
        self._modules[module] = self._modules.get(module, b"") + record

    def record(self, module: str, id: int, name: str, rank: int, **values: float) -> None:
        """A record of a file by `rank`, -1 for all: counters, and times with `F_` before their names."""
        unknown = [key for key in values if key.removeprefix("F_") not in COUNTERS[module] + TIMES[module]]
        assert not unknown, unknown
        whole = [int(values.get(key, 0)) for key in COUNTERS[module]]
        real = [values.get(f"F_{key}", 0.0) for key in TIMES[module]]
        packed = struct.pack(f"{self.order}Qq{len(whole)}q{len(real)}d", id, rank, *whole, *real)
        # For DFS, the numbers of pool and container.
        self._add(module, id, name, packed + bytes(32 if module == "DFS" else 0))

    def segments(
        self,
        module: str,
        id: int,
        name: str,
        rank: int,
        writes: list[tuple[int, int, float, float]],
        reads: list[tuple[int, int, float, float]],
    ) -> None:
        """Accesses by DXT: offset, length, begin and end of each."""
        packed = struct.pack(f"{self.order}Qqq64sqq", id, rank, 0, b"host", len(writes), len(reads))
        for row in [*writes, *reads]:
            packed += struct.pack(f"{self.order}qqdd", *row)
        self._add(module, id, name, packed)

    def layout(self, id: int, name: str, stripe_bytes: int, osts: list[int]) -> None:
        """The striping of a file on Lustre (records of version 1)."""
        counters = (len(osts) + 4, 1, 0, stripe_bytes, len(osts))
        self._add("LUSTRE", id, name, struct.pack(f"{self.order}Qq5q{len(osts)}q", id, -1, *counters, *osts))

    def bytes(self) -> bytes:
        """The whole log."""
        new = self.version == "3.41"
        slots = 64 if new else 16
        length = (32 if new else 24) + 16 + 16 * slots + 4 * slots
        order, begin = self.order, 1_700_000_000
        end, rest = begin + int(self.seconds), int(self.seconds % 1 * 1e9)
        metadata = b"lib_ver=0.0.0\nh=none\n"
        times = (begin, 0, end, rest) if new else (begin, end)
        job = struct.pack(f"{order}q{len(times)}qqq1024s", 0, *times, self.ranks, 42, metadata)
        job += f"{self.exe}\next4\t/\ntmpfs\t/dev".encode() + b"\0"
        names = b"".join(
            struct.pack(f"{order}Q", id) + name.encode() + b"\0" for id, name in self.names.items()
        )
        body = zlib.compress(job)
        maps, versions, flags = [(0, 0)] * slots, [0] * slots, 0

        def region(data: bytes) -> tuple[int, int]:
            nonlocal body
            packed = zlib.compress(data)
            place = (length + len(body), len(packed))
            body += packed
            return place

        name_map = region(names) if names else (0, 0)
        for module, data in sorted(self._modules.items(), key=lambda item: MODULES[item[0]][0]):
            place = MODULES[module][0 if new else 1]
            maps[place], versions[place] = region(data), MODULES[module][2]
            flags |= (module in self.partial) << place
        head = struct.pack(f"{order}8sqB", self.version.encode(), 6567223, 0)
        head += struct.pack(f"{order}7xQ", flags) if new else struct.pack(f"{order}3xI", flags)
        head += struct.pack(f"{order}QQ", *name_map)
        head += b"".join(struct.pack(f"{order}QQ", *pair) for pair in maps)
        head += struct.pack(f"{order}{slots}I", *versions)
        assert len(head) == length
        return head + body

    def write(self, path: Path) -> Path:
        """Writes the log to `path`, and returns it."""
        path.write_bytes(self.bytes())
        return path
