"""The functions of the package: `run`, `check`, `load`, `compare`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from odonata import _core, runner, toml_text
from odonata.errors import InputError, RunFailed, input_errors
from odonata.execute import execute
from odonata.results import Results
from odonata.unfinished import prepare

Scenario = str | os.PathLike[str] | Mapping[str, Any]


def run(
    scenario: Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    baselines: bool | None = None,
    processes: int | None = None,
    scheduler: str | None = None,
    threads: int | Literal["auto"] | None = None,
    force: bool = False,
    resume: bool = False,
    must_succeed: bool = True,
    progress: Callable[[runner.Progress], None] | None = None,
) -> Results:
    """Simulates a scenario.

    Args:
        scenario: Path of a TOML file, or the same content as a dictionary. There a job's ``python`` may be a
            generator function itself (docs/programs.md).
        out: Folder to write, as `odonata run -o` does; without it the results stay in memory.
        overrides: Settings that replace those of the scenario, by dotted key: ``{"seed": 7}``.
        seed: Replaces the scenario's seed.
        baselines: Run every job alone too, as ``run.baselines`` of the scenario says if this is None.
        processes: Runs that go on at the same time, this one and its baselines. Default: as many as there are
            cores that this process may use.
        scheduler: Who handles the events: "auto", "sequential", "conservative" or "optimistic", as
            ``run.scheduler`` says if this is None. Results are the same with all.
        threads: Threads of the run, or "auto" for as many as there are cores; as ``run.threads`` says if this
            is None.
        force: Replace an existing result folder, or begin an unfinished run of that name anew.
        resume: Go on with the unfinished run of that name, if there is one, from its newest snapshot (a
            scenario with ``run.checkpoint_interval`` is saved now and then; without `out`, never).
        must_succeed: Raise `RunFailed`, which holds the results, if the run or a baseline fails or is
            interrupted.
        progress: Called about ten times a second with a `runner.Progress`.

    Raises:
        InputError: The scenario or `out` is wrong; nothing was created.
        RunFailed: See `must_succeed`.
        RunSuspended: A run with snapshots was stopped by SIGTERM; it can be resumed.

    >>> import odonata
    >>> jobs = [{"name": name, "ranks": 4, "workload": {"stencil": {}}} for name in ("one", "other")]
    >>> sizes = {"groups": 3, "routers_per_group": 2, "nodes_per_router": 2, "global_ports_per_router": 1}
    >>> results = odonata.run({"machine": {"dragonfly": sizes}, "jobs": jobs})
    >>> results.outcome, [job["ranks_finished"] for job in results.rows("jobs")]
    ('completed', [4, 4])
    """
    text, path = _text_and_path(scenario)
    settings = _override_list(overrides)
    if baselines is not None:
        settings.append(f"run.baselines={toml_text.value_text(bool(baselines))}")
    for key, value in (("scheduler", scheduler), ("threads", threads)):
        if value is not None:
            settings.append(f"run.{key}={toml_text.value_text(value)}")
    if processes is not None and processes < 1:
        raise InputError("no process to run in", key="processes", value=str(processes), expected="1 or more")
    if resume and out is None:
        raise InputError(
            "a run without a folder cannot be resumed", key="resume", value="True", expected="out, a folder"
        )
    task = runner.Task(text, path, settings, seed)
    with runner.StopRequest() as stop:
        if out is None:
            results = execute(task, task.build(), None, processes=processes, report=progress, stop=stop)
        else:
            folder, simulation = prepare(task, out, replace=force, resume=resume)
            with folder:
                execute(
                    task,
                    simulation,
                    folder.path,
                    processes=processes,
                    report=progress,
                    stop=stop,
                    checkpoints=folder.checkpoints,
                )
                results = Results.load(folder.publish())
    if must_succeed and (results.failed or results.failed_baselines):
        raise RunFailed(results)
    return results


def check(
    scenario: Scenario, *, overrides: Mapping[str, Any] | None = None, seed: int | None = None
) -> dict[str, Any]:
    """All that can be known before a run.

    Capacity, placement, virtual channels, freedom from deadlock, threads and parts, cost.

    Raises:
        InputError: The scenario is wrong.

    >>> import odonata
    >>> report = odonata.check("examples/uniform.toml")
    >>> report["machine"]["nodes"], report["routing"]["deadlock_free"]
    (72, True)
    """
    text, path = _text_and_path(scenario)
    runner.check_seed(seed)
    with input_errors():
        report: dict[str, Any] = json.loads(_core.check(text, path, _override_list(overrides), seed))
    return report


def load(folder: str | os.PathLike[str]) -> Results:
    """Opens the folder that `odonata run` wrote.

    >>> import odonata
    >>> odonata.load("results/interference").outcome  # doctest: +SKIP
    'completed'

    Raises:
        FileNotFoundError: `folder` holds no run.json.
    """
    return Results.load(folder)


def compare(
    a: Results | str | os.PathLike[str], b: Results | str | os.PathLike[str], *, least: float = 0.01
) -> dict[str, Any]:
    """What differs between two results, or a result and one of its baselines.

    That is settings, metrics of jobs, sums over links and servers, and who waited for whom. The keys are
    those of `odonata compare --json` (docs/results.md).

    Args:
        a: Results, or their folder.
        b: What they are compared with; ratios are b / a.
        least: Metrics that change by a smaller share are left out.

    >>> import pyarrow as pa
    >>> from odonata import Results, compare
    >>> scenario = {"seed": 1, "jobs": []}
    >>> run = {"outcome": "completed", "digest": "12", "version": "0.1.0", "scenario": scenario}
    >>> quick, slow = (
    ...     Results(run, {"jobs": pa.table({"job": ["milc"], "elapsed_s": [time]})}) for time in (0.2, 0.3)
    ... )
    >>> [(row["metric"], round(row["ratio"], 2)) for row in compare(quick, slow)["jobs"]]
    [('elapsed_s', 1.5)]

    Raises:
        FileNotFoundError: A folder holds no run.json.
    """
    from odonata import comparison

    results = [given if isinstance(given, Results) else load(given) for given in (a, b)]
    return comparison.collect(results[0], results[1], least)


def _text_and_path(scenario: Scenario) -> tuple[str, str]:
    if isinstance(scenario, Mapping):
        scenario = _with_names(scenario)
        # Relative file names in it start from the current folder, as those of a file start from its folder.
        return toml_text.document(scenario), "<dict>"
    path = Path(scenario)
    return runner.read_scenario(path), str(path)


def _with_names(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with the names of functions where there are functions, as jobs may have them."""
    jobs = scenario.get("jobs")
    if not isinstance(jobs, Sequence) or isinstance(jobs, str):
        return scenario

    def named(job: Any) -> Any:
        if isinstance(job, Mapping) and callable(job.get("python")):
            from odonata.rank_programs import register

            return {**job, "python": register(job["python"])}
        return job

    return {**scenario, "jobs": [named(job) for job in jobs]}


def _override_list(overrides: Mapping[str, Any] | None) -> list[str]:
    return [f"{key}={toml_text.value_text(value)}" for key, value in (overrides or {}).items()]
