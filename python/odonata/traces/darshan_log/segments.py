"""Individual accesses from Darshan's extended tracing (DXT)."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from odonata.traces.darshan_log.log import Log
from odonata.traces.darshan_log.positions import LONGEST
from odonata.traces.darshan_log.records import LATEST_S, MOST_OPERATIONS, damaged


class Segments(NamedTuple):
    """DXT accesses to a file."""

    rank: NDArray[np.int64]
    offset: NDArray[np.int64]
    bytes: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]

    def at(self, rows: Any) -> Segments:
        """The accesses of some rows: a slice, or a mask."""
        return Segments(
            self.rank[rows], self.offset[rows], self.bytes[rows], self.start[rows], self.end[rows]
        )


def segments_of(log: Log, module: str) -> dict[tuple[int, bool], Segments]:
    """Accesses of a DXT module by file and direction, in the order of rank, then of the log."""
    if module not in log.tables:
        return {}
    records, rows = log.tables[f"{module}.records"], log.tables[module]
    owner = rows["record"].to_numpy()
    ids, ranks = records["id"].to_numpy()[owner], records["rank"].to_numpy()[owner]
    write = rows["write"].to_numpy(zero_copy_only=False)
    columns = [rows[name].to_numpy() for name in ("offset", "length", "start", "end")]
    for problem, bad in (
        (f"has an access of a rank that is none of {log.ranks}", (ranks < 0) | (ranks >= log.ranks)),
        ("has an access with a negative length", columns[1] < 0),
        # Darshan writes -1 for an access through MPI's file pointer, or a view.
        ("has an access with a negative offset", columns[0] < (-1 if module == "DXT_MPIIO" else 0)),
        ("has an access beyond any file", (columns[0] > LONGEST) | (columns[1] > LONGEST)),
        ("has an access at an impossible time", ~((columns[2] >= 0) & (columns[3] < LATEST_S))),
    ):
        if bad.any():
            where = int(np.argmax(bad))
            row = ", ".join(str(column[where]) for column in (ranks, *columns))
            raise damaged(log, f"{module} {problem}: rank, offset, length, begin and end are {row}")
    if len(ids) > MOST_OPERATIONS or float(columns[1].astype(np.float64).sum()) > LONGEST:
        raise damaged(
            log, f"{module} has {len(ids)} accesses of more than {LONGEST} B, or more than are read"
        )
    order = np.lexsort((np.arange(len(ids)), ranks, write, ids))
    ids, write = ids[order], write[order]
    every = Segments(ranks, *columns).at(order)
    change = np.flatnonzero((ids[1:] != ids[:-1]) | (write[1:] != write[:-1])) + 1
    bounds = [0, *change.tolist(), len(ids)] if len(ids) else [0]
    return {
        (int(ids[begin]), bool(write[begin])): every.at(slice(begin, end))
        for begin, end in itertools.pairwise(bounds)
    }
