"""The specification of a latency-load curve: its loads, their job, and the measurement method.

Command and function share these checks and their messages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odonata.errors import InputError, given, option

#: Most loads of a sweep, including those of the search for saturation.
MOST_LOADS = 1_000

#: Default loads.
DEFAULT_LOADS = tuple(round(0.05 * k, 2) for k in range(1, 21))


@dataclass(frozen=True)
class Request:
    """The specification of a curve."""

    loads: Sequence[float]
    #: The measurement method (`method_options`).
    method: dict[str, Any]
    #: The job whose load varies; None: the only one.
    job: str | None = None
    #: Tolerance of the search for the saturation point; None: no search.
    saturation: float | None = None
    #: Simultaneous loads; None: one per core.
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.saturation is not None and not 1e-4 <= self.saturation < 1:
            raise InputError(
                "the tolerance of the saturation point is out of range",
                key=option("saturation"),
                value=str(self.saturation),
                expected="0.0001 to below 1",
            )
        if self.workers is not None and self.workers < 1:
            raise InputError(
                "no process to run", key=option("processes"), value=str(self.workers), expected="1 or more"
            )


def parse_loads(text: str | None) -> list[float]:
    """Parses loads: `0.1,0.2,0.5`, `FIRST:LAST:STEP`, or both mixed; returns them sorted and distinct.

    >>> parse_loads("0.5,0.1:0.3:0.1")
    [0.1, 0.2, 0.3, 0.5]
    """
    if text is None:
        return list(DEFAULT_LOADS)

    def refuse(problem: str) -> InputError:
        return InputError(
            problem,
            key=option("loads"),
            value=text[:80],
            expected=f"1 to {MOST_LOADS} loads above 0, at most 1, such as 0.1,0.2 or 0.1:0.9:0.1",
        )

    loads: set[float] = set()
    for part in text.split(","):
        try:
            numbers = [float(number) for number in part.split(":")]
        except ValueError:
            raise refuse("not a list of loads") from None
        if not all(0 < number <= 1 for number in numbers) or len(numbers) not in (1, 3):
            raise refuse("not a list of loads")
        if len(numbers) == 1:
            loads.add(numbers[0])
            continue
        first, last, step = numbers
        # The tolerance covers rounding only.
        count = math.floor(min((last - first) / step, MOST_LOADS) + 1e-9) + 1
        if count < 1 or count > MOST_LOADS:
            raise refuse("a range without loads, or with too many")
        loads.update(round(first + k * step, 12) for k in range(count))
    if len(loads) > MOST_LOADS:
        raise refuse("too many loads")
    return sorted(loads)


def _span(text: str | float) -> str | int:
    """A time with a unit, or a number of clock cycles.

    >>> _span("500"), _span("500 cycles"), _span("2 us")
    (500, 500, '2 us')
    """
    text = str(text)
    number = text.strip().removesuffix("cycles").strip()
    return int(number) if number.isdecimal() else text


def method_options(
    name: str,
    *,
    sample_period: str | int | None = None,
    warmup_periods: int | None = None,
    max_samples: int | None = None,
    latency_threshold: str | float | None = None,
    precision: float | None = None,
) -> dict[str, Any]:
    """A measurement method in the form of the core; None means its default.

    >>> method_options("booksim", sample_period="500", latency_threshold="2 us")["latency_threshold"]
    '2 us'
    """
    if name == "booksim":
        if precision is not None:
            raise InputError(
                "no such parameter of this method",
                key=option("precision"),
                expected=given("method", "steady"),
            )
        return {
            "method": "booksim",
            "sample_period": _span(sample_period or "1000"),
            "warmup_periods": 3 if warmup_periods is None else warmup_periods,
            "max_samples": 12 if max_samples is None else max_samples,
            "latency_threshold": _span(latency_threshold or "500"),
        }
    if name != "steady":
        raise InputError("no such method", key=option("method"), value=name, expected="steady or booksim")
    options: dict[str, Any] = {"method": "steady"}
    if latency_threshold is not None:
        try:
            options["latency_threshold"] = float(latency_threshold)
        except ValueError:
            raise InputError(
                "not a number",
                key=option("latency_threshold"),
                value=str(latency_threshold),
                expected="with "
                + given("method", "steady")
                + ", a multiple of the idle network's latency, such as 50",
            ) from None
    chosen = {
        "sample_period": None if sample_period is None else _span(sample_period),
        "max_warmup": warmup_periods,
        "max_periods": max_samples,
        "precision": precision,
    }
    return options | {key: value for key, value in chosen.items() if value is not None}
