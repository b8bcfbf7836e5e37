"""The progress of a long run over time: recorded beside its folder, over all its processes."""

from __future__ import annotations

import csv
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from odonata.running.runner import Progress

#: Wall time between two lines.
LINES_S = 2.0
#: An estimate counts from this share of a run on.
TENTH = 0.1


@dataclass(frozen=True)
class Mark:
    """The progress of a run at one time."""

    #: Wall time of this run and of its earlier processes.
    wall_s: float
    cpu_s: float
    simulated_s: float
    #: Estimated completed share.
    fraction: float
    events: int
    packet_hops: int
    #: The number of the process, from 1: every continuation has a new one.
    sitting: int = 1


class Track:
    """Records the progress of a run after that of earlier processes; stops the run after a time."""

    def __init__(self, file: Path, stop_after_s: float | None, *, anew: bool) -> None:
        self._file = file
        if anew:
            file.unlink(missing_ok=True)
        before = read_track(file)
        self._cpu_before = before[-1].cpu_s if before else 0.0
        self._sitting = before[-1].sitting + 1 if before else 1
        self._cpu_at_start = _cpu_s()
        self._began: float | None = None
        self._last = -LINES_S
        self._stop_after_s = stop_after_s
        self._told = False

    def __call__(self, now: Progress) -> None:
        """Called some ten times a second."""
        if self._began is None:
            self._began = now.wall_s
        if now.wall_s - self._last >= LINES_S:
            self._last = now.wall_s
            cpu_s = self._cpu_before + _cpu_s() - self._cpu_at_start
            share = now.fraction or 0.0
            mark = Mark(now.wall_s, cpu_s, now.simulated_s, share, now.events, now.packet_hops, self._sitting)
            fresh = not self._file.exists()
            with self._file.open("a", newline="", encoding="utf-8") as opened:
                writer = csv.writer(opened, lineterminator="\n")
                if fresh:
                    writer.writerow([field.name for field in fields(Mark)])
                writer.writerow(astuple(mark))
        over = self._stop_after_s is not None and now.wall_s - self._began >= self._stop_after_s
        if over and not self._told:
            # Like a batch system: the run is saved, and stops.
            self._told = True
            os.kill(os.getpid(), signal.SIGTERM)


def read_track(file: Path) -> list[Mark]:
    """Every line of a track, in order."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    whole = ("events", "packet_hops", "sitting")
    numbers: list[dict[str, Any]] = [
        {key: int(row[key]) if key in whole else float(row[key]) for key in row} for row in rows
    ]
    return [Mark(**row) for row in numbers]


def sittings(track: Sequence[Mark]) -> int:
    """Number of processes that wrote a track."""
    return track[-1].sitting if track else 1


def estimated(track: Sequence[Mark]) -> tuple[float, float]:
    """Estimated events and CPU time of a run after its first tenth; 0 before."""
    for mark in track:
        if mark.fraction >= TENTH:
            return mark.events / mark.fraction, mark.cpu_s / mark.fraction
    return 0.0, 0.0


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
