"""How far presets are from measured times: recorded by `studies/real_machines/study.py agreement`."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("agreement.json")


@functools.cache
def _recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def sentence(preset: object) -> str | None:
    """What the preset was compared with, and how far off it is; None if it was compared with nothing.

    >>> sentence("theta") is None, sentence([1]) is None
    (True, True)
    """
    found = _recorded().get(preset) if isinstance(preset, str) else None
    if found is None:
        return None
    return (
        f"Preset {preset}: of {found['points']} measured collectives to which its costs were not fitted, "
        f"{100 * found['within_20_percent']:.0f}% are simulated within 20% (mean factor of error "
        f"{found['mean_factor']:.2f}, median ratio {found['median_ratio']:.2f}); odonata validate {preset} "
        "repeats them."
    )
