"""The reports of workloads for people: a part of the summary's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from odonata.base.terminal import table
from odonata.base.wording import duration, share, size

#: Most repetitions of IOR that are listed one by one.
MOST_REPETITIONS = 12

_MIB = 2**20
_KIB = 2**10


def sections(page: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    """Title and table of each part of the summary `page` that has rows."""
    if page["ior"]:
        several = sum(len(access["repetitions"]) for access in page["ior"])
        if several <= MOST_REPETITIONS:
            yield "IOR, by repetition", _repetitions(page["ior"])
        yield "IOR, all repetitions (MiB/s)", _ior(page["ior"])
    if page["mdtest"]:
        yield "mdtest, all iterations (operations/s)", _mdtest(page["mdtest"])
    if page["checkpoint_restart"]:
        yield "Checkpoint and restart", _restarts(page["checkpoint_restart"])
        yield "Checkpoint interval", _intervals(page["checkpoint_restart"])
    if page["training"]:
        yield "Training: steps and stalls (waits for samples)", _training(page["training"])
    if page["efficiency"]:
        yield "Training: speed, and shares of a GPU's time", _efficiency(page["efficiency"])
    if page["inference"]:
        yield "Inference: latencies and throughput", _inference(page["inference"])
    if page["nccl"]:
        yield "NCCL collectives, as nccl-tests prints them", _nccl(page["nccl"])


def _label(access: Mapping[str, Any]) -> str:
    return f"{access['job']}[{access['test']}]" if access["test"] else str(access["job"])


def _repetitions(accesses: list[dict[str, Any]]) -> Table:
    # Headings and units are those of IOR.
    page = table(
        "job",
        "access",
        "bw(MiB/s)",
        "IOPS",
        "block(KiB)",
        "xfer(KiB)",
        "open(s)",
        "wr/rd(s)",
        "close(s)",
        "total(s)",
        "iter",
        left=2,
    )
    for access in accesses:
        for row in access["repetitions"]:
            page.add_row(
                _label(access),
                access["access"],
                f"{row['bandwidth_bytes_per_s'] / _MIB:.2f}",
                f"{row['operations_per_s']:.2f}",
                f"{access['block_bytes'] / _KIB:g}",
                f"{access['transfer_bytes'] / _KIB:g}",
                *(f"{row[part]:.6f}" for part in ("open_s", "access_s", "close_s", "total_s")),
                str(row["repetition"]),
            )
    return page


def _ior(accesses: list[dict[str, Any]]) -> Table:
    page = table("job", "operation", "max", "min", "mean", "stddev", "mean(s)", "tasks", "reps", left=2)
    for access in accesses:
        page.add_row(
            _label(access),
            access["access"],
            *(
                f"{access[f'bandwidth_{measure}_bytes_per_s'] / _MIB:.2f}"
                for measure in ("max", "min", "mean", "deviation")
            ),
            f"{access['total_mean_s']:.6f}",
            str(access["tasks"]),
            str(len(access["repetitions"])),
        )
    return page


def _mdtest(phases: list[dict[str, Any]]) -> Table:
    page = table("job", "operation", "max", "min", "mean", "stddev", "tasks", "items", "iterations", left=2)
    for phase in phases:
        page.add_row(
            _label(phase),
            phase["phase"],
            *(f"{phase[f'rate_{measure}_per_s']:.3f}" for measure in ("max", "min", "mean", "deviation")),
            *(str(phase[count]) for count in ("tasks", "items", "iterations")),
        )
    return page


def _restarts(jobs: list[dict[str, Any]]) -> Table:
    page = table("job", "to solution", "expected", "work", "failures", "work lost", "checkpoints", "restarts")
    for job in jobs:
        page.add_row(
            job["job"],
            duration(job["time_to_solution_s"])
            if job["solved"]
            else f"> {duration(job['time_to_solution_s'])}",
            duration(job["expected_s"]),
            duration(job["work_s"]),
            str(job["failures"]),
            duration(job["lost_work_s"]),
            str(job["checkpoints"]),
            duration(job["restarts_s"]),
        )
    return page


def _intervals(jobs: list[dict[str, Any]]) -> Table:
    page = table("job", "interval", "optimum, first order", "higher order", "time of a checkpoint")
    for job in jobs:
        page.add_row(
            job["job"],
            *(
                duration(job[key])
                for key in (
                    "interval_s",
                    "optimum_first_order_s",
                    "optimum_higher_order_s",
                    "checkpoint_mean_s",
                )
            ),
        )
    return page


def _training(jobs: list[dict[str, Any]]) -> Table:
    page = table("job", "steps", "step", "longest", "stall", "longest", "stalled")
    for job in jobs:
        page.add_row(
            job["job"],
            str(job["steps"]),
            *(duration(job[key]) for key in ("step_mean_s", "step_max_s", "stall_mean_s", "stall_max_s")),
            "-" if job["stall_share"] is None else share(job["stall_share"], 1.0),
        )
    return page


#: Heading and key of each share of a GPU's time in training.
SHARES = (
    ("compute", "compute_share"),
    ("tensor", "exposed_tensor_share"),
    ("pipeline", "exposed_pipeline_share"),
    ("data", "exposed_data_share"),
    ("expert", "exposed_expert_share"),
    ("bubble", "bubble_share"),
    ("I/O", "io_share"),
)


def _efficiency(jobs: list[dict[str, Any]]) -> Table:
    fails = any(job["failures"] for job in jobs)
    of_failures = ("failures", "lost", "goodput") if fails else ()
    shares = (heading for heading, _ in SHARES)
    page = table("job", "GPUs", "iteration", "tokens/s", "MFU", *shares, *of_failures)
    for job in jobs:
        failures = (str(job["failures"]), str(job["lost_iterations"]), share(job["goodput"], 1.0))
        page.add_row(
            job["job"],
            str(job["gpus"]),
            duration(job["iteration_s"]),
            f"{job['tokens_per_s']:,.0f}",
            share(job["mfu"], 1.0),
            *(share(job[key], 1.0) for _, key in SHARES),
            *(failures if fails else ()),
        )
    return page


def _inference(jobs: list[dict[str, Any]]) -> Table:
    page = table("job", "requests", "first token", "p99", "per token", "p99", "until decode", "tokens/s")
    for job in jobs:
        page.add_row(
            job["job"],
            str(job["requests"]),
            *(
                duration(job[f"{measure}_{part}_s"])
                for measure in ("time_to_first_token", "time_per_token")
                for part in ("p50", "p99")
            ),
            duration(job["decode_delay_mean_s"]),
            f"{job['tokens_per_s']:,.0f}",
        )
    return page


def _nccl(collectives: list[dict[str, Any]]) -> Table:
    page = table(
        "job", "collective", "size", "ranks", "calls", "time", "longest", "algbw(GB/s)", "busbw(GB/s)", left=2
    )
    for row in collectives:
        page.add_row(
            _label(row),
            row["collective"],
            size(row["bytes"]),
            str(row["ranks"]),
            str(row["calls"]),
            *(duration(row[key]) for key in ("time_mean_s", "time_max_s")),
            *(f"{row[f'{kind}_bandwidth_bytes_per_s'] / 1e9:.2f}" for kind in ("algorithm", "bus")),
        )
    return page
