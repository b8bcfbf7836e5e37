"""The claims of the MFNetSim paper: their particularities, and the choice of their cases.

`study_tools.claims` defines claims and verdicts. Runs with the artifacts and those without them are judged
alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from study_tools import claims as shared
from study_tools.claims import (
    IMMUNE,
    NEAR,
    Answer,
    Grade,
    Kind,
    Value,
    Verdict,
    answer,
    between,
    near,
    number,
    summaries,
    unchanged,
    verdict,
    yes,
)

from mfnetsim_study import cases
from mfnetsim_study.cases import Case

__all__ = [
    "DEGRADED",
    "IMMUNE",
    "NEAR",
    "NOTICED",
    "SAME_LEVEL",
    "TWOFOLD",
    "WORTH_NAMING",
    "Answer",
    "Claim",
    "Grade",
    "Kind",
    "Sufferer",
    "Value",
    "Verdict",
    "answer",
    "between",
    "contiguous",
    "culprits",
    "near",
    "number",
    "placements",
    "random",
    "routings",
    "summaries",
    "unchanged",
    "verdict",
    "yes",
]

#: "At the same level": relative difference.
SAME_LEVEL = 0.1
#: Least relative difference that counts as slower, more or less.
NOTICED = 0.05
#: "Degraded", "suffers slowdown".
DEGRADED = 1.1
#: Least share of a victim's time for a culprit to be named.
WORTH_NAMING = 0.005
#: "Significantly prolonged", "increases up to".
TWOFOLD = 2.0


@dataclass(frozen=True)
class Sufferer:
    """The waits that explain a claim: of a job's MPI or I/O, in the network or at servers."""

    job: str
    traffic: str
    where: str


@dataclass(frozen=True)
class Claim(shared.Claim[Sequence[Case]]):
    """A sentence of the paper, and its test."""

    #: The waits that identify the culprit; under random placement.
    blame: tuple[Sufferer, ...] = ()


# Choice of cases


def random(of: Iterable[Case]) -> list[Case]:
    """Those under random placement."""
    return [case for case in of if case.random]


def contiguous(of: Iterable[Case]) -> list[Case]:
    """Those under contiguous placement."""
    return [case for case in of if not case.random]


def placements(of: Sequence[Case]) -> list[tuple[Case, Case]]:
    """Pairs (contiguous, random) that are otherwise equal."""
    return [
        (one, other)
        for one in contiguous(of)
        for other in random(of)
        if (one.routing, one.workload) == (other.routing, other.workload)
    ]


def routings(of: Sequence[Case]) -> list[tuple[Case, Case]]:
    """Pairs (minimal, adaptive) that are otherwise equal."""
    return [
        (one, other)
        for one in of
        for other in of
        if (one.routing, other.routing) == ("min", "par")
        and (one.placement, one.workload) == (other.placement, other.workload)
    ]


def culprits(claim: Claim, of: Sequence[Case]) -> list[str]:
    """For each victim the culprits of its waits, mean over the cases under random placement."""
    texts = []
    for who in claim.blame:
        shares: dict[str, list[float]] = {}
        chosen = [case for case in random(of) if who.job in case.jobs]
        found = [cases.waits(case, who.job, who.traffic, who.where) for case in chosen]
        found = [waits for waits in found if waits]
        for waits in found:
            for culprit, share in waits.items():
                shares.setdefault(culprit, []).append(share)
        if not found:
            continue
        order = sorted(shares, key=lambda culprit: (culprit == who.job, -sum(shares[culprit]), culprit))
        # A job that only one of the workloads has counts only there.
        means = {culprit: cases.mean(shares[culprit]) for culprit in order}
        parts = [
            f"{'itself' if culprit == who.job else culprit or 'unknown'} {number(share, '%')}"
            for culprit, share in means.items()
            if share >= WORTH_NAMING
        ]
        whole = "I/O time, at servers" if who.where == "servers" else "packets' time"
        traffic = "" if who.where == "servers" else {"mpi": "MPI ", "io": "I/O "}[who.traffic]
        texts.append(f"{who.job} waited, of its {traffic}{whole}: {', '.join(parts) or 'nothing'}")
    return texts
