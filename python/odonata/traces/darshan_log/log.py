"""A Darshan log in memory: the job, its modules, and their records as tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

#: Modules with records of files at the replayed interfaces. DFS is the file system of DAOS.
INTERFACES = ("POSIX", "MPI-IO", "STDIO", "DFS")
#: The DXT module of each interface.
DXT = {"POSIX": "DXT_POSIX", "MPI-IO": "DXT_MPIIO"}
#: The rank of records that are sums over all ranks.
SHARED = -1


def prefix(module: str) -> str:
    """The prefix of a module's counter names."""
    return module.replace("-", "").replace("/", "")


@dataclass(frozen=True)
class Log:
    """The content of a log. Numbers are unchecked, as recorded."""

    path: Path
    #: Number of processes, times, ...: as `ground` truth tools name them.
    job: dict[str, Any]
    job_metadata: dict[str, str]
    exe: str
    mounts: list[tuple[str, str]]
    n_name_records: int
    #: By name: version, length, number and whether it is partial; `error` if it could not be read.
    modules: dict[str, dict[str, Any]]
    #: Unreadable parts, as pairs of place and problem.
    problems: list[tuple[str, str]]
    #: Tables of modules, `names`, and for each DXT module one of records and one of segments.
    tables: dict[str, pa.Table]
    #: Version of PyDarshan that read it.
    pydarshan: str

    @property
    def ranks(self) -> int:
        """Number of processes of the job."""
        return int(self.job["nprocs"])

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of files (and other records) by number."""
        table = self.tables.get("names")
        if table is None:
            return {}
        return dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))

    @property
    def partial(self) -> list[str]:
        """Modules with incomplete data, in the order of the log."""
        return [name for name, module in self.modules.items() if module["partial"]]
