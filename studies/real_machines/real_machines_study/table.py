"""The page docs/real-machines.md, from the stored results of this and other studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpcnet_study import measures as gpcnet
from study_tools.claims import number
from study_tools.table import Table
from theta_study import runs as theta_runs
from tpds2016_study import bluegene, bluegene_load, measures

from real_machines_study import STUDIES, pingpong
from real_machines_study.entries import Entry, Measured, entries

HERE = Path(__file__).parents[1]
DATA = HERE / "data" / "pingpong.parquet"
TEMPLATE = HERE / "page.md"
PAGE = STUDIES.parent / "docs" / "real-machines.md"


def stored() -> Measured:
    """All stored results."""
    data = STUDIES / "tpds2016" / "data"
    return Measured(
        pingpong=pingpong.read(DATA),
        bluegene=measures.read(data, "bluegene", bluegene.Time),
        loads=measures.read(data, "bluegene-load", bluegene_load.Load),
        gpcnet=gpcnet.read(STUDIES / "gpcnet" / "data" / "rows.parquet"),
        theta=theta_runs.read(STUDIES / "theta" / "data" / "times.parquet"),
    )


def table(found: Sequence[Entry]) -> Table:
    """A row per published number."""
    rows = [
        [
            one.machine,
            one.quantity,
            ("at least " if one.at_least else "") + shown(one.published, one.unit),
            shown(one.ours, one.unit),
            difference(one),
            one.preset,
            f"yes: `{one.made_of_it}`" if one.made_of_it else "no",
            one.certainty,
            one.source,
        ]
        for one in found
    ]
    header = [
        *("machine", "quantity", "published", "Odonata", "difference", "preset", "fitted"),
        *("certainty", "source"),
    ]
    return Table("", header, rows, left=2)


def shown(value: float, unit: str) -> str:
    """A number; shares are in percent here."""
    return f"{value:.0f}%" if unit == "%" else number(value, unit)


def difference(one: Entry) -> str:
    """The difference in percent; for factors a ratio; empty if a lower bound is met."""
    if one.at_least and one.ours >= one.published:
        return "kept"
    if one.unit == "x":
        return f"ratio {one.ours / one.published:.2g}"
    return f"{100 * one.difference:+.0f}%"


def text() -> str:
    """The page."""
    found = entries(stored())
    fitted = [one for one in found if one.made_of_it]
    plain = [abs(one.difference) for one in found if not one.made_of_it and one.unit in ("us", "GB/s")]
    return TEMPLATE.read_text(encoding="utf-8").format(
        table=table(found).markdown().strip(),
        count=len(found),
        fitted=len(fitted),
        within=sum(off <= 0.2 for off in plain),
        judged=len(plain),
        mean=f"{100 * sum(plain) / len(plain):.0f}%",
    )
