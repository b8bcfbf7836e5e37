"""README.md and APPENDIX.md: the paper's figures, a verdict per claim, the reasons, the cost of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from study_tools import cost, pages, parquet, shown, verdicts
from study_tools.claims import Claim, Verdict, number, share
from study_tools.table import Table
from study_tools.verdicts import Judged

from cluster2017_study import claims_background, claims_io, daly, measures
from cluster2017_study.measures import Run
from cluster2017_study.shown import SHOWN

STUDY = Path(__file__).parents[1]
DATA = STUDY / "data"
FIGURES = STUDY.parents[1] / "docs" / "figures"
COSTS = DATA / "costs.parquet"
EARLIER = DATA / "whole-earlier.csv"

CLAIMS: list[Claim[Sequence[Run]]] = [*claims_background.CLAIMS, *claims_io.CLAIMS]

#: Reasons for claims that do not hold, or only in part, found by experiment.
NOTES = STUDY / "notes.md"


def notes() -> dict[str, str]:
    """Reasons for claims that do not hold, by claim."""
    return verdicts.notes(NOTES)


#: Claims about the latency of single packets, which need as many bytes in flight as in the paper.
NUMBERS = frozenset({"nearest-minimal-worst", "random-adaptive-ms", "4700-times"})


#: Whose settings -> the sweeps that the page is judged by.
STORED = {
    "text": ("full", "scales", "whole"),
    "authors": ("authors", "authors-scales", "authors-whole"),
}


def at_full_scale(run: Run) -> bool:
    """Whether a run has as many bytes in flight as the paper's."""
    # Slightly below the requested bytes, by the remainder of the division by ranks.
    return run.scale < 1.01


def judge(runs: Sequence[Run]) -> list[Judged]:
    """Judges all claims by these runs.

    `NUMBERS` are judged by the runs at the paper's scale alone; without such runs they are left out.
    """
    small = [run for run in runs if not at_full_scale(run)]
    whole = [run for run in runs if at_full_scale(run)]
    return [
        one
        for claim in CLAIMS
        for one in verdicts.judge([claim], whole if claim.key in NUMBERS else small or whole)
    ]


def stored(settings: str = "text") -> list[Run]:
    """The runs with these settings that the page is judged by: the grid, and of each configuration the
    largest with as many bytes in flight as the paper's.
    """
    large = sorted(stored_scales(settings), key=lambda run: run.checkpoint_bytes)
    return [*stored_grid(settings), *{run.name: run for run in large if at_full_scale(run)}.values()]


def stored_grid(settings: str = "text") -> list[Run]:
    """The grid of 60 configurations."""
    return measures.read(DATA, STORED[settings][0])[0]


def stored_scales(settings: str = "text") -> list[Run]:
    """The configurations that ran with several checkpoints."""
    kept = [name for name in STORED[settings][1:] if (DATA / f"{name}.parquet").exists()]
    runs = [run for name in kept for run in measures.read(DATA, name)[0]]
    return _with_alone(runs, [*stored_grid(settings), *runs])


def stored_earlier() -> list[Run]:
    """The whole checkpoints of an earlier model that did not run again."""
    repeated = {run.name for run in stored_scales() if is_whole(run)}
    earlier = [run for run in measures.read_earlier(EARLIER) if run.name not in repeated]
    return _with_alone(earlier, [*stored_grid(), *stored_scales()])


def _with_alone(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    return measures.with_alone(runs, filter(measures.has_alone, others))


def is_whole(run: Run) -> bool:
    """Whether the checkpoint is the whole one."""
    return run.whole < 1.01


def texts() -> dict[Path, str]:
    """The pages, from the stored results."""
    runs, _ = measures.read(DATA, "full")
    scales = stored_scales()
    quick, _ = measures.read(DATA, "quick")
    judged, small = judge(stored()), judge(quick)
    theirs = stored("authors")
    both = {"text": judged, "authors": judge(theirs)}
    computed = [
        (a.verdict, b.verdict) for a, b in zip(judged, small, strict=True) if b.verdict != Verdict.UNKNOWN
    ]
    agree = sum(a == b for a, b in computed)
    return pages.made(
        STUDY,
        count=len(CLAIMS),
        shown=shown.table(SHOWN, judged).markdown().strip(),
        tally=tally(both).markdown().strip(),
        verdicts=side_by_side(both).markdown().strip(),
        table=verdicts.table(judged).markdown().strip(),
        authors=numbers(judged, both["authors"]).markdown().strip(),
        authors_scales=scale_table([run for run in theirs if at_full_scale(run)]).markdown().strip(),
        authors_cost=number(sum(run.cpu_s for run in theirs) / 60, "min"),
        reasons=reasons(both, notes()).strip(),
        rules=verdicts.rules(judged).strip(),
        scales=scale_table(scales).markdown().strip(),
        cells=cell_table([*stored_grid(), *scales, *stored_earlier()]).markdown().strip(),
        earlier=earlier_table(stored_earlier()).markdown().strip(),
        costs=cost.table(cost.stored(COSTS)).markdown().strip(),
        daly=daly.table(parquet.read(DATA / "daly.parquet", daly.Solution)).markdown().strip(),
        points=len(runs),
        cpu_minutes=number(sum(run.cpu_s for run in runs) / 60, "min"),
        hops=number(sum(run.packet_hops for run in runs) / 1e6, "M"),
        longest=number(max(run.cpu_s for run in runs), "s"),
        memory=number(max(run.peak_rss_bytes for run in runs) / 2**20, "MiB"),
        quick_counts=verdicts.counts(small),
        quick_agree=f"{agree} of {len(computed)}",
    )


def tally(both: Mapping[str, Sequence[Judged]]) -> Table:
    """How many claims hold, by whose settings."""
    rows = []
    for settings, judged in both.items():
        found = [one.verdict for one in judged]
        rows.append([settings, *(str(found.count(verdict)) for verdict in Verdict)])
    return Table("", ["settings", *(str(verdict) for verdict in Verdict)], rows)


def side_by_side(both: Mapping[str, Sequence[Judged]]) -> Table:
    """What each claim says, and its verdict by whose settings."""
    rows = [
        [
            pair[0].claim.says,
            pair[0].claim.source,
            *(cell for one in pair for cell in (f"**{one.verdict}**", share(one.answer.values))),
        ]
        for pair in zip(*both.values(), strict=True)
    ]
    header = ["claim", "in", *(cell for settings in both for cell in (settings, "cases as claimed"))]
    return Table("", header, rows, left=len(header))


def numbers(text: Sequence[Judged], authors: Sequence[Judged]) -> Table:
    """Verdicts with both settings, and the numbers with the authors'."""
    rows = [
        [
            f"`{one.claim.key}`",
            *(f"{judged.verdict} ({share(judged.answer.values)})" for judged in (one, other)),
            other.answer.text(),
        ]
        for one, other in zip(text, authors, strict=True)
    ]
    header = ["claim", "text", "authors", "ours with the authors' settings"]
    return Table("", header, rows, left=len(header))


def wanting(both: Mapping[str, Sequence[Judged]]) -> dict[str, list[str]]:
    """Claims that do not hold, or not everywhere, with some settings -> the verdict with each."""
    return {
        pair[0].claim.key: [f"{settings}: {one.verdict}" for settings, one in zip(both, pair, strict=True)]
        for pair in zip(*both.values(), strict=True)
        if any(one.verdict in (Verdict.PART, Verdict.NOT) for one in pair)
    }


def reasons(both: Mapping[str, Sequence[Judged]], notes: Mapping[str, str]) -> str:
    """Of every claim that is wanting, why: a list in Markdown."""
    return "".join(
        f"- **`{key}`** ({'; '.join(verdicts)}). {notes.get(key, 'Not explained.')}\n"
        for key, verdicts in wanting(both).items()
    )


def scale(times: float) -> str:
    """How many times smaller than that of scale 1 a checkpoint is.

    >>> scale(16.0), scale(1 / 32)
    ('16', '1/32')
    """
    return f"{times:.0f}" if times >= 0.9 else f"1/{1 / times:.0f}"


#: Claims about single configurations, or two of one placement, by measures that all whole checkpoints have.
CELL_CLAIMS = (
    *("nearest-minimal-least", "nearest-minimal-worst", "random-adaptive-ms", "4700-times"),
    "random-node-grows",
)


def cell_table(runs: Sequence[Run]) -> Table:
    """The claims on the configurations that ran with the whole checkpoint, at each scale, and whether their
    verdicts are those with the whole checkpoint.
    """
    whole = {run.name for run in runs if is_whole(run)}
    cells: dict[str, dict[str, Run]] = {}
    for run in sorted(runs, key=lambda run: run.checkpoint_bytes):
        if run.name in whole:
            cells.setdefault(scale(run.scale), {})[run.name] = run
    chosen = [claim for claim in CLAIMS if claim.key in CELL_CLAIMS]
    judged = {name: verdicts.judge(chosen, list(found.values())) for name, found in cells.items()}
    rows = [
        [f"`{at[0].claim.key}`", *(f"{one.verdict} ({share(one.answer.values)})" for one in at)]
        for at in zip(*judged.values(), strict=True)
    ]
    last = list(judged.values())[-1] if judged else []
    equal = [
        sum(one.verdict == end.verdict for one, end in zip(at, last, strict=True)) for at in judged.values()
    ]
    counted = ["verdicts as with the whole checkpoint", *(f"{count} of {len(rows)}" for count in equal)]
    sizes = ["configurations", *(str(len(found)) for found in cells.values())]
    header = ["claim", *(f"scale {name}" for name in cells)]
    return Table("", header, [sizes, *rows, counted], left=len(header))


def earlier_table(runs: Sequence[Run]) -> Table:
    """The whole checkpoints of an earlier model."""
    rows = [
        [
            run.name,
            number(run.checkpoint_s, "s"),
            "" if math.isnan(run.latency_mean_s) else number(1e6 * run.latency_mean_s, "us"),
            number(1e6 * run.latency_max_s, "us"),
            number(run.latency_max_s / run.latency_mean_alone_s, "x"),
            number(run.packet_hops / 1e6, "M"),
            number(run.cpu_s, "s"),
            number(run.peak_rss_bytes / 2**20, "MiB"),
        ]
        for run in runs
    ]
    header = [
        *("configuration", "checkpoint", "mean packet", "worst packet", "worst / mean without"),
        *("packet-hops", "CPU", "memory"),
    ]
    return Table("", header, rows)


def scale_table(runs: Sequence[Run]) -> Table:
    """The configurations that were run at several scales."""
    rows = [
        [
            run.name,
            scale(run.scale),
            number(1e3 * run.checkpoint_s, "ms"),
            number(run.whole * run.checkpoint_s, "s"),
            number(run.whole * run.first_rank_s, "s"),
            number(1e6 * run.latency_mean_s, "us"),
            number(1e6 * run.latency_max_s, "us"),
            number(run.slowest_packet, "x"),
            number(run.latency_max_s / run.latency_mean_alone_s, "x"),
            number(run.packet_hops / 1e6, "M"),
            number(run.cpu_s, "s"),
            number(run.peak_rss_bytes / 2**20, "MiB"),
        ]
        for run in sorted(runs, key=lambda run: (run.name, run.checkpoint_bytes))
    ]
    header = [
        *("configuration", "scale", "checkpoint", "times whole / size", "first rank", "mean packet"),
        "worst packet",
        *("worst, with / without", "worst / mean without", "packet-hops", "CPU", "memory"),
    ]
    return Table("", header, rows)
