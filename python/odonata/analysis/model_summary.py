"""Summaries of jobs that train a transformer or answer requests with it.

They are part of a run's summary (`summary.py`). `workload_page.py` prints them.
"""

from __future__ import annotations

import statistics
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from odonata.analysis.workload_summary import rows_of

if TYPE_CHECKING:
    from odonata.answers.workloads import EfficiencySummary, InferenceSummary
    from odonata.results.results import Results


def efficiency(results: Results) -> list[EfficiencySummary]:
    """Speed of each training job, and the shares of its GPUs' time."""
    found: list[EfficiencySummary] = []
    for row in rows_of(results, "training"):
        whole = row["elapsed_s"] or 1.0
        found.append(
            {
                "job": row["job"],
                "gpus": row["gpus"],
                "iterations": row["iterations"],
                "iteration_s": row["iteration_s"],
                "tokens_per_s": row["tokens_per_s"],
                "mfu": row["mfu"],
                "compute_share": row["compute_s"] / whole,
                "exposed_tensor_share": row["exposed_tensor_s"] / whole,
                "exposed_pipeline_share": row["exposed_pipeline_s"] / whole,
                "exposed_data_share": row["exposed_data_s"] / whole,
                "exposed_expert_share": row["exposed_expert_s"] / whole,
                "bubble_share": row["bubble_s"] / whole,
                "bubble_ideal": row["bubble_ideal"],
                "io_share": row["io_s"] / whole,
                "failures": row.get("failures", 0),
                "lost_iterations": row.get("lost_iterations", 0),
                "goodput": row.get("goodput", 1.0),
            }
        )
    return found


def inference(results: Results) -> list[InferenceSummary]:
    """Latencies and throughput of each inference job with an answered request."""
    jobs = {job["name"]: job["workload"] for job in results.run.get("scenario", {}).get("jobs", [])}
    found: list[InferenceSummary] = []
    for job, group in groupby(rows_of(results, "inference"), lambda row: row["job"]):
        requests = list(group)

        def quantiles(column: str, rows: list[dict[str, Any]] = requests) -> tuple[float, float]:
            median, high = pc.quantile([row[column] for row in rows], q=[0.5, 0.99]).to_pylist()
            return median, high

        first, per_token = quantiles("time_to_first_token_s"), quantiles("time_per_token_s")
        span = max(row["end_s"] for row in requests) - min(row["arrival_s"] for row in requests)
        tokens = len(requests) * jobs[job]["inference"]["output"]
        found.append(
            {
                "job": job,
                "requests": len(requests),
                "time_to_first_token_p50_s": first[0],
                "time_to_first_token_p99_s": first[1],
                "time_per_token_p50_s": per_token[0],
                "time_per_token_p99_s": per_token[1],
                "decode_delay_mean_s": statistics.fmean(
                    row["decode_s"] - row["first_token_s"] for row in requests
                ),
                "tokens_per_s": tokens / span if span > 0 else 0.0,
            }
        )
    return found
