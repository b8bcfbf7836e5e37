"""Speed beside BookSim 2 (figure 18): the output of benches/booksim_speed.py --booksim BINARY --json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import odonata

#: The routings of the comparison -> their names on the pages.
ROUTINGS = {"min": "minimal", "ugal": "adaptive"}


@dataclass(frozen=True)
class Speed:
    """Both simulators at a load."""

    #: "minimal" or "adaptive".
    routing: str
    load: float
    #: Cycles that each simulated per second of CPU time: medians over the rounds.
    ours: float
    booksim: float
    #: Cycles of one of our runs.
    cycles: int
    rounds: int

    @property
    def times(self) -> float:
        """How many times faster we are."""
        return self.ours / self.booksim


def read(file: Path) -> list[Speed]:
    """Reads the rows of a comparison that ran BookSim."""
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        speeds = [_row(row) for row in rows]
        measured = all(row["measured"] for row in rows)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise odonata.InputError(
            "no comparison with BookSim",
            file=str(file),
            expected="the output of benches/booksim_speed.py --booksim BINARY --json",
        ) from error
    if not measured:
        raise odonata.InputError(
            "BookSim was not run", file=str(file), expected="rows that --booksim BINARY measured"
        )
    return speeds


def _row(row: dict[str, Any]) -> Speed:
    return Speed(
        routing=ROUTINGS[row["routing"]],
        load=row["load"],
        ours=row["cycles_per_cpu_s"],
        booksim=row["booksim"],
        cycles=row["ours"][0]["cycles"],
        rounds=len(row["ours"]),
    )
