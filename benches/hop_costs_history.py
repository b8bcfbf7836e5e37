"""The recorded costs of a hop: the reference of the gate, the accepted rises, table and chart.

A row of `hop_costs.csv` is a case at a commit. The *base* of a count is its lowest value since the last
accepted rise, over rows of the same compiler. A row above its base by more than the margin is a rise: a line
of `hop_costs_rises.csv` names the feature that causes it, and its gain. Base and margin together bound the
sum of small increases.

    .venv/bin/python benches/hop_costs_history.py          # renews table and chart from hop_costs.csv
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
HISTORY = HERE / "hop_costs.csv"
ACCEPTED = HERE / "hop_costs_rises.csv"
PAGE = HERE / "README.md"
CHART = HERE.parent / "docs/figures/hop-costs.svg"

#: Counts, and their allowed growth above the base. Mispredictions are shown and not judged: they vary by a
#: tenth with the positions of branches.
MARGINS: dict[str, float | None] = {
    "instructions": 0.03,
    "l1_misses": 0.05,
    "l2_misses": 0.15,
    "mispredicts": None,
}

#: Additional growth of misses that `--check` allows: they vary with the addresses of a build. The same commit
#: had 22.6 and 23.0 first-level misses per hop in two folders.
OTHER_ADDRESSES = 0.05

#: Below this number of misses per hop, the margin does not apply.
FEW = 0.5

#: Another compiler chooses other instructions: its first counts may exceed the margins by this factor.
OTHER_COMPILER = 4.0

COLUMNS = ["date", "commit", "compiler", "case", *MARGINS, "what"]
ACCEPTED_COLUMNS = ["commit", "case", "feature", "gain"]

#: Place of the table in the page.
BEGIN, END = "<!-- hop costs: written by hop_costs_history.py -->", "<!-- end of hop costs -->"

Row = dict[str, str]


@dataclass(frozen=True)
class Rise:
    """A count that is above its base by more than its margin."""

    case: str
    count: str
    base: float
    value: float

    @property
    def share(self) -> float:
        """The rise as a share of the base."""
        return self.value / self.base - 1.0

    def __str__(self) -> str:
        name = self.count.replace("_", " ")
        return f"{self.case}: {name} per hop {self.base:.1f} -> {self.value:.1f} ({self.share:+.1%})"


def read() -> list[Row]:
    """All rows, oldest first, each with the feature and the gain of its accepted rise, if any."""
    names = {(row["commit"], row["case"]): row for row in _read(ACCEPTED)}
    none = {"feature": "", "gain": ""}
    return [{**row, **names.get((row["commit"], row["case"]), none)} for row in _read(HISTORY)]


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(rows: Iterable[Row]) -> None:
    """Writes all rows, and the accepted rises."""
    rows = list(rows)
    for path, columns, chosen in (
        (HISTORY, COLUMNS, rows),
        (ACCEPTED, ACCEPTED_COLUMNS, [row for row in rows if row["feature"]]),
    ):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(chosen)


def bases(rows: Iterable[Row], compiler: str) -> dict[tuple[str, str], float]:
    """The base of each case and count: the lowest value since its last accepted rise.

    >>> rows = [{"case": "a", "compiler": "c", "instructions": i, "feature": f} for i, f in
    ...         [("100", ""), ("90", ""), ("92", ""), ("99", "blame"), ("101", "")]]
    >>> bases(rows[:3], "c")[("a", "instructions")]
    90.0
    >>> bases(rows, "c")[("a", "instructions")]
    99.0
    >>> bases(rows, "another compiler")
    {}
    """
    found: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["compiler"] != compiler:
            continue
        for name in MARGINS:
            if name not in row:
                continue
            key, value = (row["case"], name), float(row[name])
            accepted = row["feature"] and _is_above(name, value, found.get(key, value), 1.0)
            found[key] = value if accepted else min(value, found.get(key, value))
    return found


def rises(
    rows: list[Row], case: str, counts: dict[str, float], compiler: str, *, addresses: float = 0.0
) -> Iterator[Rise]:
    """The counts of a case above their bases by more than their margins, and misses by `addresses` more."""
    known, wider = bases(rows, compiler), 1.0
    if not any(key[0] == case for key in known):
        of_case = [row for row in rows if row["case"] == case]
        known = bases(of_case, of_case[-1]["compiler"]) if of_case else {}
        wider = OTHER_COMPILER
    for name, value in counts.items():
        base = known.get((case, name))
        growth = 0.0 if name == "instructions" else addresses
        if base is not None and _is_above(name, value, base * (1 + growth), wider):
            yield Rise(case, name, base, value)


def _is_above(name: str, value: float, base: float, wider: float) -> bool:
    margin = MARGINS[name]
    return margin is not None and value > base * (1 + margin * wider) and value - base > FEW


def accepted(rows: list[Row]) -> list[tuple[Row, Rise]]:
    """The accepted rises, oldest first, each with its row."""
    found = []
    for place, row in enumerate(rows):
        if row["feature"]:
            counts = {name: float(row[name]) for name in MARGINS}
            found += [(row, rise) for rise in rises(rows[:place], row["case"], counts, row["compiler"])]
    return found


def unaccepted(rows: list[Row]) -> list[Rise]:
    """Rises in rows that name no feature or no gain."""
    found: list[Rise] = []
    for place, row in enumerate(rows):
        if not (row["feature"] and row["gain"]):
            counts = {name: float(row[name]) for name in MARGINS}
            found += rises(rows[:place], row["case"], counts, row["compiler"])
    return found


def section(rows: list[Row]) -> str:
    """The table of a page: the lowest and the last cost of each case, and the sum of its accepted rises."""
    cases = dict.fromkeys(row["case"] for row in rows)
    lines = [
        "| case | instructions per hop, lowest | last | above the lowest | sum of accepted rises |",
        "|---|---|---|---:|---:|",
    ]
    of_instructions = [(row, rise) for row, rise in accepted(rows) if rise.count == "instructions"]
    for case in cases:
        own = [row for row in rows if row["case"] == case]
        low, last = min(own, key=lambda row: float(row["instructions"])), own[-1]
        lowest, now = float(low["instructions"]), float(last["instructions"])
        added = sum(rise.value - rise.base for _, rise in of_instructions if rise.case == case)
        lines.append(
            f"| `{case}` | {lowest:.0f} ({low['date']}, {low['commit']}) "
            f"| {now:.0f} ({last['date']}, {last['commit']}) "
            f"| {_percent(now / lowest - 1)} | {added:.0f} ({_percent(added / lowest)}) |"
        )
    return "\n".join(lines) + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:+.1f}%"


#: Size of the chart, its margins, and a color for each case.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 320, 56, 120, 34, 74
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e")


def chart(rows: list[Row]) -> str:
    """Instructions per hop over the recorded commits, relative to each case's lowest, as SVG."""
    commits = list(dict.fromkeys(row["commit"] for row in rows))
    cases = list(dict.fromkeys(row["case"] for row in rows))
    lowest = {case: min(float(row["instructions"]) for row in rows if row["case"] == case) for case in cases}
    share = {(row["case"], row["commit"]): float(row["instructions"]) / lowest[row["case"]] for row in rows}
    top = max(1.05, *share.values())
    # A line every tenth.
    ticks = [1 + step / 10 for step in range(int((top - 1) * 10 + 1.999))]
    step = (WIDTH - LEFT - RIGHT) / max(1, len(commits) - 1)

    def x(commit: str) -> float:
        return LEFT + commits.index(commit) * step

    def y(value: float) -> float:
        return TOP + (ticks[-1] - value) / max(0.1, ticks[-1] - 1) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18" font-size="13">Instructions per packet-hop, over the lowest</text>',
    ]
    for tick in ticks:
        parts.append(
            f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.1f}</text>'
        )
    dates = {row["commit"]: row["date"] for row in rows}
    for commit in commits:
        parts.append(
            f'<text transform="translate({x(commit) + 4:.1f} {HEIGHT - BOTTOM + 12}) rotate(-40)" '
            f'text-anchor="end" font-size="9">{dates[commit][5:]} {commit[:7]}</text>'
        )
    last: list[tuple[float, str, str]] = []
    for case, colour in zip(cases, itertools.cycle(COLOURS), strict=False):
        points = [(x(commit), y(share[case, commit])) for commit in commits if (case, commit) in share]
        line = " ".join(f"{left:.1f},{up:.1f}" for left, up in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        last.append((points[-1][1] + 4, case, colour))
    above = -math.inf
    for end, case, colour in sorted(last):
        # Labels keep a line's distance.
        above = max(end, above + 13)
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{above:.1f}" fill="{colour}">{case}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def with_section(text: str, rows: list[Row]) -> str:
    """The page with its table written anew."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE}: the lines {BEGIN} and {END} are missing")
    return f"{head}{BEGIN}\n\n{section(rows)}\n{END}{tail}"


def publish() -> None:
    """Writes table and chart."""
    rows = read()
    PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    CHART.write_text(chart(rows), encoding="utf-8")


if __name__ == "__main__":
    publish()
