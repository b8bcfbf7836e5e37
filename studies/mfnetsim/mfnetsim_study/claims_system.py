"""The conclusions over all jobs: the end of section 8."""

from __future__ import annotations

from collections.abc import Sequence

from mfnetsim_study import cases
from mfnetsim_study.cases import Case
from mfnetsim_study.claims import (
    DEGRADED,
    NOTICED,
    Claim,
    Value,
    placements,
    random,
    routings,
    unchanged,
    yes,
)

IO_JOBS = ("checkpoint", "cosmoflow")


def heavy_io(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in random(of):
        heavy, light = (case.io_ratio(job) for job in IO_JOBS)
        values += [
            Value("Checkpoint", case.name, heavy, "x", yes(light >= heavy * (1 + NOTICED))),
            Value("CosmoFlow", case.name, light, "x"),
        ]
    return values


def heavy_communication(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in random(of):
        jobs = (case.jobs[0], "cosmoflow")
        sent = [cases.job_row(case.together, job)["bytes_sent"] for job in jobs]
        heavy, light = (jobs[i] for i in sorted(range(2), key=lambda i: -sent[i]))
        bully, victim = (case.ratio(job, "mpi_s") for job in (heavy, light))
        values += [
            Value("sends more", case.name, bully, "x", yes(victim >= bully * (1 + NOTICED))),
            Value("sends less", case.name, victim, "x"),
        ]
    return values


def random_is_faster(of: Sequence[Case]) -> list[Value]:
    values = []
    for one, other in placements(of):
        name = f"{one.routing}-{one.workload}"
        for job in one.jobs:
            if job in IO_JOBS:
                slow, fast = (cases.io_time(case.alone[job], job) for case in (one, other))
                ratio = slow / fast
                values.append(Value("I/O", f"{name} {job}", ratio, "x", yes(ratio > 1 + NOTICED)))
            # Checkpoint's messages are empty: those of two barriers.
            if job != "checkpoint":
                slow, fast = (cases.job_row(case.alone[job], job)["mpi_s"] for case in (one, other))
                ratio = slow / fast
                values.append(Value("MPI", f"{name} {job}", ratio, "x", yes(ratio > 1 + NOTICED)))
    return values


def random_degrades(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in of:
        for job in case.jobs:
            ratio = case.ratio(job, "non_compute_s")
            quantity = "random" if case.random else "contiguous"
            grade = yes(ratio >= DEGRADED) if case.random else unchanged(ratio)
            values.append(Value(quantity, f"{case.name} {job}", ratio, "x", grade))
    return values


def adaptive_risks(of: Sequence[Case]) -> list[Value]:
    values = []
    for minimal, adaptive in routings(of):
        for job in minimal.jobs:
            ratio = adaptive.ratio(job, "non_compute_s") / minimal.ratio(job, "non_compute_s")
            quantity = "random" if minimal.random else "contiguous"
            name = f"{minimal.placement}-{minimal.workload} {job}"
            values.append(Value(quantity, name, ratio, "x", yes(ratio > 1 + NOTICED)))
    return values


CLAIMS = [
    Claim(
        "heavy-io",
        "sec. 8",
        "heavy I/O is less sensitive: Checkpoint's I/O time grows less than CosmoFlow's",
        "less",
        "random, I/O time together / alone: Checkpoint below CosmoFlow by 5%",
        heavy_io,
    ),
    Claim(
        "heavy-communication",
        "sec. 8",
        'communication shows a similar "bully" effect',
        "less",
        "random, time in MPI: of Nekbone or MILC and CosmoFlow, who sends more bytes slows down less, by 5%",
        heavy_communication,
    ),
    Claim(
        "random-faster",
        "sec. 8",
        "random placement achieves better I/O and communication time",
        "better",
        "alone: contiguous / random above 1.05, job by job",
        random_is_faster,
    ),
    Claim(
        "random-degrades",
        "sec. 8",
        "random placement is prone to considerable degradation, contiguous is stable",
        "degraded, stable",
        "elapsed less computation, together / alone: random at least 1.1, contiguous within 5%, job by job",
        random_degrades,
    ),
    Claim(
        "adaptive-risk",
        "sec. 8",
        "adaptive routing increases the risk of interference",
        "more",
        "elapsed less computation, together / alone: adaptive above minimal by 5%, job by job",
        adaptive_risks,
    ),
]
