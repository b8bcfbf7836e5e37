"""The tables of a sweep: a row per point, seed and job; a row per point, job and measure with its interval.

Swept keys are columns, under the name that the user wrote. The metadata of their fields have `odonata.swept`
= `true`, and their unit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odonata.analysis import slowdown
from odonata.analysis.measured import GOOD_OUTCOMES
from odonata.analysis.parquet import documentation
from odonata.base.wording import column_words
from odonata.sweeps import record
from odonata.sweeps.pairs import Pairs
from odonata.sweeps.statistics import interval
from odonata.sweeps.values import column as values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.sweeps.scheduler import Cell

#: Metadata that marks the column of a swept key.
SWEPT = b"odonata.swept"

POINTS_DOC = (
    "One row per point of the sweep, seed and job. Null where a measure does not apply, or there is none."
)
INTERVALS_DOC = (
    "One row per point of the sweep, job and measure: mean over the seeds, and its confidence interval."
)

PAIRS_DOC = "One row per point but the first, job and measure: its ratio to the first point, seed by seed."


@dataclass(frozen=True)
class Column:
    """A column of every sweep."""

    name: str
    kind: str
    unit: str
    doc: str
    #: Its role for `odonata report`: `name`, `axis`, `replication` or `metric`.
    role: str = "name"


#: The columns after the swept keys.
_ENDING = (
    Column("seed", "int64", "", "Seed of the run.", "replication"),
    Column("outcome", "string", "", "How the run ended, as in run.json; or how its process did."),
    Column("detail", "string", "", "The same in a sentence, if there is more to say."),
    Column("baseline", "string", "", "How the job alone ended; null without baselines."),
    Column("digest", "string", "", "Digest of the results: equal digests, equal results."),
    Column("attempts", "int64", "", "Starts of the run; processes that die are started again."),
    Column("run_simulated_s", "float64", "s", "Simulated time of the run."),
    Column("run_wall_s", "float64", "s", "Wall time of the run."),
    Column("run_cpu_s", "float64", "s", "CPU time of the run."),
    Column("run_events", "int64", "", "Events of the run."),
    Column(
        "folder",
        "string",
        "",
        'Results of the run with all tables, in the folder of the sweep (keep = "tables").',
    ),
    Column("job", "string", "", "Name of the job."),
)

_INTERVAL = (
    Column("job", "string", "", "Name of the job."),
    Column("measure", "string", "", "Name of the column of the table of points."),
    Column("unit", "string", "", "Its unit; empty if it has none."),
    Column("seeds", "int64", "", "Seeds for which there is a value."),
    Column(
        "results",
        "int64",
        "",
        "Different results (digests) of these seeds; 1 of several seeds: nothing in the runs is random.",
    ),
    Column("mean", "float64", "", "Mean over the seeds."),
    Column(
        "half_width",
        "float64",
        "",
        "Half-width of the confidence interval of the mean; null of one seed, and of one result.",
    ),
    Column("low", "float64", "", "Lower end of the interval."),
    Column("high", "float64", "", "Upper end of the interval."),
    Column("deviation", "float64", "", "Standard deviation over the seeds."),
    Column("least", "float64", "", "Smallest value."),
    Column("largest", "float64", "", "Largest value."),
)


_PAIRS = (
    Column("against", "int64", "", "Number of the point that it is compared with."),
    Column("job", "string", "", "Name of the job."),
    Column("measure", "string", "", "Name of the column of the table of points."),
    Column("pairs", "int64", "", "Seeds that both points have; equal runs count once."),
    Column("ratio", "float64", "", "Geometric mean over the seeds of the measure / that of `against`."),
    Column("low", "float64", "", "Lower end of the ratio's confidence interval; null of one pair."),
    Column("high", "float64", "", "Upper end of the interval."),
    Column("fell", "int64", "", "Seeds with which the measure is smaller than at `against`."),
    Column("rose", "int64", "", "Seeds with which it is larger."),
)


@functools.cache
def job_columns() -> tuple[Column, ...]:
    """The measures of a job: those of the tables `jobs` and `slowdown`, each once."""
    documented = {table["table"]: table["columns"] for table in documentation()}
    found = [
        Column(c["name"], c["type"], c["unit"], c["doc"], "name" if c["type"] == "string" else "metric")
        for c in documented["jobs"]
        if c["name"] != "job"
    ]
    names = {column.name for column in found}
    for metric in slowdown.METRICS:
        if metric.column not in names:
            found.append(Column(metric.column, "float64", metric.unit, f"{metric.doc}.", "metric"))
        finished = " (both finished)" if metric.whole else ""
        found += [
            Column(
                f"{metric.name}_alone{metric.suffix}",
                "float64",
                metric.unit,
                f"{metric.doc}; alone.",
                "metric",
            ),
            Column(
                f"{metric.name}_ratio", "float64", "", f"{metric.doc}: together / alone{finished}.", "metric"
            ),
        ]
    return tuple(found)


#: Measures with a name of their own.
_WORDS = {
    "elapsed": "time",
    "mpi": "time in MPI",
    "io": "time in I/O",
    "compute": "computation",
    "io_bandwidth": "I/O rate",
    # Their number is a measure too.
    "metadata_calls_s": "time in metadata calls",
}


def words(measure: str) -> str:
    """A measure in words, without its unit.

    >>> words("elapsed_ratio"), words("io_ratio"), words("elapsed_s")
    ('slowdown', 'slowdown of time in I/O', 'time')
    >>> words("message_latency_p99_s"), words("io_bandwidth_bytes_per_s"), words("mpi_alone_s")
    ('message latency p99', 'I/O rate', 'time in MPI, alone')
    """
    if measure in _WORDS:
        return _WORDS[measure]
    name = measure
    for suffix in ("_bytes_per_s", "_s", "_bytes"):
        if name.endswith(suffix):
            name = name.removesuffix(suffix)
            break
    if name == "elapsed_ratio":
        return "slowdown"
    ratio, alone = name.endswith("_ratio"), name.endswith("_alone")
    name = name.removesuffix("_ratio").removesuffix("_alone")
    label = _WORDS.get(name, column_words(name))
    if ratio:
        # A larger rate is better.
        return (
            f"{label}, together / alone"
            if "rate" in label or "bandwidth" in label
            else f"slowdown of {label}"
        )
    return f"{label}, alone" if alone else label


def measure_names() -> list[str]:
    """The columns with measures of a job, which have intervals."""
    return [column.name for column in job_columns() if column.kind != "string"]


def measures(cell: Cell, runs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The measures of every job of a cell; none if its run has no results."""
    found: dict[str, dict[str, Any]] = {}
    for row in runs[cell.key]["jobs"]:
        job = row["job"]
        alone = runs.get(cell.alone.get(job, ""))
        measured = dict(row)
        if alone is not None and alone["jobs"] and record.is_good(alone):
            given = cell.point.ends_with_others(job)
            for metric in slowdown.METRICS:
                compared = metric.compare(alone["jobs"][0], row, given_time=given)
                measured[f"{metric.name}_alone{metric.suffix}"] = compared.alone
                measured[f"{metric.name}_ratio"] = compared.ratio
        found[job] = {name: _known(value) for name, value in measured.items()}
    return found


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def points_table(keys: list[str], cells: Iterable[Cell], runs: Mapping[str, Mapping[str, Any]]) -> pa.Table:
    """The table of completed points: a row per job, also for jobs without results."""
    rows = []
    for cell in cells:
        kept = runs[cell.key]
        found = measures(cell, runs)
        common = {
            "point": cell.point.index,
            "seed": cell.seed,
            **{name: kept[name] for name in ("outcome", "detail", "digest", "attempts", "folder")},
            **{f"run_{name}": kept[name] for name in ("simulated_s", "wall_s", "cpu_s", "events")},
            **{f"swept {key}": cell.point.values.get(key) for key in keys},
        }
        for job in cell.point.jobs:
            alone = runs.get(cell.alone.get(job, ""))
            ended = None if alone is None else alone["outcome"]
            rows.append(common | found.get(job, {}) | {"job": job, "baseline": ended})
    columns = [Column("point", "int64", "", "Number of the point: equal numbers, equal values of all keys.")]
    fields, arrays = _start(columns, keys, rows)
    for column in (*_ENDING, *job_columns()):
        fields.append(_field(column))
        arrays.append(_array([row.get(column.name) for row in rows], fields[-1].type))
    return _table(fields, arrays, POINTS_DOC)


def intervals_table(points: pa.Table, keys: list[str], confidence: float) -> pa.Table:
    """The table of intervals, from that of the points; failed runs are left out."""
    units = {column.name: column.unit for column in job_columns()}
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in points.to_pylist():
        groups.setdefault((row["point"], row["job"]), []).append(row)
    rows = []
    for (point, job), members in groups.items():
        good = [row for row in members if row["outcome"] in GOOD_OUTCOMES]
        results = len({row["digest"] for row in good})
        for name in measure_names():
            values = [float(row[name]) for row in good if row[name] is not None]
            if not values:
                continue
            # Equal runs are one observation, whatever the number of seeds.
            found = interval(values if results > 1 else values[:1], confidence)
            rows.append(
                {f"swept {key}": members[0][key] for key in keys}
                | {
                    "point": point, "job": job, "measure": name, "unit": units[name], "seeds": len(values),
                    "results": results,
                    "mean": found.mean, "half_width": _known(found.half_width), "low": _known(found.low),
                    "high": _known(found.high), "deviation": _known(found.deviation),
                    "least": min(values), "largest": max(values),
                }
            )  # fmt: skip
    columns = [Column("point", "int64", "", "Number of the point.")]
    fields, arrays = _start(columns, keys, rows)
    # The values of the table of points stay.
    for number, key in enumerate(keys, len(columns)):
        fields[number] = points.schema.field(key)
        arrays[number] = _array([row[f"swept {key}"] for row in rows], fields[number].type)
    for column in _INTERVAL:
        fields.append(_field(column))
        arrays.append(_array([row[column.name] for row in rows], fields[-1].type))
    return _table(fields, arrays, INTERVALS_DOC)


def pairs_table(
    points: pa.Table, keys: list[str], confidence: float, against: int = 0, measures: tuple[str, ...] = ()
) -> pa.Table:
    """The table of points compared with one of them, seed by seed, from that of the points."""
    values = {row["point"]: row for row in points.select(["point", *keys]).to_pylist()}
    rows = [
        row | {f"swept {key}": values[row["point"]][key] for key in keys}
        for row in Pairs(points, measures or tuple(measure_names()), confidence).rows(against)
    ]
    fields, arrays = _start([Column("point", "int64", "", "Number of the point.")], keys, rows)
    for number, key in enumerate(keys, 1):
        fields[number] = points.schema.field(key)
        arrays[number] = _array([row[f"swept {key}"] for row in rows], fields[number].type)
    for column in _PAIRS:
        fields.append(_field(column))
        arrays.append(_array([row[column.name] for row in rows], fields[-1].type))
    return _table(fields, arrays, PAIRS_DOC)


def swept_keys(table: pa.Table) -> list[str]:
    """The swept keys among the columns of a sweep's table."""
    return [field.name for field in table.schema if (field.metadata or {}).get(SWEPT) == b"true"]


def _start(columns: list[Column], keys: list[str], rows: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Fields and arrays of the first columns and of the swept keys."""
    import pyarrow as pa

    fields, arrays = [], []
    for column in columns:
        fields.append(_field(column))
        arrays.append(_array([row[column.name] for row in rows], fields[-1].type))
    for key in keys:
        values, unit = values_of([row[f"swept {key}"] for row in rows])
        metadata = {SWEPT: b"true", b"role": b"axis", b"description": f"Swept: {key}.".encode()}
        if unit:
            metadata[b"unit"] = unit.encode()
        array = pa.array(values) if values else pa.array([], pa.string())
        fields.append(pa.field(key, array.type, metadata=metadata))
        arrays.append(array)
    return fields, arrays


def _field(column: Column) -> pa.Field:
    import pyarrow as pa

    # Unlike the core's columns, any of them may lack values.
    kind = {"string": pa.string(), "float64": pa.float64()}.get(column.kind, pa.int64())
    metadata = {"description": column.doc, "role": column.role} | (
        {"unit": column.unit} if column.unit else {}
    )
    return pa.field(column.name, kind, metadata=metadata)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_floating(kind):
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, kind)


def _table(fields: list[Any], arrays: list[Any], doc: str) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"description": doc}))
