"""Latency-load curves: accepted load and latency for a series of offered loads.

The core measures a point. This module chooses points and runs several at once. Rates are fractions of the
terminal link's bandwidth per sending rank: flits per node and cycle, if packets are flits and the link takes
one per cycle.
"""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base.folder import ResultFolder
from odonata.base.output_file import whole_file
from odonata.errors import InputError, input_errors, option
from odonata.load_curves.request import MOST_LOADS, Request
from odonata.running import runner
from odonata.running.baselines import cores
from odonata.scenario import reading

#: Wall time between two checks for a stop request, in seconds.
SLICE_S = 0.1

#: Number of saturated loads after which no higher one is started, since it would add no information.
ENOUGH_SATURATED = 2


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep."""

    done: int
    planned: int
    running: tuple[float, ...]
    packets: int


Report = Callable[[Progress], None]


@dataclass
class Sweep:
    """The points of a curve, in the order of completion."""

    core: _core.LoadSweep
    workers: int
    stop: runner.StopRequest
    report: Report | None = None
    points: dict[float, dict[str, Any]] = field(default_factory=dict)
    _running: dict[float, int] = field(default_factory=dict)
    _planned: int = 0

    def run(self, loads: Sequence[float], *, give_up: bool = True) -> None:
        """Measures `loads`, the lowest first, several at once; `give_up` skips those far above saturation.

        Points that were incomplete when `stop` was requested are left out.
        """
        waiting = [load for load in sorted(loads) if load not in self.points]
        self._planned = len(self.points) + len(waiting)
        futures: dict[Future[dict[str, Any] | None], float] = {}
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                while (waiting or futures) and not self.stop.requested:
                    while waiting and len(futures) < self.workers:
                        if give_up and self._enough(waiting[0]):
                            waiting.clear()
                            break
                        load = waiting.pop(0)
                        futures[pool.submit(self._measure, load)] = load
                    # Returns regularly, so that signals are handled.
                    done, _ = wait(futures, timeout=SLICE_S, return_when=FIRST_COMPLETED)
                    for one in done:
                        self._take(futures.pop(one), one.result())
                    self._report_progress()
            except BaseException:
                # The workers end with their slice.
                self.stop.requested = True
                raise
            for one, load in futures.items():
                self._take(load, one.result())

    def _take(self, load: float, result: dict[str, Any] | None) -> None:
        if result is not None:
            self.points[load] = result

    def _enough(self, load: float) -> bool:
        """Whether enough lower loads are saturated to skip `load`."""
        return sum(1 for at, point in self.points.items() if at < load and point["saturated"]) >= (
            ENOUGH_SATURATED
        )

    def _measure(self, load: float) -> dict[str, Any] | None:
        with input_errors():
            point = self.core.point(load)
        self._running[load] = 0
        try:
            while not self.stop.requested:
                state = point.advance(SLICE_S)
                self._running[load] = int(state["packets"])
                if state["finished"]:
                    result: dict[str, Any] = json.loads(point.result())
                    return result
            return None
        finally:
            del self._running[load]

    def _report_progress(self) -> None:
        if self.report is not None:
            running = dict(self._running)
            done = len(self.points)
            self.report(Progress(done, self._planned, tuple(sorted(running)), sum(running.values())))

    def bracket(self) -> tuple[float | None, float | None]:
        """The highest stable load below every saturated one, and the lowest saturated one."""
        saturated = [load for load, point in self.points.items() if point["saturated"]]
        first = min(saturated, default=None)
        stable = [
            load
            for load, point in self.points.items()
            if not point["saturated"] and not point["failed"] and (first is None or load < first)
        ]
        return max(stable, default=None), first

    def search(self, tolerance: float) -> None:
        """Narrows the bracket to `tolerance`, with as many points at once as there are workers."""
        while not self.stop.requested and len(self.points) < MOST_LOADS:
            stable, first = self.bracket()
            if first is None or first - (stable or 0.0) <= tolerance:
                return
            low = stable or 0.0
            # No finer than the tolerance.
            sections = min(self.workers + 1, max(2, math.ceil((first - low) / tolerance)))
            loads = [round(low + (first - low) * k / sections, 9) for k in range(1, sections)]
            if all(load in self.points for load in loads):
                return
            self.run(loads, give_up=False)


def measure(
    task: runner.Task,
    asked: Request,
    *,
    stop: runner.StopRequest,
    report: Report | None = None,
    folder: ResultFolder | None = None,
) -> dict[str, Any]:
    """The requested curve of a scenario, with the content of `sweep.json`.

    If there is a `folder`, it is written there.
    """
    reading.check_seed(task.seed)
    found = _measured(task, asked, stop, report)
    if folder is not None:
        write(found, folder.path)
    return found


def _measured(
    task: runner.Task, asked: Request, stop: runner.StopRequest, report: Report | None
) -> dict[str, Any]:
    method = asked.method
    started = time.perf_counter()
    try:
        with input_errors():
            core = _core.LoadSweep(
                task.text, task.path, task.overrides, task.seed, asked.job, json.dumps(method)
            )
    except InputError:
        raise
    except ValueError:  # it names a type of the core, which does not help the user
        raise InputError(
            "invalid parameter of the method",
            key=option("sample_period") + ", " + option("latency_threshold"),
            value=", ".join(f"{key} {value}" for key, value in method.items() if key != "method"),
            expected='times such as "500 ns", or whole numbers of clock cycles',
        ) from None
    with input_errors():
        machine: dict[str, Any] = json.loads(_core.describe(task.text, task.path, task.overrides))
        machine["routing"] = json.loads(_core.prove(task.text, task.path, task.overrides))
    common: dict[str, Any] = json.loads(core.description())
    sweep = Sweep(core, asked.workers or cores(), stop, report)
    sweep.run(asked.loads)
    if asked.saturation is not None and not stop.requested:
        sweep.search(asked.saturation)
    points = [sweep.points[load] for load in sorted(sweep.points)]
    stable, first = sweep.bracket()
    failed = any(point["failed"] for point in points)
    outcome = "interrupted" if stop.requested else "failed" if failed else "completed"
    scenario = common.pop("scenario")
    return {
        "kind": "load-sweep",
        "outcome": outcome,
        "version": _core.__version__,
        "name": scenario["name"],
        "seed": scenario["seed"],
        **common,
        "points": points,
        "saturation": {"last_stable": stable, "first_saturated": first, "tolerance": asked.saturation},
        "cpu_s": sum(point["cpu_s"] for point in points),
        "wall_s": time.perf_counter() - started,
        "machine": machine,
        "scenario": scenario,
    }


#: The file that marks a folder as the result of a sweep, and the table beside it.
SWEEP_FILE, TABLE_FILE = "sweep.json", "points.csv"


def write(report: dict[str, Any], folder: Path) -> None:
    """Writes `report` to `folder`: first the points as a table, then everything."""
    with io.StringIO(newline="") as text:
        rows = [flat(point) for point in report["points"]]
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(text, names)
        writer.writeheader()
        writer.writerows(rows)
        with whole_file(folder / TABLE_FILE) as file:
            file.write(text.getvalue().encode())
    with whole_file(folder / SWEEP_FILE) as file:
        file.write((json.dumps(report, indent=2, ensure_ascii=False) + "\n").encode())


def flat(point: dict[str, Any]) -> dict[str, Any]:
    """A point as one row; latencies become `mean_ns`, `mean_cycles`, ...

    >>> flat({"offered": 0.1, "latency_ns": {"mean": 5.0}, "latency_cycles": None})
    {'offered': 0.1, 'mean_ns': 5.0}
    """
    row: dict[str, Any] = {}
    for name, value in point.items():
        if name.startswith("latency_"):
            unit = name.removeprefix("latency_")
            row |= {f"{key}_{unit}": number for key, number in (value or {}).items()}
        else:
            row[name] = value
    return row


def unit(points: Iterable[dict[str, Any]]) -> str:
    """The unit of latencies: `cycles` if the traffic has a clock, else `ns`."""
    return "cycles" if any(point["latency_cycles"] for point in points) else "ns"
