"""The tables of a run's timeline, by rank.

The tables `calls`, `requests`, `flows`, `accesses` and `link_series` exist if the scenario had `run.timeline`
(docs/timeline.md). Arrow joins and sums all rows. Only the shown rows become Python objects, one rank at a
time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from odonata.analysis.measured import damaged, file_of, needed
from odonata.base.folder import RUN_FILE
from odonata.errors import InputError, Phrase, Text
from odonata.timeline.selection import Selection, seconds

if TYPE_CHECKING:
    from odonata.results.results import Results

_CALLS = [
    *("job", "rank", "call", "stream", "name", "class", "begin_s", "end_s", "finished"),
    *("iteration", "peer", "bytes", "file", "request", "requests"),
]
_REQUESTS = ["job", "rank", "request", "call", "name", "begin_s", "end_s", "peer", "bytes"]
_FLOWS = ["job", "source_rank", "target_rank", "bytes", "kind", "sent_call", "sent_s", "taken_call"]
_ACCESSES = [
    *("server", "device", "kind", "job", "rank", "bytes", "joined_s", "begin_s", "end_s"),
    *("used_bytes", "memory_bytes"),
]
_LINKS = ["link", "start_s", "bytes", "busy_s"]

#: A rank: job and number.
Rank = tuple[str, int]


@dataclass(frozen=True)
class Slices:
    """A table sorted by rank, with the position of each rank in it."""

    table: pa.Table
    places: dict[Rank, tuple[int, int]]

    @classmethod
    def from_table(cls, table: pa.Table, job: str, rank: str, *order: str) -> Slices:
        """`table`, sorted by its columns `job` and `rank`, and within a rank by those of `order`."""
        table = table.sort_by([(name, "ascending") for name in (job, rank, *order)])
        counts = table.group_by([job, rank]).aggregate([([], "count_all")])
        # Groups have no fixed order.
        counts = counts.sort_by([(name, "ascending") for name in (job, rank)])
        places, first = {}, 0
        for name, number, count in zip(
            *(counts[c].to_pylist() for c in (job, rank, "count_all")), strict=True
        ):
            places[name, number] = (first, count)
            first += count
        return cls(table, places)

    def rows(self, rank: Rank) -> Iterator[dict[str, Any]]:
        """The rows of a rank, a few thousand at a time."""
        first, count = self.places.get(rank, (0, 0))
        for batch in self.table.slice(first, count).to_batches(max_chunksize=4096):
            yield from batch.to_pylist()

    def count(self, rank: Rank) -> int:
        """Number of rows of a rank."""
        return self.places.get(rank, (0, 0))[1]


class Recorded:
    """The recorded timeline of a run; raises `InputError` with the required setting if there is none."""

    def __init__(self, results: Results) -> None:
        self.results = results
        run = results.run.get("scenario", {}).get("run", {})
        self.settings: Any = run.get("timeline") if isinstance(run, dict) else None
        if not isinstance(self.settings, dict):
            raise InputError(
                "the run recorded no timeline",
                file=None if results.path is None else str(Path(results.path) / RUN_FILE),
                key="run.timeline",
                expected="a run with this key: "
                + Text(Phrase('overrides={"run.timeline": {}}', "odonata run SCENARIO --set run.timeline={}"))
                + " (docs/timeline.md)",
            )
        self.interval_s = _seconds(run.get("series_interval"))

    @functools.cached_property
    def jobs(self) -> list[str]:
        """The jobs of the run, in the order of the scenario."""
        return list(needed(self.results, "jobs", ["job"])["job"].to_pylist())

    @functools.cached_property
    def calls(self) -> pa.Table:
        """The calls of ranks."""
        return needed(self.results, "calls", _CALLS).select(_CALLS)

    @functools.cached_property
    def requests(self) -> pa.Table:
        """The completed requests."""
        return needed(self.results, "requests", _REQUESTS).select(_REQUESTS)

    @functools.cached_property
    def flows(self) -> pa.Table:
        """The messages, numbered from 1 in the column `flow`."""
        flows = needed(self.results, "flows", _FLOWS).select(_FLOWS)
        return flows.append_column("flow", pa.array(range(1, flows.num_rows + 1), pa.int64()))

    @functools.cached_property
    def accesses(self) -> pa.Table:
        """The accesses of servers' devices, and transfers of their drains."""
        return needed(self.results, "accesses", _ACCESSES).select(_ACCESSES)

    @functools.cached_property
    def links(self) -> pa.Table:
        """The busiest links over time."""
        return needed(self.results, "link_series", _LINKS).select(_LINKS)

    @functools.cached_property
    def link_names(self) -> dict[int, str]:
        """Name and class of each link."""
        links = needed(self.results, "links", ["link", "name", "class"])
        columns = (links[name].to_pylist() for name in ("link", "name", "class"))
        return {link: f"{name} ({kind})" for link, name, kind in zip(*columns, strict=True)}

    @functools.cached_property
    def ranks(self) -> dict[Rank, dict[str, Any]]:
        """Node, start and totals of every rank."""
        columns = ["job", "rank", "node", "start_s", "compute_s", "mpi_s", "io_s"]
        columns += ["messages_sent", "bytes_sent", "messages_received", "bytes_received"]
        rows = needed(self.results, "ranks", columns).select(columns).to_pylist()
        return {(row["job"], row["rank"]): row for row in rows}

    def damaged(self, table: str, problem: str, value: str) -> InputError:
        """The error for a table that differs from what a run writes."""
        folder = self.results.path
        return damaged(None if folder is None else file_of(folder, table), problem, value=value[:200])

    @property
    def whole(self) -> bool:
        """Whether the timeline covers all ranks completely: no period, and no row left out."""
        return (
            not self.settings.get("until")
            and not _seconds(self.settings.get("from"))
            and not self.results.run.get("timeline_cut")
        )


def within(table: pa.Table, begin: str, end: str, selection: Selection) -> pa.Table:
    """The rows that overlap the period."""
    starts = pc.less(table[begin], selection.until_s)
    ends = pc.or_(pc.greater(table[end], selection.from_s), pc.greater_equal(table[begin], selection.from_s))
    return table.filter(pc.and_(starts, ends))


def _seconds(value: Any) -> float | None:
    """A time from run.json; None if there is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return seconds(value, "run")
    except InputError:
        return None
