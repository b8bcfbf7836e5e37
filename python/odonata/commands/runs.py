"""The functions of the package about scenarios and results: `run`, `check`, `describe`, `load`, `compare`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from odonata.base import toml_text
from odonata.errors import InputError, RunFailed
from odonata.results.results import Results
from odonata.running import runner
from odonata.running.execute import execute
from odonata.running.progress import run_progress
from odonata.running.unfinished import prepare
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    from odonata.scenario.given import ScenarioLike


def run(
    scenario: ScenarioLike,
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
    progress: Callable[[runner.Progress], None] | bool | None = None,
) -> Results:
    """Simulates a scenario.

    Ctrl-C, in a notebook "interrupt the kernel", ends it early; what was measured until then is kept.

    Args:
        scenario: Path of a TOML file, a `Scenario`, or the same content as a dictionary. There a job's
            ``python`` may be a generator function itself (docs/programs.md).
        out: Folder to write, as `odonata run -o` does; without it the results stay in memory.
        overrides: Settings that replace those of the scenario, by dotted key: ``{"seed": 7}``.
        seed: Replaces the scenario's seed.
        baselines: Run every job alone too, as ``run.baselines`` of the scenario says if this is None.
        processes: Runs that go on at the same time, this one and its baselines. Default: as many as there are
            cores that this process may use.
        scheduler: "auto", "sequential", "conservative" or "optimistic", as
            ``run.scheduler`` says if this is None. Results are the same with all.
        threads: Threads of the run, or "auto" for as many as there are cores; as ``run.threads`` says if this
            is None.
        force: Replace an existing result folder, or begin an unfinished run of that name anew.
        resume: Go on with the unfinished run of that name, if there is one, from its newest snapshot (a
            scenario with ``run.checkpoint_interval`` is saved now and then; without `out`, never).
        must_succeed: Raise `RunFailed`, which holds the results, if the run or a baseline fails or is
            interrupted.
        progress: Called about ten times a second with a `runner.Progress`; or whether a line is shown. By
            default one is in notebooks.

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
    text, path = text_and_path(scenario)
    settings = override_list(overrides)
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
    with runner.StopRequest() as stop, run_progress(progress) as report:
        if out is None:
            results = execute(
                task, task.build(stop=stop), None, processes=processes, report=report, stop=stop
            )
        else:
            folder, simulation = prepare(task, out, replace=force, resume=resume, stop=stop)
            with folder:
                execute(
                    task,
                    simulation,
                    folder.path,
                    processes=processes,
                    report=report,
                    stop=stop,
                    checkpoints=folder.checkpoints,
                )
                results = Results.load(folder.publish())
    if must_succeed and (results.failed or results.failed_baselines):
        raise RunFailed(results)
    return results
