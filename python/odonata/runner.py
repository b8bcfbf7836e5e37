"""Runs a simulation to its end, in slices, so that progress can be shown and Ctrl-C is heard."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.errors import InputError, RunSuspended, input_errors
from odonata.folder import RUN_FILE
from odonata.mpi import ALONE, Processes
from odonata.results_reference import RUN_KEYS

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.checkpoint import Checkpoints

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
    def left_s(self) -> float | None:
        """Estimated wall time left, in seconds.

        >>> Progress(10.0, 1e-3, 0, 0, 0, 0, fraction=0.25).left_s
        30.0
        """
        if not self.fraction or self.wall_s < 0.5:
            return None
        return self.wall_s * (1.0 - self.fraction) / self.fraction


#: Largest seed: a scenario is TOML, whose whole numbers have 63 bits and a sign.
LARGEST_SEED = 2**63 - 1


def check_seed(seed: int | None) -> None:
    """Refuses, with an `InputError`, a seed that no scenario could have."""
    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise InputError(
            "the seed is out of range", key="seed", value=str(seed), expected=f"0 to {LARGEST_SEED}"
        )


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

    def build(self, snapshot: Path | None = None, *, shared: bool = False) -> _core.Simulation:
        """A simulation that is ready to run, or to go on from `snapshot`, or an `InputError`.

        With `shared` it is run by all processes of MPI together, each from its own `snapshot`.
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
            )


class StopRequest:
    """While active, the first SIGINT or SIGTERM asks the run to stop; a second one ends it at once.

    SIGTERM counts too because batch systems send it before they kill; a run that can be resumed is then
    saved. Outside the main thread, where Python allows no handlers, nothing is changed.
    """

    def __init__(self) -> None:
        self.requested = False
        #: Whether it was SIGTERM: somebody wants the computer, not the results until now.
        self.terminated = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self.terminated = number == signal.SIGTERM

    def suspends(self, checkpoints: Checkpoints | None) -> bool:
        """Whether a run with these snapshots is to be saved and left, not ended."""
        return self.terminated and checkpoints is not None and checkpoints.interval_s is not None


def read_scenario(path: Path) -> str:
    """The text of a scenario file, or an `InputError`."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        problem = f"the scenario cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        problem = f"the scenario is not UTF-8 text (byte {error.start})"
    raise InputError(problem, file=str(path), expected="a scenario in TOML")


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
    if (
        (suspended or (finished and keep_end))
        and checkpoints is not None
        and checkpoints.interval_s is not None
        and checkpoints.save(simulation, last)
        and suspended
    ):
        group.settle(_suspend)
    simulation.finish(interrupted=not finished)
    return last


def _suspend() -> None:
    raise RunSuspended


def write(simulation: _core.Simulation, folder: Path) -> None:
    """Writes tables and run.json of a finished simulation to `folder`, run.json last."""
    write_tables(simulation, folder)
    write_run(description(simulation), folder)


def write_run(run: Mapping[str, Any], folder: Path) -> None:
    """Writes run.json to `folder`, whole or not at all: it makes a folder a result."""
    partial = folder / f".{RUN_FILE}.partial"
    partial.write_text(run_text(run), encoding="utf-8")
    partial.replace(folder / RUN_FILE)


def write_tables(simulation: _core.Simulation, folder: Path) -> None:
    """Writes the tables of a finished simulation to `folder`."""
    # Imported late, here and below: an error in the input should not have to wait for pyarrow.
    from odonata import tables

    for name in simulation.table_names():
        tables.write(tables.from_core(simulation, name), folder, name)


def run_text(run: Mapping[str, Any]) -> str:
    """The text of run.json."""
    return json.dumps(run, indent=2, ensure_ascii=False) + "\n"


def collect(simulation: _core.Simulation) -> dict[str, pa.Table]:
    """The tables of a finished simulation, in memory."""
    from odonata import tables

    return {name: tables.from_core(simulation, name) for name in simulation.table_names()}


def description(simulation: _core.Simulation) -> dict[str, Any]:
    """The contents of run.json, in the documented order: how it ended first, the long scenario last."""
    run: dict[str, Any] = json.loads(simulation.run_json()) | {"baselines": {}}
    return {key: run[key] for key in RUN_KEYS if key in run} | run
