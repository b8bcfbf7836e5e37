"""README.md and APPENDIX.md: published numbers beside Odonata's, a verdict per claim, reasons for failed
claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from study_tools import pages, verdicts
from study_tools.claims import number
from study_tools.table import Table

from theta_study import claims, published, rules, runs
from theta_study.machine import DISTANCES, INJECTION, SEND_DELAY, pairing_bound
from theta_study.runs import NODES, SIZES, Time

STUDY = Path(__file__).parents[1]
DATA = STUDY / "data" / "times.parquet"
FIGURES = STUDY.parents[1] / "docs" / "figures"


def stored() -> list[Time]:
    """All stored tests."""
    return runs.read(DATA)


def judge(times: Sequence[Time]) -> list[verdicts.Judged]:
    """Judges all claims by these tests."""
    return verdicts.judge(claims.CLAIMS, times)


def texts() -> dict[Path, str]:
    """The pages, from the stored results."""
    times = stored()
    judged = judge(times)
    return pages.made(
        STUDY,
        count=len(judged),
        tally=verdicts.tally(judged).markdown().strip(),
        points=point_table(times).markdown().strip(),
        ping_pong=ping_pong_table(times).markdown().strip(),
        pairing=pairing_table(times).markdown().strip(),
        verdicts=verdicts.short(judged).markdown().strip(),
        table=verdicts.table(judged).markdown().strip(),
        reasons=verdicts.reasons(judged, verdicts.notes(STUDY / "notes.md")).strip(),
        rules=verdicts.rules(judged).strip(),
        send_delay=SEND_DELAY,
        injection=INJECTION,
        within=differences(times),
    )


def differences(times: Sequence[Time]) -> str:
    """The difference of each variant from published numbers: "with preset 3 of 16 are within 8% (...)"."""
    texts = []
    for variant in ("preset", "fitted"):
        off = [
            abs(ours / point.value - 1.0)
            for point in published.POINTS
            if not (variant == "fitted" and point.made_of_it)
            for ours in [rules.ours(times, variant, point)]
            if ours is not None
        ]
        if off:
            near = sum(one <= published.WORST for one in off)
            mean, most = (number(value, "%") for value in (sum(off) / len(off), max(off)))
            texts.append(
                f"with {variant} {near} of {len(off)} are within 8% (mean difference {mean}, largest {most})"
            )
    return "; ".join(texts)


def point_table(times: Sequence[Time]) -> Table:
    """Every published number beside Odonata's."""
    rows = []
    for point in published.POINTS:
        cells = []
        for variant in ("preset", "fitted"):
            ours = rules.ours(times, variant, point)
            if ours is None:
                cells += ["", ""]
            elif variant == "fitted" and point.made_of_it:
                cells += [number(ours, point.unit), f"made of it: `{point.made_of_it}`"]
            else:
                cells += [number(ours, point.unit), f"{100 * (ours / point.value - 1):+.0f}%"]
        rows.append(
            [
                *(point.machine, point.quantity, f"{point.value:g} {point.unit}"),
                *cells,
                *(point.certainty, point.source),
            ]
        )
    header = [
        *("machine", "what", "published", "preset", "difference", "fitted", "difference"),
        *("certainty", "source"),
    ]
    return Table("", header, rows, left=2)


def ping_pong_table(times: Sequence[Time]) -> Table:
    """Half a round trip of the preset, by distance and size."""
    rows = []
    for where in DISTANCES:
        found = [rules.one(times, "preset", "ping-pong", where, size) for size in SIZES]
        rows.append([where, *("" if time is None else number(1e6 * time.seconds, "us") for time in found)])
    return Table("", ["distance", *(short(size) for size in SIZES)], rows)


def pairing_table(times: Sequence[Time]) -> Table:
    """The slowest pair, by nodes and size, under both routings."""
    rows = []
    for nodes in NODES:
        for variant, routing in (("preset", "adaptive"), ("minimal", "minimal")):
            found = [rules.one(times, variant, "pairing", "", size, nodes=nodes) for size in SIZES]
            bound = pairing_bound(nodes, SIZES[-1])
            cells = ["" if time is None else number(1e6 * time.seconds, "us") for time in found]
            rows.append([f"{nodes:,}", routing, *cells, number(1e6 * bound, "us") if bound else "none"])
    return Table("", ["nodes", "routing", *(short(size) for size in SIZES), "bound of 64 KiB"], rows, left=2)


def short(size: int) -> str:
    """ "8 B", "64 KiB"."""
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"
