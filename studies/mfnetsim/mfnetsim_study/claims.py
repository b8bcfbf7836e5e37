"""What a claim of the paper is, and how a verdict comes about.

A claim says what it measures of which cases, and grades every number by a rule of its own. The verdict
follows from the grades, for the runs with the artefacts and for those without them alike;
nobody sets one by hand.

    all numbers as claimed -> holds;   none, nor near -> does not hold;   else -> holds in part
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from mfnetsim_study import cases
from mfnetsim_study.cases import Case

#: How far from a value that the paper reads off a figure ("around 750 ms") ours may be.
NEAR = 0.2
#: "At the same level": relative difference.
SAME_LEVEL = 0.1
#: "Immune", "unaffected", "stable": relative difference.
IMMUNE = 0.05
#: From here on something is slower, or more, or less: relative difference.
NOTICED = 0.05
#: "Degraded", "suffers slowdown".
DEGRADED = 1.1
#: Share of a victim's time from which on a culprit is named.
WORTH_NAMING = 0.005
#: "Significantly prolonged", "increases up to".
TWOFOLD = 2.0


class Grade(IntEnum):
    """Whether one number is as claimed."""

    NO = 0
    PART = 1
    YES = 2


class Verdict(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    PART = "holds in part"
    NOT = "does not hold"
    UNKNOWN = "not computed"


@dataclass(frozen=True)
class Value:
    """One number that a claim is held against."""

    #: What it is, where a claim has several: "alone", "together".
    quantity: str
    #: Name of the case, or of what two cases have in common.
    case: str
    number: float
    #: "ms", "us", "x" (a ratio), "%" (the number is a share), "ks" (a distance) or "" (a count).
    unit: str
    #: None: shown, and not judged.
    grade: Grade | None = None

    def text(self) -> str:
        """The number with its unit."""
        return number(self.number, self.unit)


@dataclass(frozen=True)
class Sufferer:
    """Whose waits explain a claim: a job's MPI or I/O, in the network or at servers."""

    job: str
    traffic: str
    where: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how it is tested."""

    key: str
    #: Section or figure.
    source: str
    #: The sentence, shortened.
    says: str
    #: Its number.
    number: str
    #: What is graded, in words.
    rule: str
    measure: Callable[[Sequence[Case]], list[Value]]
    #: Whose waits say who caused it; under random placement.
    blame: tuple[Sufferer, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a set of runs says to a claim."""

    values: list[Value]

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds."""
        return verdict(self.values)

    def text(self) -> str:
        """Each quantity with its range over the cases."""
        return "; ".join(summaries(self.values))


def answer(claim: Claim, of: Sequence[Case]) -> Answer:
    """What these cases say to a claim; where it is about other cases, nothing."""
    return Answer(claim.measure(of))


def verdict(values: Sequence[Value]) -> Verdict:
    """The verdict on graded values."""
    grades = [value.grade for value in values if value.grade is not None]
    if not grades:
        return Verdict.UNKNOWN
    if all(grade == Grade.YES for grade in grades):
        return Verdict.HOLDS
    return Verdict.NOT if all(grade == Grade.NO for grade in grades) else Verdict.PART


def summaries(values: Sequence[Value]) -> list[str]:
    """Per quantity "name from to": the smallest and the largest number, once if they read alike."""
    quantities: dict[str, list[Value]] = {}
    for value in values:
        quantities.setdefault(value.quantity, []).append(value)
    texts = []
    for name, members in quantities.items():
        ends = dict.fromkeys(
            member.text() for member in (min(members, key=_number), max(members, key=_number))
        )
        texts.append(f"{name} {' to '.join(ends)}".strip())
    return texts


def number(value: float, unit: str) -> str:
    """A number as the tables show it.

    >>> number(0.0123, "%"), number(1.5, "x"), number(750.3, "ms")
    ('1.2 %', '1.50x', '750 ms')
    """
    if unit == "%":
        return f"{100 * value:.1f} %" if abs(value) < 0.1 else f"{100 * value:.0f} %"
    if unit == "x":
        return f"{value:.2f}x" if abs(value) < 10 else f"{value:,.0f}x"
    if unit == "ks":
        return f"{value:.2f}"
    if not unit:
        return f"{value:,.0f}"
    return f"{value:,.0f} {unit}" if abs(value) >= 100 else f"{value:.3g} {unit}"


def _number(value: Value) -> float:
    return value.number


# Rules


def yes(condition: bool) -> Grade:
    """As claimed or not."""
    return Grade.YES if condition else Grade.NO


def near(value: float, target: float, tolerance: float = NEAR) -> Grade:
    """As claimed if within `tolerance` of `target`, relative."""
    return yes(abs(value / target - 1.0) <= tolerance)


def unchanged(ratio: float, tolerance: float = IMMUNE) -> Grade:
    """As claimed if a ratio is within `tolerance` of 1."""
    return near(ratio, 1.0, tolerance)


def between(value: float, low: float, high: float, part: float) -> Grade:
    """As claimed from `low` to `high`, in part from `part` on."""
    if low <= value <= high:
        return Grade.YES
    return Grade.PART if value >= part else Grade.NO


# Choice of cases


def random(of: Iterable[Case]) -> list[Case]:
    """Those under random placement."""
    return [case for case in of if case.random]


def contiguous(of: Iterable[Case]) -> list[Case]:
    """Those under contiguous placement."""
    return [case for case in of if not case.random]


def placements(of: Sequence[Case]) -> list[tuple[Case, Case]]:
    """Pairs (contiguous, random) that differ in nothing else."""
    return [
        (one, other)
        for one in contiguous(of)
        for other in random(of)
        if (one.routing, one.workload) == (other.routing, other.workload)
    ]


def routings(of: Sequence[Case]) -> list[tuple[Case, Case]]:
    """Pairs (minimal, adaptive) that differ in nothing else."""
    return [
        (one, other)
        for one in of
        for other in of
        if (one.routing, other.routing) == ("min", "par")
        and (one.placement, one.workload) == (other.placement, other.workload)
    ]


def culprits(claim: Claim, of: Sequence[Case]) -> list[str]:
    """Who caused it: for each sufferer whom it waited for, mean over the cases under random placement."""
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
        # A job that is in one of the workloads only counts where it is.
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
