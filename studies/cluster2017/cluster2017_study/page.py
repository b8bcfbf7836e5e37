"""README.md and APPENDIX.md: the paper's figures, a verdict per claim, the reasons, the cost of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from study_tools import pages, verdicts
from study_tools.claims import Claim, Verdict, number
from study_tools.table import Table

from cluster2017_study import claims_background, claims_io, daly, measures
from cluster2017_study.measures import Run

STUDY = Path(__file__).parents[1]
DATA = STUDY / "data"
FIGURES = STUDY.parents[1] / "docs" / "figures"

CLAIMS: list[Claim[Sequence[Run]]] = [*claims_background.CLAIMS, *claims_io.CLAIMS]

#: Reasons for claims that do not hold, or only in part, found by experiment.
NOTES = STUDY / "notes.md"


def notes() -> dict[str, str]:
    """Reasons for claims that do not hold, by claim."""
    return verdicts.notes(NOTES)


#: Claims about the latency of single packets, which need as many bytes in flight as in the paper.
NUMBERS = frozenset({"nearest-minimal-worst", "random-adaptive-ms", "4700-times"})


def at_full_scale(run: Run) -> bool:
    """Whether a run has as many bytes in flight as the paper's."""
    # Slightly below the requested bytes, by the remainder of the division by ranks.
    return run.checkpoint_bytes > 0.99 * measures.SCALE_ONE


def judge(runs: Sequence[Run]) -> list[verdicts.Judged]:
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


def stored() -> list[Run]:
    """The runs for the page: the grid, and those at the paper's scale."""
    grid, scales, whole = (measures.read(DATA, name)[0] for name in ("full", "scales", "whole"))
    return [*grid, *filter(at_full_scale, [*scales, *whole])]


def texts() -> dict[Path, str]:
    """The pages, from the stored results."""
    runs, _ = measures.read(DATA, "full")
    scales = [run for name in ("scales", "whole") for run in measures.read(DATA, name)[0]]
    quick, _ = measures.read(DATA, "quick")
    judged, small = judge(stored()), judge(quick)
    computed = [
        (a.verdict, b.verdict) for a, b in zip(judged, small, strict=True) if b.verdict != Verdict.UNKNOWN
    ]
    agree = sum(a == b for a, b in computed)
    return pages.made(
        STUDY,
        count=len(CLAIMS),
        tally=verdicts.tally(judged).markdown().strip(),
        verdicts=verdicts.short(judged).markdown().strip(),
        table=verdicts.table(judged).markdown().strip(),
        reasons=verdicts.reasons(judged, notes()).strip(),
        rules=verdicts.rules(judged).strip(),
        scales=scale_table(scales).markdown().strip(),
        daly=daly.table(daly.read(DATA / "daly.parquet")).markdown().strip(),
        points=len(runs),
        cpu_minutes=number(sum(run.cpu_s for run in runs) / 60, "min"),
        hops=number(sum(run.packet_hops for run in runs) / 1e6, "M"),
        longest=number(max(run.cpu_s for run in runs), "s"),
        memory=number(max(run.peak_rss_bytes for run in runs) / 2**20, "MiB"),
        quick_counts=verdicts.counts(small),
        quick_agree=f"{agree} of {len(computed)}",
    )


def scale(checkpoint_bytes: float) -> str:
    """The reduction of a checkpoint relative to scale 1.

    >>> scale(measures.SCALE_ONE / 16), scale(measures.WHOLE)
    ('16', '1/32')
    """
    times = measures.SCALE_ONE / checkpoint_bytes
    return f"{times:.0f}" if times >= 1 else f"1/{1 / times:.0f}"


def scale_table(runs: Sequence[Run]) -> Table:
    """The configurations that were run at several scales."""
    rows = [
        [
            run.name,
            scale(run.checkpoint_bytes),
            number(1e3 * run.checkpoint_s, "ms"),
            number(measures.WHOLE / run.checkpoint_bytes * run.checkpoint_s, "s"),
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
        *("configuration", "scale", "checkpoint", "times 1 TB / size", "mean packet", "worst packet"),
        *("worst, with / without", "worst / mean without", "packet-hops", "CPU", "memory"),
    ]
    return Table("", header, rows)
