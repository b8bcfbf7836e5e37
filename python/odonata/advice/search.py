"""The search: all candidates by the faster tier, then the best and the present settings in packets.

The search halves the candidates (successive halving: K. Jamieson, A. Talwalkar, AISTATS 2016): all run
with one seed, the better half with two, the better half of those with four. Packets then run the best
three and the scenario as it is, with one seed more at a time. Both are sweeps, so the same command continues
what a deadline or Ctrl-C has stopped.

Ratios are paired by seed. Their intervals are those of all confirmed candidates together: each has the
confidence 1 - 0.05 / candidates (Bonferroni), so that the best of three is not taken for better by chance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.advice import goals
from odonata.advice.choices import Choice, LeftOut
from odonata.advice.goals import Limit, Measured
from odonata.base import toml_text
from odonata.errors import InputError
from odonata.machines import prices
from odonata.machines.prices import Cost, Prices
from odonata.running import runner
from odonata.running.stopping import Deadline, Stop
from odonata.sweeps.axes import Axis
from odonata.sweeps.run import execute
from odonata.sweeps.scheduler import Progress
from odonata.sweeps.spec import Spec
from odonata.sweeps.statistics import Paired, paired

if TYPE_CHECKING:
    from odonata.sweeps.result import Sweep

#: Candidates that packets confirm, beside the scenario itself.
CONFIRMED = 3
#: Seeds of the first and of the last halving.
FIRST_SEEDS, LAST_SEEDS = 1, 4
#: Share of the budget for the search by flows.
SEARCH_SHARE = 0.4
#: Level of all intervals of an answer together.
CONFIDENCE = 0.95
#: Only packets have traffic classes.
CLASSES = "network.traffic_classes"
#: The name of a tier's runs, which is that of their folder.
STEPS = {"flow": "flows", "packet": "packets"}

#: Called with the name of the step and its progress.
Report = Callable[[str, Progress], None]


@dataclass(frozen=True)
class Request:
    """What to look for."""

    task: runner.Task
    name: str
    goal: str
    limits: Sequence[Limit]
    prices: Prices
    #: Wall time, in seconds.
    budget_s: float
    #: Most seeds in packets.
    seeds: int
    processes: int | None = None


@dataclass
class Candidate:
    """A choice and what is known of it."""

    choice: Choice
    cost: Cost
    #: Results by seed, of the search and of packets.
    searched: dict[int, Measured] = field(default_factory=dict)
    packets: dict[int, Measured] = field(default_factory=dict)
    #: Why it has no results.
    failure: str = ""
    #: The folder with the tables of its first run in packets.
    tables: Path | None = None


@dataclass
class Found:
    """The result of a search."""

    candidates: list[Candidate]
    left_out: list[LeftOut]
    #: The confirmed candidates, the scenario itself first.
    confirmed: list[Candidate]
    #: `completed`, `budget` if the time was over, or `interrupted`.
    outcome: str
    #: The tier of the search: `flow` or `packet`, the faster one.
    searched_by: str
    runs: int
    wall_s: float


def search(
    request: Request,
    choices: Sequence[Choice],
    left_out: list[LeftOut],
    folder: Path,
    *,
    stop: Stop,
    report: Report | None = None,
) -> Found:
    """Searches and confirms; a stopped search keeps what it has found."""
    began = time.monotonic()
    candidates = []
    for choice in choices:
        try:
            candidates.append(Candidate(choice, prices.cost(_task(request.task, choice), request.prices)))
        except InputError as error:
            left_out.append(LeftOut(choice.label, error.message))
    if not candidates or not candidates[0].choice.is_present:
        # The scenario itself is wrong: its error says how.
        prices.cost(request.task, request.prices)
    present = candidates[0]
    tier, runs = _halve(
        request, candidates, folder, Deadline(stop, began + SEARCH_SHARE * request.budget_s), report
    )
    confirmed = [present, *_best(request, candidates)]
    runs += _confirm(request, confirmed, folder, Deadline(stop, began + request.budget_s), report)
    is_over = time.monotonic() - began >= request.budget_s
    outcome = "interrupted" if stop.requested else "budget" if is_over else "completed"
    return Found(candidates, left_out, confirmed, outcome, tier, runs, time.monotonic() - began)


def _task(task: runner.Task, choice: Choice) -> runner.Task:
    """The scenario with the settings of a choice."""
    texts = [f"{key}={toml_text.value_text(value)}" for key, value in choice.settings.items()]
    return replace(task, overrides=[*texts, *task.overrides])


def _halve(
    request: Request, candidates: list[Candidate], folder: Path, stop: Stop, report: Report | None
) -> tuple[str, int]:
    """Runs the candidates by the faster tier; returns this tier, and the number of runs."""
    present, alive = candidates[0], list(candidates)
    has_classes = any(CLASSES in one.choice.settings for one in candidates)
    tiers = ("packet",) if has_classes else ("flow", "packet")
    tier, runs = _faster(request, present, tiers, folder, stop, report)
    seeds = FIRST_SEEDS
    while not stop.requested:
        found = _sweep(request, alive, tier, seeds, folder, stop, report)
        runs += found.description["runs"]["executed"]
        _take(request, alive, found, "searched")
        if len(alive) <= CONFIRMED + 1 or seeds >= LAST_SEEDS:
            break
        ranked = [one for one in _ranked(request, alive) if one is not present]
        half = max(CONFIRMED, (len(alive) + 1) // 2)
        alive = [present, *ranked[:half]]
        seeds *= 2
    return tier, runs


def _faster(
    request: Request,
    present: Candidate,
    tiers: Sequence[str],
    folder: Path,
    stop: Stop,
    report: Report | None,
) -> tuple[str, int]:
    """The tier that runs the scenario as it is in less CPU time, and the number of runs.

    Flows pay by change of their rates, packets by packet: either may be faster. Some scenarios are refused by
    flows.
    """
    costs, runs = {}, 0
    for tier in tiers:
        try:
            found = _sweep(request, [present], tier, 1, folder, stop, report)
        except InputError:
            if tier == "packet":
                raise
            continue
        runs += found.description["runs"]["executed"]
        rows = found.table.to_pylist()
        if rows and rows[0]["outcome"] == "completed":
            costs[tier] = rows[0]["run_cpu_s"]
    return min(costs, key=lambda tier: costs[tier], default="packet"), runs


def _best(request: Request, candidates: list[Candidate]) -> list[Candidate]:
    """The candidates that packets confirm: those with the most seeds by flows first.

    If the search had no time for any of them, they are the first ones that can run.
    """
    others = [one for one in _ranked(request, candidates) if not one.choice.is_present]
    if not others:
        others = [one for one in candidates if not one.choice.is_present and not one.failure]
    most = max((len(one.searched) for one in others), default=0)
    return sorted(others, key=lambda one: len(one.searched) < most)[:CONFIRMED]


def _ranked(request: Request, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates with results, the best first: those that keep the limits, by their mean score."""

    def rank(one: Candidate) -> tuple[bool, float]:
        found = one.searched.values()
        kept = all(goals.keeps(run, request.limits, candidates[0].cost.total) for run in found)
        return not kept, sum(run.score for run in found) / len(found)

    return sorted((one for one in candidates if one.searched), key=rank)


def _confirm(
    request: Request, confirmed: list[Candidate], folder: Path, stop: Stop, report: Report | None
) -> int:
    """Runs the confirmed candidates in packets, with one seed more at a time; returns the number of runs."""
    runs = 0
    for seeds in range(1, request.seeds + 1):
        if stop.requested:
            break
        found = _sweep(request, confirmed, "packet", seeds, folder, stop, report)
        runs += found.description["runs"]["executed"]
        _take(request, confirmed, found, "packets")
        digests = [{run.digest for run in one.packets.values()} for one in confirmed]
        if seeds > 1 and all(len(found) <= 1 for found in digests):
            # Nothing in the runs is random: more seeds would say the same.
            break
    return runs


def _sweep(
    request: Request,
    candidates: Sequence[Candidate],
    tier: str,
    seeds: int,
    folder: Path,
    stop: Stop,
    report: Report | None,
) -> Sweep:
    """A sweep with a point per candidate, in order. Runs in packets keep their tables, for the waits."""
    keys = list(dict.fromkeys(key for one in candidates for key in one.choice.settings))
    rows = tuple(tuple(one.choice.settings.get(key) for key in keys) for one in candidates)
    spec = Spec(
        Path(request.task.path),
        request.name,
        text=request.task.text,
        fixed={"network.fidelity": tier, "run.baselines": False},
        axes=(Axis(tuple(keys), rows, tuple(f"vary.{key}" for key in keys)),),
        seeds=seeds,
        processes=request.processes,
        keep="tables" if tier == "packet" else "nothing",
    )

    def show(now: Progress) -> None:
        assert report is not None
        report(STEPS[tier], now)

    return execute(
        spec,
        folder / STEPS[tier],
        list(request.task.overrides),
        stop=stop,
        report=None if report is None else show,
    )


def _take(request: Request, candidates: Sequence[Candidate], found: Sweep, kept: str) -> None:
    """Keeps the results of a sweep, as `searched` or `packets`."""
    cells: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in found.table.to_pylist():
        cells.setdefault((row["point"], row["seed"]), []).append(row)
    for (point, seed), rows in cells.items():
        one = candidates[point]
        run = goals.measured(rows, request.goal, request.limits, one.cost.total)
        if isinstance(run, str):
            one.failure = rows[0]["detail"] or run
            continue
        getattr(one, kept)[seed] = run
        if kept == "packets" and one.tables is None and rows[0]["folder"] and found.path is not None:
            one.tables = found.path / rows[0]["folder"]


def ratio(before: Candidate, after: Candidate, others: int, job: str | None = None) -> Paired | None:
    """The score of a candidate / that of another one in packets, or the ratio of the times of a job."""
    values = []
    seen = set()
    for seed in sorted(before.packets.keys() & after.packets.keys()):
        one, two = before.packets[seed], after.packets[seed]
        # Equal runs are one observation, whatever the number of seeds.
        if (one.digest, two.digest) in seen:
            continue
        seen.add((one.digest, two.digest))
        if job is None:
            values.append((one.score, two.score))
        elif job in one.times and job in two.times:
            values.append((one.times[job], two.times[job]))
    return paired(
        [pair[0] for pair in values], [pair[1] for pair in values], 1 - (1 - CONFIDENCE) / max(1, others)
    )


def best(request: Request, found: Found) -> Candidate | None:
    """The confirmed candidate that is better than the scenario as it is; None if none is known to be."""
    present, *others = found.confirmed
    most = present.cost.total

    def kept(one: Candidate) -> bool:
        return bool(one.packets) and all(
            goals.keeps(run, request.limits, most) for run in one.packets.values()
        )

    fitting = [one for one in others if kept(one)]
    if request.goal == "cost":
        cheaper = [one for one in fitting if one.cost.total < most or not kept(present)]
        return min(cheaper, key=lambda one: one.cost.total, default=None)
    better = []
    for one in fitting:
        pair = ratio(present, one, len(others))
        if pair is None:
            continue
        is_certain = pair.differs or (pair.pairs == 1 and len(one.packets) > 1)
        if not kept(present) or (is_certain and pair.ratio < 1):
            better.append((pair.ratio, one))
    winner = min(better, key=lambda one: one[0], default=(0.0, None))[1]
    if winner is None:
        return None
    # Of those that are not known to be worse than the best, the one that changes the fewest settings.
    alike = [
        (len(one.choice.settings), value, one)
        for value, one in better
        if one is winner
        or ((pair := ratio(winner, one, len(others))) and not pair.differs and pair.pairs > 1)
    ]
    return min(alike, key=lambda one: one[:2])[2]
