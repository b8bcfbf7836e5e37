"""How fast runs were on this computer, so that `odonata check` need not assume it.

A small file in the user's cache folder holds events per second of CPU time of the last runs, by computer and
by kind of router. It is told to whoever asks what a run will cost, and goes into no result and no digest;
without it, or where it cannot be written, a rate that was measured elsewhere is assumed.
"""

from __future__ import annotations

import contextlib
import json
import platform
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odonata import __version__, foreign
from odonata.output_file import whole_file
from odonata.partial import clear
from odonata.results import GOOD_OUTCOMES

#: Runs of each kind that count: the last ones.
KEPT = 5
#: Computers that are remembered: a home folder may be that of a cluster.
MOST_MACHINES = 64
#: Shorter runs say more about how a machine is built than about how fast it runs.
LEAST_CPU_S, LEAST_EVENTS = 1.0, 1_000_000


def place() -> Path:
    """The file."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("odonata", appauthor=False)) / "speed.json"


def remember(run: Mapping[str, Any]) -> None:
    """Takes note of how fast the run with this run.json was, if it was long enough; never fails."""
    long_enough = run["cpu_s"] >= LEAST_CPU_S and run["events"] >= LEAST_EVENTS
    if not long_enough or run["outcome"] not in GOOD_OUTCOMES:
        return
    rate = run["events"] / run["cpu_s"]
    with contextlib.suppress(OSError):
        _write(_with(_read(), run["scenario"]["network"]["router"], rate))


def rate(router: str) -> tuple[float, int] | None:
    """Events per second of CPU time of runs with such routers here, and how many runs it is the median of.

    None if there were none.
    """
    rates = _rates(_read().get(_machine()), router)
    return (statistics.median(rates), len(rates)) if rates else None


def tell(report: dict[str, Any]) -> dict[str, Any]:
    """The report of `check` with the CPU time that a run takes here, as far as earlier runs tell.

    `runs` of its cost says how many they were; 0: the rate is assumed.
    """
    cost = report["cost"]
    if cost is None:
        return report
    if (measured := rate(cost["router"])) is not None:
        cost["events_per_cpu_s"], cost["runs"] = measured
        cost["cpu_s"] = cost["events"] / cost["events_per_cpu_s"]
    return report


def _machine() -> str:
    """The name of this computer with this version: another version has another speed."""
    return f"{platform.node()} {platform.machine()} {__version__}"


def _read() -> dict[str, Any]:
    """What is remembered; nothing if it cannot be read, or is no file of ours."""
    try:
        content = json.loads(foreign.read_bytes(place()))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _rates(machine: Any, router: str) -> list[float]:
    """The rates in what is remembered of a computer.

    >>> _rates({"pipelined": [2e6, "fast", -1.0, True]}, "pipelined"), _rates(None, "pipelined")
    ([2000000.0], [])
    """
    rates = machine.get(router) if isinstance(machine, dict) else None
    if not isinstance(rates, list):
        return []
    numbers = [float(rate) for rate in rates if isinstance(rate, int | float) and not isinstance(rate, bool)]
    return [number for number in numbers if 0 < number < 1e12][-KEPT:]


def _with(content: dict[str, Any], router: str, rate: float) -> dict[str, Any]:
    """`content` with one more run on this computer, which is its newest."""
    machine = content.pop(_machine(), None)
    machine = machine if isinstance(machine, dict) else {}
    machine[router] = [*_rates(machine, router), rate][-KEPT:]
    return dict(list(content.items())[-(MOST_MACHINES - 1) :]) | {_machine(): machine}


def _write(content: dict[str, Any]) -> None:
    """Replaces the file; of two that do so at the same time one is forgotten."""
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    clear(file.parent)
    with whole_file(file) as new:
        new.write(json.dumps(content).encode())
