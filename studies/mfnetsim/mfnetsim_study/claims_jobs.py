"""The claims about CosmoFlow, Nekbone and MILC: section 8, figures 12 and 13."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mfnetsim_study import cases, io_split
from mfnetsim_study.cases import Case
from mfnetsim_study.claims import (
    DEGRADED,
    IMMUNE,
    NOTICED,
    TWOFOLD,
    Claim,
    Grade,
    Kind,
    Sufferer,
    Value,
    between,
    contiguous,
    near,
    placements,
    random,
    unchanged,
    yes,
)

JOB = "cosmoflow"
MS = 1e3

#: "Around 300 ms", "around 750 ms".
ALONE_MS, TOGETHER_MS = 300.0, 750.0
#: "Around 1.6x to 1.8x".
SLOWER = (1.5, 1.9)
#: "Negligible difference between latency distributions": Kolmogorov-Smirnov distance.
NEGLIGIBLE = 0.1
#: Tolerance for 103x and 16x: single maxima decide, which vary.
FACTOR = 0.3


def same_distribution(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in of:
        value = cases.distance(case, JOB)
        quantity = "distance, random" if case.random else "distance, contiguous"
        values.append(Value(quantity, case.name, value, "ks", yes(value <= NEGLIGIBLE)))
    return values


def io_time_random(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in random(of):
        alone, together = (MS * cases.io_time(r, JOB) for r in (case.alone[JOB], case.together))
        ratio = together / alone
        values += [
            Value("alone", case.name, alone, "ms", near(alone, ALONE_MS)),
            Value("together", case.name, together, "ms", near(together, TOGETHER_MS)),
            Value("ratio", case.name, ratio, "x", between(ratio, TWOFOLD, float("inf"), DEGRADED)),
            Value("worst step", case.name, cases.worst_step(case, JOB), "x"),
        ]
    return values


def due_to_network(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in random(of):
        if io_split.measured(case, JOB):
            more = io_split.slowdown(case, JOB)
            if more.calls_s > 0:
                share = more.network_s / more.calls_s
                values += [
                    Value("network", case.name, share, "%", between(share, 0.5, float("inf"), 0.25)),
                    Value("devices", case.name, more.device_s / more.calls_s, "%"),
                ]
    return values


def blocked(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in random(of):
        alone, together = (MS * cases.job_row(r, JOB)["io_s"] for r in (case.alone[JOB], case.together))
        more = together - alone
        values += [
            Value("alone", case.name, alone, "ms"),
            Value("together", case.name, together, "ms"),
            Value("more", case.name, more, "ms", near(more, TOGETHER_MS - ALONE_MS)),
        ]
    return values


def slower(column: str) -> Callable[[Sequence[Case]], list[Value]]:
    def measure(of: Sequence[Case]) -> list[Value]:
        return [
            Value("", case.name, ratio := case.ratio(JOB, column), "x", between(ratio, *SLOWER, DEGRADED))
            for case in random(of)
        ]

    return measure


def immune(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in contiguous(of):
        for quantity, ratio in (("I/O", case.io_ratio(JOB)), ("MPI", case.ratio(JOB, "mpi_s"))):
            values.append(Value(quantity, case.name, ratio, "x", unchanged(ratio)))
    return values


def higher_total(of: Sequence[Case]) -> list[Value]:
    values = []
    for one, other in placements(of):
        slow, fast = (cases.job_row(case.alone[JOB], JOB)["elapsed_s"] for case in (one, other))
        name = f"{one.routing}-{one.workload}"
        values.append(
            Value("contiguous / random, alone", name, slow / fast, "x", yes(slow / fast > 1 + NOTICED))
        )
    return values


def latency(job: str, target: float) -> Callable[[Sequence[Case]], list[Value]]:
    """Mean message latency, send call to last byte; the largest ratio of all cases counts ("up to")."""

    def measure(of: Sequence[Case]) -> list[Value]:
        chosen = [case for case in random(of) if job in case.jobs]
        means = {case.name: case.ratio(job, "message_latency_mean_s") for case in chosen}
        longest = [
            Value("longest", case.name, case.ratio(job, "message_latency_max_s"), "x") for case in chosen
        ]
        return _up_to("mean", means, target) + longest

    return measure


def latency_pooled(job: str, target: float) -> Callable[[Sequence[Case]], list[Value]]:
    """The same, pooled as in the figure: a maximum per node weighs as much as a mean."""

    def measure(of: Sequence[Case]) -> list[Value]:
        means, worst = {}, []
        for case in random(of):
            if job in case.jobs:
                alone, together = (cases.mean(cases.pooled(r, job)) for r in (case.alone[job], case.together))
                means[case.name] = together / alone
                worst.append(Value("largest of one node", case.name, cases.worst_node(case, job), "x"))
        return _up_to("mean", means, target) + worst

    return measure


def _up_to(quantity: str, ratios: dict[str, float], target: float) -> list[Value]:
    if not ratios:
        return []
    top = max(ratios, key=lambda name: ratios[name])
    exact = near(ratios[top], target, FACTOR)
    grade = Grade.PART if exact == Grade.NO and ratios[top] >= TWOFOLD else exact
    return [
        Value(quantity, name, ratio, "x", grade if name == top else None) for name, ratio in ratios.items()
    ]


def unaffected(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in contiguous(of):
        job = case.jobs[0]
        ratio, value = case.ratio(job, "message_latency_mean_s"), cases.distance(case, job)
        values += [
            Value("mean", case.name, ratio, "x", unchanged(ratio)),
            Value("distance", case.name, value, "ks", yes(value <= NEGLIGIBLE)),
        ]
    return values


def communication(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in of:
        ratio = case.ratio(case.jobs[0], "mpi_s")
        quantity = "random" if case.random else "contiguous"
        grade = yes(ratio > 1 + NOTICED) if case.random else unchanged(ratio)
        values.append(Value(quantity, case.name, ratio, "x", grade))
    return values


def variability(of: Sequence[Case]) -> list[Value]:
    values = []
    for one in random(of):
        for other in random(of):
            if (one.routing, one.jobs[0], other.jobs[0]) == (other.routing, "nekbone", "milc"):
                nekbone, milc = one.ratio("nekbone", "mpi_s"), other.ratio("milc", "mpi_s")
                name = f"rand-{one.routing}"
                values += [
                    Value("Nekbone", name, nekbone, "x", yes(nekbone > milc * (1 + NOTICED))),
                    Value("MILC", name, milc, "x"),
                ]
    return values


CLAIMS = [
    Claim(
        "cosmoflow-distribution",
        "Fig. 12a",
        "CosmoFlow: negligible difference between latency distributions alone and together",
        "negligible",
        f"packet latency, MPI and I/O: Kolmogorov-Smirnov distance at most {NEGLIGIBLE}",
        same_distribution,
    ),
    Claim(
        "cosmoflow-io",
        "Fig. 12b",
        "CosmoFlow: I/O time around 300 ms alone, around 750 ms together, under random placement",
        "300 -> 750 ms",
        "random, request to acknowledgement: 300 and 750 ms within 20%; twice as long (in part: 1.1 times)",
        io_time_random,
        (Sufferer(JOB, "io", "servers"), Sufferer(JOB, "io", "network")),
    ),
    Claim(
        "cosmoflow-io-blocked",
        "Fig. 12b",
        "CosmoFlow: what its ranks wait for I/O, alone and together",
        "+ 450 ms",
        "random: time blocked in I/O grows by 450 ms within 20%",
        blocked,
        kind=Kind.OWN,
    ),
    Claim(
        "cosmoflow-io-network",
        "sec. 8",
        "CosmoFlow: I/O time is prolonged due to network interference",
        "network",
        "random: half of the slowdown is neither service nor waiting at servers; in part: a quarter",
        due_to_network,
    ),
    Claim(
        "cosmoflow-communication",
        "Fig. 12c",
        "CosmoFlow: communication times 1.6x to 1.8x under random placement",
        "1.6-1.8x",
        "random, time in MPI (section 7.4): 1.5 to 1.9; in part: at least 1.1",
        slower("mpi_s"),
        (Sufferer(JOB, "mpi", "network"),),
    ),
    Claim(
        "cosmoflow-non-compute",
        "Fig. 12c",
        "CosmoFlow: communication time as the runs measure it, all but computation",
        "1.6-1.8x",
        "random, elapsed less computation: 1.5 to 1.9; in part: at least 1.1",
        slower("non_compute_s"),
        kind=Kind.OWN,
    ),
    Claim(
        "cosmoflow-contiguous",
        "Fig. 12",
        "CosmoFlow: contiguous placement is almost immune",
        "unaffected",
        "contiguous: I/O time and time in MPI within 5% of alone",
        immune,
    ),
    Claim(
        "cosmoflow-contiguous-total",
        "Fig. 12",
        "CosmoFlow: contiguous placement has a higher total time",
        "higher",
        "alone: elapsed contiguous / random above 1.05",
        higher_total,
    ),
    Claim(
        "nekbone-latency",
        "Fig. 13a",
        "Nekbone: average message latency increases up to 103x under random placement",
        "103x",
        "random: mean from send call to last byte, larger of both routings: within 30%; in part: twofold",
        latency("nekbone", 103.0),
        (Sufferer("nekbone", "mpi", "network"),),
    ),
    Claim(
        "nekbone-latency-pooled",
        "Fig. 13a",
        "Nekbone: average message latency as the figure pools it",
        "103x",
        "mean over mean, largest and smallest packet latency of each node: within 30%; in part: twofold",
        latency_pooled("nekbone", 103.0),
        kind=Kind.OWN,
    ),
    Claim(
        "milc-latency",
        "Fig. 13a",
        "MILC: average message latency increases up to 16x under random placement",
        "16x",
        "as for Nekbone",
        latency("milc", 16.0),
        (Sufferer("milc", "mpi", "network"),),
    ),
    Claim(
        "milc-latency-pooled",
        "Fig. 13a",
        "MILC: average message latency as the figure pools it",
        "16x",
        "as for Nekbone",
        latency_pooled("milc", 16.0),
        kind=Kind.OWN,
    ),
    Claim(
        "latency-contiguous",
        "Fig. 13a",
        "Nekbone, MILC: latency distributions unaffected under contiguous placement",
        "unaffected",
        f"contiguous: mean within {100 * IMMUNE:.0f}%, distance of distributions at most {NEGLIGIBLE}",
        unaffected,
    ),
    Claim(
        "communication-random",
        "Fig. 13b",
        "Nekbone, MILC: communication slows down under random placement, unlike contiguous",
        "slower, not",
        "time in MPI: random above 1.05; contiguous within 5%",
        communication,
    ),
    Claim(
        "nekbone-variability",
        "Fig. 13b",
        "Nekbone's communication time varies more than MILC's",
        "more",
        "random, time in MPI, together / alone: Nekbone above MILC by 5%",
        variability,
    ),
]
