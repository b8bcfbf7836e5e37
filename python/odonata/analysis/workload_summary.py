"""Summaries of workloads with a report of their own: IOR, mdtest, checkpoint and restart, training.

They are part of a run's summary (`summary.py`). Their tables are empty in runs without such workloads.
`workload_page.py` prints them.
"""

from __future__ import annotations

import math
import statistics
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odonata.answers.workloads import CheckpointRestartSummary, IorSummary, MdtestSummary, TrainingSummary
    from odonata.results.results import Results


def rows_of(results: Results, name: str) -> list[dict[str, Any]]:
    """The rows of table `name`; none in results of versions without that table."""
    return results.table(name).to_pylist() if name in results.tables else []


def ior(results: Results) -> list[IorSummary]:
    """IOR's results for each job, place in its list and access: over all repetitions, and for each.

    Removals have no bandwidth, and IOR's summary omits them.
    """
    found: list[IorSummary] = []

    def key(row: dict[str, Any]) -> tuple[str, int, bool]:
        return row["job"], row["test"], row["access"] != "write"

    table = [row for row in rows_of(results, "ior") if row["access"] != "remove"]
    # The table is in the order of jobs, which is kept.
    order = {job: place for place, job in enumerate(dict.fromkeys(row["job"] for row in table))}
    rows = sorted(table, key=lambda row: (order[row["job"]], *key(row)[1:], row["repetition"]))
    for (job, test, _), group in groupby(rows, key):
        repetitions = list(group)
        rates = [row["bandwidth_bytes_per_s"] for row in repetitions]
        found.append(
            {
                "job": job,
                "test": test,
                "access": repetitions[0]["access"],
                "tasks": repetitions[0]["tasks"],
                "block_bytes": repetitions[0]["block_bytes"],
                "transfer_bytes": repetitions[0]["transfer_bytes"],
                "bandwidth_max_bytes_per_s": max(rates),
                "bandwidth_min_bytes_per_s": min(rates),
                "bandwidth_mean_bytes_per_s": statistics.fmean(rates),
                "bandwidth_deviation_bytes_per_s": statistics.pstdev(rates),
                "total_mean_s": statistics.fmean(row["total_s"] for row in repetitions),
                "repetitions": [
                    {
                        "repetition": row["repetition"],
                        "bytes": row["bytes"],
                        "bandwidth_bytes_per_s": row["bandwidth_bytes_per_s"],
                        "operations_per_s": row["operations_per_s"],
                        "latency_s": row["latency_s"],
                        "open_s": row["open_s"],
                        "access_s": row["access_s"],
                        "close_s": row["close_s"],
                        "total_s": row["total_s"],
                    }
                    for row in repetitions
                ],
            }
        )
    return found


def mdtest(results: Results) -> list[MdtestSummary]:
    """mdtest's results for each job, place in its list and phase: rates over iterations."""
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for row in rows_of(results, "mdtest"):
        groups.setdefault((row["job"], row["test"], row["phase"]), []).append(row)
    found: list[MdtestSummary] = []
    for (job, test, phase), iterations in groups.items():
        rates = [row["rate_per_s"] for row in iterations]
        found.append(
            {
                "job": job,
                "test": test,
                "phase": phase,
                "tasks": iterations[0]["tasks"],
                "items": iterations[0]["items"],
                "iterations": len(iterations),
                "rate_max_per_s": max(rates),
                "rate_min_per_s": min(rates),
                "rate_mean_per_s": statistics.fmean(rates),
                "rate_deviation_per_s": statistics.pstdev(rates),
            }
        )
    return found


def checkpoint_restart(results: Results) -> list[CheckpointRestartSummary]:
    """Time to solution of jobs that fail and restart, beside the values of Daly's formulas."""
    return [
        {
            "job": row["job"],
            "solved": bool(row["solved"]),
            "time_to_solution_s": row["time_to_solution_s"],
            "expected_s": row["expected_s"] or None,
            "work_s": row["work_s"],
            "failures": row["failures"],
            "lost_work_s": row["lost_work_s"],
            "checkpoints": row["checkpoints"],
            "checkpoint_mean_s": row["checkpoint_mean_s"] if row["checkpoints"] else None,
            "restarts_s": row["restarts_s"] + row["lost_restarts_s"],
            "interval_s": row["interval_s"] or None,
            "optimum_first_order_s": row["optimum_first_order_s"] or None,
            "optimum_higher_order_s": row["optimum_higher_order_s"] or None,
        }
        for row in rows_of(results, "checkpoint_restart")
    ]


def training(results: Results) -> list[TrainingSummary]:
    """Duration of a step and its wait for samples, for each training job."""
    found: list[TrainingSummary] = []
    for job, group in groupby(rows_of(results, "data_loader"), lambda row: row["job"]):
        steps = list(group)
        whole = math.fsum(row["step_s"] for row in steps)
        stalls = math.fsum(row["stall_mean_s"] for row in steps)
        found.append(
            {
                "job": job,
                "steps": len(steps),
                "step_mean_s": whole / len(steps),
                "step_max_s": max(row["step_s"] for row in steps),
                "stall_mean_s": stalls / len(steps),
                "stall_max_s": max(row["stall_max_s"] for row in steps),
                "stall_share": stalls / whole if whole > 0 else None,
            }
        )
    return found
