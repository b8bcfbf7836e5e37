"""Executes the points of a sweep: results in the store are reused, crashed runs are retried.

A *cell* is a point with a seed: its run, and then every job of it alone. The baselines wait for the run,
which determines the nodes of each job. Baselines that several cells share run once.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from odonata.running.stopping import Stop as StopRequested
from odonata.scenario import reading
from odonata.sweeps import record
from odonata.sweeps.executor import Executor
from odonata.sweeps.pace import Pace
from odonata.sweeps.points import Point
from odonata.sweeps.spec import Spec, Stop
from odonata.sweeps.statistics import interval
from odonata.sweeps.store import Store
from odonata.sweeps.table import measures
from odonata.sweeps.work import Work, alone_key, run_key, run_task

#: Wall time between two checks for a stop request, in seconds.
SLICE_S = 0.1


@dataclass
class Cell:
    """A point with a seed."""

    point: Point
    seed: int
    key: str
    #: The keys of its baselines, by job, once its run has succeeded.
    alone: dict[str, str] = field(default_factory=dict)
    #: Whether all its runs have ended.
    over: bool = False


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep."""

    #: Completed cells, and all cells; the latter grows with a `stop` rule.
    done: int
    planned: int
    #: Runs that ended since the start, including baselines.
    runs: int
    #: Runs found in the store, or shared with another point.
    reused: int
    failed: int
    #: Keys of the running runs, and their progress.
    running: dict[str, float | None]
    wall_s: float
    #: Estimated wall time left, in seconds.
    left_s: float | None


Report = Callable[[Progress], None]


class Scheduler:
    """The execution of one sweep."""

    def __init__(
        self,
        spec: Spec,
        points: list[Point],
        store: Store,
        executor: Executor,
        stop: StopRequested,
        report: Report | None,
    ) -> None:
        self._spec = spec
        self._store = store
        self._executor = executor
        self._stop = stop
        self._report = report
        self.cells: dict[tuple[int, int], Cell] = {}
        #: All ended runs by key, including failures of this computer.
        self.runs: dict[str, dict[str, Any]] = dict(store.runs)
        self._waiting: deque[Work] = deque()
        #: Waiting or running keys, and the cells that need them.
        self._asked: dict[str, list[Cell]] = {}
        self._work: dict[str, Work] = {}
        self._attempts: dict[str, int] = {}
        #: Number of incomplete cells of each point.
        self._open: dict[int, int] = {}
        self.executed = self.reused = 0
        self._over = self._failed = 0
        #: Baselines that are not requested yet, because their run has not ended.
        self._to_come = 0
        #: Wall time of the runs in the store.
        self._earlier_s: list[float] = []
        self._start = time.perf_counter()
        for point in points:
            self._add(point, _seeds(spec, point))

    def run(self) -> None:
        """Runs everything, or until `stop` is requested; runs in progress are then abandoned."""
        while (self._asked or self._waiting) and not self._stop.requested:
            while self._waiting and self._executor.room() > 0:
                self._executor.submit(self._waiting.popleft())
            for kept in self._executor.finished(SLICE_S):
                self._take(kept)
            if self._report is not None:
                self._report(self.progress())

    def is_complete(self, cell: Cell) -> bool:
        """Whether all runs of a cell have ended."""
        return cell.key in self.runs and all(key in self.runs for key in cell.alone.values())

    def failures(self) -> list[tuple[Cell, str | None, dict[str, Any]]]:
        """The failed runs: the cell, the job for a baseline, and the record."""
        found: list[tuple[Cell, str | None, dict[str, Any]]] = []
        for cell in self.cells.values():
            for job, key in ((None, cell.key), *cell.alone.items()):
                kept = self.runs.get(key)
                if kept is not None and not record.is_good(kept):
                    found.append((cell, job, kept))
        return found

    def progress(self) -> Progress:
        """The current progress."""
        running = dict(self._executor.running())
        wall_s = time.perf_counter() - self._start
        part = sum(share or 0.0 for share in running.values())
        pace = Pace(wall_s, self.executed + part, len(running), self._earlier_s)
        # Until their run has ended, every baseline counts, though some will be shared with other points.
        left = len(self._asked) - part + self._to_come
        return Progress(
            self._over,
            len(self.cells),
            self.executed,
            self.reused,
            self._failed,
            running,
            wall_s,
            pace.left_s(left),
        )

    def _add(self, point: Point, seeds: list[int]) -> None:
        self._open[point.index] = self._open.get(point.index, 0) + len(seeds)
        for seed in seeds:
            cell = Cell(point, seed, run_key(point, seed))
            self.cells[point.index, seed] = cell
            self._to_come += len(point.baselines)
            self._ask(cell, Work(cell.key, run_task(point, seed, self._executor.threads)))

    def _ask(self, cell: Cell, work: Work) -> None:
        """Requests `work` for a cell, unless it is done or requested."""
        wants_tables = self._spec.keep == "tables"
        kept = self.runs.get(work.key)
        if kept is not None and (not wants_tables or self._has_tables(kept)):
            self.reused += 1
            if kept["wall_s"] is not None:
                self._earlier_s.append(float(kept["wall_s"]))
            self._ended_for(cell)
            return
        if work.key in self._asked:
            self.reused += 1
            self._asked[work.key].append(cell)
            return
        self.runs.pop(work.key, None)
        folder = self._store.run_folder / work.key if wants_tables else None
        self._asked[work.key] = [cell]
        self._work[work.key] = replace(work, folder=folder, timeout_s=self._spec.timeout_s)
        # Baselines come first: they complete a cell.
        if work.task.only is None:
            self._waiting.append(self._work[work.key])
        else:
            self._waiting.appendleft(self._work[work.key])

    def _has_tables(self, kept: dict[str, Any]) -> bool:
        return kept["folder"] is not None and (self._store.folder / kept["folder"]).is_dir()

    def _take(self, kept: dict[str, Any]) -> None:
        """Keeps the record of an ended run, or retries the run."""
        key = kept["key"]
        attempts = self._attempts[key] = self._attempts.get(key, 0) + 1
        if kept["outcome"] in record.TRIED_AGAIN and attempts < self._spec.attempts:
            self._waiting.append(self._work[key])
            return
        kept["attempts"] = attempts
        self.runs[key] = kept
        self._store.add(kept)
        self.executed += 1
        self._failed += not record.is_good(kept)
        del self._work[key]
        for cell in self._asked.pop(key):
            self._ended_for(cell)

    def _ended_for(self, cell: Cell) -> None:
        """Continues with a cell after one of its runs has ended."""
        if cell.over:
            return
        kept = self.runs[cell.key]
        if not cell.alone:
            self._to_come -= len(cell.point.baselines)
            if record.is_good(kept):
                self._ask_baselines(cell, kept)
        if self.is_complete(cell) and not cell.over:
            cell.over = True
            self._over += 1
            self._open[cell.point.index] -= 1
            if not self._open[cell.point.index]:
                self._replicate(cell.point)

    def _ask_baselines(self, cell: Cell, kept: dict[str, Any]) -> None:
        point = cell.point
        lasted_s = {row["job"]: row["elapsed_s"] for row in kept["jobs"]}
        asked: list[Work] = []
        for job in point.baselines:
            sends_for_s = lasted_s[job] if point.ends_with_others(job) else None
            key = alone_key(point, cell.seed, job, kept["places"][job], sends_for_s)
            cell.alone[job] = key
            task = run_task(point, cell.seed, self._executor.threads)
            asked.append(Work(key, replace(task, only=job, sends_for_s=sends_for_s)))
        for work in asked:
            self._ask(cell, work)

    def _replicate(self, point: Point) -> None:
        """Adds seeds to a point whose intervals are too wide."""
        stop = self._spec.stop
        if stop is None:
            return
        cells = [cell for (index, _), cell in self.cells.items() if index == point.index]
        if len(cells) >= stop.most or not self._too_wide(cells, stop):
            return
        # A quarter more at a time keeps several processes busy between two checks.
        more = min(max(1, len(cells) // 4), stop.most - len(cells))
        first = max(cell.seed for cell in cells) + 1
        self._add(point, list(range(first, first + more)))

    def _too_wide(self, cells: list[Cell], stop: Stop) -> bool:
        values: dict[str, list[float]] = {}
        for cell in cells:
            for job, row in measures(cell, self.runs).items():
                value = row.get(stop.metric)
                if value is not None and (not stop.jobs or job in stop.jobs):
                    values.setdefault(job, []).append(float(value))
        return any(
            not interval(found, self._spec.confidence).relative <= stop.half_width
            for found in values.values()
        )


def _seeds(spec: Spec, point: Point) -> list[int]:
    if not isinstance(spec.seeds, int):
        return list(spec.seeds)
    first = int(point.scenario["seed"])
    # A seed has 63 bits.
    return [(first + number) % (reading.LARGEST_SEED + 1) for number in range(spec.seeds)]
