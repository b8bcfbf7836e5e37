"""README.md and APPENDIX.md: bandwidth over nodes, a verdict per claim, reasons for failed claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from study_tools import cost, pages, parquet, shown, verdicts
from study_tools.claims import number
from study_tools.shown import Shown
from study_tools.table import Table

from trinity2017_study.claims import CLAIMS, LOG_CLAIMS, MERGED_BUFFERS
from trinity2017_study.logs import Replay
from trinity2017_study.measures import Run

STUDY = Path(__file__).parents[1]
DATA = STUDY / "data"
FIGURES = STUDY.parents[1] / "docs" / "figures"
SWEEPS = (
    *("phase2", "large", "largest", "longer"),
    *("merged", "merged-large", "merged-shared", "cabling", "start", "start-longer"),
)
#: Sweeps with 1,024 nodes and more, the cost of whose runs is kept.
LARGE = ("large", "largest", "longer", "merged-large", "merged-shared", "start-longer")
COSTS = DATA / "costs.parquet"

#: Figure of the text -> machine, files, access, and its title.
PANELS = {
    7: ("phase2", "N-N", "write", "phase II, N-N write"),
    8: ("phase2", "N-1", "write", "phase II, N-1 write"),
    9: ("phase2", "N-N", "read", "phase II, N-N read"),
    10: ("merged", "N-N", "write", "merged, N-N write"),
    11: ("merged", "N-1", "write", "merged, N-1 write"),
    12: ("merged", "N-N", "read", "merged, N-N read"),
    13: ("merged", "N-1", "read", "merged, N-1 read"),
}
#: Rate of all buffers of a machine, GB/s.
CAPS = {"phase2": 1200.0, "merged": MERGED_BUFFERS / 1e9}
OURS, TEXT = "#0b6e75", "#c4501b"

_FIGURE = "[panel](../../docs/figures/trinity2017.svg)"
_COMMAND = "make study-trinity2017 WHAT={}"
_WHOLE = "the text's nodes, 1 to 8,192; 2 to 8 transfers per rank, as the text prints no number"
#: The figures of the text beside ours.
SHOWN = (
    Shown(
        "Fig. 7, phase II N-N write",
        _FIGURE,
        ("two-per-node", "local-links", "buffers-cap"),
        _COMMAND.format('"phase2 --store"') + "`, `large`, `largest",
        _WHOLE,
    ),
    Shown(
        "Fig. 8, phase II N-1 write",
        _FIGURE,
        ("shared-phase2", "shared-file"),
        _COMMAND.format('"phase2 --store"') + "`, `large`, `largest",
        _WHOLE,
    ),
    Shown(
        "Fig. 9, phase II N-N read",
        _FIGURE,
        ("read-1k",),
        _COMMAND.format('"phase2 --store"') + "`, `large`, `largest",
        _WHOLE + "; the text's simulation ends at 1,024 nodes",
    ),
    Shown(
        "Fig. 10, merged N-N write",
        _FIGURE,
        ("merged-per-node",),
        _COMMAND.format('"merged --store"') + "`, `merged-large",
        "up to 2,048 nodes: from there the buffers bound it",
    ),
    Shown(
        "Fig. 11, merged N-1 write",
        _FIGURE,
        ("shared-gap", "two-groups"),
        _COMMAND.format('"merged --store"'),
        "up to 1,024 nodes: the sentence is about 256 and 512",
    ),
    Shown(
        "Fig. 12, merged N-N read",
        _FIGURE,
        ("read-error", "read-cap", "read-grows"),
        _COMMAND.format('"merged --store"') + "`, `merged-large",
        _WHOLE,
    ),
    Shown(
        "Fig. 13, merged N-1 read",
        _FIGURE,
        ("shared-read-error",),
        _COMMAND.format('"merged --store"') + "`, `merged-shared",
        "up to 4,096 nodes: the sentence is about 2,048 and 4,096",
    ),
    Shown(
        "Fig. 14, replayed logs",
        "[table](APPENDIX.md#darshan-logs)",
        ("log-error", "log-interference"),
        _COMMAND.format('"logs LOG... --store"'),
        "other logs: those of the text are not public",
    ),
    Shown(
        "III-B.2, arrangements",
        "[table](APPENDIX.md#all-runs)",
        ("cabling",),
        _COMMAND.format('"cabling --store"'),
        "up to 256 nodes, on the whole machine",
    ),
)


def stored() -> list[Run]:
    """All stored runs; a run that several sweeps have, once."""
    kept = [DATA / f"{name}.parquet" for name in SWEEPS]
    runs = [run for file in kept if file.exists() for run in parquet.read(file, Run)]
    return list({run.name: run for run in reversed(runs)}.values())[::-1]


def stored_logs() -> list[Replay]:
    """The stored replays."""
    return parquet.read(DATA / "logs.parquet", Replay)


def judge(runs: Sequence[Run], replays: Sequence[Replay] = ()) -> list[verdicts.Judged]:
    """Judges all claims by these runs and replays."""
    return [*verdicts.judge(CLAIMS, runs), *verdicts.judge(LOG_CLAIMS, replays)]


def texts() -> dict[Path, str]:
    """The pages, from the stored results."""
    runs = stored()
    judged = judge(runs, stored_logs())
    return pages.made(
        STUDY,
        shown=shown.table(SHOWN, judged).markdown().strip(),
        start=start_table(runs).markdown().strip(),
        tally=verdicts.tally(judged).markdown().strip(),
        verdicts=verdicts.short(judged).markdown().strip(),
        table=verdicts.table(judged).markdown().strip(),
        reasons=verdicts.reasons(judged, verdicts.notes(STUDY / "notes.md")).strip(),
        rules=verdicts.rules(judged).strip(),
        runs=run_table(runs).markdown().strip(),
        largest=reached(runs),
        logs=log_table(stored_logs()).markdown().strip(),
        costs=cost.table(cost.stored(COSTS)).markdown().strip(),
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


def start_table(runs: Sequence[Run]) -> Table:
    """Runs with files that begin at the buffers in turn, beside those with a hash."""
    hashed = {
        (run.machine, run.files, run.access, run.nodes, run.transfers): run
        for run in runs
        if (run.start, run.arrangement) == ("hash", "absolute")
    }
    rows = []
    for run in runs:
        other = hashed.get((run.machine, run.files, run.access, run.nodes, run.transfers))
        if run.start != "hash" and other is not None:
            rows.append(
                [
                    f"{run.nodes:,}",
                    str(run.transfers),
                    number(other.bandwidth / 1e9, "GB/s"),
                    number(run.bandwidth / 1e9, "GB/s"),
                    number(run.bandwidth / other.bandwidth, "x"),
                ]
            )
    return Table("", ["nodes", "transfers per rank", "by a hash", "in turn", "ratio"], rows)


def figure(runs: Sequence[Run], replays: Sequence[Replay]) -> Figure:
    """Bandwidth over nodes, a panel for each of figures 7 to 13, and throughput over ranks (14).

    Dashed: what nodes and buffers allow, 2.0 GB/s or a link per node up to the rate of the buffers.
    """
    picture = Figure(figsize=(11, 5.2), layout="constrained")
    for place, (number_of_figure, (machine, files, access, title)) in enumerate(PANELS.items()):
        axes = picture.add_subplot(2, 4, place + 1)
        points = sorted(
            (run.nodes, run.bandwidth / 1e9)
            for run in runs
            if (run.machine, run.files, run.access) == (machine, files, access)
            and (run.arrangement, run.start) == ("absolute", "hash")
            and (run.nodes < 512 or run.transfers == 2)
        )
        nodes = [2.0**n for n in range(14)]
        rate = 2.0 if access == "write" else 8.0
        allowed = [min(rate * n, CAPS[machine]) for n in nodes]
        axes.plot(nodes, allowed, "--", color="grey", label="nodes and buffers allow")
        if points:
            axes.plot(*zip(*points, strict=True), "o-", color=OURS, markersize=4, label="ours")
        axes.set_xscale("log", base=2)
        axes.set_title(f"fig. {number_of_figure}: {title}", fontsize=8, loc="left")
        axes.set_xlabel("compute nodes", fontsize=8)
        if place % 4 == 0:
            axes.set_ylabel("bandwidth, GB/s", fontsize=8)
        _finish(axes)
    axes = picture.add_subplot(2, 4, len(PANELS) + 1)
    alone = sorted((one for one in replays if not one.beside), key=lambda one: one.ranks)
    ranks = [one.ranks for one in alone]
    axes.plot(ranks, [one.logged / 1e6 for one in alone], "s", color=TEXT, markersize=4, label="log")
    axes.plot(ranks, [one.simulated / 1e6 for one in alone], "o", color=OURS, markersize=4, label="replayed")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title("fig. 14: replayed logs", fontsize=8, loc="left")
    axes.set_xlabel("ranks", fontsize=8)
    axes.set_ylabel("throughput, MB/s", fontsize=8)
    _finish(axes)
    return picture


def _finish(axes: Axes) -> None:
    axes.tick_params(which="both", labelsize=7)
    axes.legend(fontsize=7, frameon=False)
    axes.grid(visible=True, linewidth=0.3)
