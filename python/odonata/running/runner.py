"""Runs a simulation in slices, between which progress is shown and Ctrl-C is handled."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.analysis.measured import file_of
from odonata.analysis.run_record import Run
from odonata.base.folder import RUN_FILE
from odonata.base.output_file import inputs_of, sync_files, whole_file
from odonata.errors import RunSuspended, input_errors
from odonata.running.mpi import ALONE, Processes
from odonata.running.stopping import StopRequest as StopRequest
from odonata.scenario.reading import check_seed

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.running.checkpoint import Checkpoints

#: Wall time of one slice, in seconds: short enough for a quick answer to Ctrl-C, long enough to cost nothing.
SLICE_S = 0.1


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    #: Wall time since the start, in seconds; of a resumed run, including its earlier processes.
    wall_s: float
    #: Simulated time, in seconds.
    simulated_s: float
    events: int
    packets: int
    packet_hops: int
    messages: int
    #: Estimated completed share, 0 to 1; None while the end is unknown.
    fraction: float | None
    #: The same for each baseline, by job; 0 while it waits to start. Empty without baselines.
    baselines: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def whole(self) -> float | None:
        """Estimated completed share of the run and its baselines, or None.

        All baselines together cost about as much as the run.

        >>> Progress(10.0, 1e-3, 0, 0, 0, 0, fraction=1.0, baselines={"milc": 0.5, "noise": 0.0}).whole
        0.625
        """
        shares = list(self.baselines.values())
        if not shares or self.fraction is None:
            return self.fraction
        return (self.fraction + sum(share or 0.0 for share in shares) / len(shares)) / 2

    @property
    def left_s(self) -> float | None:
        """Estimated wall time left until the run and its baselines end, in seconds.

        >>> Progress(10.0, 1e-3, 0, 0, 0, 0, fraction=0.25).left_s
        30.0
        """
        if not self.whole or self.wall_s < 0.5:
            return None
        return self.wall_s * (1.0 - self.whole) / self.whole


#: Called with the progress of a run.
Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Task:
    """A run to execute: the arguments of the core, which the process of a baseline receives too."""

    #: The scenario, in TOML.
    text: str
    #: Its path, for errors; relative file names in it start from its folder.
    path: str
    #: Settings that replace those of the scenario, `KEY=VALUE`.
    overrides: list[str]
    seed: int | None
    #: The only job that runs; None: all jobs.
    only: str | None = None
    #: Duration of its traffic in seconds, if that depends on other jobs.
    sends_for_s: float | None = None

    def scenario(self) -> dict[str, Any]:
        """The scenario with all its settings, or an `InputError`; no machine is built for it."""
        check_seed(self.seed)
        with input_errors():
            text = _core.resolve(self.text, self.path, self.overrides, self.seed)
        resolved: dict[str, Any] = json.loads(text)
        return resolved

    def written(self) -> dict[str, Any]:
        """The scenario as written, for run.json."""
        return {
            "file": Path(self.path).name,
            "text": self.text,
            "set": list(self.overrides),
            "seed": self.seed,
        }

    def inputs(self) -> list[Path]:
        """The files and folders that the run reads."""
        return inputs_of(self.text, Path(self.path), self.overrides)

    def build(
        self, snapshot: Path | None = None, *, shared: bool = False, stop: StopRequest | None = None
    ) -> _core.Simulation:
        """Builds a simulation, new or from the folder `snapshot`; raises `InputError`.

        With `shared`, all MPI processes run it together. `stop` also interrupts the build, in which ranks
        begin their first operations.
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
    """Advances `simulation` until it ends or `stop` is requested, finishes it, returns its last progress.

    It saves snapshots to `checkpoints`; with `keep_end` also one at the end, because baselines may still run
    for long. On SIGTERM, a run with snapshots is saved and raises `RunSuspended`. All processes of `group`,
    which share the run, call this together.
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
        # A run that was interrupted within an event cannot be saved; its last snapshot counts.
        if group.any(stop.interrupt.was_raised()):
            kept = bool(group.broadcast(int(group.first and checkpoints.latest() is not None)))
        else:
            kept = checkpoints.save(simulation, last)
        if kept and suspended:
            group.agree(_suspend)
    simulation.finish(interrupted=not finished)
    return last


def _suspend() -> None:
    raise RunSuspended


def write(simulation: _core.Simulation, folder: Path, task: Task | None = None) -> None:
    """Writes tables and run.json of a finished simulation to `folder`, run.json last."""
    write_tables(simulation, folder)
    write_run(description(simulation, task), folder)


def write_run(run: Mapping[str, Any], folder: Path) -> None:
    """Writes run.json to `folder` atomically. The file marks a folder as a result."""
    with whole_file(folder / RUN_FILE) as file:
        file.write(run_text(run).encode())


def write_tables(simulation: _core.Simulation, folder: Path) -> None:
    """Writes the tables of a finished simulation to `folder`."""
    # Imported here and in `collect`: an error of the input need not wait for pyarrow.
    from odonata.analysis import tables

    names = simulation.table_names()
    for name in names:
        tables.write(tables.from_core(simulation, name), folder, name, synced=False)
    sync_files(file_of(folder, name) for name in names)


def run_text(run: Mapping[str, Any]) -> str:
    """The text of run.json."""
    return json.dumps(run, indent=2, ensure_ascii=False) + "\n"


def collect(simulation: _core.Simulation) -> dict[str, pa.Table]:
    """The tables of a finished simulation, in memory."""
    from odonata.analysis import tables

    return {name: tables.from_core(simulation, name) for name in simulation.table_names()}


def description(simulation: _core.Simulation, task: Task | None = None) -> dict[str, Any]:
    """Returns the contents of run.json in the documented order: outcome first, scenario last.

    With `task`, they include the scenario as written.
    """
    written = None if task is None else task.written()
    run: dict[str, Any] = json.loads(simulation.run_json()) | {"baselines": {}, "written": written}
    return {key: run[key] for key in Run.__annotations__ if key in run}
