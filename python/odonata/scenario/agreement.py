"""How far presets are from measured times: recorded by `studies/real_machines/study.py agreement`."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_name("agreement.json")

#: Presets of machines with the software costs of another machine, with which no measured time was compared.
NOT_COMPARED = ("frontier", "marenostrum5", "perlmutter", "aurora", "cori", "theta-full")


@functools.cache
def _recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def sentence(preset: object) -> str | None:
    """What the preset was compared with, and how far off it is; None if it has no software costs.

    >>> sentence("theta") is None, sentence([1]) is None
    (True, True)
    >>> sentence("aurora")
    'Preset aurora: no measured time was compared with it.'
    """
    if preset in NOT_COMPARED:
        return f"Preset {preset}: no measured time was compared with it."
    found = _recorded().get(preset) if isinstance(preset, str) else None
    if found is None:
        return None
    if "ping_pongs" in found:
        return (
            f"Preset {preset}: {found['ping_pongs']} measured ping-pongs to which its costs were not fitted "
            f"are simulated with a mean factor of error of {found['mean_factor']:.2f}, "
            f"{100 * found['within_20_percent']:.0f}% within 20%; no collective was compared with it."
        )
    return (
        f"Preset {preset}: of {found['points']} measured collectives to which its costs were not fitted, "
        f"{100 * found['within_20_percent']:.0f}% are simulated within 20% (mean factor of error "
        f"{found['mean_factor']:.2f}, median ratio {found['median_ratio']:.2f}); odonata validate {preset} "
        "repeats them."
    )
