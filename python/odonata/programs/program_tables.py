"""Writes the tables of a program in files (docs/program-format.md), operation by operation.

For converters that produce operations rank by rank, and too many for generators, which
`odonata.operations.write` accepts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from odonata.errors import InputError

#: Rows of a row group.
ROWS = 1 << 16
#: Most operations in `after` (docs/program-format.md).
MOST_AFTER = 4
#: Largest number in a row.
LARGEST = (1 << 63) - 1

#: The columns of operations, and their types.
COLUMNS = {
    "rank": pa.uint32(),
    "stream": pa.uint16(),
    "after": pa.list_(pa.uint32()),
    "kind": pa.string(),
    "peer": pa.int64(),
    "tag": pa.int64(),
    "bytes": pa.uint64(),
    "comm": pa.uint32(),
    "request": pa.int64(),
    "count": pa.uint64(),
    "root": pa.uint32(),
    "counts": pa.uint32(),
    "new_comm": pa.uint32(),
    "directory": pa.uint32(),
    "file": pa.uint64(),
    "offset": pa.uint64(),
    "duration_ps": pa.uint64(),
    "recv_peer": pa.int64(),
    "recv_tag": pa.int64(),
    "recv_bytes": pa.uint64(),
    "iteration": pa.uint32(),
}
_NOTHING = dict.fromkeys(COLUMNS)


class ProgramTables:
    """A program that is being written to an empty folder; complete when the context ends without an error.

    Operations are added in the order of rank, then operation, and so are lists of sizes. A number that a
    table cannot hold raises an `InputError` that names `source`, its origin.
    """

    def __init__(self, folder: Path, ranks: int, description: str, made_by: str, source: Path) -> None:
        self.folder, self.ranks, self.source = folder, ranks, source
        self.description, self.made_by = description[:500], made_by
        #: Number of all written operations.
        self.operations = 0
        self._rank, self._of_rank = 0, 0
        self._rows: list[dict[str, Any]] = []
        self._lists: list[tuple[int, int, int | None, list[int] | None, list[int] | None]] = []
        self._list_of_rank = 0
        self._schema = pa.schema(list(COLUMNS.items()))
        self._file: pq.ParquetWriter | None = None
        self._comms: list[tuple[int, list[int]]] = []

    def __enter__(self) -> ProgramTables:
        self._file = pq.ParquetWriter(self.folder / "operations.parquet", self._schema)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        if kind is not None:
            self._file.close()
            return
        self._flush()
        self._file.close()
        comms = {
            "comm": pa.array([number for number, _ in self._comms], pa.uint32()),
            "members": pa.array([members for _, members in self._comms], pa.list_(pa.uint32())),
        }
        pq.write_table(pa.table(comms), self.folder / "communicators.parquet")
        lists = pa.list_(pa.uint64())
        types = {"rank": pa.uint32(), "counts": pa.uint32(), "member": pa.uint32()}
        types |= {"by_giver": lists, "by_taker": lists}
        columns = zip(*self._lists, strict=True) if self._lists else [()] * len(types)
        arrays = [
            pa.array(values, column_type) for values, column_type in zip(columns, types.values(), strict=True)
        ]
        pq.write_table(pa.table(arrays, names=list(types)), self.folder / "counts.parquet")
        program = {
            "format": "odonata-program",
            "version": 1,
            "ranks": self.ranks,
            "description": self.description,
            "made_by": self.made_by,
        }
        (self.folder / "program.json").write_text(json.dumps(program, indent=1) + "\n", encoding="utf-8")

    def communicator(self, number: int, members: Sequence[int]) -> None:
        """Adds a communicator, 1 or above, of these ranks of the job."""
        self._comms.append((number, list(members)))

    def add(
        self,
        rank: int,
        kind: str,
        values: Mapping[str, int | None],
        *,
        stream: int = 0,
        after: Iterable[int] = (),
    ) -> int:
        """Adds an operation with the values of further columns; returns its number within the rank.

        If it depends on more operations than a row can name, a computation of zero duration on its stream
        carries the other dependencies.
        """
        others = sorted(after)
        while len(others) > MOST_AFTER:
            first, others = others[:MOST_AFTER], others[MOST_AFTER:]
            self._add(rank, "compute", stream, first, {"duration_ps": 0})
        return self._add(rank, kind, stream, others, values)

    def sizes(
        self,
        rank: int,
        *,
        by_giver: list[int] | None = None,
        by_taker: list[int] | None = None,
        member: int | None = None,
    ) -> int:
        """Adds a list of sizes for the rank whose operations are being added; returns its number for
        `counts`.
        """
        if self._lists and self._lists[-1][0] != rank:
            self._list_of_rank = 0
        number = self._list_of_rank
        self._list_of_rank += 1
        self._lists.append((rank, number, member, by_giver, by_taker))
        return number

    def _add(
        self, rank: int, kind: str, stream: int, after: list[int], values: Mapping[str, int | None]
    ) -> int:
        if rank != self._rank:
            self._rank, self._of_rank = rank, 0
        for name, value in values.items():
            if value is not None and not -LARGEST <= value <= LARGEST:
                raise InputError(
                    f"rank {rank}, {kind}: {name} would be {value}",
                    file=str(self.source),
                    expected="at most 2^63 - 1",
                )
        number = self._of_rank
        self._of_rank += 1
        self.operations += 1
        row = {"rank": rank, "stream": stream, "after": after or None, "kind": kind, **values}
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._flush()
        return number

    def _flush(self) -> None:
        assert self._file is not None
        if self._rows:
            table = pa.Table.from_pylist([{**_NOTHING, **row} for row in self._rows], schema=self._schema)
            self._file.write_table(table, row_group_size=ROWS)
            self._rows.clear()
