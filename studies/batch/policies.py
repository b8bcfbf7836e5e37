"""Waits and utilization of the weeks of weeks.py by the policy of the queue (README.md).

    python studies/batch/policies.py results/weeks

The folder has the batch files of the weeks. Jobs do not slow each other down, so that the policy alone
differs. Utilization is that up to the last submission: afterwards the queue only drains.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq

import odonata

WEEKS = {
    "near": "Lublin and Feitelson",
    "scattered": "Lublin and Feitelson, another one",
    "powers": "powers of two",
}
POLICIES = ("fcfs", "easy", "conservative")


def utilization(folder: Path, nodes: int) -> float:
    """Busy node-seconds up to the last submission, as a part of all."""
    jobs = pq.read_table(folder / "batch_jobs.parquet").to_pylist()
    end = max(job["submit_s"] for job in jobs)
    busy = sum(
        job["nodes"] * max(0.0, min(job["end_s"], end) - job["start_s"])
        for job in jobs
        if job["end_s"] is not None and job["start_s"] < end
    )
    return float(busy / (nodes * end))


def main(folder: Path) -> None:
    """Prints a row per week and policy."""
    print("| week | policy | mean wait | median | p90 | mean bounded slowdown | utilization |")
    print("|---|---|---|---|---|---|---|")
    for week, name in WEEKS.items():
        for policy in POLICIES:
            out = folder / f"{week}-{policy}"
            changes = {"queue.policy": policy, "contention": False}
            found = odonata.batch(folder / f"{week}.toml", out=out, overrides=changes, force=True)
            wait, slowdown = found["wait_s"], found["bounded_slowdown"]
            assert wait is not None
            assert slowdown is not None
            hours = " | ".join(f"{wait[key] / 3600:.2f} h" for key in ("mean", "p50", "p90"))
            used = utilization(out, found["nodes"])
            print(f"| {name} | {policy} | {hours} | {slowdown['mean']:.1f} | {used:.1%} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
