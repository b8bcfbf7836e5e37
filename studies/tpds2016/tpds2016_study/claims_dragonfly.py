"""Section 6.1: three programs on a dragonfly under three routings (figures 9 to 12, 14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from study_tools.claims import Claim, Value, near, yes

from tpds2016_study.measures import Run

Runs = Sequence[Run]
#: Smaller differences count as equal.
ALIKE = 0.02
#: "Slight overhead".
SLIGHT = 0.2
OTHERS = ("non-minimal", "adaptive")


def by_routing(runs: Runs) -> Iterator[tuple[str, dict[str, Run]]]:
    """A program and its runs on a dragonfly by routing, per number of ranks, where all three exist."""
    found: dict[tuple[str, int], dict[str, Run]] = {}
    for run in runs:
        if run.machine == "dragonfly":
            found.setdefault((run.program, run.ranks), {})[run.routing] = run
    return ((program, routed) for (program, _), routed in found.items() if len(routed) == 3)


def against_minimal(runs: Runs, measure: str, more: bool) -> list[Value]:
    """`measure` of the two other routings over that of minimal: whether it is more, or less, beyond ALIKE."""
    values = []
    for program, routed in by_routing(runs):
        base = getattr(routed["minimal"], measure)
        for name in OTHERS:
            ratio = getattr(routed[name], measure) / base if base else float("inf")
            as_claimed = ratio > 1 + ALIKE if more else ratio < 1 - ALIKE
            values.append(Value(f"{name} / minimal", program, ratio, "x", yes(as_claimed)))
    return values


def fewest_hops(runs: Runs) -> list[Value]:
    return against_minimal(runs, "hops", more=True)


def minimal_latency(runs: Runs) -> list[Value]:
    return against_minimal(runs, "latency_s", more=False)


def minimal_terminals(runs: Runs) -> list[Value]:
    return against_minimal(runs, "terminal_mean_s", more=False)


def as_nonminimal(runs: Runs) -> list[Value]:
    # Non-minimal routing diverts every packet between groups.
    return [
        Value("", program, share, "%", yes(share > 0.5))
        for program, routed in by_routing(runs)
        if routed["non-minimal"].nonminimal > 0
        for share in [routed["adaptive"].nonminimal / routed["non-minimal"].nonminimal]
    ]


def nonminimal_time(runs: Runs) -> list[Value]:
    return [
        value for value in against_minimal(runs, "communication_s", more=False) if "non-" in value.quantity
    ]


def adaptive_overhead(runs: Runs) -> list[Value]:
    values = []
    for program, routed in by_routing(runs):
        ratio = routed["adaptive"].communication_s / routed["non-minimal"].communication_s
        values.append(Value("adaptive / non-minimal", program, ratio, "x", yes(1.0 <= ratio <= 1 + SLIGHT)))
    return values


def routing_matters(runs: Runs) -> list[Value]:
    values = []
    for program, routed in by_routing(runs):
        times = [run.communication_s for run in routed.values()]
        ratio = max(times) / min(times)
        values.append(Value("longest / shortest", program, ratio, "x", yes(ratio >= 1 + SLIGHT)))
    return values


def local_shares(runs: Runs) -> list[Value]:
    published = {"minimal": 0.20, "non-minimal": 0.34, "adaptive": 0.39}
    values = []
    for program, routed in by_routing(runs):
        if program == "Multigrid":
            for name, share in published.items():
                ours = routed[name].local_busy
                values.append(Value(name, program, ours, "%", near(ours, share)))
    return values


def local_shorter(runs: Runs) -> list[Value]:
    return [
        value
        for value in against_minimal(runs, "local_mean_of_busy_s", more=False)
        if value.case == "Multigrid"
    ]


def global_busy(runs: Runs) -> list[Value]:
    return [
        value for value in against_minimal(runs, "global_mean_s", more=False) if value.case == "Multigrid"
    ]


CLAIMS: list[Claim[Runs]] = [
    Claim(
        "minimal-hops",
        "6.1, fig. 9",
        "minimal routing traverses the least number of hops",
        "least",
        "mean hops of the ranks' packets, non-minimal and adaptive over minimal: more than "
        "1.02, program by program",
        fewest_hops,
    ),
    Claim(
        "minimal-latency",
        "6.1, fig. 10",
        "average packet latencies are lower for adaptive and non-minimal routing, in all three cases",
        "lower",
        "mean packet latency of the ranks, non-minimal and adaptive over minimal: less than 0.98",
        minimal_latency,
    ),
    Claim(
        "minimal-terminals",
        "6.1, fig. 11",
        "in all three cases minimal routing has high busy times of the terminal-router links",
        "higher",
        "time in which the buffers of a node's link are full, mean over nodes, non-minimal and "
        "adaptive over minimal: "
        "less than 0.98",
        minimal_terminals,
    ),
    Claim(
        "adaptive-nonminimal",
        "6.1",
        "in all these cases adaptive routing takes the non-minimal path for the majority of packets",
        "> 50%",
        "packets on a non-minimal path under adaptive routing, as a share of those that have a choice, "
        "which are those that non-minimal routing diverts: more than half",
        as_nonminimal,
    ),
    Claim(
        "nonminimal-time",
        "6.1, fig. 12",
        "non-minimal routing yields a lower communication time than minimal routing",
        "lower",
        "longest time of a rank in MPI, non-minimal over minimal: less than 0.98",
        nonminimal_time,
    ),
    Claim(
        "adaptive-overhead",
        "6.1, fig. 12",
        "adaptive routing has a slight overhead in this case, as it takes minimal paths until "
        "channels get congested",
        "slight",
        "longest time of a rank in MPI, adaptive over non-minimal: from 1 to 1.2",
        adaptive_overhead,
    ),
    Claim(
        "routing-matters",
        "6.1",
        "the choice of routing can have a significant impact on the application performance",
        "significant",
        "longest time of a rank in MPI, under the worst over the best routing: at least 1.2",
        routing_matters,
    ),
    Claim(
        "local-shares",
        "6.1, fig. 14",
        "Multigrid: the buffers of roughly 20% of local channels get full under minimal, 34% "
        "under non-minimal, 39% under "
        "adaptive routing",
        "20, 34, 39%",
        "share of local links whose buffers were ever full: within 20% of the paper's number",
        local_shares,
    ),
    Claim(
        "local-shorter",
        "6.1, fig. 14",
        "under minimal routing local channels are full for a high duration, otherwise for a shorter one",
        "shorter",
        "Multigrid: mean time of those local links that were full at all, over that under "
        "minimal routing: less than 0.98",
        local_shorter,
    ),
    Claim(
        "global-busy",
        "6.1, fig. 14",
        "the busy time of global channels is higher for minimal than for adaptive and non-minimal routing",
        "higher",
        "Multigrid: time in which the buffers of a global link are full, mean over links, over "
        "that under minimal routing: "
        "less than 0.98",
        global_busy,
    ),
]
