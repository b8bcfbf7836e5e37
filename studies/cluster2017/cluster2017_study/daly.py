"""Checkpoints of a failing job beside background traffic: the interval with the earliest solution.

J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from study_tools.claims import number
from study_tools.table import Table

import odonata
from cluster2017_study.measures import PLACEMENTS, ROUTINGS


@dataclass(frozen=True)
class Solution:
    """A job that computed, failed and restarted until it was complete."""

    placement: str
    routing: str
    buffers: str
    seed: int
    interval_s: float
    #: Mean time of a checkpoint, and Daly's interval of higher order for it.
    checkpoint_s: float
    optimum_s: float
    failures: int
    #: Time of the solution, and Daly's expected value over all failures.
    solution_s: float
    expected_s: float


def of_sweep(folder: Path) -> list[Solution]:
    """Every successful run of a sweep."""
    table = odonata.Sweep.load(folder).table.to_pylist()
    rows = [row for row in table if row["outcome"] == "completed" and row["job"] == "checkpoint"]
    return [of_results(odonata.load(folder / row["folder"]), row["seed"]) for row in rows]


def of_results(results: odonata.Results, seed: int) -> Solution:
    """A run, from its tables."""
    scenario = results.run["scenario"]
    job = next(one for one in scenario["jobs"] if one["name"] == "checkpoint")
    (row,) = results.rows("checkpoint_restart")
    return Solution(
        placement=PLACEMENTS[job["placement"]],
        routing=ROUTINGS[scenario["network"]["routing"]["algorithm"]],
        buffers=scenario["storage"]["assignment"],
        seed=seed,
        interval_s=row["interval_s"],
        checkpoint_s=row["checkpoint_mean_s"],
        optimum_s=row["optimum_higher_order_s"],
        failures=row["failures"],
        solution_s=row["time_to_solution_s"],
        expected_s=row["expected_s"],
    )


def table(solutions: Sequence[Solution]) -> Table:
    """Means over seeds, a row for each interval; the one with the earliest solution is marked."""
    groups: dict[tuple[str, str, str], dict[float, list[Solution]]] = {}
    for one in solutions:
        key = (one.placement, one.routing, one.buffers)
        groups.setdefault(key, {}).setdefault(one.interval_s, []).append(one)
    rows = []
    for key, by_interval in sorted(groups.items()):
        best = min(by_interval, key=lambda interval: fmean(s.solution_s for s in by_interval[interval]))
        for interval, found in sorted(by_interval.items()):
            mark = " (first)" if interval == best else ""
            rows.append(
                [
                    "-".join(key),
                    number(1e3 * interval, "ms"),
                    number(1e3 * fmean(s.solution_s for s in found), "ms") + mark,
                    number(1e3 * fmean(s.expected_s for s in found), "ms"),
                    number(1e3 * fmean(s.optimum_s for s in found), "ms"),
                    number(1e3 * fmean(s.checkpoint_s for s in found), "ms"),
                    str(len(found)),
                ]
            )
    header = [
        *("configuration", "interval", "time to solution", "Daly's expected time", "Daly's optimum interval"),
        *("a checkpoint takes", "seeds"),
    ]
    return Table("", header, rows)
