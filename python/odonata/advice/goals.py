"""What is better, and the limits that an answer must keep.

A *score* is a number per candidate and seed; less is better. For `slowdown` it is the geometric mean over
jobs of their times: the times alone with the present settings are the same for all candidates, so ratios of
scores are ratios of slowdowns. For `throughput` it is the time until all jobs have ended, for `cost` the
price.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from odonata.errors import InputError, option
from odonata.sweeps.table import measure_names
from odonata.sweeps.values import UNITS, parse

GOALS = ("slowdown", "throughput", "cost")


@dataclass(frozen=True)
class Limit:
    """The largest value of a measure of a job, or of the cost."""

    #: The job; empty: the cost.
    job: str
    measure: str
    #: None: the cost of the scenario as it is.
    most: float | None
    text: str


@dataclass(frozen=True)
class Measured:
    """A candidate's run with a seed."""

    score: float
    #: Time of each job.
    times: Mapping[str, float]
    #: The values that have limits, by limit.
    limited: Mapping[str, float]
    digest: str


def limits(texts: Sequence[str], jobs: Sequence[str]) -> list[Limit]:
    """Limits as typed: `JOB.MEASURE=VALUE`, `cost=VALUE` or `cost=present`.

    >>> limits(["write.io_s=60 s", "cost=present"], ["write"])[0].most
    60.0

    Raises:
        InputError: A job, a measure or a value is unknown.
    """
    found = []
    where = option("at_most", "--at-most")
    for text in texts:
        name, _, value = text.partition("=")
        name, value = name.strip(), value.strip()
        job, _, measure = name.rpartition(".")
        is_cost = name == "cost"
        if not is_cost and (job not in jobs or measure not in measure_names()):
            raise InputError(
                "unknown measure", key=where, value=text,
                expected=f"cost=VALUE, or JOB.MEASURE=VALUE with a job of {', '.join(jobs)} and a measure "
                "such as elapsed_s or io_s",
            )  # fmt: skip
        most = None if is_cost and value == "present" else _number(value)
        if most is not None and not math.isfinite(most):
            raise InputError(
                "not a value", key=where, value=text, expected="a number, or a quantity such as 60 s"
            )
        found.append(
            Limit("" if is_cost else job, "cost" if is_cost else measure, most, f"{name} <= {value}")
        )
    return found


def _number(text: str) -> float:
    """A number or quantity in base units; NaN if it is none."""
    quantity = parse(text)
    if quantity is not None:
        return quantity[0] * UNITS[quantity[1]][0]
    try:
        return float(text.replace("_", ""))
    except ValueError:
        return math.nan


def measured(
    rows: Iterable[Mapping[str, Any]], goal: str, bounds: Sequence[Limit], price: float
) -> Measured | str:
    """The result of a run from its rows in the table of points; a text if it has none."""
    found = list(rows)
    bad = next((row for row in found if row["outcome"] != "completed"), None)
    if bad is not None or not found:
        return "no result" if bad is None else str(bad["outcome"])
    times = {row["job"]: row["elapsed_s"] for row in found if row["elapsed_s"]}
    if not times:
        return "no job has a time"
    if goal == "slowdown":
        score = math.exp(math.fsum(math.log(time) for time in times.values()) / len(times))
    else:
        score = price if goal == "cost" else float(found[0]["run_simulated_s"])
    limited = {}
    for bound in bounds:
        if bound.measure == "cost":
            limited[bound.text] = price
        else:
            row = next((row for row in found if row["job"] == bound.job), None)
            value = None if row is None else row[bound.measure]
            limited[bound.text] = math.inf if value is None else float(value)
    return Measured(score, times, limited, str(found[0]["digest"]))


def keeps(found: Measured, bounds: Sequence[Limit], present_price: float) -> bool:
    """Whether a run keeps all limits."""
    return all(
        found.limited[bound.text] <= (present_price if bound.most is None else bound.most) for bound in bounds
    )
