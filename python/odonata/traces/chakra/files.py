"""The files of a Chakra trace: `NAME.RANK.et`, one per rank, or the same in JSON; each may be compressed by
gzip.

A path is a folder with the files of one trace, or one of these files, which stands for all files of its name.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import NamedTuple

from odonata.base import foreign
from odonata.errors import InputError, is_mistake

#: Description of a path of this format.
FILES = "a Chakra execution trace (NAME.RANK.et, or its folder)"
#: Text that identifies the JSON form, and the number of bytes to search.
_MARK, _START = b'"workload_graph"', 4096
#: Most ranks of a program.
MOST_RANKS = 1 << 24

_NAME = re.compile(r"(?P<name>.*?)(?:\.(?P<rank>\d{1,8}))?\.(?P<ending>et|json)(?:\.gz)?\Z", re.DOTALL)


class RankFile(NamedTuple):
    """The file of a rank."""

    path: Path
    rank: int

    @property
    def is_json(self) -> bool:
        """Whether it is the JSON form."""
        return self.path.name.endswith((".json", ".json.gz"))


def is_at(path: Path) -> bool:
    """Whether `path` is a Chakra trace: by its name, and for JSON also by its first bytes."""
    try:
        if path.is_dir():
            return bool(_in(path))
    except OSError:
        return False
    return _is_file(path)


def _is_file(path: Path) -> bool:
    if path.name.startswith("._"):
        return False
    if path.name.endswith((".et", ".et.gz")):
        return True
    if not path.name.endswith((".json", ".json.gz")):
        return False
    try:
        with foreign.open_unpacked(path) as file:
            return _MARK in file.read(_START)
    except (OSError, EOFError, zlib.error):
        return False


def _in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _is_file(path))


def find(path: Path) -> tuple[str, list[RankFile]]:
    """Name and files of the trace at `path`, in the order of ranks, which may have gaps.

    Raises:
        InputError: There is no trace, or there are several.
    """
    try:
        folder = path if path.is_dir() else path.parent
        there = _in(folder)
        if folder != path:
            foreign.check(path)
    except OSError as error:
        if not is_mistake(error):
            raise
        raise InputError(
            f"the trace cannot be read: {error.strerror}", file=str(path), expected=FILES
        ) from None
    traces: dict[tuple[str, str], dict[int, Path]] = {}
    for file in there if folder == path or path in there else [path]:
        parts = _NAME.match(file.name)
        assert parts is not None, file
        rank = int(parts["rank"] or 0)
        ranks = traces.setdefault((parts["name"], parts["ending"]), {})
        if rank in ranks:
            raise InputError(
                f"two files of rank {rank}: {ranks[rank].name} and {file.name}",
                file=str(path),
                expected="one file for each rank",
            )
        ranks[rank] = file
    if folder == path:
        if len(traces) > 1:
            names = [f"{name}.*.{ending}" for name, ending in sorted(traces)]
            raise InputError(
                f"the folder has several traces: {', '.join(names[:4])}",
                file=str(path),
                expected="one of their files",
            )
        (name, _), ranks = next(iter(traces.items()))
    else:
        parts = _NAME.match(path.name)
        assert parts is not None, path
        name, ranks = parts["name"], traces[parts["name"], parts["ending"]]
    if max(ranks) >= MOST_RANKS:
        raise InputError(
            f"{ranks[max(ranks)].name} is of rank {max(ranks)}",
            file=str(path),
            expected=f"ranks below {MOST_RANKS}",
        )
    return name, [RankFile(ranks[rank], rank) for rank in sorted(ranks)]


def missing(files: list[RankFile]) -> list[int]:
    """At most ten of the ranks below the largest that have no file."""
    there = {file.rank for file in files}
    found: list[int] = []
    for rank in range(files[-1].rank):
        if rank not in there:
            found.append(rank)
            if len(found) == 10:
                break
    return found
