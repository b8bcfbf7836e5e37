"""Findings of GPCNeT and the Slingshot paper on machines, compared with runs of Odonata."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from study_tools.claims import Claim, Grade, Kind, Value, between, yes

from gpcnet_study import published
from gpcnet_study.cells import CANARIES
from gpcnet_study.machines import OWN_CONTROL
from gpcnet_study.measures import Row, impacts, slowest_impacts

Rows = Sequence[Row]
#: A published factor is met within twice and half of it, and in part within five times.
MET, PART = 2.0, 5.0
#: "Far above 1", and no impact: the largest factor of Slingshot in the paper's map.
FAR, NONE = 5.0, 1.5
#: Smaller factors are printed as 1.0.
ROUNDS_TO_ONE = 1.05


def graded(ours: float, theirs: float) -> Grade:
    """The grade of a factor relative to a published one."""
    off = max(ours / theirs, theirs / ours)
    if off <= MET:
        return Grade.YES
    return Grade.PART if off <= PART else Grade.NO


def at_most(ours: float, most: float, part: float) -> Grade:
    """As claimed up to `most`, in part up to `part`."""
    if ours < most:
        return Grade.YES
    return Grade.PART if ours <= part else Grade.NO


def found(rows: Rows, suite: str, machine: str, control: str | None = None) -> list[tuple[Row, float]]:
    """Congested rows of a machine with their factors, under its own congestion control or another.

    Factors of canaries compare means, like GPCNeT's; those of the map compare the slowest ranks, like the
    paper's.
    """
    wanted = control or OWN_CONTROL[machine]
    factors = canary_factors(rows) if suite == "GPCNeT" else slowest_impacts(rows)
    return [
        (row, factor)
        for row, factor in factors.items()
        if (row.suite, row.machine, row.control) == (suite, machine, wanted)
    ]


def canary_factors(rows: Rows) -> dict[Row, float]:
    """Factors of means."""
    return {row: mean for row, (mean, _) in impacts(rows).items()}


def canaries_met(rows: Rows) -> list[Value]:
    tails = impacts(rows)
    values = []
    for row, mean in found(rows, "GPCNeT", "Slingshot"):
        p99 = tails[row][1]
        values.append(Value("mean", row.victim, mean, "x", at_most(mean, ROUNDS_TO_ONE, NONE)))
        values.append(Value("99%", row.victim, p99, "x", at_most(p99, ROUNDS_TO_ONE, NONE)))
    return values


def canaries_far(rows: Rows) -> list[Value]:
    return [
        Value("mean", row.victim, mean, "x", yes(mean >= FAR)) for row, mean in found(rows, "GPCNeT", "Aries")
    ]


def map_met(machine: str, aggressor: str) -> Callable[[Rows], list[Value]]:
    """Every cell of the map within twice and half of the published factor."""

    def values(rows: Rows) -> list[Value]:
        graded_values = []
        for row, mean in found(rows, "map", machine):
            theirs = published.impact(row.machine, row.victim, row.aggressor, row.percent)
            if theirs is not None and row.aggressor == aggressor:
                case = f"{row.victim}, {row.percent}%"
                graded_values.append(Value("", case, mean, "x", graded(mean, theirs.factor)))
        return graded_values

    return values


def incast_over_all(rows: Rows) -> list[Value]:
    by_victim = {
        (row.victim, row.aggressor): mean for row, mean in found(rows, "map", "Aries") if row.percent == 90
    }
    return [
        Value("incast / all-to-all", victim, ratio, "x", between(ratio, FAR, math.inf, 1.0))
        for victim, aggressor in by_victim
        if aggressor == "incast" and (victim, "all-to-all") in by_victim
        for ratio in [by_victim[victim, "incast"] / by_victim[victim, "all-to-all"]]
    ]


def grows(rows: Rows) -> list[Value]:
    cells: dict[str, dict[int, float]] = {}
    for row, mean in found(rows, "map", "Aries"):
        if row.aggressor == "incast":
            cells.setdefault(row.victim, {})[row.percent] = mean
    return [
        Value("90% / 10%", victim, found_by[90] / found_by[10], "x", yes(found_by[90] > found_by[10]))
        for victim, found_by in cells.items()
        if {10, 90} <= found_by.keys()
    ]


def random_over_linear(rows: Rows) -> list[Value]:
    linear = {
        (row.victim, row.aggressor, row.percent): mean for row, mean in found(rows, "map, linear", "Aries")
    }
    return [
        Value("random / linear", f"{row.victim}, {row.percent}%", ratio, "x", yes(ratio >= 1.0))
        for row, mean in found(rows, "map", "Aries")
        if (key := (row.victim, row.aggressor, row.percent)) in linear and row.aggressor == "incast"
        for ratio in [mean / linear[key]]
    ]


def control_explains(rows: Rows) -> list[Value]:
    without = {(row.suite, row.victim): mean for row, mean in found(rows, "GPCNeT", "Slingshot", "none")}
    without |= {(row.suite, row.victim): mean for row, mean in found(rows, "map", "Slingshot", "none")}
    own = found(rows, "GPCNeT", "Slingshot") + found(rows, "map", "Slingshot")
    return [
        Value("without / with", f"{row.victim} ({row.suite})", ratio, "x", yes(ratio >= 2.0))
        for row, mean in own
        if (row.suite, row.victim) in without
        for ratio in [without[row.suite, row.victim] / mean]
    ]


def control_on_aries(rows: Rows) -> list[Value]:
    return [
        Value("per-pair", row.victim, mean, "x", yes(mean <= 2.6))
        for row, mean in found(rows, "GPCNeT", "Aries", "per-pair")
    ]


def ecn(rows: Rows) -> list[Value]:
    with_ecn = {row.victim: mean for row, mean in found(rows, "GPCNeT", "Slingshot", "ecn")}
    own = {row.victim: mean for row, mean in found(rows, "GPCNeT", "Slingshot")}
    return [
        Value("ECN / per-pair", victim, ratio, "x", yes(ratio >= 1.0))
        for victim in CANARIES
        if victim in with_ecn and victim in own
        for ratio in [with_ecn[victim] / own[victim]]
    ]


CLAIMS: list[Claim[Rows]] = [
    Claim(
        "slingshot-canaries",
        published.SHS,
        "GPCNeT on Slingshot: factors of 1.0 everywhere",
        "1.0",
        "Slingshot-like, per-pair control, every canary beside all congestors: factor of mean "
        "and 99% rounds to 1.0; in part up to 1.5",
        canaries_met,
        kind=Kind.PUBLISHED,
    ),
    Claim(
        "aries-canaries",
        "S. Chunduri et al., GPCNeT, SC 2019 (no number at hand)",
        "without congestion control at the end points congestion is far above 1",
        "far",
        "Aries-like, no control, every canary beside all congestors: factor of the mean at least 5",
        canaries_far,
        kind=Kind.OWN,
    ),
    Claim(
        "aries-incast-map",
        published.SLINGSHOT,
        "Aries under an incast of 10, 50, 90% of 512 nodes: 8 to 80 times",
        "8.4 to 80",
        "random placement, every victim: within twice and half of the paper's factor (linear "
        "placement); in part within five times",
        map_met("Aries", "incast"),
    ),
    Claim(
        "aries-all-to-all-map",
        published.SLINGSHOT,
        "Aries under an all-to-all of 90%: 1.2 to 2 times",
        "1.2 to 2",
        "likewise",
        map_met("Aries", "all-to-all"),
    ),
    Claim(
        "slingshot-incast-map",
        published.SLINGSHOT,
        "Slingshot under an incast of 90%: 1.0 to 1.3 times",
        "1.0 to 1.3",
        "likewise, per-pair control",
        map_met("Slingshot", "incast"),
    ),
    Claim(
        "incast-worse",
        published.SLINGSHOT,
        "on Aries an incast hurts far more than an all-to-all",
        "30 to 60 times",
        "90% aggressors, factor under incast over that under all-to-all: at least 5; in part more than 1, "
        "victim by victim",
        incast_over_all,
    ),
    Claim(
        "incast-grows",
        published.SLINGSHOT,
        "on Aries the impact grows with the aggressor's share",
        "> 1",
        "factor under an incast of 90% over that of 10%: more than 1, victim by victim",
        grows,
    ),
    Claim(
        "random-worse",
        "D. De Sensi et al., SC 2020, section III",
        "random placement suffers more than linear",
        ">= 1",
        "Aries, incast: factor under random over that under linear placement at least 1",
        random_over_linear,
    ),
    Claim(
        "control-explains",
        "D. De Sensi et al., SC 2020, section II-D",
        "Slingshot's congestion control protects victims",
        ">= 2",
        "Slingshot-like: factor without over that with per-pair control at least 2, victim by "
        "victim (canaries, incast of 90%)",
        control_explains,
    ),
    Claim(
        "control-on-aries",
        "D. De Sensi et al., SC 2020, fig. 9 (worst of Slingshot under random placement: 2.6)",
        "the same control on the Aries-like machine would protect its victims",
        "<= 2.6",
        "Aries-like with per-pair control, every canary: factor of the mean at most 2.6",
        control_on_aries,
        kind=Kind.OWN,
    ),
    Claim(
        "ecn-weaker",
        "D. De Sensi et al., SC 2020, section II-D",
        "ECN, which slows flows by marks, reacts too slowly for bursts of small messages",
        ">= 1",
        "Slingshot-like: factor with ECN over that with per-pair control at least 1, every canary",
        ecn,
    ),
]
