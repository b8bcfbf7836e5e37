"""README.md: bandwidth over nodes, a verdict per claim, why one does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from study_tools import verdicts
from study_tools.claims import number
from study_tools.table import Table

from trinity2017_study import measures
from trinity2017_study.claims import CLAIMS
from trinity2017_study.measures import Run

STUDY = Path(__file__).parents[1]
TEMPLATE = STUDY / "page.md"
PAGE = STUDY / "README.md"
DATA = STUDY / "data"
FIGURES = STUDY.parents[1] / "docs" / "figures"
SWEEPS = ("phase2", "merged")


def stored() -> list[Run]:
    """All runs that are kept."""
    return [run for name in SWEEPS for run in measures.read(DATA / f"{name}.parquet")]


def judge(runs: Sequence[Run]) -> list[verdicts.Judged]:
    """All claims, held against these runs."""
    return verdicts.judge(CLAIMS, runs)


def text() -> str:
    """The page, from what is stored."""
    runs = stored()
    judged = judge(runs)
    return TEMPLATE.read_text(encoding="utf-8").format(
        counts=verdicts.counts(judged),
        table=verdicts.table(judged).markdown().strip(),
        reasons=verdicts.reasons(judged, verdicts.notes(STUDY / "notes.md")).strip(),
        rules=verdicts.rules(judged).strip(),
        runs=run_table(runs).markdown().strip(),
        cpu_minutes=number(sum(run.cpu_s for run in runs) / 60, "min"),
    )


def run_table(runs: Sequence[Run]) -> Table:
    """All runs with their bandwidths."""
    rows = [
        [
            run.name,
            number(run.bytes / 1e6, "MB"),
            number(run.bandwidth / 1e9, "GB/s"),
            number(run.per_node / 1e9, "GB/s"),
            number(run.local_busy, "%"),
            number(run.global_busy, "%"),
            number(run.device_busy, "%"),
            number(run.cpu_s, "s"),
        ]
        for run in runs
    ]
    header = [
        *("run", "written", "bandwidth", "per node", "busiest local link", "busiest global link"),
        *("busiest device", "CPU"),
    ]
    return Table("", header, rows)


def figure(runs: Sequence[Run]) -> Figure:
    """Bandwidth over nodes, as figures 7, 8 and 10; dashed is 2.0 GB/s per node, at most 1,200 GB/s."""
    picture = Figure(figsize=(9, 3.2), layout="constrained")
    lines = [
        [("N-N", "absolute", "#0b6e75", "N-N write"), ("N-1", "absolute", "#c4501b", "N-1 write")],
        [
            ("N-N", "absolute", "#0b6e75", "N-N write, absolute"),
            ("N-N", "relative", "#c4501b", "relative"),
            ("N-N", "circulant", "#6b5b95", "circulant"),
        ],
    ]
    for place, (machine, title) in enumerate((("phase2", "phase II"), ("merged", "after the merge"))):
        axes = picture.add_subplot(1, 2, place + 1)
        for files, arrangement, colour, label in lines[place]:
            chosen = sorted(
                (run.nodes, run.bandwidth / 1e9)
                for run in runs
                if (run.machine, run.files, run.arrangement) == (machine, files, arrangement)
            )
            if chosen:
                axes.plot(*zip(*chosen, strict=True), "o-", color=colour, markersize=4, label=label)
        nodes = sorted({run.nodes for run in runs if run.machine == machine})
        axes.plot(nodes, [min(2.0 * n, 1200) for n in nodes], "--", color="grey", label="2.0 GB/s per node")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(title, fontsize=8, loc="left")
        axes.set_xlabel("compute nodes", fontsize=8)
        axes.tick_params(which="both", labelsize=7)
        axes.legend(fontsize=7, frameon=False)
        axes.grid(visible=True, linewidth=0.3)
    picture.axes[0].set_ylabel("bandwidth, GB/s", fontsize=8)
    return picture
