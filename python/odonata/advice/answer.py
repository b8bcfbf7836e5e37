"""The answer: what is better, by how much, and which waits changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odonata import _core
from odonata.advice import goals
from odonata.advice.search import CONFIDENCE, Candidate, Found, Request, best, ratio
from odonata.base.wording import duration, rate

if TYPE_CHECKING:
    from odonata.answers.advice import Advice, AdvisedChoice, PairedRatio, SearchedChoice, WaitChange
    from odonata.sweeps.statistics import Paired

#: Most waits of a candidate, and most candidates of the search.
MOST_WAITS, MOST_SEARCHED = 6, 50
#: What the score is, by goal.
SCORES = {
    "slowdown": "the mean slowdown",
    "throughput": "the time until all jobs have ended",
    "cost": "the cost",
}


def of_search(request: Request, found: Found, varied: Sequence[str]) -> Advice:
    """The answer of a search."""
    chosen = best(request, found)
    confirmed = [_confirmed(request, found, one) for one in found.confirmed]
    return {
        "kind": "advice",
        "version": _core.__version__,
        "name": request.name,
        "outcome": found.outcome,
        "goal": request.goal,
        "limits": [bound.text for bound in request.limits],
        "varied": list(varied),
        "candidates": len(found.candidates),
        "searched_by": found.searched_by,
        "runs": found.runs,
        "wall_s": found.wall_s,
        "confidence": CONFIDENCE,
        "best": None if chosen is None else chosen.choice.label,
        "settings": {} if chosen is None else dict(chosen.choice.settings),
        "sentences": _sentences(request, found, chosen, confirmed),
        "confirmed": confirmed,
        "searched": _searched(request, found),
        "left_out": [{"choice": one.label, "reason": one.reason} for one in found.left_out],
    }


def _confirmed(request: Request, found: Found, one: Candidate) -> AdvisedChoice:
    """What packets say of a candidate."""
    present, others = found.confirmed[0], len(found.confirmed) - 1
    runs = list(one.packets.values())
    score = None if one is present else ratio(present, one, others)
    jobs = sorted({job for run in runs for job in run.times})
    of_jobs = {} if one is present else {job: ratio(present, one, others, job) for job in jobs}
    return {
        "choice": one.choice.label,
        "settings": dict(one.choice.settings),
        "seeds": len(runs),
        "failure": "" if runs else one.failure,
        "keeps_limits": all(goals.keeps(run, request.limits, present.cost.total) for run in runs),
        "limited": {
            bound.text: max((run.limited[bound.text] for run in runs), default=0.0) for bound in
            request.limits
        },
        "cost": {
            "routers": one.cost.routers, "cables": one.cost.cables, "servers": one.cost.servers,
            "total": one.cost.total,
        },
        "score": None if score is None else _ratio(score),
        "jobs": [{"job": job, **_ratio(pair)} for job, pair in of_jobs.items() if pair is not None],
        "waits": [] if one is present else _waits(present, one),
    }  # fmt: skip


def _ratio(pair: Paired) -> PairedRatio:
    return {
        "ratio": pair.ratio,
        "low": None if math.isnan(pair.low) else pair.low,
        "high": None if math.isnan(pair.high) else pair.high,
        "pairs": pair.pairs,
        "fell": pair.fell,
        "rose": pair.rose,
        "words": pair.in_words,
    }


def _waits(before: Candidate, after: Candidate) -> list[WaitChange]:
    """The waits that changed most between the first runs of two candidates."""
    from odonata.analysis import blame
    from odonata.results.results import Results

    if before.tables is None or after.tables is None:
        return []
    sums = []
    for one in (before.tables, after.tables):
        results = Results.load(one)
        if not blame.measured(results):
            return []
        sums.append(
            {
                (wait.victim, wait.victim_class, wait.culprit, wait.culprit_class, wait.where): wait.waited_s
                for wait in blame.totals(results)
            }
        )
    keys = sorted(
        sums[0].keys() | sums[1].keys(), key=lambda key: -abs(sums[1].get(key, 0.0) - sums[0].get(key, 0.0))
    )
    return [
        {
            "victim": key[0], "victim_class": key[1], "culprit": key[2], "culprit_class": key[3],
            "where": key[4], "before_s": sums[0].get(key, 0.0), "after_s": sums[1].get(key, 0.0),
        }
        for key in keys[:MOST_WAITS]
        if sums[0].get(key) != sums[1].get(key)
    ]  # fmt: skip


def _searched(request: Request, found: Found) -> list[SearchedChoice]:
    """The candidates of the search, those that keep the limits and have the least score first."""
    present = found.candidates[0]
    rows: list[SearchedChoice] = []
    for one in found.candidates:
        common = sorted(one.searched.keys() & present.searched.keys())
        value = None
        if common:
            logs = [math.log(one.searched[seed].score / present.searched[seed].score) for seed in common]
            value = math.exp(math.fsum(logs) / len(logs))
        rows.append(
            {
                "choice": one.choice.label,
                "seeds": len(one.searched),
                "ratio": value,
                "keeps_limits": all(
                    goals.keeps(run, request.limits, present.cost.total) for run in one.searched.values()
                ),
                "cost": one.cost.total,
            }
        )
    rows.sort(key=lambda row: (row["ratio"] is None, not row["keeps_limits"], row["ratio"] or 0.0))
    return rows[:MOST_SEARCHED]


def dollars(value: float) -> str:
    """An amount of money.

    >>> dollars(1_250_000.0)
    '$1.25 M'
    """
    return f"${rate(value)}"


def _sentences(
    request: Request, found: Found, chosen: Candidate | None, confirmed: list[AdvisedChoice]
) -> list[str]:
    """The advice in words."""
    present = found.confirmed[0]
    lines = []
    if chosen is None:
        if not present.packets:
            lines.append("There is no advice yet: no run in packets of the scenario as it is has ended.")
        elif len(found.confirmed) == 1 or not any(one.packets for one in found.confirmed[1:]):
            lines.append("There is no advice yet: no run in packets of a candidate has ended.")
        else:
            least = min(len(one.packets) for one in found.confirmed if one.packets)
            nothing = (
                "No cheaper candidate is known to keep the limits"
                if request.goal == "cost"
                else "Nothing is known to be better than the scenario as it is"
            )
            which = "best" if any(one.searched for one in found.confirmed[1:]) else "first"
            lines.append(
                f"{nothing}: packets ran the {which} {len(found.confirmed) - 1} of "
                f"{len(found.candidates) - 1} candidates with {_seeds(least)}."
            )
            lines += [
                f"{one['choice']} is better with every seed so far ({pair['words']}): --seeds "
                f"{2 * request.seeds} may show that this is no chance."
                for one in confirmed[1:]
                if request.goal != "cost"
                and (pair := one["score"])
                and 0 < pair["fell"] == pair["pairs"]
                and one["keeps_limits"]
            ][:1]
    else:
        answer = confirmed[found.confirmed.index(chosen)]
        lines.append(_advice(request, chosen, present, answer))
        if slower := [one for one in answer["jobs"] if one["low"] is not None and one["low"] > 1]:
            lines.append(
                "It costs other jobs time: "
                + "; ".join(f"{one['job']} takes {one['words']} as long" for one in slower)
                + "."
            )
        if answer["waits"]:
            first = answer["waits"][0]
            lines.append(
                f"The largest change: {first['victim']} waited {duration(first['before_s'])} for "
                f"{first['culprit']} ({_where(first['where'])}), and waits {duration(first['after_s'])} now."
            )
    if request.limits and present.packets and not confirmed[0]["keeps_limits"]:
        lines.append(
            f"The scenario as it is does not keep {', '.join(bound.text for bound in request.limits)}."
        )
    if found.outcome == "budget":
        lines.append("The budget is over; the same command continues.")
    if found.outcome == "interrupted":
        lines.append("Interrupted; the same command continues.")
    return lines


def _advice(request: Request, chosen: Candidate, present: Candidate, answer: AdvisedChoice) -> str:
    """The sentence about the best candidate."""
    label = chosen.choice.label
    if request.goal == "cost":
        limits = f" and keeps {', '.join(answer['limited'])}" if request.limits else ""
        return (
            f"{label}: costs {dollars(chosen.cost.total)}{limits}, the scenario as it is costs "
            f"{dollars(present.cost.total)}, in {_seeds(len(chosen.packets))}."
        )
    pair = answer["score"]
    assert pair is not None
    price = ""
    if abs(chosen.cost.total - present.cost.total) > 0.5:
        price = f", and costs {dollars(chosen.cost.total)} in place of {dollars(present.cost.total)}"
    return f"{label}: against the scenario as it is, {SCORES[request.goal]} is {pair['words']}{price}."


def _seeds(count: int) -> str:
    return f"{count} seed" if count == 1 else f"{count} seeds"


def _where(place: str) -> str:
    """The unit of a wait, by its place."""
    return "packet time in the network" if place == "network" else f"request time at {place}"
