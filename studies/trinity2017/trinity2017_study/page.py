"""README.md and APPENDIX.md: bandwidth over nodes, a verdict per claim, reasons for failed claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from study_tools import pages, verdicts
from study_tools.claims import number
from study_tools.table import Table

from trinity2017_study import logs, measures
from trinity2017_study.claims import CLAIMS
from trinity2017_study.logs import Replay
from trinity2017_study.measures import Run

STUDY = Path(__file__).parents[1]
DATA = STUDY / "data"
FIGURES = STUDY.parents[1] / "docs" / "figures"
SWEEPS = ("phase2", "large", "largest", "longer", "merged", "merged-large", "cabling")

#: Label and color of a curve, by files and access.
CURVES = {
    ("N-N", "write"): ("N-N write", "#0b6e75"),
    ("N-1", "write"): ("N-1 write", "#c4501b"),
    ("N-N", "read"): ("N-N read", "#6b5b95"),
    ("N-1", "read"): ("N-1 read", "#a08b2c"),
}


def stored() -> list[Run]:
    """All stored runs."""
    return [run for name in SWEEPS for run in measures.read(DATA / f"{name}.parquet")]


def judge(runs: Sequence[Run]) -> list[verdicts.Judged]:
    """Judges all claims by these runs."""
    return verdicts.judge(CLAIMS, runs)


def texts() -> dict[Path, str]:
    """The pages, from the stored results."""
    runs = stored()
    judged = judge(runs)
    return pages.made(
        STUDY,
        tally=verdicts.tally(judged).markdown().strip(),
        verdicts=verdicts.short(judged).markdown().strip(),
        table=verdicts.table(judged).markdown().strip(),
        reasons=verdicts.reasons(judged, verdicts.notes(STUDY / "notes.md")).strip(),
        rules=verdicts.rules(judged).strip(),
        runs=run_table(runs).markdown().strip(),
        largest=reached(runs),
        logs=log_table(logs.read(DATA / "logs.parquet")).markdown().strip(),
        cpu_minutes=number(sum(run.cpu_s for run in runs) / 60, "min"),
    )


def reached(runs: Sequence[Run]) -> str:
    """The largest bandwidth of the runs."""
    titles = {"phase2": "phase II", "merged": "the merged machine"}
    largest = {name: max(run.nodes for run in runs if run.machine == name) for name in titles}
    return ", ".join(f"on {title} {largest[name]:,} nodes" for name, title in titles.items())


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
        *("run", "bytes", "bandwidth", "per node", "busiest local link", "busiest global link"),
        *("busiest device", "CPU"),
    ]
    return Table("", header, rows)


def log_table(replays: Sequence[Replay]) -> Table:
    """Throughput of logs beside that of their replays, and the slowdown of two at once."""
    beside = {one.log: f"{one.slowdown:.3f}x beside {one.beside}" for one in replays if one.beside}
    rows = [
        [
            one.log,
            number(float(one.ranks), ""),
            number(one.bytes / 1e6, "MB"),
            number(one.logged / 1e9, "GB/s"),
            number(one.simulated / 1e9, "GB/s"),
            number(one.simulated / one.logged, "x"),
            beside.get(one.log, ""),
        ]
        for one in replays
        if not one.beside
    ]
    header = ["log", "ranks", "read and written", "in the log", "replayed", "ratio", "two at once"]
    return Table("", header, rows)


def figure(runs: Sequence[Run]) -> Figure:
    """Bandwidth over nodes, as figures 7 to 13; dashed: 2.0 GB/s per node, up to the rate of the buffers."""
    picture = Figure(figsize=(9, 3.2), layout="constrained")
    for place, (machine, title, cap) in enumerate(
        (("phase2", "phase II", 1200), ("merged", "after the merge", 2964))
    ):
        axes = picture.add_subplot(1, 2, place + 1)
        chosen = [
            run
            for run in runs
            if (run.machine, run.arrangement) == (machine, "absolute")
            and (run.nodes < 512 or run.transfers == 2)
        ]
        for kind, (label, color) in CURVES.items():
            points = sorted(
                (run.nodes, run.bandwidth / 1e9) for run in chosen if (run.files, run.access) == kind
            )
            if points:
                axes.plot(*zip(*points, strict=True), "o-", color=color, markersize=4, label=label)
        nodes = sorted({run.nodes for run in chosen})
        axes.plot(nodes, [min(2.0 * n, cap) for n in nodes], "--", color="grey", label="2.0 GB/s per node")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(title, fontsize=8, loc="left")
        axes.set_xlabel("compute nodes", fontsize=8)
        axes.tick_params(which="both", labelsize=7)
        axes.legend(fontsize=7, frameon=False)
        axes.grid(visible=True, linewidth=0.3)
    picture.axes[0].set_ylabel("bandwidth, GB/s", fontsize=8)
    return picture
