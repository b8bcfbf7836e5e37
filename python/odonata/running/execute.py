"""A run from the built simulation to its results, with the baselines of the scenario."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.errors import RunFailed, RunSuspended
from odonata.running import runner
from odonata.running.baselines import FOLDER, Baselines, wanted
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    from odonata import _core
    from odonata.results.results import Results
    from odonata.running.checkpoint import Checkpoints
    from odonata.scenario.given import ScenarioLike


def execute(
    task: runner.Task,
    simulation: _core.Simulation,
    folder: Path | None,
    *,
    processes: int | None = None,
    report: runner.Report | None = None,
    stop: runner.StopRequest,
    checkpoints: Checkpoints | None = None,
) -> Results:
    """Runs `simulation`, built from `task`, and its baselines in parallel on up to `processes` cores.

    Baselines of traffic whose end depends on other jobs run afterwards. The results go to `folder`, run.json
    last; without a folder they stay in memory. When `stop` is requested, the run keeps its measurements and
    drops incomplete baselines, which run.json records; a run with `checkpoints` can be resumed instead, see
    `runner.drive`.
    """
    import tempfile

    from odonata.analysis import slowdown, tables
    from odonata.results.results import Results

    scenario = json.loads(simulation.scenario_json())
    if not wanted(scenario):
        runner.drive(simulation, report, stop, checkpoints)
        run = runner.description(simulation, task)
        if folder is None:
            return Results(run, runner.collect(simulation))
        runner.write(simulation, folder, task)
        return Results(run, path=folder)
    with contextlib.ExitStack() as scratch:
        place = folder or Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="odonata-")))
        with Baselines(task, scenario, place / FOLDER, processes, checkpoints) as baselines:

            def both(now: runner.Progress) -> None:
                fractions = baselines.follow(beside_run=True)
                if report is not None:
                    report(replace(now, baselines=fractions))

            last = runner.drive(simulation, both, stop, checkpoints, keep_end=True)
            runner.write_tables(simulation, place)
            run = runner.description(simulation, task)
            baselines.start_waiting(run, Results(run, path=place).rows("jobs"))
            if last is not None:
                baselines.complete(report, last, stop)
            if stop.suspends(checkpoints) and not baselines.are_complete:
                raise RunSuspended
            baselines.stop()
        run["baselines"] = baselines.endings()
        results = Results(run, path=place)
        tables.write(slowdown.table(results, results.baselines), place, "slowdown")
        if folder is None:
            return results.in_memory()
        runner.write_run(run, folder)
        return Results(run, path=folder)


def in_memory(scenario: ScenarioLike, overrides: Mapping[str, Any]) -> Results:
    """Runs `scenario` in one process, without a folder; raises `RunFailed` if it fails."""
    text, path = text_and_path(scenario)
    task = runner.Task(text, path, override_list(overrides), None)
    with runner.StopRequest() as stop:
        results = execute(task, task.build(stop=stop), None, processes=1, stop=stop)
    if results.failed or results.failed_baselines:
        raise RunFailed(results)
    return results
