"""A mix beside its jobs alone, and the measures of the paper's claims, from result tables.

Times are in seconds, ratios are together / alone. Nothing here runs a simulation: a `Case` holds
`odonata.Results`, from folders or made by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow.compute as pc

import odonata

#: Routers per group of the machine.
GROUP = 8


@dataclass(frozen=True)
class Case:
    """One mix under a placement and a routing."""

    #: "cont" or "rand".
    placement: str
    #: "min" or "par".
    routing: str
    #: "wkld2" or "wkld3".
    workload: str
    together: odonata.Results
    #: Every job alone, on the nodes that it has in the mix.
    alone: Mapping[str, odonata.Results]

    @property
    def name(self) -> str:
        """placement-routing-workload."""
        return f"{self.placement}-{self.routing}-{self.workload}"

    @property
    def random(self) -> bool:
        """Whether ranks are on random nodes."""
        return self.placement == "rand"

    @property
    def jobs(self) -> list[str]:
        """Names of the jobs, in the order of the mix."""
        return [row["job"] for row in self.together.rows("jobs")]

    def ratio(self, job: str, column: str) -> float:
        """Together / alone of a column of the table `jobs`."""
        return float(job_row(self.together, job)[column] / job_row(self.alone[job], job)[column])

    def io_ratio(self, job: str) -> float:
        """Together / alone of the duration of reads and writes."""
        return io_time(self.together, job) / io_time(self.alone[job], job)


def job_row(results: odonata.Results, job: str) -> dict[str, Any]:
    """A job's row of the table `jobs`."""
    return next(row for row in results.rows("jobs") if row["job"] == job)


def io_time(results: odonata.Results, job: str) -> float:
    """Request to acknowledgement, summed over the reads and writes of a rank, mean over ranks.

    This is the paper's "total time each process spent on I/O operations". If I/O overlaps with computation,
    it exceeds the time that a rank waits.
    """
    table = results.table("io")
    rows = table.filter(pc.equal(table["job"], job))
    spent = pc.sum(pc.subtract(rows["end_s"], rows["start_s"])).as_py() or 0.0
    return float(spent / job_row(results, job)["ranks"])


def worst_step(case: Case, job: str) -> float:
    """Mean duration of a training step's reads or writes, together / alone, at the most affected step."""
    alone, together = (_steps(results, job) for results in (case.alone[job], case.together))
    return max(mean(together[step]) / mean(durations) for step, durations in alone.items())


def _steps(results: odonata.Results, job: str) -> dict[int, list[float]]:
    steps: dict[int, list[float]] = {}
    for row in results.rows("io"):
        if row["job"] == job:
            # CosmoFlow's rank r names the file of step i 1000 r + i.
            steps.setdefault(row["file"] % 1000, []).append(row["end_s"] - row["start_s"])
    return steps


def pooled(results: odonata.Results, job: str) -> list[float]:
    """Mean, largest and smallest packet latency of each of the job's nodes, all in one sample.

    The boxes of the paper's "message latency" show this sample. Its authors' tables have these three numbers
    per node, for the packets that the node receives, and the published summaries pool them. A maximum weighs
    as much as a mean there.
    """
    columns = ("packet_latency_mean_s", "packet_latency_max_s", "packet_latency_min_s")
    rows = [row for row in results.rows("ranks") if row["job"] == job and row["packets_received"]]
    return [row[column] for row in rows for column in columns]


def worst_node(case: Case, job: str) -> float:
    """Largest packet latency of a node, together / alone, at the node with the largest ratio."""

    def largest(results: odonata.Results) -> list[float]:
        return [row["packet_latency_max_s"] for row in results.rows("ranks") if row["job"] == job]

    return max(b / a for a, b in zip(largest(case.alone[job]), largest(case.together), strict=True) if a > 0)


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def share_below(values: Sequence[float], bound: float) -> float:
    """Share of values below `bound`; 0 of nothing."""
    return sum(value < bound for value in values) / len(values) if values else 0.0


def io_messages_below(results: odonata.Results, job: str, bound: float) -> float:
    """Share of a job's I/O messages (requests, pulls, data, acknowledgements) faster than `bound`."""
    table = results.table("messages")
    rows = table.filter(pc.and_(pc.equal(table["job"], job), pc.equal(table["class"], "io")))
    total = pc.sum(rows["count"]).as_py() or 0
    below = pc.sum(rows.filter(pc.less(rows["latency_high_s"], bound))["count"]).as_py() or 0
    return float(below / total) if total else 0.0


def distance(case: Case, job: str) -> float:
    """Kolmogorov-Smirnov distance of the job's packet latencies, MPI and I/O, together and alone.

    It compares histograms with the same buckets, 1/32 wide: differences within a bucket are invisible.
    """
    one, other = (_histogram(results, job) for results in (case.alone[job], case.together))
    edges = sorted({*one, *other})
    shares = []
    for counts in (one, other):
        total = sum(counts.values())
        shares.append([below / total for below in accumulate(counts.get(edge, 0) for edge in edges)])
    return float(max(abs(a - b) for a, b in zip(*shares, strict=True)))


def _histogram(results: odonata.Results, job: str) -> dict[float, int]:
    counts: dict[float, int] = {}
    for row in results.rows("packets"):
        if row["job"] == job and row["measure"] == "network":
            edge = row["latency_low_s"]
            counts[edge] = counts.get(edge, 0) + row["count"]
    return counts


def groups(results: odonata.Results, job: str) -> set[int]:
    """The groups in which a job has ranks."""
    return {row["router"] // GROUP for row in results.rows("ranks") if row["job"] == job}


def links(
    results: odonata.Results, link_class: str, within: set[int]
) -> dict[tuple[int, int], dict[str, Any]]:
    """Link directions of a class that start at routers of some groups, by their two routers."""
    return {
        (row["source"], row["target"]): row
        for row in results.rows("links")
        if row["class"] == link_class and row["source"] // GROUP in within
    }


def saturation_increases(case: Case, job: str) -> list[float]:
    """Increase of each global link's saturation over that beside the job alone, for the links from the job's
    groups.
    """
    own = groups(case.together, job)
    alone = links(case.alone[job], "global", own)
    together = links(case.together, "global", own)
    return [row["saturation_s"] - alone[key]["saturation_s"] for key, row in together.items()]


def local_bytes(results: odonata.Results, within: set[int]) -> int:
    """Bytes on all local links of some groups."""
    return sum(row["bytes"] for row in links(results, "local", within).values())


def carriers(results: odonata.Results, part: float) -> int:
    """The smallest number of routers whose local ports send `part` of all bytes on local links."""
    sent: dict[int, int] = {}
    for row in results.rows("links"):
        if row["class"] == "local":
            sent[row["source"]] = sent.get(row["source"], 0) + row["bytes"]
    wanted = part * sum(sent.values())
    # The routers before the one that reaches the part, and that one.
    return sum(total < wanted for total in accumulate(sorted(sent.values(), reverse=True))) + bool(wanted)


def waits(case: Case, victim: str, victim_class: str, where: str) -> dict[str, float]:
    """Culprit -> share of the victim's time spent waiting for it, from the table `blame` of the mix.

    `where` is "network" (waits in routers, of the packets' time in the network) or "servers" (of the time
    from request to acknowledgement). Empty if the run did not measure blame.
    """
    if "blame" not in case.together.tables or not case.together.run.get("blame"):
        return {}
    row = job_row(case.together, victim)
    whole = row["io_calls_s"] if where == "servers" else row[f"{victim_class}_network_s"]
    table = case.together.table("blame")
    rows = table.filter(
        pc.and_(pc.equal(table["victim"], victim), pc.equal(table["victim_class"], victim_class))
    )
    places = ("server",) if where == "servers" else ("terminal", "local", "global")
    found: dict[str, float] = {}
    for culprit, place, waited in _columns(rows, "culprit", "place", "waited_s"):
        if place in places:
            found[culprit] = found.get(culprit, 0.0) + waited
    return {culprit: waited / whole for culprit, waited in found.items()} if whole > 0 else {}


def _columns(table: Any, *names: str) -> Iterable[tuple[Any, ...]]:
    return zip(*(table[name].to_pylist() for name in names), strict=True)
