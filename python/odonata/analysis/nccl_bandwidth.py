"""Algorithm and bus bandwidth of NCCL's collectives, as nccl-tests prints them.

The algorithm bandwidth of S bytes in t seconds is S / t. The bus bandwidth is that times a factor of the
collective, which makes it comparable with the bandwidth of a GPU's links for any number of ranks. S and the
factors are those of nccl-tests (`doc/PERFORMANCE.md` and `src/*.cu` at commit 24874bd): S is the vector of an
all-reduce or a broadcast, and all blocks together of an all-gather or a reduce-scatter.

t is the time of a call, averaged over ranks and calls: from the end of the previous call to its own end,
without the computation between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any

from odonata.base import quantities

if TYPE_CHECKING:
    from odonata.answers.workloads import NcclSummary
    from odonata.results.results import Results


def bus_factor(collective: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth.

    >>> bus_factor("all-reduce", 8), bus_factor("all-gather", 8), bus_factor("broadcast", 8)
    (1.75, 0.875, 1.0)
    """
    match collective:
        case "all-reduce":
            return 2 * (ranks - 1) / ranks
        case "all-gather" | "reduce-scatter":
            return (ranks - 1) / ranks
        case _:
            return 1.0


@dataclass
class _Calls:
    """The calls of one workload in a job's list."""

    #: Settings of the workload.
    settings: dict[str, Any]
    #: Time of each call, mean over ranks.
    times_s: list[float] = field(default_factory=list)


def of_results(results: Results) -> list[NcclSummary]:
    """A row for each workload `nccl` with a completed call, of each job.

    Jobs that mix NCCL with other workloads are left out: the results do not record how many iterations those
    mark.
    """
    jobs = results.run.get("scenario", {}).get("jobs", [])
    lists = {job["name"]: nccl for job in jobs if (nccl := _workloads(job.get("workload") or {}))}
    if not lists:
        return []
    ends: dict[str, list[tuple[int, float]]] = {}
    rows = {row["job"]: row for row in results.rows("jobs")}
    for row in results.rows("iterations"):
        # The mean over only some ranks would be no time of the job.
        if row["job"] in lists and row["ranks"] == rows[row["job"]]["ranks"]:
            ends.setdefault(row["job"], []).append((row["iteration"], row["mean_s"]))
    found: list[NcclSummary] = []
    for job, workloads in lists.items():
        calls = [_Calls(settings) for settings in workloads]
        before = rows[job]["start_s"] if job in rows else 0.0
        for (_, end), one in zip(sorted(ends.get(job, [])), _order(calls), strict=False):
            one.times_s.append(end - before - quantities.seconds(one.settings["compute"]))
            before = end
        found += [
            _summary(job, place, rows[job]["ranks"], one) for place, one in enumerate(calls) if one.times_s
        ]
    return found


def _workloads(workload: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The settings of each workload of a job's list, if all are of NCCL."""
    phases = workload.get("phases", [workload])
    return [phase["nccl"] for phase in phases] if all("nccl" in phase for phase in phases) else None


def _order(calls: list[_Calls]) -> Iterator[_Calls]:
    """The workload that each call of a job belongs to; the list repeats."""
    for one in cycle(calls):
        yield from (one for _ in range(one.settings["iterations"]))


def _summary(job: str, place: int, ranks: int, calls: _Calls) -> NcclSummary:
    bytes = quantities.bytes_of(calls.settings["bytes"])
    time_s = sum(calls.times_s) / len(calls.times_s)
    algorithm = bytes / time_s if time_s > 0 else 0.0
    collective = calls.settings["collective"]
    return {
        "job": job,
        "test": place,
        "collective": collective,
        "ranks": ranks,
        "bytes": bytes,
        "calls": len(calls.times_s),
        "time_mean_s": time_s,
        "time_max_s": max(calls.times_s),
        "algorithm_bandwidth_bytes_per_s": algorithm,
        "bus_bandwidth_bytes_per_s": algorithm * bus_factor(collective, ranks),
    }
