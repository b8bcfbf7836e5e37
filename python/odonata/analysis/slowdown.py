"""The table `slowdown`: each metric of a job alone, together with the other jobs, and their ratio.

The list `METRICS` defines both the table, computed from a run and its baselines, and its documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from odonata.analysis.measured import counted_by, needed

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.results.results import Results

NAME = "slowdown"
DOC = (
    "One row per job: alone, together with the others, and together / alone (only with run.baselines). "
    "Not a number where a metric does not apply, or the baseline is missing (run.json says why). "
    "Traffic that others tell to stop sends as long alone as together: what compares are its latencies."
)

#: A job's row of the table `jobs`, with the percentiles of its I/O messages.
Row = Mapping[str, Any]


class Slowdown(NamedTuple):
    """A metric of a job alone, together with the others, and the ratio of the second to the first.

    >>> Slowdown(0.5, 0.75, 1.5).ratio
    1.5
    """

    alone: float
    together: float
    ratio: float


@dataclass(frozen=True)
class Metric:
    """One metric of the table."""

    name: str
    #: Unit, as in the tables of the core.
    unit: str
    doc: str
    #: Column of the table `jobs`.
    column: str
    #: Whether it grows until the job ends; only finished jobs are then compared.
    whole: bool = False

    @property
    def count(self) -> str | None:
        """Column that is 0 if the metric does not apply."""
        return counted_by(self.column)

    @property
    def suffix(self) -> str:
        """Unit as part of a column's name."""
        return {"s": "_s", "bytes/s": "_bytes_per_s"}[self.unit]

    def value(self, row: Row | None) -> float:
        """Returns the metric of a job; NaN if it does not apply."""
        if row is None or (self.count is not None and not row[self.count]):
            return math.nan
        return float(row[self.column])

    def compare(self, alone: Row | None, together: Row, *, given_time: bool = False) -> Slowdown:
        """Compares the metric of a job alone and together; `given_time`: both last equally long."""
        one, other = self.value(alone), self.value(together)
        finished = all(row is not None and _finished(row) for row in (alone, together))
        comparable = not self.whole or (finished and not given_time)
        ratio = other / one if comparable and one > 0 else math.nan
        return Slowdown(one, other, ratio)


def _times() -> list[Metric]:
    documented = {
        "elapsed": "From the job's start to the end of its last rank",
        "mpi": "Time blocked in MPI calls, mean over ranks",
        "mpi_max": "Time blocked in MPI calls, largest of all ranks",
        "io": "Time blocked in I/O, mean over ranks",
        "io_max": "Time blocked in I/O, largest of all ranks",
        "non_compute": "Elapsed time less computation, mean over ranks",
        "non_compute_max": "Elapsed time less computation, largest of all ranks",
    }
    return [Metric(name, "s", doc, f"{name}_s", whole=True) for name, doc in documented.items()]


def _latencies(prefix: str, what: str, measures: Mapping[str, str]) -> list[Metric]:
    return [
        Metric(f"{prefix}_{measure}", "s", f"{what}: {words}", f"{prefix}_{measure}_s")
        for measure, words in measures.items()
    ]


_ALL = {"mean": "mean", "p50": "median", "p99": "99th percentile", "max": "largest"}
_SOME = {"mean": "mean", "p99": "99th percentile", "max": "largest"}

METRICS: list[Metric] = [
    *_times(),
    *_latencies("message_latency", "MPI message latency", _ALL),
    *_latencies("io_message_latency", "Latency of I/O messages, control messages included", _ALL),
    Metric(
        "io_bandwidth",
        "bytes/s",
        "Bytes read and written over the time from the first I/O request to the last acknowledgement",
        "io_bandwidth_bytes_per_s",
    ),
    *_latencies("mpi_packet_latency", "Packet latency of MPI messages", _SOME),
    *_latencies("io_packet_latency", "Packet latency of I/O messages", _SOME),
]


def _columns() -> list[tuple[str, str, str, Callable[[Slowdown], float]]]:
    """Name, unit, description and value of every column after the first."""
    columns: list[tuple[str, str, str, Callable[[Slowdown], float]]] = []
    for metric in METRICS:
        finished = " (both finished)" if metric.whole else ""
        columns += [
            (f"{metric.name}_alone{metric.suffix}", metric.unit, f"{metric.doc}; alone.", lambda s: s.alone),
            (
                f"{metric.name}_together{metric.suffix}",
                metric.unit,
                "The same, together.",
                lambda s: s.together,
            ),
            (f"{metric.name}_ratio", "", f"Together / alone{finished}.", lambda s: s.ratio),
        ]
    return columns


#: Their names.
COLUMNS = ("job", *(name for name, *_ in _columns()))


def documentation() -> dict[str, Any]:
    """The table, in the form in which the core documents its own."""
    columns = [{"name": "job", "type": "string", "unit": "", "doc": "Name of the job."}]
    columns += [
        {"name": name, "type": "float64", "unit": unit, "doc": doc} for name, unit, doc, _ in _columns()
    ]
    return {"table": NAME, "doc": DOC, "columns": columns}


def table(together: Results, alone: Mapping[str, Results]) -> pa.Table:
    """The table of the run `together` and its baselines, by job."""
    import pyarrow as pa

    from odonata.analysis.tables import describe

    jobs = job_rows(together)
    baselines = {job: job_rows(results)[0] for job, results in alone.items()}
    given = {job["name"] for job in together.run["scenario"]["jobs"] if ends_with_others(job)}
    compared = [
        [metric.compare(baselines.get(row["job"]), row, given_time=row["job"] in given) for metric in METRICS]
        for row in jobs
    ]
    fields = [
        describe(c["name"], c["type"], unit=c["unit"], doc=c["doc"]) for c in documentation()["columns"]
    ]
    arrays = [pa.array([row["job"] for row in jobs], pa.string())]
    for number, (*_, get) in enumerate(_columns()):
        arrays.append(pa.array([get(row[number // 3]) for row in compared], pa.float64()))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"description": DOC}))


def ends_with_others(job: Mapping[str, Any]) -> bool:
    """Whether the duration of a job of a resolved scenario depends on other jobs.

    Such traffic sends until other jobs have ended, or starts after them and stops at a fixed time
    (`Job::ends_with_others` of the core).

    >>> traffic = {"synthetic": {"stop": None}}
    >>> ends_with_others({"start_after": [], "until": [0], "workload": traffic})
    True
    >>> ends_with_others({"start_after": [0], "until": [], "workload": traffic})
    False
    """
    traffic = job["workload"].get("synthetic")
    if traffic is None:
        return False
    return bool(job["until"]) or (bool(job["start_after"]) and traffic["stop"] is not None)


def of_jobs(slowdowns: pa.Table) -> dict[str, dict[str, Slowdown]]:
    """The table as a mapping job -> metric; metrics that do not apply to a job are left out."""
    jobs: dict[str, dict[str, Slowdown]] = {}
    for row in slowdowns.to_pylist():
        metrics = jobs.setdefault(row["job"], {})
        for metric in METRICS:
            name, suffix = metric.name, metric.suffix
            found = Slowdown(
                row[f"{name}_alone{suffix}"], row[f"{name}_together{suffix}"], row[f"{name}_ratio"]
            )
            if not (math.isnan(found.alone) or math.isnan(found.together)):
                metrics[name] = found
    return jobs


def _finished(row: Row) -> bool:
    return bool(row["ranks_finished"] == row["ranks"])


def job_rows(results: Results) -> list[dict[str, Any]]:
    """The table `jobs`, with the latencies of I/O messages from the table `messages`."""
    messages = _by_job(results)
    columns = {name for metric in METRICS for name in (metric.column, metric.count) if name is not None}
    columns = {name for name in columns if not name.startswith("io_message")}
    jobs = needed(results, "jobs", ["job", "ranks", "ranks_finished", *sorted(columns)]).to_pylist()
    return [row | io_latency(messages.get(row["job"], [])) for row in jobs]


def _by_job(results: Results) -> dict[str, list[tuple[float, float, int]]]:
    import pyarrow.compute as pc

    names = ("job", "latency_low_s", "latency_high_s", "count")
    messages = needed(results, "messages", ["class", *names])
    messages = messages.filter(pc.equal(messages["class"], "io"))
    found: dict[str, list[tuple[float, float, int]]] = {}
    for job, *latency in zip(*(messages[name].to_pylist() for name in names), strict=True):
        found.setdefault(job, []).append((latency[0], latency[1], latency[2]))
    return found


def io_latency(messages: list[tuple[float, float, int]]) -> dict[str, Any]:
    """Mean, percentiles (nearest rank) and maximum of latencies; a bin (low, high, count) counts at its
    middle.

    >>> io_latency([(1.0, 1.0, 1), (2.0, 4.0, 2), (8.0, 8.0, 1)])["io_message_latency_p50_s"]
    3.0
    >>> io_latency([])["io_messages"]
    0
    """
    middles = sorted(((low + high) / 2, count) for low, high, count in messages)
    total = sum(count for _, count in middles)
    if not total:
        return {"io_messages": 0} | {f"io_message_latency_{measure}_s": 0.0 for measure in _ALL}

    def percentile(share: float) -> float:
        seen = 0
        for value, count in middles:
            seen += count
            if seen >= share * total:
                return value
        return middles[-1][0]

    return {
        "io_messages": total,
        "io_message_latency_mean_s": math.fsum(value * count for value, count in middles) / total,
        "io_message_latency_p50_s": percentile(0.5),
        "io_message_latency_p99_s": percentile(0.99),
        "io_message_latency_max_s": middles[-1][0],
    }
