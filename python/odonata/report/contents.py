"""The data of a report: the tables of one run, each read once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from odonata.analysis import blame, summary
from odonata.analysis.measured import needed
from odonata.scenario import run_fidelity

if TYPE_CHECKING:
    from odonata.results.results import Results

#: Most jobs in charts; beyond it, those that moved the most bytes.
MOST_JOBS = 16


class Contents:
    """A run, and derived data that several sections use."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.run: dict[str, Any] = results.run
        self.simulated_s = float(self.run["simulated_s"])

    @functools.cached_property
    def summary(self) -> Mapping[str, Any]:
        """The content of `odonata summary --json`."""
        return summary.collect(self.results)

    @functools.cached_property
    def fidelity(self) -> run_fidelity.RunFidelity:
        """The fidelity of messages."""
        return run_fidelity.of_scenario(self.run["scenario"])

    @functools.cached_property
    def jobs(self) -> list[dict[str, Any]]:
        """The rows of the table jobs."""
        return needed(self.results, "jobs", ["job"]).to_pylist()  # type: ignore[no-any-return]

    @functools.cached_property
    def names(self) -> list[str]:
        """All jobs, in the order of the scenario."""
        return [row["job"] for row in self.jobs]

    @functools.cached_property
    def shown(self) -> list[str]:
        """The jobs in charts, in the order of the scenario."""
        if len(self.names) <= MOST_JOBS:
            return self.names
        moved = {
            row["job"]: row["bytes_sent"] + row["bytes_written"] + row["bytes_read"] for row in self.jobs
        }
        most = set(sorted(self.names, key=lambda job: -moved[job])[:MOST_JOBS])
        return [job for job in self.names if job in most]

    def color(self, job: str) -> int:
        """Number of a job's color; -1 for other names."""
        return self.shown.index(job) if job in self.shown else -1

    @functools.cached_property
    def blames(self) -> bool:
        """Whether waits were charged to jobs."""
        return blame.measured(self.results)

    @functools.cached_property
    def findings(self) -> list[blame.Finding]:
        """All waits, summed; empty if they were not measured."""
        return blame.totals(self.results) if self.blames else []

    @functools.cached_property
    def slowdowns(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """job -> metric -> alone, together, ratio; empty if there were no baselines."""
        return self.summary["slowdown"] or {}

    def rows(self, name: str, columns: list[str]) -> list[dict[str, Any]]:
        """These columns of a table as rows; none if there is no such table."""
        if name not in self.results.tables:
            return []
        return needed(self.results, name, columns).select(columns).to_pylist()  # type: ignore[no-any-return]

    def chosen(self, name: str, columns: list[str], **values: str) -> list[dict[str, Any]]:
        """The rows of a table whose columns have these `values`."""
        if name not in self.results.tables:
            return []
        table = needed(self.results, name, [*columns, *values])
        for column, value in values.items():
            table = table.filter(pc.equal(table[column], value))
        return table.select(columns).to_pylist()  # type: ignore[no-any-return]

    @functools.cached_property
    def links(self) -> list[dict[str, Any]]:
        """The rows of the table links; none if messages use no links."""
        if not self.fidelity.uses_links:
            return []
        columns = [
            "link",
            "name",
            "class",
            "source_kind",
            "source",
            "target_kind",
            "target",
            "bytes",
            "packets",
        ]
        return self.rows("links", [*columns, "busy_s", "saturation_s"])

    @functools.cached_property
    def groups(self) -> list[int]:
        """The group of every router."""
        return [row["group"] for row in self.rows("routers", ["group"])]

    def interval_of(self, row: Mapping[str, Any]) -> int:
        """The number of the interval of a row of a time series."""
        number: int = round(row["start_s"] / (self.interval_s or 1.0))
        return number

    def intervals_of(self, rows: Iterable[Mapping[str, Any]]) -> list[int]:
        """The intervals of `rows`, and those before and after each, up to the last.

        A time series has no row for an interval in which nothing happened. Such a neighbor keeps a chart from
        drawing a line, or a cell, across the time in which there was nothing.
        """
        found = {self.interval_of(row) for row in rows}
        near = {one + step for one in found for step in (-1, 0, 1)}
        return sorted(one for one in near if 0 <= one <= max(found))

    @functools.cached_property
    def interval_s(self) -> float | None:
        """Length of the intervals of time series; None without time series."""
        for table in ("series", "blame_series"):
            starts = sorted({row["start_s"] for row in self.rows(table, ["start_s"])})
            if len(starts) > 1:
                return float(min(b - a for a, b in itertools.pairwise(starts)))
        return None
