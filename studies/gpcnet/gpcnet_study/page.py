"""README.md and APPENDIX.md: factors beside published ones, a verdict per claim, reasons for failed
claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from study_tools import pages, verdicts
from study_tools.claims import number
from study_tools.table import Table

from gpcnet_study import measures, published
from gpcnet_study.claims import CLAIMS
from gpcnet_study.machines import OWN_CONTROL
from gpcnet_study.measures import Row

STUDY = Path(__file__).parents[1]
DATA = STUDY / "data" / "rows.parquet"
FIGURES = STUDY.parents[1] / "docs" / "figures"


def stored() -> list[Row]:
    """All stored rows."""
    return measures.read(DATA)


def judge(rows: Sequence[Row]) -> list[verdicts.Judged]:
    """Judges all claims by these rows."""
    return verdicts.judge(CLAIMS, rows)


def texts() -> dict[Path, str]:
    """The pages, from the stored results."""
    rows = stored()
    judged = judge(rows)
    return pages.made(
        STUDY,
        count=len(CLAIMS),
        tally=verdicts.tally(judged).markdown().strip(),
        verdicts=verdicts.short(judged).markdown().strip(),
        table=verdicts.table(judged).markdown().strip(),
        reasons=verdicts.reasons(judged, verdicts.notes(STUDY / "notes.md")).strip(),
        rules=verdicts.rules(judged).strip(),
        canaries=canary_table(rows).markdown().strip(),
        map=map_table(rows).markdown().strip(),
        runs=len(rows),
        cpu_minutes=number(sum(row.cpu_s for row in rows) / 60, "min"),
    )


def canary_table(rows: Sequence[Row]) -> Table:
    """GPCNeT's output: alone, congested, factors, for each congestion control."""
    factors = measures.impacts(rows)
    alone = {row.baseline_key: row for row in rows if not row.aggressor}
    table = [
        [
            row.victim,
            row.machine,
            row.control,
            measures.shown(alone[row.baseline_key]),
            measures.shown(row),
            f"{number(factors[row][0], 'x')} / {number(factors[row][1], 'x')}",
            f"{published.CANARIES[row.machine, row.victim]:.1f}" if own(row) else "none known",
        ]
        for row in rows
        if row.suite == "GPCNeT" and row in factors
    ]
    header = ["canary", "machine", "control", "alone, mean / 99%", "congested", "factor", "published factor"]
    return Table("", header, table, left=3)


def own(row: Row) -> bool:
    """Whether a factor of a machine with this control is published."""
    return (row.machine, row.victim) in published.CANARIES and row.control == "per-pair"


def map_table(rows: Sequence[Row]) -> Table:
    """The aggressor-victim map: ours, random and linear, and the published one."""
    table = []
    means, factors = measures.impacts(rows), measures.slowest_impacts(rows)
    linear = {
        (row.baseline_key[1:], row.control, row.aggressor): factor
        for row, factor in factors.items()
        if row.suite == "map, linear"
    }
    for row, factor in factors.items():
        if row.suite == "map":
            theirs = published.impact(row.machine, row.victim, row.aggressor, row.percent)
            in_order = linear.get((row.baseline_key[1:], row.control, row.aggressor))
            # No machine was measured with a control that it lacks.
            known = theirs is not None and row.control == OWN_CONTROL[row.machine]
            table.append(
                [
                    row.victim,
                    row.machine,
                    row.control,
                    f"{row.aggressor} {row.percent}%",
                    number(factor, "x"),
                    number(means[row][0], "x"),
                    "" if in_order is None else number(in_order, "x"),
                    f"{theirs.factor:g}" if known and theirs else "",
                ]
            )
    header = [
        *("victim", "machine", "control", "aggressor", "ours, random placement", "the same, mean of ranks"),
        *("ours, linear placement", "published, linear placement"),
    ]
    return Table("", header, table, left=4)
