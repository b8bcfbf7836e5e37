"""Plots of results by matplotlib, as figures for papers and notebooks.

>>> import odonata
>>> results = odonata.run("examples/uniform.toml", overrides={"run.time_limit": "20 us"})
>>> figure = odonata.plot.latency_cdf(results)
>>> figure.axes[0].get_ylabel()
'share'

Every function returns a figure, whose `axes` you can change and which `savefig` writes. With the argument
`axes` it draws into an existing figure. For pages with hover and filters, use `Results.report` and
`Sweep.report`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from odonata.analysis.measured import needed
from odonata.analysis.slowdown import METRICS as KNOWN
from odonata.base.nearest import did_you_mean, nearest
from odonata.base.pictures import figure
from odonata.errors import InputError
from odonata.load_curves import figure as load_figure
from odonata.report.contents import Contents
from odonata.report.latency import values
from odonata.report.network import group_sums
from odonata.report.quantiles import cumulative
from odonata.results.results import Results
from odonata.sweeps.result import Sweep
from odonata.sweeps.statistics import interval

if TYPE_CHECKING:
    from odonata.load_curves.load_sweep import LoadSweep
    from odonata.sweeps.result import Sweep

__all__ = ["latency_cdf", "link_map", "load_curve", "slowdown"]

#: Metrics whose bars stand side by side, with their names in the legend. Tails of latencies grow tens of
#: times as much, and need a plot of their own.
METRICS = {"elapsed": "time", "mpi": "time in MPI", "io": "time in I/O"}

#: Measures of a map of links.
MEASURES = {
    "busy": "share of the time transmitting, mean of the links",
    "most": "share of the time transmitting, busiest link",
    "saturation": "share of the time saturated, mean of the links",
    "bytes": "bytes carried",
}

#: Latencies that have a distribution.
LATENCIES = {
    "mpi": "latency of MPI messages",
    "io": "latency of I/O messages",
    "mpi-packets": "latency of packets of MPI messages",
    "io-packets": "latency of packets of I/O messages",
    "calls": "time of reads and writes",
}


def slowdown(
    results: Results | Sweep | Sequence[Results],
    metrics: Sequence[str] | None = None,
    *,
    confidence: float = 0.95,
    axes: Any = None,
) -> Any:
    """Bars of each job's slowdown: time together / time alone.

    Args:
        results: A run with baselines; or several that differ in their seed only: bars are then means, with
            confidence intervals by Student's t. For a sweep, use `Sweep.plot`.
        metrics: Metrics of the table `slowdown` (docs/results.md), such as "elapsed". Default: those of
            `METRICS` that any job has.
        confidence: Level of the intervals.
        axes: Axes to draw into.

    Raises:
        InputError: There is no run, or no such metric.
        KeyError: A run had no baselines.
        MissingPackage: matplotlib is not installed.
    """
    if isinstance(results, Sweep):
        return results.plot(f"{metrics[0]}_ratio" if metrics else "elapsed_ratio")
    runs = [results] if isinstance(results, Results) else list(results)
    if not runs:
        raise InputError("no run", key="results", value="[]", expected="one run or more")
    _refuse_unknown("metrics", metrics or [], [one.name for one in KNOWN])
    found = [run.slowdown() for run in runs]
    jobs = list(found[0])
    shown = list(metrics or (name for name in METRICS if any(name in found[0][job] for job in jobs)))
    if axes is None:
        axes = figure(max(5.0, 1.5 + 1.2 * len(jobs)), 4.0).subplots()
    width = 0.8 / max(1, len(shown))
    for number, metric in enumerate(shown):
        heights, errors = [], []
        for job in jobs:
            ratios = [one[job][metric].ratio for one in found if metric in one.get(job, {})]
            mean_of_ratios = interval([ratio for ratio in ratios if math.isfinite(ratio)], confidence)
            heights.append(mean_of_ratios.mean)
            errors.append(0.0 if math.isnan(mean_of_ratios.half_width) else mean_of_ratios.half_width)
        places = [place + (number - (len(shown) - 1) / 2) * width for place in range(len(jobs))]
        bars = {"yerr": errors, "capsize": 3} if len(runs) > 1 else {}
        axes.bar(places, heights, width, label=METRICS.get(metric, metric), **bars)
    axes.axhline(1.0, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(jobs)), [_plain(job) for job in jobs])
    axes.set_ylabel("together / alone")
    axes.grid(alpha=0.3, axis="y")
    _title(axes, runs[0], f", {len(runs)} runs" if len(runs) > 1 else "")
    if len(shown) > 1:
        axes.legend(fontsize="small")
    else:
        axes.set_ylabel(
            f"{METRICS.get(shown[0], shown[0])}, together / alone" if shown else "together / alone"
        )
    return axes.figure


def latency_cdf(
    results: Results,
    measure: str = "mpi",
    *,
    jobs: Sequence[str] | None = None,
    alone: bool = True,
    tail: bool = False,
    axes: Any = None,
) -> Any:
    """The cumulative distribution of latency, job by job.

    Args:
        results: A run.
        measure: "mpi" or "io" (messages, from the send call to the last byte), "mpi-packets" or "io-packets"
            (in the network), "calls" (reads and writes).
        jobs: Only these jobs.
        alone: Show jobs alone too, dotted, if the run had baselines.
        tail: Show the complementary distribution instead, on a logarithmic scale.
        axes: Axes to draw into.

    Raises:
        InputError: The run has no such measurement, or no such job.
        MissingPackage: matplotlib is not installed.
    """
    _refuse_unknown("measure", [measure], list(LATENCIES))
    names = needed(results, "jobs", ["job"])["job"].to_pylist()
    _refuse_unknown("jobs", jobs or [], names)
    found = values(results)
    if not any(measure in measured for measured in found.values()):
        raise InputError(
            "nothing of it was measured",
            key="measure",
            value=measure,
            expected=" or ".join(sorted({name for measured in found.values() for name in measured})) or None,
        )
    if axes is None:
        axes = figure(6.5, 4.2).subplots()
    baselines = {job: values(run).get(job, {}) for job, run in results.baselines.items()} if alone else {}
    colors = _colors()
    for number, job in enumerate(names):
        if jobs and job not in jobs:
            continue
        for measured, suffix, style in (
            (found.get(job, {}), "", "-"),
            (baselines.get(job, {}), ", alone", ":"),
        ):
            if measure not in measured:
                continue
            xs, shares = cumulative(measured[measure])
            ys = [1 - share for share in shares[:-1]] if tail else shares
            label = _plain(f"{job}{suffix}")
            axes.plot(xs[: len(ys)], ys, style, color=colors[number % len(colors)], label=label)
    # Messages between ranks of one node take no time.
    axes.set_xscale(
        "log" if axes.dataLim.x0 > 0 else "symlog", **({} if axes.dataLim.x0 > 0 else {"linthresh": 1e-9})
    )
    if tail:
        axes.set_yscale("log")
    axes.set_xlabel(f"{LATENCIES[measure]} [s]")
    axes.set_ylabel("share that takes longer" if tail else "share")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    _title(axes, results)
    return axes.figure


def link_map(results: Results, measure: str = "busy", *, axes: Any = None) -> Any:
    """A map of the load of links between groups: rows send, columns receive, the diagonal shows links within
    a group.

    If the machine has one group, it is a map of routers.

    Args:
        results: A run.
        measure: "busy", "most" (of the busiest link), "saturation" or "bytes".
        axes: Axes to draw into.

    Raises:
        InputError: There is no such measure, or the machine has no links between routers.
        MissingPackage: matplotlib is not installed.
    """
    _refuse_unknown("measure", [measure], list(MEASURES))
    contents = Contents(results)
    names = "group"
    if len(set(contents.groups)) == 1:
        contents.groups = list(range(len(contents.groups)))
        names = "router"
    sums = group_sums(contents) if contents.simulated_s > 0 else {}
    if not sums:
        raise InputError("no links between routers", key="results", expected="a run on several routers")
    groups = sorted({group for pair in sums for group in pair})
    cells = [[sums[a, b][measure] if (a, b) in sums else math.nan for b in groups] for a in groups]
    if axes is None:
        axes = figure(5.6, 4.8).subplots()
    image = axes.imshow(cells, interpolation="nearest", cmap="viridis", vmin=0.0)
    axes.set_xlabel(f"to {names}")
    axes.set_ylabel(f"from {names}")
    axes.figure.colorbar(image, ax=axes, label=MEASURES[measure])
    _title(axes, results)
    return axes.figure


def load_curve(*sweeps: LoadSweep | Mapping[str, Any], labels: Sequence[str] | None = None) -> Any:
    """Latency and accepted load over offered load, from `odonata.load_sweep`.

    Args:
        sweeps: One sweep: its mean, 99th percentile, and mean in the network. Several: the mean of each.
        labels: Names of several sweeps. Default: their folders, or else their scenarios.

    Raises:
        InputError: There is no sweep, or not one label for each.
        MissingPackage: matplotlib is not installed.
    """
    if not sweeps:
        raise InputError("no sweep", key="sweeps", expected="at least one LoadSweep")
    if labels is not None and len(labels) != len(sweeps):
        raise InputError(
            "not one label for each sweep",
            key="labels",
            value=repr(list(labels)),
            expected=f"{len(sweeps)} labels",
        )
    reports = [sweep if isinstance(sweep, Mapping) else sweep.description for sweep in sweeps]
    if len(reports) == 1:
        return load_figure.draw(reports[0])
    folders = [None if isinstance(sweep, Mapping) else sweep.path for sweep in sweeps]
    names = [
        folder.name if folder is not None else report["name"] or f"sweep {number}"
        for number, (folder, report) in enumerate(zip(folders, reports, strict=True))
    ]
    return load_figure.compare(reports, names if labels is None else labels)


def _refuse_unknown(key: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InputError(
                "an unknown value",
                key=key,
                value=repr(name),
                expected=f"one of {', '.join(known)}",
                hint=did_you_mean(nearest(name, known)),
            )


def _plain(name: str) -> str:
    """A name, escaped so that matplotlib reads no formula in it."""
    return name.replace("$", r"\$")


def _title(axes: Any, results: Results, more: str = "") -> None:
    name = results.run.get("scenario", {}).get("name")
    if name:
        axes.set_title(f"{name}{more}", parse_math=False)


def _colors() -> list[str]:
    """The default colors of lines."""
    import matplotlib

    found: list[str] = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    return found
