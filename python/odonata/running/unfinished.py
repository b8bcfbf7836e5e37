"""Runs that outlive their process: their snapshots and results until they are complete.

A run with `run.checkpoint_interval` owns the hidden sibling `.NAME.unfinished` of its result folder NAME
until it is complete, through any number of consecutive processes:

- `checkpoint/`: the snapshots of the run and of its baselines (`checkpoint.py`);
- `results/`: the result folder in the making, which `publish` renames;
- `about.json`: the scenario, to report changes;
- `lock`: held by the process that works on it.

If several processes share the run, all save their parts there, and the first one does all else.

No command takes the folder for a result. `odonata run` with the same name refuses to replace it without an
option. Resuming is an option of `run`, not a command: a batch script calls `odonata run SCENARIO --resume`
each time it is queued, the first time included, and scenario and settings have one place.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from odonata import _core
from odonata.analysis import run_record
from odonata.analysis.comparison import settings
from odonata.base.folder import ResultFolder
from odonata.base.lock import hold
from odonata.base.output_file import whole_file
from odonata.base.partial import cut
from odonata.base.wording import duration
from odonata.errors import InputError, given, option
from odonata.running import runner
from odonata.running.baselines import FOLDER as BASELINES
from odonata.running.checkpoint import Checkpoints, Saved
from odonata.running.mpi import ALONE, Processes

#: Held by the process that works on the run.
LOCK = "lock"

ABOUT = "about.json"

#: Settings that may change from process to process: the interval of snapshots, and the execution of the run.
FREE = (
    "run.checkpoint_interval",
    "run.memory_limit",
    "run.scheduler",
    "run.threads",
    "run.parts",
    "run.optimism",
)

#: Most changed settings in a message.
MOST_CHANGES = 5


def place_of(target: Path) -> Path:
    """The folder of the unfinished run whose results go to `target`.

    >>> place_of(Path("results/milc")).as_posix()
    'results/.milc.unfinished'
    """
    ending = ".unfinished"
    name = cut(target.name, len(ending) + 1)
    if name != target.name:
        # A long name is cut; another long name may have the same beginning.
        ending = f".{zlib.crc32(target.name.encode()):08x}{ending}"
        name = cut(name, len(ending) + 1)
    return target.with_name(f".{name}{ending}")


def prepare(
    task: runner.Task,
    out: str | os.PathLike[str],
    *,
    replace: bool = False,
    resume: bool = False,
    inputs: Sequence[Path] = (),
    warn: Callable[[str], None] = warnings.warn,
    group: Processes = ALONE,
    stop: runner.StopRequest | None = None,
) -> tuple[ResultFolder, _core.Simulation]:
    """The folder for the results of `task`, not yet open, and its simulation.

    With `resume` the simulation continues from the newest snapshot of an unfinished run, if there is one. All
    processes of `group` share it. The folder belongs to the first process, and replaces nothing that holds
    one of `inputs`. `stop` ends the preparation. Raises `InputError` before anything is created or changed.
    """
    kind = ResultFolder if group.first else RemoteFolder
    folder = group.agree(lambda: kind(out, replace=replace, inputs=inputs))
    place = place_of(folder.target)
    there = group.first and place.is_dir()

    def left() -> Saved | None:
        if there:
            _refuse_unfinished(place, folder.target, replace=replace, resume=resume)
        return _checkpoints(place, None).latest() if there and resume else None

    saved = _checkpoints(place, None, group=group).broadcast(group.agree(left))
    simulation = group.agree(
        lambda: (
            task.build(shared=group.size > 1, stop=stop)
            if saved is None
            else _resumed(task, place, saved, group, stop)
        )
    )
    interval_s = simulation.checkpoint_interval_s()
    if interval_s is None and not there:
        return folder, simulation
    checkpoints = _checkpoints(place, interval_s, warn, group)
    if not group.first:
        folder.checkpoints = checkpoints
        return folder, simulation
    about = {"version": _core.__version__, "scenario": json.loads(simulation.scenario_json())}
    kept = KeptFolder(
        out, replace=replace, inputs=inputs, resumes=saved, about=about, checkpoints=checkpoints
    )
    return kept, simulation


def _checkpoints(
    place: Path,
    interval_s: float | None,
    warn: Callable[[str], None] = warnings.warn,
    group: Processes = ALONE,
) -> Checkpoints:
    return Checkpoints(place / "checkpoint" / "run", interval_s, warn, group)


class RemoteFolder(ResultFolder):
    """The folder of the first of several processes, as seen by the others: every operation is empty."""

    def __enter__(self) -> Self:
        return self

    def _refuse_existing(self, inputs: list[Path]) -> None:
        pass


class KeptFolder(ResultFolder):
    """A folder in the making that survives its process if there is a snapshot to resume from."""

    def __init__(
        self,
        out: str | os.PathLike[str],
        *,
        replace: bool,
        inputs: Sequence[Path],
        resumes: Saved | None,
        about: dict[str, Any],
        checkpoints: Checkpoints,
    ) -> None:
        super().__init__(out, replace=replace, inputs=inputs)
        self.checkpoints = self._checkpoints = checkpoints
        self.resumes = resumes
        self._about = about
        self._place = place_of(self.target)
        self._lock: int | None = None

    def publish(self) -> Path:
        """Gives the complete folder its name, removes the snapshots, and returns it."""
        path = super().publish()
        shutil.rmtree(self._place, ignore_errors=True)
        self._unlock()
        return path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        saved = self._checkpoints.latest()
        if error is not None and saved is not None:
            error.add_note(f"the run is {standing(saved)}; continue with " + given("resume"))

    def _make(self) -> Path:
        self._lock = hold(self._place / LOCK)
        if self._lock is None:
            raise _in_use(self.target)
        results = self._place / "results"
        if self.resumes is None:
            _empty(self._place, but=LOCK)
        elif results.is_dir():
            # Complete baselines need not run again.
            _empty(results, but=BASELINES)
        results.mkdir(exist_ok=True)
        with whole_file(self._place / ABOUT) as file:
            file.write(json.dumps(self._about, ensure_ascii=False).encode())
        return results

    def _discard(self) -> None:
        if self._lock is not None:
            if self._checkpoints.latest() is None:
                shutil.rmtree(self._place, ignore_errors=True)
            else:
                self._made.clear()
            self._writing = None
            self._unlock()
        super()._discard()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _refuse_unfinished(place: Path, target: Path, *, replace: bool, resume: bool) -> None:
    lock = hold(place / LOCK)
    if lock is None:
        raise _in_use(target)
    os.close(lock)
    if replace or resume:
        return
    saved = _checkpoints(place, None).latest()
    raise InputError(
        "an unfinished run has this name",
        key=option("out"),
        value=str(target),
        expected="an unused name",
        hint=("" if saved is None else f"it is {standing(saved)}: ")
        + "continue with "
        + given("resume")
        + ", or start again with "
        + given("force"),
    )


def _in_use(target: Path) -> InputError:
    return InputError(
        "another process works on this run",
        key=option("out"),
        value=str(target),
        expected="an unused name",
        hint="wait for its end, or choose another folder with " + option("out", "-o"),
    )


def standing(saved: Saved) -> str:
    """The progress of a saved run, in words.

    >>> standing(Saved(Path("1"), simulated_s=0.012, fraction=0.4))
    'saved at 12 ms, 40% of it'
    """
    share = "" if saved.fraction is None else f", {100 * saved.fraction:.0f}% of it"
    return f"saved at {duration(saved.simulated_s)}{share}"


def _resumed(
    task: runner.Task, place: Path, saved: Saved, group: Processes, stop: runner.StopRequest | None
) -> _core.Simulation:
    """The simulation that continues from `saved`; raises an `InputError` about settings that do not fit."""
    try:
        return task.build(saved.folder, shared=group.size > 1, stop=stop)
    except InputError as error:
        if error.file is None or Path(error.file).parent != saved.folder:
            raise
        hint: str = "start again with " + given("force")
        changes = _changes(task, place)
        if changes:
            hint = f"changed: {changes}; undo the change, or " + hint
        raise InputError(
            f"the run cannot be resumed: {error.message}",
            file=error.file,
            key=option("resume"),
            expected=error.expected,
            hint=hint,
        ) from None


def _changes(task: runner.Task, place: Path) -> str:
    """The settings that differ from the unfinished run; empty if none do, or if it cannot be determined."""
    try:
        before = run_record.read(place / ABOUT, run_record.About)["scenario"]
        changes = settings(before, task.scenario())
    except (OSError, InputError):
        return ""
    texts = [
        f"{change['key']} ({change['a']} -> {change['b']})"
        if change["change"] == "changed"
        else change["key"]
        for change in changes
        if not change["key"].startswith(FREE)
    ]
    more = [f"{len(texts) - MOST_CHANGES} more"] if len(texts) > MOST_CHANGES else []
    return ", ".join(texts[:MOST_CHANGES] + more)


def _empty(folder: Path, *, but: str) -> None:
    """Removes the content of `folder`, except for `but`."""
    for path in folder.iterdir():
        if path.name == but:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
