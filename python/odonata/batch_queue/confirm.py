"""Moments of a batch queue, repeated with packets.

The seed draws moments. The jobs that run then are built as a scenario on their nodes, with the traffic of
their present phases for a bounded time, together and alone. Their slowdowns are compared with those that the
rates gave.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import random
import tomllib
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.base import journal as journals
from odonata.base import toml_text
from odonata.base.journal import Journal
from odonata.base.wording import duration
from odonata.batch_queue import rank_program, worst_moment
from odonata.batch_queue.run import PATTERNS, BatchResult, advance, profile_of
from odonata.batch_queue.summary import quantile
from odonata.errors import InputError
from odonata.running import runner
from odonata.running.baselines import cores
from odonata.running.execute import execute
from odonata.running.stopping import StopRequest
from odonata.sweeps.work import build

if TYPE_CHECKING:
    from odonata.answers.batch import ComparedJob, ComparedMoment, Confirmation, ConfirmedMoment

#: Traffic of a moment, seconds without contention, and the mean period of an iteration.
SPAN_S, PERIOD_S = 10e-3, 1e-3
#: Draws per moment, of which the first is taken at which two jobs run whose profiles have traffic.
DRAWS = 20
#: Most moments.
MOST = 10_000
#: The compared moments, in the result folder.
JOURNAL = "moments.jsonl"

#: Called with the number of moments that are done, and that were asked for.
Report = Callable[[int, int], None]
#: When the last rank of a job ends its cycles, by the job's name.
Marks = dict[str, list[float]]


def confirm(
    result: BatchResult,
    count: int,
    *,
    stop: StopRequest,
    report: Report | None = None,
    processes: int | None = None,
    folder: Path | None = None,
    slowdowns_in_packets: list[float] | None = None,
) -> Confirmation:
    """Compares `count` moments of a result with packets, in up to `processes` runs at a time.

    The journal in `folder` has the moments of earlier calls, which are not repeated. A stopped comparison
    keeps the moments before. The slowdowns of all jobs in packets are added to `slowdowns_in_packets`.
    """
    with contextlib.ExitStack() as stack:
        known: dict[str, Any] = {}
        journal = None
        if folder is not None:
            journal = stack.enter_context(Journal(folder / JOURNAL))
            known = _known(folder / JOURNAL)
        parallel = processes or cores()
        pool = stack.enter_context(ThreadPoolExecutor(parallel))
        runs = _Runs(pool, max(1, cores() // parallel), stop)
        drawn = _moments(result, count, stop)
        found: list[ComparedMoment] = []
        worst: tuple[ComparedMoment, list[dict[str, Any]]] | None = None
        for number, moment in enumerate(drawn):
            if report is not None:
                report(number, len(drawn))
            running = [one for one in moment["jobs"] if _has_traffic(result, one)]
            key = _key(scenario(result, running))
            compared = known.get(key)
            if compared is None and not stop.requested:
                jobs = _compare(result, moment["time"], running, runs)
                if jobs is not None:
                    compared = {"key": key, "time_s": moment["time"] / 1e6, "jobs": jobs}
                    if journal is not None:
                        journal.add(compared)
            if compared is not None:
                found.append(compared)
                if worst is None or _largest(compared) >= _largest(worst[0]):
                    worst = compared, running
        answer = _summary(count, found)
        if slowdowns_in_packets is not None:
            slowdowns_in_packets += [job["packets"] for moment in found for job in moment["jobs"]]
        if folder is not None and worst is not None:
            numbers = [one["job"] for one in worst[1]]
            settings = worst_moment.write(result, scenario(result, worst[1]), numbers, worst[0], folder)
            answer |= {"worst_scenario": worst_moment.FILE, "worst_settings": settings}
    return answer


def _largest(moment: ComparedMoment) -> float:
    """The largest error of the jobs at a moment."""
    return max(abs(job["rates"] / job["packets"] - 1.0) for job in moment["jobs"])


def moments(folder: Path) -> list[ComparedMoment]:
    """The compared moments in a result folder; damaged ones are left out."""
    place = folder / JOURNAL
    return list(_known(place).values()) if place.is_file() else []


def _known(journal: Path) -> dict[str, Any]:
    """The compared moments of a journal by key; damaged ones are left out."""
    from odonata.answers.batch import ComparedMoment
    from odonata.base.json_types import Wrong, check

    found = {}
    for record in journals.records(journal):
        try:
            check(record, ComparedMoment)
        except Wrong:
            continue
        found[record["key"]] = record
    return found


def _key(task: runner.Task) -> str:
    """A digest of what packets give at a moment."""
    program = Path(rank_program.__file__).read_text()
    content = json.dumps([build(), task.text, task.overrides, task.seed, program])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _summary(asked: int, found: list[Any]) -> Confirmation:
    """The errors over all moments."""
    moments: list[ConfirmedMoment] = []
    errors: list[float] = []
    worst_s = None
    for one in found:
        here = [job["rates"] / job["packets"] - 1.0 for job in one["jobs"]]
        absolute = sorted(abs(error) for error in here)
        if here and absolute[-1] >= max((abs(error) for error in errors), default=0.0):
            worst_s = one["time_s"]
        errors += here
        median = quantile(absolute, 0.5) if here else None
        moments.append({"time_s": one["time_s"], "jobs": len(here), "median_error": median})
    absolute = sorted(abs(error) for error in errors)
    median, high, worst = (quantile(absolute, share) if errors else None for share in (0.5, 0.9, 1.0))
    return {
        "asked": asked,
        "moments": moments,
        "compared": len(errors),
        "median_error": median,
        "p90_error": high,
        "worst_error": worst,
        "worst_time_s": worst_s,
        "worst_scenario": None,
        "worst_settings": [],
        "mean_difference": sum(errors) / len(errors) if errors else None,
        "sentence": _sentence(len(moments), len(errors), (median, high, worst), worst_s),
    }


def _sentence(
    moments: int, jobs: int, errors: tuple[float | None, float | None, float | None], worst_s: float | None
) -> str:
    """The comparison in words.

    >>> _sentence(200, 900, (0.04, 0.11, 0.3), 7200.0)
    'At 200 moments, slowdowns of 900 jobs by rates were off from packets by 4.0% in median, 11.0% at p90, \
30.0% at worst (at 2 h 00 min).'
    """
    median, high, worst = errors
    if median is None or high is None or worst is None or worst_s is None:
        return "No moment with jobs whose traffic could meet was compared with packets."
    times = "1 moment" if moments == 1 else f"{moments} moments"
    return (
        f"At {times}, slowdowns of {jobs} jobs by rates were off from packets by {100 * median:.1f}% in "
        f"median, {100 * high:.1f}% at p90, {100 * worst:.1f}% at worst (at {duration(worst_s)})."
    )


def _moments(result: BatchResult, count: int, stop: StopRequest) -> list[dict[str, Any]]:
    """The running jobs at drawn moments, of which at least two have traffic then; none if it was stopped."""
    spans = [
        (record["start"], record["end"])
        for job, record in zip(result.jobs, result.results["jobs"], strict=True)
        if record["start"] is not None
        and record["end"] is not None
        and any(phase.intensity or phase.read or phase.write for phase in profile_of(job, result.spec))
    ]
    if not spans:
        return []
    draw = random.Random(f"moments {result.spec.seed}")
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    times: list[int] = []
    # A larger count draws further moments: those of a smaller one stay.
    for _ in range(count):
        drawn = [draw.randint(first, last) for _ in range(DRAWS)]
        is_shared = (time for time in drawn if sum(start <= time < end for start, end in spans) >= 2)
        times.extend(itertools.islice(is_shared, 1))
    request = {**result.request, "settings": {**result.request["settings"], "moments": sorted(set(times))}}
    results, outcome, _ = advance(result.spec, request, len(result.jobs), stop, None)
    if outcome != "completed":
        return []
    at = {moment["time"]: moment for moment in results["moments"]}
    # In the order of the draw: a stopped comparison keeps moments from all of the time.
    return [
        at[time]
        for time in dict.fromkeys(times)
        if sum(_has_traffic(result, job) for job in at[time]["jobs"]) >= 2
    ]


def _has_traffic(result: BatchResult, running: dict[str, Any]) -> bool:
    """Whether a running job has traffic in its present phase."""
    phase = profile_of(result.jobs[running["job"]], result.spec)[running["phase"]]
    sends = phase.pattern != "none" and phase.intensity > 0 and len(running["nodes"]) > 1
    return sends or (phase.read + phase.write > 0 and result.machine["servers"] > 0)


def _compare(
    result: BatchResult, time: int, running: list[dict[str, Any]], runs: _Runs
) -> list[ComparedJob] | None:
    """The slowdowns by rates and by packets of each job with traffic; None if it was stopped."""
    found = runs.marks([scenario(result, running), *(scenario(result, [one]) for one in running)], time)
    if found is None:
        return None
    together, *single = found
    ratios = slowdowns(together, {name: marks for alone in single for name, marks in alone.items()})
    return [
        {
            "job": result.jobs[one["job"]].id,
            "rates": 1.0 / one["speed"],
            "packets": ratios[_name(one)],
            "overload": one["overload"],
        }
        for one in running
    ]


class _Runs:
    """Runs of packets. A scenario that was run is not run again: a long job is alone at many moments."""

    def __init__(self, pool: Executor, threads: int, stop: StopRequest) -> None:
        self._pool = pool
        self._threads = threads
        self._stop = stop
        self._known: dict[bytes, Marks] = {}

    def marks(self, tasks: list[runner.Task], time: int) -> list[Marks] | None:
        """When the last rank of each job ends its cycles, in seconds, by task; None if it was stopped."""
        keys = [hashlib.blake2b(task.text.encode()).digest() for task in tasks]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self._known}
        for key, marks in zip(new, self._pool.map(self._run, new.values(), repeat(time)), strict=True):
            self._known[key] = marks
        return None if self._stop.requested else [self._known[key] for key in keys]

    def _run(self, task: runner.Task, time: int) -> Marks:
        task = replace(task, overrides=[*task.overrides, f"run.threads={self._threads}"])
        results = execute(task, task.build(stop=self._stop), None, stop=self._stop)
        if results.failed and not self._stop.requested:
            raise InputError(
                f"the packet scenario of a moment ended as {results.outcome}", key="confirm",
                value=f"{time / 1e6:.0f} s", expected="a run that completes",
            )  # fmt: skip
        marks: Marks = {}
        for row in results.rows("iterations"):
            marks.setdefault(row["job"], []).append(row["last_s"])
        return marks


def slowdowns(together: Marks, alone: Marks) -> dict[str, float]:
    """The slowdown of each job while all of them run: from its first mark to its last one before a job ends.

    >>> slowdowns({"a": [1.0, 3.0, 5.0], "b": [1.0, 2.0, 3.0]}, {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    {'a': 2.0, 'b': 1.0}
    """
    end = min(marks[-1] for marks in together.values())
    found = {}
    for job, marks in together.items():
        last = max(1, sum(mark <= end for mark in marks) - 1)
        found[job] = (marks[last] - marks[0]) / (alone[job][last] - alone[job][0])
    return found


def _name(one: dict[str, Any]) -> str:
    """The name of a running job in packets."""
    return f"job-{one['job']}"


def scenario(result: BatchResult, running: list[dict[str, Any]]) -> runner.Task:
    """The packet scenario of jobs in their phases at a moment."""
    spec = result.spec
    written = tomllib.loads(spec.text)
    interfaces = result.machine["interfaces"]
    end_points = len(result.machine["end_points"][0]) * interfaces
    jobs = []
    for one in running:
        phase = profile_of(result.jobs[one["job"]], spec)[one["phase"]]
        sends = phase.pattern != "none" and phase.intensity > 0 and len(one["nodes"]) > 1
        stores = phase.read + phase.write > 0 and result.machine["servers"] > 0
        read, write = (phase.read, phase.write) if stores else (0.0, 0.0)
        # Periods differ, so that jobs meet in all positions.
        draw = random.Random(f"period {spec.seed} {one['job']} {one['phase']}")
        period = PERIOD_S * draw.uniform(0.8, 1.2)
        lasts = period * rank_program.cycle(read, write, phase.access, period)
        jobs.append(
            {
                "name": _name(one),
                "python": f"{Path(rank_program.__file__).resolve()}:traffic",
                **_places(result.machine["end_points"], one["nodes"], interfaces),
                **_class(phase.traffic_class),
                "args": {
                    "pattern": PATTERNS.get(phase.pattern, 0),
                    "rate": phase.intensity if sends else 0.0,
                    "share": phase.share,
                    "read": read,
                    "write": write,
                    "io_share": phase.io_share,
                    "access": phase.access,
                    "period": period,
                    "cycles": max(2, math.ceil(SPAN_S / lasts)),
                    "offset": period * draw.random(),
                    "seed": spec.seed,
                    **({"end_points": end_points} if end_points > 1 else {}),
                },
            }
        )
    written["jobs"] = jobs
    settings = [*spec.overrides, "run.baselines=false", "run.blame=false", "run.lost_time=false"]
    return runner.Task(toml_text.document(written), spec.path, settings, spec.seed)


def _class(name: str) -> dict[str, Any]:
    """The traffic class of all messages of a job; the first one without a name."""
    return {"traffic_class": {"mpi": name, "io": name}} if name else {}


def _places(end_points: list[list[int]], nodes: list[int], interfaces: int = 1) -> dict[str, Any]:
    """The ranks of a job and their places: a rank for each interface of the end points of its nodes.

    >>> _places([[5], [7]], [1]), _places([[0, 4], [1, 5]], [1, 0])
    ({'ranks': 1, 'placement': {'clients': [1]}}, {'ranks': 4, 'placement': {'nodes': [1, 5, 0, 4]}})
    >>> _places([[5], [7]], [1], 4)
    {'ranks': 4, 'placement': {'clients': [1]}, 'ranks_per_node': 4}
    """
    of_nodes = [end_point for node in nodes for end_point in end_points[node]]
    places = {"clients": nodes} if len(of_nodes) == len(nodes) else {"nodes": of_nodes}
    several = {"ranks_per_node": interfaces} if interfaces > 1 else {}
    return {"ranks": len(of_nodes) * interfaces, "placement": places, **several}
