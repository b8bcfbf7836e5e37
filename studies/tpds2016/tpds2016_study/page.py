"""README.md and APPENDIX.md: figures, a verdict per claim, reasons for failed claims, effects of scaling."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from study_tools import cost, pages, shown, verdicts
from study_tools.claims import number
from study_tools.table import Table

from tpds2016_study import claims_cost, claims_dragonfly, claims_machines, claims_torus, figures, measures
from tpds2016_study.bluegene import Time
from tpds2016_study.bluegene_load import Load
from tpds2016_study.claims_machines import Evidence
from tpds2016_study.cost import Cost
from tpds2016_study.full import Full
from tpds2016_study.measures import Point, Run
from tpds2016_study.processes import Split
from tpds2016_study.shown import SHOWN
from tpds2016_study.speed import Speed

STUDY = Path(__file__).parents[1]
DATA = STUDY / "data"
COSTS = DATA / "costs.parquet"
FIGURES = STUDY.parents[1] / "docs" / "figures"
SWEEPS = {
    "programs": ("dragonfly", "torus"),
    "larger": ("larger-dragonfly", "larger-torus", "bytes"),
    "amg-nonminimal": ("amg-nonminimal",),
    "amg-oblong": ("amg-oblong",),
    "links": ("links",),
}
#: Parts with the paper's ranks, one per program.
PAPER = ("paper-router", "paper-amg", "paper-multigrid")
SWEEPS |= {part: (f"{part}-dragonfly", f"{part}-torus") for part in PAPER}
#: Parts whose distributions are drawn, and the files of these.
DISTRIBUTIONS = {"programs": "distributions"} | {part: f"{part}-distributions" for part in PAPER}
#: Parts with more ranks than those of the grid.
LARGER = ("larger", "amg-nonminimal", "amg-oblong", *PAPER)


def stored(name: str = "programs") -> list[Run]:
    """Stored runs: those of the grid, or the larger ones."""
    return measures.read(DATA, name, Run)


def stored_full() -> list[Full]:
    """Stored runs at full size."""
    return kept("full", Full)


def stored_larger() -> list[Run]:
    """Stored runs with more ranks; equal runs of several parts once."""
    runs = [run for part in LARGER for run in kept(part, Run)]
    return list({(run.name, run.bytes): run for run in runs}.values())


def kept(name: str, kind: type) -> list[Any]:
    """Stored rows, if there are any."""
    return measures.read(DATA, name, kind) if (DATA / f"{name}.parquet").exists() else []


def evidence(runs: Sequence[Run]) -> Evidence:
    """All other stored results, with these runs."""
    return Evidence(
        runs=runs,
        larger=stored_larger(),
        links=kept("links", Run),
        times=measures.read(DATA, "bluegene", Time),
        loads=measures.read(DATA, "bluegene-load", Load),
        costs=measures.read(DATA, "cost", Cost),
        splits=kept("processes", Split),
        booksim=claims_machines.booksim(),
        speeds=kept("speed", Speed),
        full=stored_full(),
    )


def judge(found: Evidence) -> list[verdicts.Judged]:
    """Judges all claims by the measurements."""
    return [
        *verdicts.judge([*claims_machines.CLAIMS, *claims_cost.CLAIMS], found),
        *verdicts.judge(claims_dragonfly.CLAIMS, [*found.runs, *found.larger]),
        *verdicts.judge(claims_torus.CLAIMS, [*found.runs, *found.larger]),
    ]


def texts() -> dict[Path, str]:
    """The pages, from the stored results."""
    runs, larger = stored(), stored_larger()
    found = evidence(runs)
    judged = judge(found)
    everything = [*runs, *larger]
    return pages.made(
        STUDY,
        count=len(judged),
        shown=shown.table(SHOWN, judged).markdown().strip(),
        tally=verdicts.tally(judged).markdown().strip(),
        verdicts=verdicts.short(judged).markdown().strip(),
        table=verdicts.table(judged).markdown().strip(),
        reasons=verdicts.reasons(judged, verdicts.notes(STUDY / "notes.md")).strip(),
        rules=verdicts.rules(judged).strip(),
        runs=run_table(runs).markdown().strip(),
        larger=run_table(larger).markdown().strip(),
        links=link_table(found.links).markdown().strip(),
        scales=scale_table(runs, larger).markdown().strip(),
        costs=cost_table(found.costs).markdown().strip(),
        paper_costs=cost.table(cost.stored(COSTS)).markdown().strip(),
        full=full_table(stored_full()).markdown().strip(),
        full_remarks=(STUDY / "full.md").read_text(encoding="utf-8").strip(),
        speeds=speed_table(found.speeds).markdown().strip() if found.speeds else "Not run yet.",
        splits=split_table(found.splits).markdown().strip() if found.splits else "Not run yet.",
        cpu_minutes=number(sum(run.cpu_s for run in everything) / 60, "min"),
        longest=number(max(run.cpu_s for run in everything), "s"),
    )


def run_table(runs: Sequence[Run]) -> Table:
    """Every run with the numbers of the figures."""
    rows = [
        [
            run.name,
            number(run.bytes / 1e9, "GB"),
            f"{run.hops:.2f}",
            number(1e6 * run.latency_s, "us"),
            number(1e3 * run.communication_s, "ms"),
            number(1e3 * run.terminal_mean_s, "ms"),
            number(run.local_busy, "%"),
            number(1e3 * run.local_mean_of_busy_s, "ms"),
            number(1e3 * run.global_mean_s, "ms"),
            number(run.packet_hops / 1e6, "M"),
            number(run.cpu_s, "s"),
        ]
        for run in runs
    ]
    header = [
        *("run", "sent", "cables", "packet latency", "longest time in MPI", "node links full"),
        *("local links ever full", "for", "global links full", "packet-hops", "CPU"),
    ]
    return Table("", header, rows)


#: Comparisons of larger runs: (program, one machine or routing, the other, measure).
PAIRS = (
    ("AMG", "minimal", "adaptive", "latency_s"),
    ("AMG", "minimal", "adaptive", "communication_s"),
    ("AMG", "minimal", "adaptive", "terminal_mean_s"),
    ("Crystal Router", "minimal", "adaptive", "latency_s"),
    ("Crystal Router", "minimal", "adaptive", "communication_s"),
    ("Multigrid", "minimal", "adaptive", "latency_s"),
    ("Multigrid", "minimal", "adaptive", "communication_s"),
    ("AMG", "oblong", "cube", "latency_s"),
    ("AMG", "oblong", "cube", "communication_s"),
    ("Crystal Router", "cube", "5D", "latency_s"),
    ("Crystal Router", "cube", "5D", "communication_s"),
)


def kind(run: Run) -> str:
    """The name of a run in a pair: its routing, or "cube", "oblong", "5D", ... for a torus."""
    if run.machine == "dragonfly":
        return run.routing
    if run.machine != "3D":
        return run.machine
    return "cube" if len(set(run.shape.split(" x "))) == 1 else "oblong"


def scale_table(runs: Sequence[Run], larger: Sequence[Run]) -> Table:
    """Ratios of the same two machines at several sizes."""
    rows = []
    for program, one, other, measure in PAIRS:
        found: dict[tuple[int, float], dict[str, Run]] = {}
        for run in (*runs, *larger):
            if run.program == program:
                # Bytes to three digits: they do not depend on the machine.
                found.setdefault((run.ranks, float(f"{run.bytes:.3g}")), {})[kind(run)] = run
        for (ranks, sent), members in sorted(found.items()):
            if one in members and other in members:
                ratio = getattr(members[one], measure) / getattr(members[other], measure)
                what = measure.removesuffix("_s").replace("_", " ")
                rows.append(
                    [
                        program,
                        f"{what}, {one} / {other}",
                        f"{ranks:,}",
                        number(sent / 1e9, "GB"),
                        number(ratio, "x"),
                    ]
                )
    return Table("", ["program", "ratio", "ranks", "sent", "ours"], rows, left=2)


def link_table(runs: Sequence[Run]) -> Table:
    """Shares of links in use."""
    rows = [
        [
            f"{run.ranks:,}",
            run.shape,
            run.routing,
            number(run.local_used, "%"),
            number(run.global_used, "%"),
            number(run.cpu_s, "s"),
        ]
        for run in runs
    ]
    header = ["ranks", "groups x routers x nodes", "routing", "local links", "global links", "CPU"]
    return Table("", header, rows, left=3)


def cost_table(costs: Sequence[Cost]) -> Table:
    """Each program on each scheduler."""
    rows = [
        [
            cost.program,
            cost.scheduler,
            str(cost.threads),
            number(cost.wall_s, "s"),
            number(cost.cpu_s, "s"),
            number(cost.events / 1e6, "M"),
            number(cost.events / cost.cpu_s / 1e6, "M/s"),
            number(cost.efficiency, "%"),
            number(cost.waiting, "%"),
            f"`{cost.digest[:8]}`",
        ]
        for cost in costs
    ]
    header = [
        *(
            "program",
            "scheduler",
            "threads",
            "wall",
            "CPU",
            "events",
            "events per CPU-second",
            "events for good",
        ),
        *("waiting", "digest"),
    ]
    return Table("", header, rows, left=2)


def full_table(rows: Sequence[Full]) -> Table:
    """Runs at full size: their cost, and their own estimates."""
    found = [
        [
            row.program,
            f"{row.ranks:,} on {row.nodes:,} nodes",
            row.routing,
            row.outcome if row.outcome == "completed" else f"{row.outcome} at {number(row.fraction, '%')}",
            str(row.sittings),
            number(row.bytes / 2**30, "GiB") if row.bytes else "",
            number(row.packet_hops / 1e6, "M"),
            number(row.events / 1e6, "M"),
            number(row.cpu_s, "s"),
            number(row.wall_s, "s"),
            f"{row.packet_hops / row.cpu_s / 1e6:.2f} M/s",
            number(row.peak_rss_bytes / 1e6, "MB"),
            number(row.whole_cpu_s / 60, "min"),
            *("" if off is None else f"{100 * off:+.0f}%" for off in row.off),
            f"`{row.digest[:8]}`" if row.digest else "",
            f"`{row.commit}`",
            row.machine,
        ]
        for row in rows
    ]
    header = [
        *(
            "program",
            "ranks",
            "routing",
            "outcome",
            "sittings",
            "sent",
            "packet-hops",
            "events",
            "CPU",
            "wall",
        ),
        *("packet-hops per CPU-second", "peak memory", "CPU of the whole run"),
        *("predicted after a tenth: events off by", "CPU off by"),
        *("digest", "commit", "machine"),
    ]
    return Table("", header, found, left=4)


def split_table(rows: Sequence[Split]) -> Table:
    """The same program by one process and by several."""
    found = [
        [
            row.program,
            f"{row.ranks:,}",
            str(row.processes),
            number(row.events / 1e6, "M"),
            number(row.packet_hops / 1e6, "M"),
            number(row.wall_s, "s"),
            number(row.cpu_s, "s"),
            number(row.waiting, "%"),
            number(row.peak_rss_bytes / 1e6, "MB"),
            f"`{row.digest[:8]}`",
        ]
        for row in rows
    ]
    header = [
        *("program", "ranks", "processes", "events", "packet-hops", "wall", "CPU of all", "waiting"),
        *("peak memory of a process", "digest"),
    ]
    return Table("", header, found)


def speed_table(rows: Sequence[Speed]) -> Table:
    """Cycles per second of CPU time, beside BookSim."""
    found = [
        [
            row.routing,
            f"{row.load:g}",
            f"{row.cycles:,}",
            str(row.rounds),
            number(row.ours, ""),
            number(row.booksim, ""),
            number(row.times, "x"),
        ]
        for row in rows
    ]
    header = ["routing", "load", "cycles", "rounds", "ours, cycles per CPU-second", "BookSim 2's", "times"]
    return Table("", header, found)


def figure_data() -> figures.Data:
    """The data of the figures."""
    return figures.Data(
        grid=stored(),
        points=measures.read(DATA, "distributions", Point),
        paper=[run for part in PAPER for run in kept(part, Run)],
        paper_points=[point for part in PAPER for point in kept(DISTRIBUTIONS[part], Point)],
        times=measures.read(DATA, "bluegene", Time),
    )
