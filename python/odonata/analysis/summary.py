"""The summary of a run as data: times of jobs, busiest links and servers, and interference between jobs.

It reads only results, so it works on old ones too. `summary_page.py` prints it for people; `odonata summary
--json` prints it unchanged. `answers/summary.py` declares its keys.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import pyarrow.compute as pc

from odonata.analysis import blame, lost_time, model_summary, nccl_bandwidth, slowdown, workload_summary
from odonata.analysis.measured import counted_by, needed, offers
from odonata.scenario import agreement, run_fidelity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odonata.answers.summary import (
        JobSummary,
        LinkSummary,
        LossSummary,
        Ratio,
        ServerSkew,
        ServerSummary,
        StageSummary,
        Summary,
    )
    from odonata.answers.waits import Finding, LostTime
    from odonata.results.results import Results

#: Number of links and servers in the lists.
TOP = 5

#: Columns of the table `jobs` that the summary uses.
_JOBS = (
    "job",
    "ranks",
    "ranks_finished",
    "start_s",
    "elapsed_s",
    "compute_s",
    "mpi_s",
    "io_s",
    "non_compute_s",
    "bytes_written",
    "bytes_read",
    "io_operations",
    "io_bandwidth_bytes_per_s",
    "messages",
    *(f"message_latency_{measure}_s" for measure in ("p50", "p99", "max")),
    "mpi_packets",
    *(f"mpi_packet_latency_{measure}_s" for measure in ("p50", "p99")),
)
_LINKS = ("source_kind", "name", "class", "busy_s", "saturation_s", "bytes", "packets")
_LOSSES = (
    "io_timeouts",
    "io_retries",
    "io_rerouted_bytes",
    "io_lost_bytes",
    "io_dropped_bytes",
    "io_lost_reads_bytes",
)

_SERVERS = (
    "server",
    "node",
    "device_busy_s",
    "bytes_written",
    "bytes_read",
    "requests",
    "request_time_s",
    "wait_space_s",
)


def collect(results: Results) -> Summary:
    """The summary of `results`; values that do not apply are None."""
    run = results.run
    fidelity = run_fidelity.of_scenario(run.get("scenario", {}))
    slowdowns = _slowdowns(results)
    return {
        "name": run.get("scenario", {}).get("name"),
        "outcome": results.outcome,
        "detail": run.get("detail"),
        "fidelity": fidelity.of_run,
        "not_modelled": fidelity.unknown(),
        "preset_agreement": agreement.sentence(run.get("scenario", {}).get("preset")),
        "can_deadlock": bool(run.get("deadlock_cycle")),
        "deadlock_cycle": run.get("deadlock_cycle") or [],
        "simulated_s": run["simulated_s"],
        "wall_s": run["wall_s"],
        "threads": run.get("schedule", {}).get("measured", {}).get("why"),
        "packet_hops_per_cpu_s": _hops_per_cpu_s(run) if fidelity.has_packets else None,
        "digest": run["digest"],
        "results": None if results.path is None else str(results.path),
        "jobs": [
            _job(results, row, fidelity.of_job(row["job"]))
            for row in needed(results, "jobs", _JOBS).to_pylist()
        ],
        "links": _links(results, fidelity),
        "servers": _servers(results),
        "server_skew": _server_skew(results),
        "after_jobs_s": _after_jobs(results),
        "losses": _losses(results),
        "stages": _stages(results),
        "ior": workload_summary.ior(results),
        "mdtest": workload_summary.mdtest(results),
        "checkpoint_restart": workload_summary.checkpoint_restart(results),
        "training": workload_summary.training(results),
        "efficiency": model_summary.efficiency(results),
        "inference": model_summary.inference(results),
        "nccl": nccl_bandwidth.of_results(results),
        "blame": _blame(results, slowdowns),
        "blame_estimate": blame.estimate(results),
        "lost_time": _lost_time(results),
        "slowdown": slowdowns,
        "failed_baselines": results.failed_baselines,
        "single_job": bool(run.get("scenario", {}).get("run", {}).get("baselines"))
        and not run.get("baselines"),
    }


def _hops_per_cpu_s(run: dict[str, Any]) -> float | None:
    return _part(run["packet_hops"], run["cpu_s"])


def _job(results: Results, row: dict[str, Any], fidelity: str) -> JobSummary:
    # A rank's own time, averaged over ranks: the total of the three shares. Ranks of synthetic traffic block
    # on nothing, and have no shares.
    whole = row["compute_s"] + row["non_compute_s"]
    # Ranks with several streams block in few calls: time outside computation and I/O counts as waiting for
    # messages.
    works = row["compute_s"] > 0 or row["mpi_s"] > 0 or row["io_s"] > 0
    mpi_s = max(row["mpi_s"], row["non_compute_s"] - row["io_s"])
    call_p50_s, call_p99_s = _io_calls(results, row["job"])

    def counted(column: str) -> float | None:
        """The value of a column; None if nothing was measured."""
        count = counted_by(column)
        value: float | None = row[column] if count is None or row[count] else None
        return value

    def of_packets(column: str) -> float | None:
        return counted(column) if fidelity == run_fidelity.PACKET else None

    def of_time(part_s: float) -> float | None:
        return _part(part_s, whole) if works else None

    return {
        "job": row["job"],
        "fidelity": fidelity,
        "ranks": row["ranks"],
        "ranks_finished": row["ranks_finished"],
        "elapsed_s": row["elapsed_s"],
        "compute_share": of_time(row["compute_s"]),
        "mpi_share": of_time(mpi_s),
        "io_share": of_time(row["io_s"]),
        "bytes_written": row["bytes_written"],
        "bytes_read": row["bytes_read"],
        "io_bandwidth_bytes_per_s": counted("io_bandwidth_bytes_per_s"),
        "message_latency_p50_s": counted("message_latency_p50_s"),
        "message_latency_p99_s": counted("message_latency_p99_s"),
        "message_latency_max_s": counted("message_latency_max_s"),
        "mpi_packet_latency_p50_s": of_packets("mpi_packet_latency_p50_s"),
        "mpi_packet_latency_p99_s": of_packets("mpi_packet_latency_p99_s"),
        "io_call_p50_s": call_p50_s,
        "io_call_p99_s": call_p99_s,
    }


def _io_calls(results: Results, job: str) -> tuple[float | None, float | None]:
    """Median and 99th percentile of a job's reads and writes, request to acknowledgement."""
    calls = needed(results, "io", ("job", "operation", "start_s", "end_s"))
    moves_data = pc.or_(pc.equal(calls["operation"], "read"), pc.equal(calls["operation"], "write"))
    calls = calls.filter(pc.and_(pc.equal(calls["job"], job), moves_data))
    times = pc.subtract(calls["end_s"], calls["start_s"])
    if not calls.num_rows:
        return None, None
    median, high = pc.quantile(times, q=[0.5, 0.99]).to_pylist()
    return median, high


def _links(results: Results, fidelity: run_fidelity.RunFidelity) -> list[LinkSummary]:
    links = needed(results, "links", _LINKS)
    links = links.filter(pc.equal(links["source_kind"], "router"))
    return [
        {
            "name": row["name"],
            "class": row["class"],
            "busy_share": _part(row["busy_s"], results.run["simulated_s"]),
            "saturation_s": row["saturation_s"] if fidelity.has_packets else None,
            "bytes": row["bytes"],
            "packets": row["packets"] if fidelity.has_packets else None,
        }
        for row in _largest(links, "busy_s")
    ]


def _servers(results: Results) -> list[ServerSummary]:
    return [
        {
            "server": row["server"],
            "node": row["node"],
            "busy_share": _part(row["device_busy_s"], results.run["simulated_s"]),
            "bytes_written": row["bytes_written"],
            "bytes_read": row["bytes_read"],
            "requests": row["requests"],
            "request_mean_s": _part(row["request_time_s"], row["requests"]),
            "wait_space_s": row["wait_space_s"],
        }
        for row in _largest(needed(results, "servers", _SERVERS), "device_busy_s")
    ]


def _server_skew(results: Results) -> ServerSkew | None:
    """Imbalance of the storage servers; None if nothing was read or written."""
    rows = needed(results, "servers", _SERVERS)
    moved = pc.add(rows["bytes_written"], rows["bytes_read"]).to_pylist()
    whole = sum(moved)
    if whole == 0:
        return None
    return {
        "servers": len(moved),
        "used": pc.sum(pc.greater(rows["requests"], 0)).as_py(),
        "most_over_mean": max(moved) * len(moved) / whole,
    }


def _losses(results: Results) -> list[LossSummary]:
    """Jobs with timeouts or losses."""
    # Results of older versions lack these columns.
    if not set(_LOSSES) & set(results.table("jobs").schema.names):
        return []
    losses: list[LossSummary] = [
        {
            "job": row["job"],
            "timeouts": row["io_timeouts"],
            "retries": row["io_retries"],
            "rerouted_bytes": row["io_rerouted_bytes"],
            "lost_bytes": row["io_lost_bytes"],
            "dropped_bytes": row["io_dropped_bytes"],
            "lost_reads_bytes": row["io_lost_reads_bytes"],
        }
        for row in needed(results, "jobs", ("job", *_LOSSES)).to_pylist()
    ]
    return [loss for loss in losses if any(value for key, value in loss.items() if key != "job")]


def _stages(results: Results) -> list[StageSummary]:
    """Jobs that stage in or out."""
    if "stages" not in results.tables:
        return []

    def took(begin_s: float, end_s: float) -> float | None:
        return end_s - begin_s if 0 <= begin_s <= end_s else None

    rows = results.table("stages").to_pylist()
    return [
        {
            "job": row["job"],
            "asked_bytes": row["asked_bytes"],
            "brought_bytes": row["brought_bytes"],
            "in_s": took(row["in_begin_s"], row["in_end_s"]),
            "out_bytes": row["out_bytes"],
            "out_s": took(row["out_begin_s"], row["out_end_s"]),
        }
        for row in rows
        if row["in_begin_s"] >= 0 or row["out_begin_s"] >= 0
    ]


def _after_jobs(results: Results) -> float:
    """How long the run continued after its last job, while servers drained."""
    jobs = needed(results, "jobs", _JOBS).to_pylist()
    ends = [row["start_s"] + row["elapsed_s"] for row in jobs]
    simulated_s = float(results.run["simulated_s"])
    return max(0.0, simulated_s - max(ends, default=simulated_s))


def _blame(results: Results, slowdowns: Mapping[str, Mapping[str, Ratio]] | None) -> list[Finding] | None:
    slowed = {}
    for job, metrics in (slowdowns or {}).items():
        # A job whose baseline is missing has no metrics.
        ratio = metrics["elapsed"]["ratio"] if "elapsed" in metrics else None
        if ratio is not None:
            slowed[job] = ratio
    found = blame.findings(results, slowed)
    if found is None:
        return None
    return [cast("Finding", finding.as_dict()) for finding in found]


def _lost_time(results: Results) -> list[LostTime] | None:
    found = lost_time.of_jobs(results)
    return None if found is None else [cast("LostTime", lost.as_dict()) for lost in found]


def _slowdowns(results: Results) -> dict[str, dict[str, Ratio]] | None:
    if not (results.run.get("baselines") and offers(results, slowdown.NAME)):
        return None
    return {
        job: {name: _ratio(found) for name, found in metrics.items()}
        for job, metrics in results.slowdown().items()
    }


def _ratio(found: slowdown.Slowdown) -> Ratio:
    alone, together, ratio = (None if math.isnan(value) else value for value in found)
    return {"alone": alone, "together": together, "ratio": ratio}


def _part(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _largest(rows: Any, column: str) -> list[dict[str, Any]]:
    """The `TOP` rows with the largest positive `column`; the first of equal rows."""
    order = pc.sort_indices(rows[column], sort_keys=[(column, "descending")])
    return [row for row in rows.take(order[:TOP]).to_pylist() if row[column] > 0]
