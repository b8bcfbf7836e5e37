"""Figures 10 to 13 of the paper: boxes of latencies and times, curves of link traffic and saturation.

The authors' panels come from their published runs, ours from the mixes of `paper.py` with their baselines.
Both pass through `RunData`, so that one function measures both. "Message latency" pools three packet
latencies of each node, "communication time" is all time outside computation, as in the published runs
(PAPER.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mfnetsim_study import ours, stored
from mfnetsim_study.cases import GROUP, Case
from mfnetsim_study.data import RunData

AUTHORS, OURS = "authors' runs", "ours"
SETTINGS = ("cont-min", "cont-par", "rand-min", "rand-par")
#: Names in scenarios and runs -> names in figures.
LOADS = {"alone": "alone", "wkld2": "with workload 1", "wkld3": "with workload 2"}
COLORS = {"alone": "#9a9a9a", "wkld2": "#0b6e75", "wkld3": "#c4501b"}
LATENCY, IO, COMMUNICATION = "message latency, us", "I/O time, ms", "communication time, ms"
TRAFFIC, SATURATION = "local traffic of a router, MB", "saturation of a global link, ms"
#: Figure -> its jobs, and the measures of its boxes.
BOXES = {
    10: (("checkpoint",), (LATENCY, IO)),
    12: (("cosmoflow",), (LATENCY, IO, COMMUNICATION)),
    13: (("nekbone", "milc"), (LATENCY, COMMUNICATION)),
}
#: Points of a curve of figure 11.
POINTS = 65


@dataclass(frozen=True)
class Measured:
    """The distribution of a measure over nodes, ranks, routers or links."""

    source: str
    job: str
    measure: str
    #: placement-routing
    setting: str
    #: "alone" or the workload.
    load: str
    mean: float
    #: Equally spaced quantiles from the smallest to the largest.
    quantiles: list[float]


def of_run(source: str, setting: str, load: str, run: RunData, jobs: Sequence[str]) -> Iterator[Measured]:
    """The measures of these jobs in a run."""
    for job in jobs:
        ranks = run.ranks_of(job)
        pooled = [
            1e6 * value
            for rank in ranks
            if rank.packets_received
            for value in (rank.packet_latency_mean_s, rank.packet_latency_max_s, rank.packet_latency_min_s)
        ]
        values = {
            LATENCY: pooled,
            IO: [1e3 * rank.io_s for rank in ranks],
            COMMUNICATION: [1e3 * rank.non_compute_s for rank in ranks],
        }
        if job == "checkpoint":
            routers = {rank.node // 4 for rank in ranks}
            groups = {router // GROUP for router in routers}
            sent: dict[int, float] = {}
            saturated = []
            for (_, source_number, _, _), link in run.links.items():
                if link.link_class == "local":
                    sent[source_number] = sent.get(source_number, 0.0) + link.bytes / 1e6
                elif link.link_class == "global" and source_number // GROUP in groups:
                    saturated.append(1e3 * link.saturation_s)
            values |= {TRAFFIC: list(sent.values()), SATURATION: saturated}
        for measure, found in values.items():
            if found:
                quantiles = np.quantile(found, np.linspace(0.0, 1.0, POINTS))
                yield Measured(
                    source, job, measure, setting, load, float(np.mean(found)), [float(q) for q in quantiles]
                )


def authors() -> list[Measured]:
    """The measures of the published runs: a baseline under minimal routing, and one mix."""
    alone = {"milc": "milc", "nekbone": "nekbone", "checkpoint": "checkpoint", "cosmo": "cosmoflow"}
    found: list[Measured] = []
    for name in stored.summary():
        placement, routing, load = name.split("-")
        run = stored.load(name)
        jobs = [alone[load]] if load in alone else run.apps
        found += of_run(AUTHORS, f"{placement}-{routing}", "alone" if load in alone else load, run, jobs)
    return found


def of_cases(cases: Sequence[Case]) -> list[Measured]:
    """The measures of mixes and their baselines; a job alone is measured once per setting."""
    found: dict[tuple[str, str, str], list[Measured]] = {}
    for case in cases:
        setting = f"{case.placement}-{case.routing}"
        runs = [([job], "alone", case.alone[job]) for job in case.jobs]
        runs += [(case.jobs, case.workload, case.together)]
        for jobs, load, results in runs:
            wanted = [job for job in jobs if (setting, job, load) not in found]
            if wanted:
                run = with_accesses(ours.convert(case.name, results), results.rows("io"))
                for job in wanted:
                    found[setting, job, load] = list(of_run(OURS, setting, load, run, [job]))
    return [one for measured in found.values() for one in measured]


def with_accesses(run: RunData, accesses: Sequence[dict[str, Any]]) -> RunData:
    """The run with the time of each rank's reads and writes, from request to acknowledgement."""
    times: dict[tuple[str, int], float] = {}
    for row in accesses:
        key = row["job"], row["rank"]
        times[key] = times.get(key, 0.0) + row["end_s"] - row["start_s"]
    ranks = [dataclasses.replace(rank, io_s=times.get((rank.app, rank.rank), 0.0)) for rank in run.ranks]
    return dataclasses.replace(run, ranks=ranks)


def boxes(measured: Sequence[Measured], number: int) -> Figure:
    """Figure 10, 12 or 13: a row of panels for each source."""
    jobs, measures = BOXES[number]
    sources = [name for name in (AUTHORS, OURS) if any(one.source == name for one in measured)]
    panels = [(job, measure) for job in jobs for measure in measures]
    picture = Figure(figsize=(3.2 * len(panels), 2.6 * len(sources)), layout="constrained")
    for row, source in enumerate(sources):
        for column, (job, measure) in enumerate(panels):
            axes = picture.add_subplot(len(sources), len(panels), row * len(panels) + column + 1)
            chosen = [one for one in measured if (one.source, one.job, one.measure) == (source, job, measure)]
            _boxes(axes, chosen)
            axes.set_title(f"{job}, {source}", fontsize=8, loc="left")
            axes.set_ylabel(measure, fontsize=8)
            if measure == LATENCY:
                axes.set_yscale("log")
    _legend(picture)
    return picture


def _boxes(axes: Axes, chosen: Sequence[Measured]) -> None:
    for place, setting in enumerate(SETTINGS):
        for turn, load in enumerate(LOADS):
            found = [one for one in chosen if (one.setting, one.load) == (setting, load)]
            for one in found:
                quartiles = [one.quantiles[i * (POINTS - 1) // 4] for i in range(5)]
                low, first, middle, third, high = quartiles
                box = {
                    "whislo": low,
                    "q1": first,
                    "med": middle,
                    "q3": third,
                    "whishi": high,
                    "mean": one.mean,
                }
                axes.bxp(
                    [box],
                    positions=[place + 0.27 * (turn - 1)],
                    widths=0.22,
                    showfliers=False,
                    showmeans=True,
                    patch_artist=True,
                    manage_ticks=False,
                    boxprops={"facecolor": COLORS[load], "linewidth": 0.5},
                    medianprops={"color": "black", "linewidth": 0.8},
                    meanprops={
                        "marker": "^",
                        "markerfacecolor": "red",
                        "markeredgecolor": "red",
                        "markersize": 3,
                    },
                )
    axes.set_xticks(range(len(SETTINGS)), SETTINGS, fontsize=7)
    axes.tick_params(axis="y", labelsize=7)
    axes.grid(visible=True, axis="y", linewidth=0.3)


def curves(measured: Sequence[Measured]) -> Figure:
    """Figure 11: share of routers or links with at most so much, of Checkpoint alone and in mixes."""
    sources = [name for name in (AUTHORS, OURS) if any(one.source == name for one in measured)]
    picture = Figure(figsize=(8, 2.8 * len(sources)), layout="constrained")
    styles = {"cont-min": "-", "cont-par": "--", "rand-min": "-.", "rand-par": ":"}
    share = [100 * i / (POINTS - 1) for i in range(POINTS)]
    for row, source in enumerate(sources):
        for column, measure in enumerate((TRAFFIC, SATURATION)):
            axes = picture.add_subplot(len(sources), 2, 2 * row + column + 1)
            for one in measured:
                if (one.source, one.measure) == (source, measure):
                    axes.plot(one.quantiles, share, styles[one.setting], color=COLORS[one.load], linewidth=1)
            axes.set_title(f"checkpoint, {source}", fontsize=8, loc="left")
            axes.set_xlabel(measure, fontsize=8)
            axes.set_ylabel("% of routers" if measure == TRAFFIC else "% of links", fontsize=8)
            axes.tick_params(labelsize=7)
            axes.grid(visible=True, linewidth=0.3)
            for setting, style in styles.items():
                axes.plot([], [], style, color="black", linewidth=1, label=setting)
            axes.legend(fontsize=6, frameon=False)
    _legend(picture)
    return picture


def _legend(picture: Figure) -> None:
    handles = [Patch(color=COLORS[load], label=text) for load, text in LOADS.items()]
    picture.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7, frameon=False)


def draw(folder: Path, measured: Sequence[Measured]) -> list[Path]:
    """Writes the four figures; returns their files."""
    files = []
    for number in (10, 11, 12, 13):
        picture = curves(measured) if number == 11 else boxes(measured, number)
        files.append(folder / f"mfnetsim-figure-{number}.svg")
        picture.savefig(files[-1], metadata={"Date": None})
    return files
