"""A sweep from its specification to its tables."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from odonata import _core
from odonata.analysis import tables
from odonata.base.output_file import whole_file
from odonata.errors import InputError
from odonata.running import runner
from odonata.running.stopping import Stop
from odonata.scenario import reading
from odonata.scenario.given import override_list, text_and_path
from odonata.sweeps import points as sweep_points
from odonata.sweeps import spec as specs
from odonata.sweeps import table as sweep_table
from odonata.sweeps.axes import Axis, list_axis
from odonata.sweeps.executor import Executor
from odonata.sweeps.executor.local import Local
from odonata.sweeps.page import sweep_progress
from odonata.sweeps.reader import Source, Table, unknown
from odonata.sweeps.result import KIND, Sweep
from odonata.sweeps.scheduler import Cell, Progress, Scheduler
from odonata.sweeps.spec import Spec
from odonata.sweeps.store import INTERVALS, PAIRS, POINTS, SWEEP_FILE, Store

if TYPE_CHECKING:
    from odonata.scenario.given import ScenarioLike

#: Version of sweep.json.
FORMAT = 1


def sweep(
    scenario: ScenarioLike,
    out: str | os.PathLike[str] | None = None,
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    baselines: bool | None = None,
    processes: int | None = None,
    dask: str | None = None,
    slurm: specs.Slurm | None = None,
    keep: Literal["nothing", "tables"] | None = None,
    reuse: Sequence[str | os.PathLike[str]] = (),
    progress: Callable[[Progress], None] | bool | None = None,
) -> Sweep:
    """Runs a scenario at many points of its keys, each with several seeds.

    Args:
        scenario: A sweep file (docs/sweeps.md), a scenario file, a `Scenario`, or one as a dictionary.
        out: Folder of the sweep. Completed runs in it are not repeated. Without it the results stay in
            memory.
        over: Further axes: a list of values for a key of the scenario.
        seeds: Seeds of every point: their number, or a list.
        overrides: Settings of all points, by dotted key.
        baselines: Also run every job alone. Default: as the scenario says.
        processes: Simultaneous runs. Default: one per core.
        dask: Address of a Dask scheduler whose workers execute the runs.
        slurm: The Slurm jobs that execute the runs.
        keep: "tables" keeps all tables of every run.
        reuse: Folders of other sweeps, whose runs are not repeated.
        progress: Called about ten times a second; or whether to show a line. Default: only in notebooks.

    Raises:
        InputError: The sweep or one of its points is invalid; nothing was run.

    >>> import odonata
    >>> found = odonata.sweep("examples/interference.toml", over={"jobs.training.ranks": [32, 64]}, seeds=3)
    ... # doctest: +SKIP
    >>> found.intervals("elapsed_ratio").to_pandas()  # doctest: +SKIP
    """
    if isinstance(scenario, str | os.PathLike):
        spec = specs.load(Path(scenario))
    else:
        text, path = text_and_path(scenario)
        name = scenario.get("name") if isinstance(scenario, Mapping) else scenario.name
        spec = Spec(Path(path), str(name or "sweep"), text=text)
    axes = [
        list_axis(key, [_own(value) for value in values], Table({}, Source()), f"over.{key}")
        for key, values in (over or {}).items()
    ]
    chosen: dict[str, Any] = {
        "baselines": baselines,
        "processes": processes,
        "dask": dask,
        "slurm": slurm,
        "keep": keep,
    }
    if seeds is not None:
        chosen["seeds"] = (
            int(seeds) if isinstance(seeds, int | Integral) else tuple(_own(seed) for seed in seeds)
        )
    spec = amended(spec, axes, chosen)
    settings = override_list(overrides)
    with (
        contextlib.ExitStack() as scratch,
        runner.StopRequest() as stop,
        sweep_progress(progress) as report,
    ):
        if out is None:
            out = scratch.enter_context(tempfile.TemporaryDirectory(prefix="odonata-"))
            found = execute(spec, Path(out) / "sweep", settings, reuse=reuse, stop=stop, report=report)
            found.path = None
            return found
        return execute(spec, out, settings, reuse=reuse, stop=stop, report=report)


def _own(value: Any) -> Any:
    """Converts numbers of numpy to Python; other values stay.

    >>> import numpy as np
    >>> [_own(value) for value in (np.int64(8), "8 KiB", 0.5)]
    [8, '8 KiB', 0.5]
    """
    return value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value


def amended(spec: Spec, axes: Sequence[Axis], chosen: Mapping[str, Any]) -> Spec:
    """A sweep with further axes and with values of options; None leaves a value unchanged."""
    there = [key for axis in spec.axes for key in axis.keys]
    for axis in axes:
        for key in axis.keys:
            if key in there:
                raise InputError("a repeated key", key=axis.where[0], value=key, expected="each key once")
            there.append(key)
    options = {name: value for name, value in chosen.items() if value is not None}
    if "dask" in options:
        options.setdefault("slurm", None)
    elif "slurm" in options:
        options["dask"] = None
    return specs.checked(replace(spec, axes=(*spec.axes, *axes), **options))


def execute(
    spec: Spec,
    out: str | os.PathLike[str],
    settings: list[str],
    *,
    reuse: Sequence[str | os.PathLike[str]] = (),
    stop: Stop,
    report: Callable[[Progress], None] | None = None,
) -> Sweep:
    """Runs the sweep `spec` in the folder `out`, or the rest of it; `settings` are KEY=VALUE."""
    begin = time.perf_counter()
    points = sweep_points.list_points(spec, spec.text or reading.read_scenario(spec.scenario), settings)
    _check_stop(spec, points)
    with Store(out, [Path(one) for one in reuse]) as store, contextlib.ExitStack() as stack:
        executor = _executor(spec, store)
        stack.callback(executor.close)
        scheduler = Scheduler(spec, points, store, executor, stop, report)
        scheduler.run()
        stack.close()
        cells = sorted(
            (cell for cell in scheduler.cells.values() if scheduler.is_complete(cell)),
            key=lambda cell: (cell.point.index, cell.seed),
        )
        keys = [key for axis in spec.axes for key in axis.keys]
        table = sweep_table.points_table(keys, cells, scheduler.runs)
        intervals = sweep_table.intervals_table(table, keys, spec.confidence)
        description = _description(
            spec, points, scheduler, table, interrupted=len(cells) < len(scheduler.cells)
        )
        description["wall_s"] = time.perf_counter() - begin
        return _written(Sweep(description, table, intervals, store.folder))


def _executor(spec: Spec, store: Store) -> Executor:
    if spec.slurm is not None or spec.dask is not None:
        from odonata.sweeps.executor import cluster

        return (
            cluster.slurm(spec.slurm, store.folder / "slurm")
            if spec.slurm is not None
            else cluster.Cluster(spec.dask)
        )
    return Local(spec.processes)


def _check_stop(spec: Spec, points: list[sweep_points.Point]) -> None:
    """Refuses a rule whose metric or jobs will never appear."""
    if spec.stop is None:
        return
    names = sweep_table.measure_names()
    if spec.stop.metric not in names:
        raise unknown(spec.source, "stop.metric", spec.stop.metric, names, "unknown measure")
    jobs = list(dict.fromkeys(job for point in points for job in point.jobs))
    for job in spec.stop.jobs:
        if job not in jobs:
            raise unknown(spec.source, "stop.jobs", job, jobs, "no job of that name:")
    if spec.stop.metric.endswith(("_ratio", "_alone_s")) and not any(point.baselines for point in points):
        raise spec.source.error(
            'the sweep has no baselines', "stop.metric", value=spec.stop.metric,
            expected="baselines = true, and several jobs",
        )  # fmt: skip


def _description(
    spec: Spec, points: list[sweep_points.Point], scheduler: Scheduler, table: Any, *, interrupted: bool
) -> dict[str, Any]:
    """The content of sweep.json, except for the wall time."""
    failed = [_failure(*one) for one in scheduler.failures()]
    seeds: dict[int, int] = {}
    for index, _ in scheduler.cells:
        seeds[index] = seeds.get(index, 0) + 1
    swept = []
    for key in (key for axis in spec.axes for key in axis.keys):
        unit = (table.schema.field(key).metadata or {}).get(b"unit", b"").decode()
        values: list[Any] = []
        for point in points:
            value = point.values.get(key)
            if value not in values:
                values.append(value)
        swept.append({"key": key, "unit": unit, "values": values})
    return {
        "kind": KIND,
        "format": FORMAT,
        "version": _core.__version__,
        "name": spec.name,
        "outcome": "interrupted" if interrupted else "failed" if failed else "completed",
        "scenario": str(spec.scenario),
        "swept": swept,
        "points": len(points),
        "seeds": max(seeds.values(), default=0),
        "confidence": spec.confidence,
        "runs": {"executed": scheduler.executed, "reused": scheduler.reused},
        "failed": failed,
    }


def _failure(cell: Cell, job: str | None, kept: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "point": cell.point.index,
        "seed": cell.seed,
        "alone": job,
        **{name: kept[name] for name in ("outcome", "detail", "attempts")},
        "values": dict(cell.point.values),
    }


def _written(found: Sweep) -> Sweep:
    """The same sweep, after writing its files, sweep.json last."""
    assert found.path is not None
    tables.write(found.table, found.path, POINTS)
    tables.write(found.intervals(), found.path, INTERVALS)
    tables.write(found.pairs(), found.path, PAIRS)
    with whole_file(found.path / SWEEP_FILE) as file:
        text = json.dumps(found.description, indent=2, ensure_ascii=False, default=_plain)
        file.write(text.encode() + b"\n")
    return found


def _plain(value: Any) -> Any:
    """Converts TOML values without a JSON type: times of day."""
    return None if isinstance(value, float) and math.isnan(value) else str(value)
