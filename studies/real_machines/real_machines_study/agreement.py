"""Records how far presets are from measured times; `odonata.scenario.agreement` shows it."""

from __future__ import annotations

import json
import math
import statistics

import odonata
from odonata.machines import measured, validation
from odonata.machines.measured import MACHINES
from odonata.scenario.agreement import RECORD

__all__ = ["RECORD", "record"]

#: Larger points take hours.
LARGEST = 64 << 20


def ping_pongs(preset: str) -> dict[str, float]:
    """How far a preset is from the ping-pongs without a stated distance, to which nothing was fitted."""
    pairs = [p for p in measured.ping_pongs(preset) if p.distance == "not stated" and p.bytes <= LARGEST]
    ratios = [validation.half_round_trip(p, preset, {}) / p.half_round_trip_s for p in pairs]
    factors = [abs(math.log(ratio)) for ratio in ratios]
    return {
        "ping_pongs": len(pairs),
        "median_ratio": round(statistics.median(ratios), 3),
        "mean_factor": round(math.exp(statistics.mean(factors)), 3),
        "within_20_percent": round(sum(abs(ratio - 1) <= 0.2 for ratio in ratios) / len(ratios), 3),
    }


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
    found["alps"] = ping_pongs("alps")
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
