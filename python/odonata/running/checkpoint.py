"""Snapshots of a run in progress, from which it continues after a failure of its computer.

Snapshot number N is the folder `N`. It holds a file of each process that shares the run (`0.snapshot` is that
of the first) and the progress of the run. It is made as `N.TOKEN.partial`. When all processes have brought
their files to the disk, the first process renames it and removes the previous snapshot. So one complete
snapshot always exists, and the highest number is the newest. TOKEN differs each time: a process that outlived
the first one of its run cannot write into a newer snapshot.

The core decides the content of the files (`snapshot.rs`), and which of them each process of a resumed run
reads; the number of processes may change.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from odonata.analysis import run_record
from odonata.base.output_file import sync_folder, whole_file
from odonata.errors import InputError
from odonata.running.mpi import ALONE, Processes

if TYPE_CHECKING:
    from odonata import _core
    from odonata.running.runner import Progress

#: File with the progress of the run.
PROGRESS = "progress.json"


@dataclass(frozen=True)
class Saved:
    """The newest snapshot of a run."""

    folder: Path
    #: Simulated time, in seconds.
    simulated_s: float
    #: Estimated share of the run that was complete, if known.
    fraction: float | None


def file_in(folder: Path, process: int) -> Path:
    """The file of a process in the snapshot `folder`, at the path that the core expects."""
    return folder / f"{process}.snapshot"


class Checkpoints:
    """The snapshots of one run, below `folder`.

    The first is made `interval_s` after the run has started or resumed; None: none are made. If a snapshot
    cannot be written (disk full), `warn` is called, and the run continues without it. All processes of
    `group` save the run together, at a time that the clock of the first one decides. The first process does
    all other steps.
    """

    def __init__(
        self,
        folder: Path,
        interval_s: float | None,
        warn: Callable[[str], None] = warnings.warn,
        group: Processes = ALONE,
    ) -> None:
        self.folder = folder
        self.interval_s = interval_s
        self._warn = warn
        self._group = group
        self._saved_at = time.monotonic()

    def baseline(self, name: str) -> Checkpoints:
        """The snapshots of a baseline of this run."""
        return Checkpoints(self.folder.parent / "baselines" / name, self.interval_s, self._warn)

    def latest(self) -> Saved | None:
        """The newest complete snapshot."""
        numbers = self._numbers()
        return self._saved(numbers[-1]) if numbers else None

    def broadcast(self, saved: Saved | None) -> Saved | None:
        """The newest snapshot that the first process has found, in all processes."""
        number = self._group.broadcast(0 if saved is None else int(saved.folder.name))
        return self._saved(number) if number else None

    def look(self, simulation: _core.Simulation, now: Progress) -> None:
        """Saves the run if a snapshot is due."""
        if self.interval_s is None:
            return
        if self._group.broadcast(int(time.monotonic() - self._saved_at >= self.interval_s)):
            self.save(simulation, now)

    def save(self, simulation: _core.Simulation, now: Progress | None) -> bool:
        """Saves the run; returns whether that succeeded. The previous snapshot stays until this one is
        complete.
        """
        number = self._group.broadcast(1 + max(self._numbers(), default=0) if self._group.first else 0)
        token = self._group.broadcast(int.from_bytes(os.urandom(4)))
        partial = self.folder / f"{number}.{token:08x}.partial"
        try:
            if (
                self._first_can(lambda: self._make(partial))
                and self._all_can(lambda: simulation.save(file_in(partial, self._group.rank)))
                and self._first_can(lambda: self._publish(partial, number, now))
            ):
                return True
            if self._group.first:
                shutil.rmtree(partial, ignore_errors=True)
            return False
        finally:
            # The interval starts after the snapshot, so that a slow disk leaves time for the run.
            self._saved_at = time.monotonic()

    def clear(self) -> None:
        """Removes all snapshots."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self, partial: Path) -> None:
        """Makes the folder of the next snapshot, and removes incomplete ones."""
        for left in self.folder.glob("*.partial"):
            shutil.rmtree(left, ignore_errors=True)
        partial.mkdir(parents=True)

    def _publish(self, partial: Path, number: int, now: Progress | None) -> None:
        """Makes `partial`, which holds all files, the newest and only snapshot."""
        if now is not None:
            come = {"simulated_s": now.simulated_s, "fraction": now.fraction}
            with whole_file(partial / PROGRESS) as file:
                file.write(json.dumps(come).encode())
        old = self._numbers()
        partial.rename(self.folder / str(number))
        sync_folder(self.folder)
        for before in old:
            shutil.rmtree(self.folder / str(before), ignore_errors=True)

    def _first_can(self, step: Callable[[], object]) -> bool:
        """Whether `step` succeeds in the first process."""
        return self._all_can(step if self._group.first else lambda: None)

    def _all_can(self, step: Callable[[], object]) -> bool:
        """Whether `step` succeeds in all processes; the first process that fails reports the reason."""
        group, failure = self._group, None
        try:
            step()
        except OSError as error:
            failure = error
        (failed,) = group.least(group.size if failure is None else group.rank)
        if failure is not None and group.rank == failed:
            self._warn(f"the run could not be saved, and continues: {failure.strerror or failure}")
        return failed == group.size

    def _saved(self, number: int) -> Saved:
        folder = self.folder / str(number)
        try:
            come = run_record.read(folder / PROGRESS, run_record.Progress)
        except (OSError, InputError):  # for people only; the core validates the snapshot itself
            come = {"simulated_s": 0.0, "fraction": None}
        return Saved(folder, come["simulated_s"], come["fraction"])

    def _numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(path.name) for path in self.folder.iterdir() if path.name.isdecimal())
