"""The output of ping-pong benchmarks: `osu_latency` and IMB's PingPong, as they print it.

Both print half the round trip in microseconds by message size in bytes: OSU Micro-Benchmarks
(https://mvapich.cse.ohio-state.edu/benchmarks, c/mpi/pt2pt/osu_latency.c) in the first two columns, Intel MPI
Benchmarks (User Guide, PingPong) in columns 1 and 3. Lines around a table, such as those of a batch system,
are ignored. Other benchmarks of the same suites are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from odonata.errors import InputError

_OSU = re.compile(r"#\s*OSU\s+(.{1,200}?)(?:\s+v[0-9.]+\S*)?\s*")
_OSU_LATENCY = re.compile(r"MPI[-+\w]*\s+Latency Test", re.IGNORECASE)
_IMB = re.compile(r"#\s*Benchmarking\s+(\S{1,100}).*")
_IMB_FILE = re.compile(r"#\s*Intel\(R\) MPI Benchmarks.*")
_IOR = re.compile(r"IOR-[0-9.]+\S*: MPI Coordinated Test of Parallel I/O.*")
_IMB_PING_PONG = "pingpong"

#: A problem with the number of its line, what was found and what is expected.
Wrong = Callable[[str, int, str, str], InputError]


def rows(text: str, wrong: Wrong) -> Iterator[tuple[int, str, str]] | None:
    """The rows of all ping-pongs: line number, bytes, microseconds. None if no benchmark printed the text.

    Raises:
        InputError: Other benchmarks printed it, or a row is damaged.
    """
    lines = text.splitlines()
    marks = (_OSU, _IMB, _IMB_FILE, _IOR)
    first = next(
        (n for n, line in enumerate(lines, 1) if any(m.fullmatch(line.strip()) for m in marks)), None
    )
    return None if first is None else _rows(lines, first, wrong)


def _rows(lines: list[str], first: int, wrong: Wrong) -> Iterator[tuple[int, str, str]]:
    others: list[str] = []
    column, is_found = 0, False
    for number, line in enumerate(lines[first - 1 :], first):
        words = line.split()
        if title := _OSU.fullmatch(line.strip()):
            column = 1 if _OSU_LATENCY.fullmatch(title[1]) else 0
            others += [] if column else [f"OSU {title[1]}"]
        elif title := _IMB.fullmatch(line.strip()):
            column = 2 if title[1].lower() == _IMB_PING_PONG else 0
            others += [] if column else [f"IMB {title[1]}"]
        elif column and words and words[0].isdigit():
            if len(words) <= column:
                raise wrong("a row without a time", number, line.strip(), "bytes and microseconds")
            is_found = True
            yield number, words[0], words[column]
    if not is_found:
        others = list(dict.fromkeys(others)) or [lines[first - 1].strip(" #")]
        raise wrong(
            "no ping-pong", first, ", ".join(others[:5]), "osu_latency, or IMB-MPI1 PingPong, of one pair"
        )
