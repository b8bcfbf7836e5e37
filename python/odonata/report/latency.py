"""The section about latency: its distribution, job by job, together with the others and alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from odonata.report.blocks import Chart, Control, Section, axis, plain
from odonata.report.contents import Contents
from odonata.report.quantiles import Value, cumulative, density
from odonata.scenario import run_fidelity

if TYPE_CHECKING:
    from odonata.results.results import Results

#: Measured latencies: name -> words.
MEASURES = {
    "mpi": "MPI messages, from the send call to the last byte",
    "io": "I/O messages, from the send call to the last byte",
    "mpi-packets": "packets of MPI messages, in the network",
    "io-packets": "packets of I/O messages, in the network",
    "calls": "reads and writes, from request to acknowledgement",
}

#: Label of the vertical axis, by view.
_SHARES = {"cdf": "cumulative share", "tail": "share above", "density": "share per factor of ten"}


def section(contents: Contents) -> Section | None:
    """The section; None if nothing was sent."""
    chart = distributions(contents)
    if chart is None:
        return None
    return Section(
        "latency",
        "Latency",
        "Distributions of the latency of messages, packets and I/O calls. A job that waits "
        "for its last message waits for the tail.",
        [chart],
    )


def distributions(contents: Contents) -> Chart | None:
    """Cumulative distribution, tail and density of each measure."""
    together = values(contents.results)
    baselines = contents.results.baselines if len(contents.names) <= len(contents.shown) else {}
    alone = {job: values(results).get(job, {}) for job, results in baselines.items()}
    measures = [name for name in MEASURES if any(name in found for found in together.values())]
    if not measures:
        return None
    traces: list[dict[str, Any]] = []
    for measure in measures:
        lines = [
            (job, together[job][measure], False) for job in contents.shown if measure in together.get(job, {})
        ]
        lines += [(job, alone[job][measure], True) for job in contents.shown if measure in alone.get(job, {})]
        positive = [low for _, found, _ in lines for low, _, _ in found if low > 0]
        low, high = min(positive, default=0.0), max(high for _, found, _ in lines for _, high, _ in found)
        for job, found, is_alone in lines:
            traces += _traces(contents, job, found, is_alone, measure, low, high)
    options = [("cdf", "cumulative share"), ("tail", "share above"), ("density", "density")]
    return Chart(
        "latency-distribution",
        "Distribution of latency",
        "Cumulative: the share with at most this latency. Tail: the share above it, on a "
        "logarithmic scale. Density: the share per factor of ten, comparable between buckets "
        "of unequal width." + (" Dotted: the job alone." if alone else ""),
        traces,
        {
            "xaxis": axis("latency", "s", log=True),
            "yaxis": axis("", rangemode="tozero"),
            "hovermode": "closest",
        },
        [
            Control("measure", "Of", [(name, MEASURES[name]) for name in measures]),
            Control("view", "Shown as", options),
        ],
        height=430,
    )


def _traces(
    contents: Contents, job: str, found: list[Value], alone: bool, measure: str, low: float, high: float
) -> list[dict[str, Any]]:
    xs, shares = cumulative(found)
    middles, densities = density(found, low, high)
    name = f"{job}, alone" if alone else job
    common = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "color": contents.color(job),
        "line": {"dash": "dot" if alone else "solid", "width": 1.4 if alone else 2},
    }
    label = f"<extra>{plain(name)}</extra>"

    def trace(view: str, x: list[float], y: list[float], words: str, **more: Any) -> dict[str, Any]:
        when = {"measure": measure, "view": view}
        seen = {"x": x, "y": y, "hovertemplate": words + label, "when": when, "ytitle": _SHARES[view]}
        return common | seen | more

    return [
        trace("cdf", xs, shares, "%{y:.2%} within %{x:.3~s}s"),
        trace("tail", xs[:-1], [1 - part for part in shares[:-1]], "%{y:.2~%} above %{x:.3~s}s", logy=True),
        trace("density", middles, densities, "%{y:.2~f} per decade at %{x:.3~s}s", fill="tozeroy"),
    ]


def values(results: Results) -> dict[str, dict[str, list[Value]]]:
    """job -> measure -> values, from the tables messages, packets and io."""
    found: dict[str, dict[str, list[Value]]] = {}

    def add(job: str, measure: str, value: Value) -> None:
        found.setdefault(job, {}).setdefault(measure, []).append(value)

    fidelity = run_fidelity.of_scenario(results.run.get("scenario", {}))
    with_packets = [job for job, kind in fidelity.jobs.items() if kind == run_fidelity.PACKET]
    for table, suffix in (("messages", ""), ("packets", "-packets")):
        columns = ["job", "class", "latency_low_s", "latency_high_s"]
        if table not in results.tables:
            continue
        rows = results.table(table)
        if table == "packets":
            rows = rows.filter(pc.equal(rows["measure"], "network"))
            rows = rows.filter(pc.is_in(rows["job"], pa.array(with_packets, pa.string())))
        # Equal latencies are counted together: tables may have millions of rows.
        grouped = rows.group_by(columns).aggregate([("count", "sum")])
        for row in zip(*(grouped[name].to_pylist() for name in [*columns, "count_sum"]), strict=True):
            add(row[0], row[1] + suffix, (row[2], row[3], row[4]))
    if "io" in results.tables:
        calls = results.table("io")
        # Calls to metadata servers move no data.
        calls = calls.filter(pc.is_in(calls["operation"], pa.array(["read", "write"])))
        times = pc.subtract(calls["end_s"], calls["start_s"]).to_pylist()
        for job, time in zip(calls["job"].to_pylist(), times, strict=True):
            add(job, "calls", (time, time, 1))
    return found
