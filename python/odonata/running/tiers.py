"""Tiers of fidelity: one scenario in packets, mixed, as flows and by the analytic model, side by side."""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO, cast

from odonata.base import toml_text
from odonata.base.terminal import console, say, show_table, table
from odonata.errors import InputError
from odonata.running import runner
from odonata.running.execute import execute

if TYPE_CHECKING:
    from odonata.answers.fidelity import FidelityAnswer, Tier, TierJob
    from odonata.results.results import Results

#: The tiers; the first is the reference for the others.
TIERS = ("packet", "mixed", "flow", "analytic")

#: Keys of jobs in the form of an override.
_OF_A_JOB = re.compile(r"\s*jobs\..*\.fidelity\s*=")

#: Settings of results that need waiting packets. Tiers without packets leave them out, which changes no
#: compared time.
_OF_PACKETS = {"run.lost_time": "false", "run.lost_time_path": "0"}

#: Makes the context that shows the progress of a tier, from its title; by default it shows nothing.
Progress = Callable[[str], contextlib.AbstractContextManager[runner.Report | None]]

#: Compared metrics of a job: key, column of the table `jobs`, column that is 0 if the metric does not apply.
METRICS = (
    ("elapsed_s", "elapsed_s", "ranks_finished"),
    ("mpi_s", "mpi_s", "messages"),
    ("io_s", "io_s", "io_operations"),
    ("message_latency_p99_s", "message_latency_p99_s", "messages"),
)


def _in_silence(_: str) -> contextlib.AbstractContextManager[runner.Report | None]:
    return contextlib.nullcontext()


def compare(
    task: runner.Task,
    tiers: Sequence[str] | None,
    packet_until: str | None,
    progress: Progress = _in_silence,
) -> FidelityAnswer:
    """See `fidelity`; `progress` makes the progress display of each tier."""
    if tiers is None:
        tiers = [tier for tier in TIERS if tier != "mixed" or _is_mixed(task)]
    check(tiers)
    if "mixed" in tiers and _is_mixed(task) is False:
        expected = "jobs with different fidelity"
        raise InputError("all jobs have the same fidelity", key="tiers", value="mixed", expected=expected)
    answers = []
    for number, tier in enumerate(tiers, 1):
        with progress(f"{tier}, tier {number} of {len(tiers)}") as report:
            answers.append(_run(task, tier, packet_until, report))
        if is_interrupted(answers[-1][0]):
            # The first interrupted tier ends the comparison; complete tiers are kept.
            break
    if all(answer["refused"] for answer, _ in answers):
        _, error = answers[0]
        assert error is not None
        raise error
    rows = [answer for answer, _ in answers]
    packets = next((row for row in rows if row["tier"] == "packet"), None)
    if packets is not None:
        for row in rows:
            for job, true in zip(row["jobs"], packets["jobs"], strict=False):
                job["off"] = _off(job, true)
    row = next(row for row in rows if not row["refused"])
    settings = _settings(task, row["tier"])
    if row["left_out"]:
        settings = _without_lost_time(settings)
    resolved = settings.scenario()
    return {"scenario": str(resolved["name"]), "tiers": rows, "seed": int(resolved["seed"])}


def is_interrupted(tier: Tier) -> bool:
    """Whether the user has stopped the tier, which is then the last one."""
    return tier["outcome"] == "interrupted"


def check(tiers: Sequence[str]) -> None:
    """Raises an `InputError` unless all are tiers, each once."""
    for tier in tiers:
        if tier not in TIERS:
            raise InputError("no such model", key="tiers", value=tier, expected=", ".join(TIERS))
    if not tiers or len(set(tiers)) < len(tiers):
        raise InputError("each model once", key="tiers", value=", ".join(tiers), expected=", ".join(TIERS))


def _is_mixed(task: runner.Task) -> bool | None:
    """Whether jobs have different fidelities; None: the scenario is invalid."""
    try:
        resolved = task.scenario()
    except InputError:
        return None
    own = [job.get("fidelity") for job in resolved["jobs"]]
    return len({fidelity or resolved["network"].get("fidelity", "packet") for fidelity in own}) > 1


def _settings(task: runner.Task, tier: str) -> runner.Task:
    """The task of a tier: keys of the scenario for other tiers are removed."""
    text, overrides = task.text, list(task.overrides)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        content = {}  # The core reports the error.
    found = []
    network, jobs = content.get("network"), content.get("jobs")
    if isinstance(network, dict):
        of_tiers = {"analytic": ("analytic", "mixed"), "coupling_interval": ("mixed",), "ethernet": ()}
        found += [network.pop(key, None) for key, of in of_tiers.items() if tier not in of]
    if tier != "mixed":
        tables = [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []
        found += [job.pop("fidelity", None) for job in tables]
        of_mixed = ("network.coupling_interval",)
        overrides = [
            setting
            for setting in overrides
            if not _OF_A_JOB.match(setting) and not setting.strip().startswith(of_mixed)
        ]
        overrides.append(f"network.fidelity={toml_text.value_text(tier)}")
    if any(value is not None for value in found):
        text = toml_text.document(content)
    return replace(task, text=text, overrides=overrides)


def _without_lost_time(task: runner.Task) -> runner.Task:
    kept = [text for text in task.overrides if text.partition("=")[0].strip() not in _OF_PACKETS]
    return replace(task, overrides=[*kept, *(f"{key}={value}" for key, value in _OF_PACKETS.items())])


def _run(
    task: runner.Task, tier: str, packet_until: str | None, report: runner.Report | None
) -> tuple[Tier, InputError | None]:
    """Runs the task under one tier; the error if it cannot run."""
    settings = _settings(task, tier)
    if tier == "packet" and packet_until is not None:
        limit = f"run.time_limit={toml_text.value_text(packet_until)}"
        settings = replace(settings, overrides=[*settings.overrides, limit])
    begin = _cpu_s()
    row: Tier = {
        "tier": tier,
        "refused": None,
        "left_out": [],
        "outcome": None,
        "cpu_s": 0.0,
        "simulated_s": None,
        "jobs": [],
    }
    with runner.StopRequest() as stop:
        try:
            try:
                simulation = settings.build(stop=stop)
            except InputError as error:
                if error.key != "run.lost_time" or tier == "packet":
                    raise
                settings = _without_lost_time(settings)
                simulation = settings.build(stop=stop)
                row["left_out"] = ["run.lost_time"]
        except InputError as error:
            row["refused"] = str(error)
            return row, error
        results = execute(settings, simulation, None, report=report, stop=stop)
    row["cpu_s"] = _cpu_s() - begin
    row["outcome"] = results.outcome
    row["simulated_s"] = float(results.run["simulated_s"])
    row["jobs"] = _jobs(results)
    return row, None


def _cpu_s() -> float:
    """CPU seconds of this process and of the children that have ended."""
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


def _jobs(results: Results) -> list[TierJob]:
    slowdowns = results.slowdown() if "slowdown" in results.tables else {}
    jobs: list[TierJob] = []
    for row in results.rows("jobs"):
        ended = row["ranks_finished"] == row["ranks"]
        metrics = {
            name: float(row[column]) if ended and row[count] else None for name, column, count in METRICS
        }
        slowdown = slowdowns.get(row["job"], {}).get("elapsed")
        ratio = None if slowdown is None or math.isnan(slowdown.ratio) else slowdown.ratio
        jobs.append(cast("TierJob", {"job": row["job"], **metrics, "slowdown": ratio, "off": {}}))
    return jobs


def _off(job: TierJob, true: TierJob) -> dict[str, float]:
    """The errors of a job's metrics, where both tiers have them."""
    off = {}
    for name in (*(name for name, _, _ in METRICS), "slowdown"):
        ours, theirs = cast("dict[str, Any]", job)[name], cast("dict[str, Any]", true)[name]
        if ours is not None and theirs:
            off[name] = ours / theirs - 1
    return off


def show(found: Any, stream: TextIO | None = None) -> None:
    """Prints the answer: a table of jobs by tier, then the refused tiers."""
    out = console(stream)
    page = table("job", "tier", "time", "off", "MPI", "I/O", "p99 latency", "off", "slowdown", "CPU", left=2)
    tiers = [tier for tier in found["tiers"] if not tier["refused"]]
    jobs = [job["job"] for job in tiers[0]["jobs"]]
    for number, name in enumerate(jobs):
        for tier in tiers:
            job = tier["jobs"][number]
            off = job["off"] if tier["tier"] != "packet" else {}
            page.add_row(
                name,
                tier["tier"],
                time_text(job["elapsed_s"]),
                _part(off.get("elapsed_s")),
                time_text(job["mpi_s"]),
                time_text(job["io_s"]),
                time_text(job["message_latency_p99_s"]),
                _part(off.get("message_latency_p99_s")),
                "-" if job["slowdown"] is None else f"{job['slowdown']:.2f}",
                f"{tier['cpu_s']:.2f} s" if number == 0 else "",
            )
    show_table(out, page)
    for tier in found["tiers"]:
        if tier["refused"]:
            say(out, f"{tier['tier']}: cannot run this: {tier['refused']}")
            continue
        if tier["outcome"] != "completed":
            say(out, f"{tier['tier']}: ended as {tier['outcome']}")
        if tier["left_out"]:
            # Its cost is part of the CPU time of the tiers that have it.
            say(out, f"{tier['tier']}: without {', '.join(tier['left_out'])}, which it does not model")


def time_text(seconds: float | None) -> str:
    """A time in a table."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def _part(off: float | None) -> str:
    return "" if off is None else f"{100 * off:+.1f}%"
