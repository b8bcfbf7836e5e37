"""Records how far presets are from measured times; `odonata.scenario.agreement` shows it."""

from __future__ import annotations

import json

import odonata
from odonata.machines.measured import MACHINES
from odonata.scenario.agreement import RECORD

__all__ = ["RECORD", "record"]

#: Larger points take hours.
LARGEST = 64 << 20


def record() -> None:
    """Repeats the points up to `LARGEST`, and writes the agreement of those to which nothing was fitted."""
    found = {}
    for preset in MACHINES:
        answer = odonata.validate(preset, largest=LARGEST)
        every = [
            one for one in answer["groups"] if not one["fitted"] and one["collective"] == one["size"] == "all"
        ]
        kept = ("points", "median_ratio", "mean_factor", "within_20_percent")
        found[preset] = {key: round(every[0][key], 3) for key in kept}  # type: ignore[literal-required]
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
