"""Two sweeps compared: points with equal values of their common keys, seed by seed.

Both may sweep keys that the other one fixes, as long as the common keys tell the points of each apart.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TextIO

from odonata.base.terminal import console, explain, show_table, table
from odonata.errors import InputError, option
from odonata.sweeps.pairs import Pairs
from odonata.sweeps.table import measure_names, words
from odonata.sweeps.values import text

if TYPE_CHECKING:
    from odonata.answers.compare_sweeps import SweepComparison, SweepPair
    from odonata.sweeps.result import Sweep

#: Measures that are printed; the answer has all.
SHOWN = ("elapsed_s", "elapsed_ratio", "mpi_s", "io_s")
#: Most printed rows.
MOST_ROWS = 60


def compare(a: Sweep, b: Sweep, least: float) -> SweepComparison:
    """The comparison of `a` with `b`; ratios that differ from 1 by less than `least` are left out.

    Raises:
        InputError: The common keys do not tell the points of a sweep apart.
    """
    common = [key for key in a.swept if key in b.swept]
    places = [_points(sweep, common, name) for sweep, name in ((a, "A"), (b, "B"))]
    confidence = float(b.description["confidence"])
    sides = [Pairs(sweep.table, tuple(measure_names()), confidence) for sweep in (a, b)]
    rows: list[SweepPair] = []
    shared = [key for key in places[0] if key in places[1]]
    for key in shared:
        before, after = places[0][key], places[1][key]
        for job in sides[0].jobs(before):
            for measure in sides[0].measures:
                pair = sides[0].compare(job, measure, before, after, sides[1])
                if pair is not None and abs(pair.ratio - 1) >= least:
                    rows.append(
                        {
                            "values": dict(zip(common, json.loads(key), strict=True)), "job": job,
                            "measure": measure, "pairs": pair.pairs, "ratio": pair.ratio,
                            "low": None if math.isnan(pair.low) else pair.low,
                            "high": None if math.isnan(pair.high) else pair.high,
                            "fell": pair.fell, "rose": pair.rose, "words": pair.in_words,
                        }
                    )  # fmt: skip
    return {"a": str(a.path), "b": str(b.path), "points": len(shared), "rows": rows}


def _points(sweep: Sweep, keys: list[str], name: str) -> dict[str, int]:
    """The number of each point by its values of `keys`."""
    found: dict[str, int] = {}
    for row in sweep.table.select(["point", *keys]).to_pylist():
        key = json.dumps([row[one] for one in keys], default=str)
        if found.setdefault(key, row["point"]) != row["point"]:
            raise InputError(
                "several points of a sweep have equal values of the common keys",
                key=option(name.lower(), name),
                value=str(sweep.path),
                expected=f"points that differ in {', '.join(keys) or 'nothing'}",
            )
    return found


def show(answer: SweepComparison | dict[str, Any], stream: TextIO | None = None) -> None:
    """Prints a comparison of sweeps."""
    out = console(stream)
    explain(out, f"A: {answer['a']}", f"B: {answer['b']}", f"{answer['points']} points are in both.")
    rows = [row for row in answer["rows"] if row["measure"] in SHOWN]
    page = table("point", "job", "measure", "B / A", left=4)
    for row in rows[:MOST_ROWS]:
        where = ", ".join(f"{key} = {text(value)}" for key, value in row["values"].items()) or "all"
        page.add_row(where, row["job"], words(row["measure"]), row["words"])
    if page.row_count:
        show_table(out, page)
        explain(out, "Ratios are paired by seed, with 95% intervals; --json has all measures.")
    else:
        explain(out, "No measure of these points differs.")
