"""Runs a simulation to its end, in slices, so that progress can be shown and Ctrl-C is heard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.analysis.run_record import Run
from odonata.base.folder import RUN_FILE
from odonata.base.output_file import inputs_of, whole_file
from odonata.errors import RunSuspended, input_errors
from odonata.running.mpi import ALONE, Processes
from odonata.running.stopping import StopRequest as StopRequest
from odonata.scenario.reading import check_seed

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.running.checkpoint import Checkpoints

#: Wall time of one slice, in seconds: short enough for a prompt answer to Ctrl-C, long enough to be free.
SLICE_S = 0.1


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    #: Wall time since the start, in seconds; of a resumed run, also that of the processes before this one.
    wall_s: float
    #: Simulated time, in seconds.
    simulated_s: float
    events: int
    packets: int
    packet_hops: int
    messages: int
    #: Estimated share that is done, 0 to 1, or None while nothing is known about the end.
    fraction: float | None
    #: The same for each baseline, by job; 0 while it waits for its turn. Empty if there are none.
    baselines: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def whole(self) -> float | None:
        """Estimated share of the run and its baselines together that is done, or None.

        All jobs alone are about as much work as the run in which they are together.

        >>> Progress(10.0, 1e-3, 0, 0, 0, 0, fraction=1.0, baselines={"milc": 0.5, "noise": 0.0}).whole
        0.625
        """
        shares = list(self.baselines.values())
        if not shares or self.fraction is None:
            return self.fraction
        return (self.fraction + sum(share or 0.0 for share in shares) / len(shares)) / 2

    @property
    def left_s(self) -> float | None:
        """Estimated wall time left, in seconds, until the baselines have ended too.

        >>> Progress(10.0, 1e-3, 0, 0, 0, 0, fraction=0.25).left_s
        30.0
        """
        if not self.whole or self.wall_s < 0.5:
            return None
        return self.wall_s * (1.0 - self.whole) / self.whole


#: Who wants to know how far a run has come.
Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Task:
    """What is to be run: all that the core asks for, and that a baseline's process is sent."""

    #: The scenario, in TOML.
    text: str
    #: How errors call it; relative file names in it start from its folder.
    path: str
    #: Settings that replace those of the scenario, `KEY=VALUE`.
    overrides: list[str]
    seed: int | None
    #: The job that runs alone; None: all.
    only: str | None = None
    #: How long its traffic lasts, in seconds from its start, if that depends on other jobs.
    sends_for_s: float | None = None

    def scenario(self) -> dict[str, Any]:
        """The scenario with all its settings, or an `InputError`; no machine is built for it."""
        check_seed(self.seed)
        with input_errors():
            text = _core.resolve(self.text, self.path, self.overrides, self.seed)
        resolved: dict[str, Any] = json.loads(text)
        return resolved

    def written(self) -> dict[str, Any]:
        """What run.json says of where the scenario is from."""
        return {
            "file": Path(self.path).name,
            "text": self.text,
            "set": list(self.overrides),
            "seed": self.seed,
        }

    def inputs(self) -> list[Path]:
        """The files and folders that it reads."""
        return inputs_of(self.text, Path(self.path), self.overrides)

    def build(
        self, snapshot: Path | None = None, *, shared: bool = False, stop: StopRequest | None = None
    ) -> _core.Simulation:
        """A simulation that is ready to run, or to go on from the folder `snapshot`, or an `InputError`.

        With `shared` it is run by all processes of MPI together. `stop` is heard in the midst of its events
        too, also while it is built: what ranks do first is part of that.
        """
        check_seed(self.seed)
        with input_errors():
            return _core.Simulation(
                self.text,
                self.path,
                self.overrides,
                self.seed,
                self.only,
                self.sends_for_s,
                snapshot,
                shared,
                None if stop is None else stop.interrupt,
            )


def drive(
    simulation: _core.Simulation,
    report: Report | None,
    stop: StopRequest,
    checkpoints: Checkpoints | None = None,
    *,
    keep_end: bool = False,
    group: Processes = ALONE,
) -> Progress | None:
    """Advances `simulation` to its end or until `stop` is requested, and finishes it; where it stood last.

    On its way it is saved to `checkpoints`; with `keep_end` at its end too, for more may come after it that
    takes long. A run that can be resumed is not finished when SIGTERM wants the computer: `RunSuspended`.
    All processes of `group`, which share the run, do this together.
    """
    start = time.perf_counter() - simulation.earlier_wall_s()
    saves = checkpoints is not None and checkpoints.interval_s is not None
    stop.saves = saves
    finished = False
    last = None
    while not finished and not group.any(stop.requested):
        state: dict[str, Any] = simulation.advance(SLICE_S)
        finished = state.pop("finished")
        last = Progress(wall_s=time.perf_counter() - start, **state)
        if report is not None:
            report(last)
        if checkpoints is not None and not finished:
            checkpoints.look(simulation, last)
    suspended = not finished and group.any(stop.suspends(checkpoints))
    if checkpoints is not None and saves and (suspended or (finished and keep_end)):
        # A run that was ended in the midst of an event cannot be saved: it goes on from where it was last.
        if group.any(stop.interrupt.was_heard()):
            kept = bool(group.tell(int(group.first and checkpoints.latest() is not None)))
        else:
            kept = checkpoints.save(simulation, last)
        if kept and suspended:
            group.settle(_suspend)
    simulation.finish(interrupted=not finished)
    return last


def _suspend() -> None:
    raise RunSuspended


def write(simulation: _core.Simulation, folder: Path, task: Task | None = None) -> None:
    """Writes tables and run.json of a finished simulation to `folder`, run.json last."""
    write_tables(simulation, folder)
    write_run(description(simulation, task), folder)


def write_run(run: Mapping[str, Any], folder: Path) -> None:
    """Writes run.json to `folder`, whole or not at all: it makes a folder a result."""
    with whole_file(folder / RUN_FILE) as file:
        file.write(run_text(run).encode())


def write_tables(simulation: _core.Simulation, folder: Path) -> None:
    """Writes the tables of a finished simulation to `folder`."""
    # Imported late, here and below: an error in the input should not have to wait for pyarrow.
    from odonata.analysis import tables

    for name in simulation.table_names():
        tables.write(tables.from_core(simulation, name), folder, name)


def run_text(run: Mapping[str, Any]) -> str:
    """The text of run.json."""
    return json.dumps(run, indent=2, ensure_ascii=False) + "\n"


def collect(simulation: _core.Simulation) -> dict[str, pa.Table]:
    """The tables of a finished simulation, in memory."""
    from odonata.analysis import tables

    return {name: tables.from_core(simulation, name) for name in simulation.table_names()}


def description(simulation: _core.Simulation, task: Task | None = None) -> dict[str, Any]:
    """The contents of run.json, in the documented order: how it ended first, the long scenario last.

    With `task` it holds the scenario as it was written too.
    """
    written = None if task is None else task.written()
    run: dict[str, Any] = json.loads(simulation.run_json()) | {"baselines": {}, "written": written}
    return {key: run[key] for key in Run.__annotations__}
