"""Runs cells; each gives a row with the times of the victim's iterations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from study_tools import parquet

import odonata
from gpcnet_study.cells import RING_BYTES, Cell
from gpcnet_study.machines import scenario

#: Simulated time of a run, from the aggressors' start; GPCNeT's canaries alone have no limit.
LIMITS = {"GPCNeT": "12 ms", "map": "12 ms", "map, linear": "12 ms"}
ALONE = "500 us"
#: Ranks of the victim whose iterations are recorded.
RECORDED = 32
#: "At least 200 iterations, of each the slowest rank".
FIRST = 200


@dataclass(frozen=True)
class Row:
    """A cell with its measurements."""

    suite: str
    machine: str
    control: str
    victim: str
    aggressor: str
    percent: int
    #: Iterations of the victim, summed over ranks; the last one of a rank may not have ended.
    iterations: int
    #: Time of an iteration: mean over ranks of their means, and 99th percentile over all ranks and
    #: iterations.
    mean_s: float
    p99_s: float
    #: Time of the slowest rank in the first FIRST iterations, mean over iterations (the Slingshot paper's
    #: measure).
    slowest_s: float
    #: Cost of the run.
    packet_hops: int
    cpu_s: float

    @property
    def baseline_key(self) -> tuple[str, str, str, int]:
        """The fields that compared rows have in common."""
        return self.suite, self.machine, self.victim, self.percent

    @property
    def name(self) -> str:
        """victim, machine, aggressor."""
        beside = f", {self.aggressor} {self.percent}%" if self.aggressor else ""
        return f"{self.victim}, {self.machine} ({self.control}){beside}"


def run(cell: Cell) -> Row:
    """Runs a cell: a canary alone to its end, all others for a fixed time."""
    jobs = cell.jobs()
    timeline = {"jobs": "victim", "rows": 2_000_000, "every": -(-jobs[0]["ranks"] // RECORDED), "links": 0}
    described: dict[str, Any] = scenario(cell.machine, cell.control)
    described["run"] = {"threads": 1, "message_rows": 0, "blame": False, "timeline": timeline}
    if cell.aggressor:
        described["run"]["time_limit"] = LIMITS[cell.suite]
    elif cell.suite != "GPCNeT":
        described["run"]["time_limit"] = ALONE
    return of_results(cell, odonata.run(described | {"jobs": jobs}), timeline["every"])


def of_results(cell: Cell, results: odonata.Results, every: int = 1) -> Row:
    """A row, from the tables of a run that has recorded every n-th rank."""
    by_rank = iteration_times(results, every)
    everything = np.concatenate(by_rank)
    return Row(
        **asdict(cell),
        iterations=sum(len(times) for times in by_rank),
        mean_s=float(np.mean([times.mean() for times in by_rank])),
        p99_s=float(np.quantile(everything, 0.99)),
        slowest_s=slowest(by_rank),
        packet_hops=results.run["packet_hops"],
        cpu_s=results.run["cpu_s"],
    )


def iteration_times(results: odonata.Results, every: int) -> list[Any]:
    """The times of the iterations of every n-th rank of the victim.

    An unfinished iteration counts with its time until the end of the run. That is less than its full time,
    but leaving it out would drop the most affected iterations.
    """
    calls = results.table("calls")
    chosen = calls.filter(pc.and_(pc.equal(calls["name"], "iteration"), pc.equal(calls["finished"], 1)))
    by_rank: dict[int, list[float]] = {}
    for rank, end in zip(chosen["rank"].to_pylist(), chosen["end_s"].to_pylist(), strict=True):
        by_rank.setdefault(rank, []).append(end)
    times = []
    for row in results.rows("ranks"):
        if row["job"] == "victim" and row["rank"] % every == 0:
            ends = sorted(by_rank.get(row["rank"], []))
            begin = row["start_s"]
            last = [] if row["finished"] else [results.run["simulated_s"]]
            times.append(np.diff([begin, *ends, *last]))
    return [found for found in times if len(found)]


def slowest(by_rank: list[Any]) -> float:
    """Mean over the first iterations of the longest time of a rank that has reached them."""
    count = min(FIRST, max(len(times) for times in by_rank))
    worst = np.zeros(count)
    for times in by_rank:
        here = min(count, len(times))
        worst[:here] = np.maximum(worst[:here], times[:here])
    return float(worst.mean())


def slowest_impacts(rows: Iterable[Row]) -> dict[Row, float]:
    """Congested row -> its slowest ranks over those of the victim alone."""
    rows = list(rows)
    alone = {row.baseline_key: row for row in rows if not row.aggressor}
    return {
        row: row.slowest_s / alone[row.baseline_key].slowest_s
        for row in rows
        if row.aggressor and row.baseline_key in alone
    }


def impacts(rows: Iterable[Row]) -> dict[Row, tuple[float, float]]:
    """Congested row -> its mean and 99th percentile over those of the victim alone.

    For bandwidths the factor is alone over congested, as in GPCNeT.
    """
    rows = list(rows)
    alone = {row.baseline_key: row for row in rows if not row.aggressor}
    return {
        row: (row.mean_s / alone[row.baseline_key].mean_s, row.p99_s / alone[row.baseline_key].p99_s)
        for row in rows
        if row.aggressor and row.baseline_key in alone
    }


def shown(row: Row) -> str:
    """The canary as GPCNeT prints it: half of a ring's time, MiB/s per rank, time of an all-reduce."""
    if row.victim == "latency":
        return f"{1e6 * row.mean_s / 2:.1f} / {1e6 * row.p99_s / 2:.1f} us"
    if row.victim.startswith("bandwidth"):
        return f"{RING_BYTES / row.mean_s / 2**20:,.0f} / {RING_BYTES / row.p99_s / 2**20:,.0f} MiB/s"
    return f"{1e6 * row.mean_s:.1f} / {1e6 * row.p99_s:.1f} us"


def read(file: Path) -> list[Row]:
    """Stored rows."""
    return parquet.read(file, Row)
