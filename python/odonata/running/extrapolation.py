"""Extrapolation over steady phases: the time of all iterations of jobs, from runs with few of them.

A run with a part of the iterations of every job is cut into quarters. The first is the warm-up. The second
and third must agree, and the last, in which the program ends, must agree with them. If a quarter deviates, or
jobs do not end together, the next run has twice as many iterations. The skipped iterations lie between the
third and the last quarter.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, TextIO

from odonata.base.terminal import console, say, show_table, table
from odonata.errors import InputError
from odonata.running import runner
from odonata.running.execute import execute
from odonata.running.tiers import time_text

if TYPE_CHECKING:
    from odonata.answers.extrapolate import ExtrapolatedJob, ExtrapolationAnswer
    from odonata.results.results import Results

#: Iterations of the shortest job in the first run: four quarters of three.
FIRST = 12

#: Names of the number of iterations in workloads.
COUNTS = ("iterations", "steps")

#: Jobs with iterations end together if their times differ by at most this share.
TOGETHER = 0.05

#: Times of a job that grow with its iterations: key, column of the table `jobs`.
TIMES = (("mpi_s", "mpi_s"), ("io_s", "io_s"))


@dataclass(frozen=True)
class Repeated:
    """The key of a job's number of iterations."""

    #: The key.
    key: str
    #: Its value.
    times: int


def find(task: runner.Task, tolerance: float) -> ExtrapolationAnswer:
    """See `extrapolate`."""
    if not 0 < tolerance < 1:
        raise InputError(
            "the tolerance is out of range", key="tolerance", value=str(tolerance), expected="between 0 and 1"
        )
    resolved = task.scenario()
    repeated = [_repeated(job, resolved["run"], task) for job in resolved["jobs"]]
    counts = [job.times for job in repeated if job is not None]
    begin, part, runs = time.process_time(), FIRST / min(counts), []
    answer: ExtrapolationAnswer = {
        "scenario": str(resolved["name"]),
        "seed": int(resolved["seed"]),
        "tolerance": tolerance,
        "steady": False,
        "skipped": 0.0,
        "outcome": "",
        "runs": [],
        "cpu_s": 0.0,
        "jobs": [],
    }
    before: tuple[list[int | None], Results] | None = None
    while True:
        # Beyond half of the iterations, skipping the rest is not worth another run.
        part = part if part <= 0.25 else 1.0
        simulated = [max(1, round(job.times * part)) if job is not None else None for job in repeated]
        results = _run(task, repeated, simulated)
        runs.append(part)
        answer["outcome"] = results.outcome
        rows = zip(resolved["jobs"], repeated, simulated, strict=True)
        answer["jobs"] = [
            _job(str(job["name"]), one, have, results, before and (before[0][number], before[1]))
            for number, (job, one, have) in enumerate(rows)
        ]
        whole = part == 1.0
        answer["steady"] = not whole and before is not None and _is_steady(answer["jobs"], results, tolerance)
        if whole or answer["steady"] or results.outcome != "completed":
            break
        before, part = (simulated, results), 2 * part
    if answer["steady"]:
        answer["skipped"] = 1 - sum(job or 0 for job in simulated) / sum(counts)
    elif not whole:
        for job in answer["jobs"]:
            job["elapsed_s"] = job["error"] = job["mpi_s"] = job["io_s"] = None
    answer["runs"], answer["cpu_s"] = runs, time.process_time() - begin
    return answer


def _repeated(job: Mapping[str, Any], run: Mapping[str, Any], task: runner.Task) -> Repeated | None:
    """The key of the number of iterations of `job`; None: the job ends with others."""
    key = f"jobs.{job['entry']}"
    if run.get("time_limit") is not None:
        problem = "a run with an end time has no fixed number of iterations"
        value = str(run["time_limit"])
        raise InputError(problem, file=task.path, key="run.time_limit", value=value, expected="none")
    if job["until"]:
        return None
    if job["repeat"] > 1:
        return Repeated(f"{key}.repeat", job["repeat"])
    workload = job["workload"]
    if isinstance(workload, Mapping) and len(workload) == 1:
        kind, params = next(iter(workload.items()))
        for name in COUNTS if isinstance(params, Mapping) else ():
            times = params.get(name)
            if isinstance(times, int) and times > 1:
                return Repeated(f"{key}.workload.{kind}.{name}", times)
    expected = "jobs.repeat, or a workload with iterations, above 1; or jobs.until"
    raise InputError(
        f'''job "{job["name"]}" has no repetitions''',
        file=task.path,
        line=_line_of_job(task.text, int(job["entry"])),
        key=key,
        expected=expected,
    )


def _line_of_job(text: str, entry: int) -> int | None:
    """The line of a job's table if `[[jobs]]` has a line of its own; None for other notations.

    >>> _line_of_job('name = "x"\\n[[jobs]]\\nranks = 1\\n[[ jobs ]] # second', 1)
    4
    """
    lines = [
        number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*jobs\s*\]\]", line)
    ]
    return lines[entry] if entry < len(lines) else None


def _run(task: runner.Task, repeated: list[Repeated | None], simulated: list[int | None]) -> Results:
    fewer = {job.key: times for job, times in zip(repeated, simulated, strict=True) if job is not None}
    settings = [f"{key}={times}" for key, times in fewer.items()]
    short = replace(task, overrides=[*task.overrides, *settings, "run.baselines=false"])
    with runner.StopRequest() as stop:
        return execute(short, short.build(stop=stop), None, stop=stop)


def _job(
    name: str,
    repeated: Repeated | None,
    simulated: int | None,
    results: Results,
    before: tuple[int | None, Results] | None,
) -> ExtrapolatedJob:
    """The estimate for a job from the last run, with `simulated` of its iterations, and the run before."""
    own = next(row for row in results.rows("jobs") if row["job"] == name)
    job: ExtrapolatedJob = {
        "job": name,
        "iterations": repeated.times if repeated is not None else None,
        "simulated": simulated,
        "iteration_s": None,
        "spread_s": None,
        "unsteady": None,
        "end_off": None,
        "elapsed_s": None,
        "error": None,
        "mpi_s": None,
        "io_s": None,
    }
    if repeated is None or simulated is None:
        return job
    skipped = repeated.times - simulated
    ends = [row["last_s"] for row in results.rows("iterations") if row["job"] == name]
    # If the whole program repeats and has marks inside, the last mark of each repetition counts.
    every, rest = divmod(len(ends), simulated)
    steps = (
        [b - a for a, b in zip(ends[every - 1 :: every], ends[2 * every - 1 :: every], strict=False)]
        if every
        else []
    )
    elapsed = float(own["elapsed_s"])
    if rest == 0 and len(steps) >= FIRST - 1:
        quarter = (len(steps) + 1) // 4
        steady = steps[quarter - 1 : 3 * quarter - 1]
        second, third, last = (
            fmean(steady[:quarter]),
            fmean(steady[quarter:]),
            fmean(steps[3 * quarter - 1 :]),
        )
        each = fmean(steady)
        spread = pstdev(steady)
        job["iteration_s"], job["spread_s"] = each, spread
        end_off = abs(last - each) / each if each > 0 else 0.0
        job["unsteady"] = abs(second - third) / each if each > 0 else 0.0
        job["end_off"] = end_off
        whole = elapsed + skipped * each
        error = skipped * (each * end_off + 2 * spread / math.sqrt(len(steady)))
        job["elapsed_s"], job["error"] = whole, error / whole if whole > 0 else 0.0
    if skipped == 0:
        job["elapsed_s"], job["error"] = elapsed, 0.0
    for key, column in TIMES:
        time_now = float(own[column])
        if skipped == 0:
            job[key] = time_now  # type: ignore[literal-required]
        elif before is not None and before[0] is not None and job["elapsed_s"] is not None:
            past = next(row for row in before[1].rows("jobs") if row["job"] == name)
            slope = (time_now - float(past[column])) / max(1, simulated - before[0])
            job[key] = time_now + skipped * slope  # type: ignore[literal-required]
    return job


def _is_steady(jobs: list[ExtrapolatedJob], results: Results, tolerance: float) -> bool:
    """Whether all repeating jobs are steady to their end, and end together."""
    own = [job for job in jobs if job["iterations"] is not None]
    times = [job["elapsed_s"] for job in own]
    if any(job["unsteady"] is None or job["end_off"] is None for job in own):
        return False
    known = [time for time in times if time is not None]
    starts = {float(row["start_s"]) for row in results.rows("jobs")}
    together = min(known) >= (1 - TOGETHER) * max(known) and len(starts) == 1
    return (len(own) == 1 or together) and all(
        max(job["unsteady"] or 0.0, job["end_off"] or 0.0) <= tolerance for job in own
    )


def show(found: Any, stream: TextIO | None = None) -> None:
    """Prints the answer: a table of jobs, then the skipped part."""
    out = console(stream)
    page = table("job", "iterations", "simulated", "each", "time", "uncertain", "MPI", "I/O", left=1)
    for job in found["jobs"]:
        page.add_row(
            job["job"],
            "-" if job["iterations"] is None else f"{job['iterations']:,}",
            "-" if job["simulated"] is None else f"{job['simulated']:,}",
            time_text(job["iteration_s"]),
            time_text(job["elapsed_s"]),
            "-" if job["error"] is None else f"{100 * job['error']:.2f}%",
            time_text(job["mpi_s"]),
            time_text(job["io_s"]),
        )
    show_table(out, page)
    if found["steady"]:
        say(
            out,
            f"{100 * found['skipped']:.1f}% of the iterations were skipped; the end agrees with the rest",
        )
    elif found["skipped"] == 0 and found["runs"][-1] == 1.0:
        say(out, "no steady part, or jobs end at different times: all iterations were run")
    else:
        say(out, f"the last run ended as {found['outcome']}: no extrapolation")
