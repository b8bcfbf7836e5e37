"""The claims about Checkpoint: section 8, figures 10 and 11."""

from __future__ import annotations

from collections.abc import Sequence

from mfnetsim_study import cases
from mfnetsim_study.cases import Case
from mfnetsim_study.claims import (
    DEGRADED,
    NEAR,
    NOTICED,
    SAME_LEVEL,
    Claim,
    Grade,
    Kind,
    Sufferer,
    Value,
    contiguous,
    near,
    placements,
    random,
    routings,
    unchanged,
    yes,
)

JOB = "checkpoint"
MS = 1e3

#: "Less than 2 microseconds".
SHORT_S = 2e-6
#: "Exponentially delayed": the longest exceeds the others by this factor.
EXPONENTIAL = 10.0
#: "Distributed over a larger number of routers": the routers that carry this part of the bytes
CARRIED = 0.9
#: are more numerous by this factor.
LARGER = 1.5
#: "Increases slightly": by at most this factor.
SLIGHTLY = 1.2
#: "Fewer than 2 global links ... up to 106 ms".
FEWER_THAN, UP_TO_MS = 2, 106.0
#: "60% of global links", within this many points; twice and a half of that is near.
SHARE, POINTS = 0.6, 0.1
#: "Significant increments" of saturation time.
SIGNIFICANT_S = 1e-3


def short_messages(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in of:
        for quantity, results in (("alone", case.alone[JOB]), ("together", case.together)):
            share = cases.share_below(cases.pooled(results, JOB), SHORT_S)
            values.append(Value(quantity, case.name, share, "%", yes(share > 0.5)))
    return values


def short_messages_counted(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in of:
        for quantity, results in (("alone", case.alone[JOB]), ("together", case.together)):
            share = cases.io_messages_below(results, JOB, SHORT_S)
            values.append(Value(quantity, case.name, share, "%", yes(share > 0.5)))
    return values


def longest_message(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in random(of):
        alone, together = (max(cases.pooled(r, JOB)) for r in (case.alone[JOB], case.together))
        ratio = together / alone
        values += [
            Value("longest, together / alone", case.name, ratio, "x", yes(ratio >= EXPONENTIAL)),
            Value("together", case.name, 1e6 * together, "us"),
        ]
    return values


def io_time_same(of: Sequence[Case]) -> list[Value]:
    return [
        Value(
            "random" if case.random else "contiguous",
            case.name,
            ratio := case.io_ratio(JOB),
            "x",
            unchanged(ratio, SAME_LEVEL),
        )
        for case in of
    ]


def spread(of: Sequence[Case]) -> list[Value]:
    values = []
    for one, other in placements(of):
        few, many = (cases.carriers(case.alone[JOB], CARRIED) for case in (one, other))
        name = f"{one.routing}-{one.workload}"
        values += [
            Value("routers, contiguous", name, few, ""),
            Value("random", name, many, "", yes(many >= LARGER * few)),
        ]
    return values


def degraded_contiguous(of: Sequence[Case]) -> list[Value]:
    values = []
    for one, other in placements(of):
        ratio = cases.io_time(one.alone[JOB], JOB) / cases.io_time(other.alone[JOB], JOB)
        name = f"{one.routing}-{one.workload}"
        values.append(Value("contiguous / random, alone", name, ratio, "x", yes(ratio >= DEGRADED)))
    return values


def minimal_is_worse(of: Sequence[Case]) -> list[Value]:
    values = []
    for minimal, adaptive in routings(contiguous(of)):
        for quantity, pair in (
            ("alone", (minimal.alone[JOB], adaptive.alone[JOB])),
            ("together", (minimal.together, adaptive.together)),
        ):
            slow, fast = (cases.io_time(results, JOB) for results in pair)
            name = f"cont-{minimal.workload}"
            values.append(
                Value(
                    f"minimal / adaptive, {quantity}", name, slow / fast, "x", yes(slow / fast > 1 + NOTICED)
                )
            )
    return values


def router_traffic(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in of:
        own = cases.groups(case.together, JOB)
        ratio = cases.local_bytes(case.together, own) / cases.local_bytes(case.alone[JOB], own)
        quantity = "random" if case.random else "contiguous"
        values.append(Value(quantity, case.name, ratio, "x", yes(ratio <= SLIGHTLY)))
    return values


def global_alone(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in of:
        every = cases.links(case.alone[JOB], "global", cases.groups(case.alone[JOB], JOB))
        saturated = sum(row["saturation_s"] > 0 for row in every.values())
        values.append(Value("saturated links", case.name, saturated, "", yes(saturated == 0)))
    return values


def global_contiguous_minimal(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in contiguous(of):
        if case.routing == "min":
            increases = cases.saturation_increases(case, JOB)
            more, most = sum(one > 0 for one in increases), MS * max(increases)
            values += [
                Value("links", case.name, more, "", yes(more < FEWER_THAN)),
                Value("by up to", case.name, most, "ms", near(most, UP_TO_MS, NEAR)),
            ]
    return values


def global_contiguous_adaptive(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in contiguous(of):
        if case.routing == "par":
            increases = cases.saturation_increases(case, JOB)
            share = sum(one > 0 for one in increases) / len(increases)
            off = abs(share - SHARE)
            grade = Grade.YES if off <= POINTS else Grade.PART if off <= 2.5 * POINTS else Grade.NO
            values.append(Value("links", case.name, share, "%", grade))
    return values


def global_random(of: Sequence[Case]) -> list[Value]:
    values = []
    for case in random(of):
        increases = cases.saturation_increases(case, JOB)
        share = sum(one >= SIGNIFICANT_S for one in increases) / len(increases)
        values.append(Value("links", case.name, share, "%", yes(share > 0.5)))
    return values


CLAIMS = [
    Claim(
        "checkpoint-short-messages",
        "Fig. 10a",
        "Checkpoint: most of the latencies that the figure pools are below 2 us",
        "< 2 us",
        "pooled as in the figure (mean, largest, smallest packet latency per node): most below 2 us",
        short_messages,
        kind=Kind.OWN,
    ),
    Claim(
        "checkpoint-short-messages-counted",
        "Fig. 10a",
        "Checkpoint: across all setups the majority of I/O messages achieve less than 2 us",
        "< 2 us",
        "more than half of the messages below 2 us",
        short_messages_counted,
    ),
    Claim(
        "checkpoint-longest-message",
        "Fig. 10a",
        "Checkpoint: some I/O messages are exponentially delayed under random placement",
        "exponentially",
        "random: the longest packet latency at its nodes grows tenfold",
        longest_message,
        (Sufferer(JOB, "io", "network"),),
    ),
    Claim(
        "checkpoint-io-time",
        "Fig. 10b",
        "Checkpoint: the total I/O time remains at the same level",
        "unchanged",
        "I/O time together / alone within 10% of 1",
        io_time_same,
        (Sufferer(JOB, "io", "servers"),),
    ),
    Claim(
        "checkpoint-spread",
        "Fig. 11a",
        "Checkpoint: random placement distributes the I/O load over more routers",
        "more routers",
        "alone: 1.5 times as many routers carry 90% of the bytes on local links",
        spread,
    ),
    Claim(
        "checkpoint-contiguous-io",
        "Fig. 10b, 11a",
        "Checkpoint: contiguous placement degrades the I/O time",
        "longer",
        "alone: contiguous / random at least 1.1",
        degraded_contiguous,
    ),
    Claim(
        "checkpoint-minimal",
        "Fig. 11a",
        "Checkpoint: minimal routing exacerbates this, as it cannot avoid hot links",
        "longer",
        "contiguous: I/O time minimal / adaptive above 1.05",
        minimal_is_worse,
    ),
    Claim(
        "checkpoint-router-traffic",
        "Fig. 11a",
        "Checkpoint: router traffic increases slightly in the mix",
        "slightly",
        "bytes on the local links of its groups: together / alone at most 1.2",
        router_traffic,
    ),
    Claim(
        "global-alone",
        "Fig. 11b",
        "Checkpoint alone: no global link saturates, since I/O goes to local burst buffers",
        "none",
        "no global link from its groups saturates",
        global_alone,
    ),
    Claim(
        "global-cont-min",
        "Fig. 11b",
        "contiguous, minimal: fewer than 2 global links saturate longer, by up to 106 ms",
        "< 2, 106 ms",
        "of the links from Checkpoint's groups: count below 2; largest increase within 20% of 106 ms",
        global_contiguous_minimal,
    ),
    Claim(
        "global-cont-par",
        "Fig. 11b",
        "contiguous, adaptive: 60% of global links saturate longer",
        "60%",
        "of the links from Checkpoint's groups: within 10 points of 60%; in part within 25",
        global_contiguous_adaptive,
    ),
    Claim(
        "global-random",
        "Fig. 11b",
        "random: most global links saturate significantly longer",
        "most",
        "of the links from Checkpoint's groups: more than half by at least 1 ms",
        global_random,
    ),
]
