"""Snapshots of a run under way, from which it goes on after its computer has failed.

Snapshot number N is the folder `N`: a file per process of the run, and how far it had come. It is made as
`N.partial` and renamed when it is whole; then the one before is removed. So there is always a whole one, and
the highest number is the newest. What is in the file is the core's business (`snapshot.rs`).
"""

from __future__ import annotations

import json
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odonata import _core
    from odonata.runner import Progress

#: The file of the only process of a run.
FILE = "0.snapshot"

#: How far the run had come.
PROGRESS = "progress.json"


@dataclass(frozen=True)
class Saved:
    """The newest snapshot of a run."""

    #: Its file.
    path: Path
    #: Simulated time, in seconds.
    simulated_s: float
    #: Estimated share of the run that was done, if it could be told.
    fraction: float | None


class Checkpoints:
    """The snapshots of one run, below `folder`.

    The first is made `interval_s` after the run has begun or gone on; None: none are made. One that cannot be
    written (disk full) is told to `warn`, and the run goes on without it.
    """

    def __init__(
        self, folder: Path, interval_s: float | None, warn: Callable[[str], None] = warnings.warn
    ) -> None:
        self.folder = folder
        self.interval_s = interval_s
        self._warn = warn
        self._saved_at = time.monotonic()

    def baseline(self, name: str) -> Checkpoints:
        """Those of a baseline of this run."""
        return Checkpoints(self.folder.parent / "baselines" / name, self.interval_s, self._warn)

    def latest(self) -> Saved | None:
        """The newest whole snapshot."""
        numbers = self._numbers()
        if not numbers:
            return None
        folder = self.folder / str(numbers[-1])
        try:
            come = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # for people only; the core judges the snapshot itself
            come = {"simulated_s": 0.0, "fraction": None}
        return Saved(folder / FILE, come["simulated_s"], come["fraction"])

    def look(self, simulation: _core.Simulation, now: Progress) -> None:
        """Saves the run if it is time to."""
        if self.interval_s is not None and time.monotonic() - self._saved_at >= self.interval_s:
            self.save(simulation, now)

    def save(self, simulation: _core.Simulation, now: Progress | None) -> bool:
        """Saves the run; whether that was possible. The snapshot before stays until this one is whole."""
        numbers = self._numbers()
        number = numbers[-1] + 1 if numbers else 1
        partial = self.folder / f"{number}.partial"
        try:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            simulation.save(partial / FILE)
            if now is not None:
                come = {"simulated_s": now.simulated_s, "fraction": now.fraction}
                (partial / PROGRESS).write_text(json.dumps(come), encoding="utf-8")
            partial.rename(self.folder / str(number))
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            self._warn(f"the run could not be saved, and goes on: {error.strerror or error}")
            return False
        finally:
            # After a slow disk, too, the run gets its time.
            self._saved_at = time.monotonic()
        for old in numbers:
            shutil.rmtree(self.folder / str(old), ignore_errors=True)
        return True

    def clear(self) -> None:
        """Removes them all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(path.name) for path in self.folder.iterdir() if path.name.isdecimal())
