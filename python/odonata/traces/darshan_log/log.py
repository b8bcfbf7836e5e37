"""A Darshan log, read: the job, its modules, and their records as tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

#: Modules whose records are of files at the interfaces that are replayed. DFS is the file system of DAOS.
INTERFACES = ("POSIX", "MPI-IO", "STDIO", "DFS")
#: The module of the accesses of each.
DXT = {"POSIX": "DXT_POSIX", "MPI-IO": "DXT_MPIIO"}
#: The rank of records that were summed over all ranks.
SHARED = -1


def prefix(module: str) -> str:
    """What the names of a module's counters begin with."""
    return module.replace("-", "").replace("/", "")


@dataclass(frozen=True)
class Log:
    """What is in a log. Numbers are as recorded: whoever uses one looks whether it is possible."""

    path: Path
    #: Number of processes, times, ...: as `ground` truth tools name them.
    job: dict[str, Any]
    job_metadata: dict[str, str]
    exe: str
    mounts: list[tuple[str, str]]
    n_name_records: int
    #: By name: version, length, number and whether it is partial; an `error` if it could not be read.
    modules: dict[str, dict[str, Any]]
    #: What could not be read, as pairs of where and what.
    problems: list[tuple[str, str]]
    #: Tables of modules, `names`, and for each DXT module one of records and one of segments.
    tables: dict[str, pa.Table]
    #: Version of PyDarshan that has read it.
    pydarshan: str

    @property
    def ranks(self) -> int:
        """Number of processes of the job."""
        return int(self.job["nprocs"])

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of files (and other records) by their numbers."""
        table = self.tables.get("names")
        if table is None:
            return {}
        return dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))

    @property
    def partial(self) -> list[str]:
        """Modules of which Darshan did not keep everything, in the order of the log."""
        return [name for name, module in self.modules.items() if module["partial"]]
