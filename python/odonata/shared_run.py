"""A run that several processes share, as `mpirun` or `srun` starts them: the first one speaks and writes."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from odonata import runner
from odonata.errors import InputError
from odonata.folder import ResultFolder
from odonata.mpi import Processes


def run(
    group: Processes,
    task: runner.Task,
    out: str | os.PathLike[str],
    *,
    replace: bool,
    report: runner.Report | None,
    stop: runner.StopRequest,
) -> Path | None:
    """Runs `task` with all processes of `group`; the result folder, in the first of them.

    Raises `InputError` in the first process that has one to raise, before anything was created.
    """
    folder = group.settle(lambda: ResultFolder(out, replace=replace) if group.first else None)
    simulation = group.settle(lambda: task.build(shared=True))
    group.settle(lambda: _refuse_what_is_for_one(json.loads(simulation.scenario_json())))
    with contextlib.ExitStack() as open_folder:
        group.settle(lambda: open_folder.enter_context(folder) if folder else None)
        runner.drive(simulation, report if group.first else None, stop, in_any=group.any)

        def publish() -> Path | None:
            if folder is None:
                return None
            runner.write(simulation, folder.path)
            return folder.publish()

        return group.settle(publish)


def _refuse_what_is_for_one(scenario: dict[str, dict[str, object]]) -> None:
    """What a run has to do without if several processes share it."""
    for key, nothing, instead in (
        ("baselines", False, "run the baselines with one process, or in runs of their own"),
        ("checkpoint_interval", None, "one process, which may have many threads"),
    ):
        value = scenario["run"].get(key)
        if value != nothing:
            raise InputError(
                f"a run that several processes share has no {key}",
                key=f"run.{key}",
                value=str(value),
                expected=instead,
            )
