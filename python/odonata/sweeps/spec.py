"""The specification of a sweep: the scenario, the axes of its points, seeds, and execution.

It comes from a sweep file (TOML), options of the command or arguments of `odonata.sweep`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from odonata.errors import of_another_kind, option
from odonata.scenario.reading import check_seed
from odonata.sweeps import axes
from odonata.sweeps.axes import Axis
from odonata.sweeps.reader import Source, Table, read
from odonata.sweeps.values import parse

#: Most seeds of a point, and the default of a `stop` rule.
MOST_SEEDS, DEFAULT_MOST = 10_000, 50

#: The keys of a sweep file.
KEYS = (
    "scenario", "name", "set", "grid", "zip", "points", "sample", "seeds", "stop", "confidence", "baselines",
    "processes", "timeout", "attempts", "keep", "dask", "slurm",
)  # fmt: skip


@dataclass(frozen=True)
class Stop:
    """The rule for enough seeds of a point: the interval of a metric's mean is narrow."""

    #: A measure of the table of points, such as `elapsed_ratio`.
    metric: str
    #: Half-width of the interval, as a share of the mean.
    half_width: float
    #: Most seeds.
    most: int = DEFAULT_MOST
    #: The jobs that must satisfy it; empty: all jobs with the metric.
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slurm:
    """Workers of a sweep as jobs of the batch system Slurm.

    >>> Slurm("short", time="02:00:00", workers=8).memory
    '4 GB'
    """

    #: The partition; None: the default one.
    partition: str | None = None
    #: Wall time of a worker, HH:MM:SS.
    time: str = "01:00:00"
    memory: str = "4 GB"
    #: Cores of a worker; each executes a point.
    cores: int = 1
    #: Workers; each is a job of Slurm.
    workers: int = 1
    account: str | None = None
    #: Further directives, such as `--qos=short`.
    directives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spec:
    """A sweep, as specified."""

    scenario: Path
    name: str
    source: Source = field(default_factory=Source)
    #: The scenario's text, if it is not a file.
    text: str | None = None
    #: Settings of all points.
    fixed: Mapping[str, Any] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    #: Seeds of every point: their number, counted from the scenario's seed, or a list.
    seeds: int | tuple[int, ...] = 1
    stop: Stop | None = None
    #: Level of the confidence intervals.
    confidence: float = 0.95
    #: Whether every job also runs alone; None: as the scenario says.
    baselines: bool | None = None
    processes: int | None = None
    #: Largest wall time of a run, in seconds.
    timeout_s: float | None = None
    #: Number of attempts for a run whose process crashes.
    attempts: int = 3
    #: Which tables of every run are kept.
    keep: str = "nothing"
    #: Address of a Dask scheduler.
    dask: str | None = None
    slurm: Slurm | None = None


def is_sweep(table: Table) -> bool:
    """Whether a file is a sweep: only a sweep names its scenario."""
    return "scenario" in table.values


def of_file(table: Table) -> Spec:
    """The sweep of a file; raises `InputError` if invalid."""
    file = table.source.file
    assert file is not None
    if other := of_another_kind(str(file), table.values, "a sweep"):
        raise other
    table.refuse_others(KEYS)
    scenario = table.get("scenario", str, "the path of a scenario")
    fixed = axes.flat(Table(table.values.get("set", {}), table.source, "set"))
    found = [*axes.grid(table), *axes.zipped(table), *axes.listed(table), *axes.sampled(table)]
    axes.refuse_twice(table.source, found, fixed)
    spec = Spec(
        scenario=file.parent / scenario,
        name=table.get("name", str, "a text") or file.stem,
        source=table.source,
        fixed=fixed,
        axes=tuple(found),
        seeds=_seeds(table),
        stop=_stop(table),
        confidence=table.share("confidence", 0.95),
        baselines=table.get("baselines", bool, "true or false"),
        processes=table.count("processes", 0) or None,
        timeout_s=_time(table, "timeout"),
        attempts=table.count("attempts", 3, most=100),
        keep=table.one_of("keep", ("nothing", "tables"), "nothing"),
        dask=table.get("dask", str, "the address of a Dask scheduler"),
        slurm=_slurm(table),
    )
    return checked(spec)


def checked(spec: Spec) -> Spec:
    """The same sweep, if its parts fit together; otherwise raises `InputError`."""
    count = math.prod(len(axis.rows) for axis in spec.axes)
    if count > axes.MOST_POINTS:
        raise spec.source.error(
            "too many points", "grid", value=count, expected=f"at most {axes.MOST_POINTS}"
        )
    if spec.dask is not None and spec.slurm is not None:
        raise spec.source.error("two places to run", "dask", value=spec.dask, expected="dask or slurm")
    if spec.stop is not None and not isinstance(spec.seeds, int):
        raise spec.source.error(
            "a list of seeds is complete",
            "seeds",
            value=list(spec.seeds),
            expected="a number of seeds",
        )
    if spec.stop is not None and isinstance(spec.seeds, int):
        # An interval needs two seeds; with three it is somewhat reliable.
        least = max(spec.seeds, 3)
        if spec.stop.most < least:
            raise spec.source.error(
                "fewer than the seeds of a point",
                "stop.most",
                value=spec.stop.most,
                expected=f"{least} or more",
            )
        spec = replace(spec, seeds=least)
    return spec


def _seeds(table: Table) -> int | tuple[int, ...]:
    value = table.get("seeds", (int, list), "a number of seeds, or a list of them")
    if not isinstance(value, list):
        return table.count("seeds", 1, most=MOST_SEEDS)
    return seed_list(value, table.source, "seeds")


def seed_list(values: Sequence[Any], source: Source, key: str) -> tuple[int, ...]:
    """A list of distinct seeds."""
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in values)
    if not values or not whole or len(set(values)) < len(values):
        raise source.error("not a list of seeds", key, value=values, expected="whole numbers, each once")
    for one in values:
        check_seed(one)
    return tuple(values)


def _stop(table: Table) -> Stop | None:
    inner = table.table("stop")
    if inner is None:
        return None
    inner.refuse_others(("metric", "half_width", "most", "jobs"))
    jobs = inner.get("jobs", list, "a list of names of jobs") or []
    return Stop(
        metric=inner.get("metric", str, "a measure such as elapsed_ratio") or "elapsed_ratio",
        half_width=inner.share("half_width", 0.05),
        most=inner.count("most", DEFAULT_MOST, 2, MOST_SEEDS),
        jobs=tuple(str(job) for job in jobs),
    )


def _time(table: Table, name: str) -> float | None:
    text = table.get(name, str, 'a time such as "10 min"')
    return None if text is None else seconds(text, table.source, table.key(name))


def seconds(text: str, source: Source, key: str) -> float:
    """A time above zero, in seconds."""
    found = parse(text)
    scale = {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}.get(found[1] if found else "")
    if found is None or scale is None or found[0] <= 0:
        raise source.error("not a time", key, value=text, expected='a time such as "30 s", "10 min" or "2 h"')
    return found[0] * scale


def _slurm(table: Table) -> Slurm | None:
    inner = table.table("slurm")
    if inner is None:
        return None
    inner.refuse_others(("partition", "time", "memory", "cores", "workers", "account", "directives"))
    texts = {name: inner.get(name, str, "a text") for name in ("partition", "time", "memory", "account")}
    return Slurm(
        **{name: value for name, value in texts.items() if value is not None},
        cores=inner.count("cores", 1),
        workers=inner.count("workers", 1),
        directives=tuple(map(str, inner.get("directives", list, "a list of texts") or [])),
    )


def seeds_option(text: str) -> int | tuple[int, ...]:
    """The value of an option `--seeds 20` or `--seeds 1,5,9`."""
    source = Source()
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise source.error(
            "no seeds", option("seeds"), value=text, expected="a number of seeds, or a list"
        ) from None
    if "," in text:
        return seed_list(numbers, source, option("seeds"))
    if not 1 <= numbers[0] <= MOST_SEEDS:
        raise source.error("no seeds", option("seeds"), value=text, expected=f"1 to {MOST_SEEDS} seeds")
    return numbers[0]


def load(file: Path) -> Spec:
    """The sweep of a file; a scenario becomes a sweep with a single point."""
    table = read(file)
    if is_sweep(table):
        return of_file(table)
    return Spec(scenario=file, name=file.stem)
