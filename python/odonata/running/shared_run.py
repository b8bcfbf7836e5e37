"""A run that several processes share, started by `mpirun` or `srun`: the first one prints and writes.

Snapshots are the exception: each process writes its part of the run (`checkpoint.py`).
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from odonata import _core
from odonata.base.folder import ResultFolder
from odonata.errors import InputError, option
from odonata.running import runner
from odonata.running.mpi import Processes
from odonata.running.unfinished import place_of


def run(
    group: Processes,
    simulation: _core.Simulation,
    folder: ResultFolder,
    *,
    report: runner.Report | None,
    stop: runner.StopRequest,
) -> Path | None:
    """Runs `simulation` with all processes of `group`; returns the result folder in the first process.

    Raises `InputError` in the first process before anything is created.
    """
    group.agree(lambda: _refuse_baselines(json.loads(simulation.scenario_json())))
    with contextlib.ExitStack() as open_folder:
        group.agree(lambda: open_folder.enter_context(folder))
        group.agree(lambda: _refuse_separate_disks(folder))
        runner.drive(simulation, report if group.first else None, stop, folder.checkpoints, group=group)

        def publish() -> Path | None:
            if not group.first:
                return None
            runner.write(simulation, folder.path)
            return folder.publish()

        return group.agree(publish)


def _refuse_baselines(scenario: dict[str, dict[str, object]]) -> None:
    """Refuses baselines, which are separate runs of one process each."""
    if scenario["run"]["baselines"]:
        raise InputError(
            "a run that several processes share has no baselines",
            key="run.baselines",
            value="True",
            expected="run the baselines with one process, or in runs of their own",
        )


def _refuse_separate_disks(folder: ResultFolder) -> None:
    """Refuses snapshots unless all processes see the files of the first one."""
    if folder.checkpoints is not None and not place_of(folder.target).is_dir():
        raise InputError(
            "the processes do not all see the folder in which the run is to be saved",
            key=option("out"),
            value=str(folder.target),
            expected="a folder on a file system that they share",
        )
