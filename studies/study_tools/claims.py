"""Claims of a paper or of the study, and their verdicts.

A claim states what it measures, and grades every number by a rule. The verdict follows from the grades:

    all numbers as claimed -> holds;   none, nor near -> does not hold;   else -> holds in part
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Generic, TypeVar

#: Tolerance for a value that a paper reads off a figure ("around 750 ms").
NEAR = 0.2
#: "Immune", "unaffected", "stable": relative difference.
IMMUNE = 0.05

#: The data of a claim: a sequence of runs, tables, ...
Data = TypeVar("Data")


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
    UNKNOWN = "not judged"


class Kind(StrEnum):
    """The origin of a claim."""

    PAPER = "claims of the paper"
    PUBLISHED = "numbers published elsewhere"
    OWN = "checks of our own"


@dataclass(frozen=True)
class Value:
    """One number of a claim."""

    #: Its name, if a claim has several: "alone", "together".
    quantity: str
    #: Name of the case, or of the common part of two cases.
    case: str
    number: float
    #: "ms", "us", "x" (a ratio), "%" (the number is a share), "ks" (a distance) or "" (a count).
    unit: str
    #: None: shown, but not judged.
    grade: Grade | None = None

    def text(self) -> str:
        """The number with its unit."""
        return number(self.number, self.unit)


@dataclass(frozen=True)
class Claim(Generic[Data]):
    """A statement, and its test."""

    key: str
    #: Section or figure.
    source: str
    #: The sentence, shortened.
    says: str
    #: Its number.
    number: str
    #: The grading in words.
    rule: str
    measure: Callable[[Data], list[Value]]
    #: A sentence of the studied paper, or another claim, which is counted separately.
    kind: Kind = field(default=Kind.PAPER, kw_only=True)


@dataclass(frozen=True)
class Answer:
    """The measurements for a claim."""

    values: list[Value]

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds."""
        return verdict(self.values)

    def text(self) -> str:
        """Each quantity with its range over the cases."""
        return "; ".join(summaries(self.values))


def answer(claim: Claim[Data], of: Data) -> Answer:
    """The measurements of these cases for a claim; empty if it is about other cases."""
    return Answer(claim.measure(of))


def verdict(values: Sequence[Value]) -> Verdict:
    """The verdict on graded values."""
    grades = [value.grade for value in values if value.grade is not None]
    if not grades:
        return Verdict.UNKNOWN
    if all(grade == Grade.YES for grade in grades):
        return Verdict.HOLDS
    return Verdict.NOT if all(grade == Grade.NO for grade in grades) else Verdict.PART


def share(values: Sequence[Value]) -> str:
    """Share of the graded numbers that are as claimed: "7 of 12"."""
    grades = [value.grade for value in values if value.grade is not None]
    return f"{sum(grade == Grade.YES for grade in grades)} of {len(grades)}"


def summaries(values: Sequence[Value]) -> list[str]:
    """Per quantity "name from to": the smallest and the largest number, once if their texts are equal."""
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
    ('1.2%', '1.50x', '750 ms')
    """
    if unit == "%":
        return f"{100 * value:.1f}%" if abs(value) < 0.1 else f"{100 * value:.0f}%"
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
