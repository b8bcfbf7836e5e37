"""How fast runs were on this computer, so that `odonata check` need not assume it.

A small file in the user's cache folder holds how fast the last runs worked, by computer, by kind of router
or by the analytic model, and by whether one thread or several ran them. It is told to whoever asks what a
run will cost, and goes into no result and no digest; without it, or where it cannot be written, a rate
measured elsewhere is assumed.

What is kept is not events per second, which differ more between scenarios than between computers, but units
of work: a router that a packet visits is one, a message at its two ends is some more, and both take longer
where the state of the machine is not in the caches. Of flows nothing is kept: how much work one is depends on
how many share its links.
"""

from __future__ import annotations

import contextlib
import json
import platform
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odonata._core import __version__
from odonata.analysis.measured import GOOD_OUTCOMES
from odonata.base import foreign
from odonata.base.output_file import whole_file
from odonata.base.partial import clear
from odonata.scenario import run_fidelity

#: Runs of each kind that count: the last ones.
KEPT = 5
#: Computers that are remembered: a home folder may be that of a cluster.
MOST_MACHINES = 64
#: Shorter runs say more about how a machine is built than about how fast it runs.
LEAST_CPU_S, LEAST_EVENTS = 1.0, 1_000_000

#: Units of work of a message, in routers visited by a packet, and of looking at another one to match it.
MESSAGE_WORK, SEARCH_WORK = 3.3, 0.55
#: Units of work of a flow: 4 us at the assumed rate (measured: 1.5 to 94 us, the more of them share links).
FLOW_WORK = 20.0
#: CPU seconds to make a byte of the machine's state.
BUILDING_S = 6e-9
#: Work takes up to so many times as long where the state is much larger than this, bytes.
CROWDED, CROWDED_BYTES = 8.0, 60 << 20
#: Units of work per CPU-second that are assumed where no run has told, and of pipelined routers events.
ASSUMED = {"pipelined": 4e6}
ASSUMED_OTHERS = 5e6


def place() -> Path:
    """The file."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("odonata", appauthor=False)) / "speed.json"


def remember(run: Mapping[str, Any]) -> None:
    """Takes note of how fast the run with this run.json was, if it was long enough; never fails."""
    long_enough = run["cpu_s"] >= LEAST_CPU_S and run["events"] >= LEAST_EVENTS
    if not long_enough or run["outcome"] not in GOOD_OUTCOMES:
        return
    fidelity = run_fidelity.of_scenario(run["scenario"]).of_run
    if fidelity not in (run_fidelity.PACKET, run_fidelity.ANALYTIC):
        return
    router = run["scenario"]["network"]["router"]
    state = run["state_bytes_per_node"] * run["nodes"]
    # However large the machine is, a part of the time was for the run.
    cpu_s = max(run["cpu_s"] - BUILDING_S * state, 0.1 * run["cpu_s"])
    counts = dict(run) | {"searches": run.get("schedule", {}).get("searches", 0.0)}
    rate = work(router, counts, fidelity) * crowding(state) / cpu_s
    with contextlib.suppress(OSError):
        _write(_with(_read(), _kind(router, run["threads"], fidelity), rate))


def work(router: str, counts: Mapping[str, Any], fidelity: str = run_fidelity.PACKET) -> float:
    """Units of work of a run with so many events, packet_hops, messages, searches and flows.

    >>> counts = {"events": 900, "packet_hops": 400, "messages": 100, "searches": 50.0}
    >>> work("input-queued", counts), work("pipelined", counts)
    (757.5, 900.0)
    >>> work("pipelined", counts | {"packet_hops": 0, "flows": 100}, "flow")
    2357.5
    """
    if router == "pipelined" and fidelity == run_fidelity.PACKET:
        return float(counts["events"])
    of_messages = MESSAGE_WORK * counts["messages"] + SEARCH_WORK * counts["searches"]
    return float(counts["packet_hops"] + of_messages + FLOW_WORK * counts.get("flows", 0.0))


def crowding(state_bytes: float) -> float:
    """How much longer a unit of work takes with so much state.

    >>> crowding(0.0), crowding(60 << 20), round(crowding(4e12), 3)
    (1.0, 5.0, 9.0)
    """
    return 1 + CROWDED * state_bytes / (state_bytes + CROWDED_BYTES)


def rate(router: str, threads: int = 1, fidelity: str = run_fidelity.PACKET) -> tuple[float, int] | None:
    """Units of work per CPU-second of such runs here, and how many runs it is the median of.

    Those of one thread or of several, as asked; if there were none, the others; None if there were neither.
    """
    machine = _read().get(_machine())
    for number in (threads, 3 - min(threads, 2)):
        if rates := _rates(machine, _kind(router, number, fidelity)):
            return statistics.median(rates), len(rates)
    return None


def tell(report: dict[str, Any]) -> dict[str, Any]:
    """The report of `check` with the CPU time that a run takes here, as far as earlier runs tell.

    `runs` of its cost says how many they were; 0: the rate is assumed.
    """
    cost = report["cost"]
    if cost is None:
        return report
    router, fidelity = cost["router"], cost["fidelity"]
    threads = (report["parallel"] or {}).get("threads", 1)
    assumed = ASSUMED_OTHERS if fidelity != run_fidelity.PACKET else ASSUMED.get(router, ASSUMED_OTHERS)
    units, cost["runs"] = rate(router, threads, fidelity) or (assumed, 0)
    state = report["memory"]["idle_bytes"] if report["memory"] else 0
    runs_s = work(router, cost, fidelity) * crowding(state) / units
    cost["cpu_s"] = runs_s + BUILDING_S * state
    if cost["events"] > 0 and runs_s > 0:
        cost["events_per_cpu_s"] = cost["events"] / runs_s
    return report


def _kind(router: str, threads: int, fidelity: str = run_fidelity.PACKET) -> str:
    """What runs are alike.

    >>> _kind("pipelined", 1), _kind("pipelined", 8), _kind("pipelined", 1, "analytic")
    ('work pipelined', 'work pipelined, threads', 'work analytic')
    """
    # Numbers of before these units had the name of the router alone.
    kind = router if fidelity == run_fidelity.PACKET else fidelity
    return f"work {kind}" if threads <= 1 else f"work {kind}, threads"


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


def _rates(machine: Any, kind: str) -> list[float]:
    """The rates in what is remembered of a computer.

    >>> _rates({"pipelined": [2e6, "fast", -1.0, True]}, "pipelined"), _rates(None, "pipelined")
    ([2000000.0], [])
    """
    rates = machine.get(kind) if isinstance(machine, dict) else None
    if not isinstance(rates, list):
        return []
    numbers = [float(rate) for rate in rates if isinstance(rate, int | float) and not isinstance(rate, bool)]
    return [number for number in numbers if 0 < number < 1e12][-KEPT:]


def _with(content: dict[str, Any], kind: str, rate: float) -> dict[str, Any]:
    """`content` with one more run on this computer, which is its newest."""
    machine = content.pop(_machine(), None)
    machine = machine if isinstance(machine, dict) else {}
    machine[kind] = [*_rates(machine, kind), rate][-KEPT:]
    return dict(list(content.items())[-(MOST_MACHINES - 1) :]) | {_machine(): machine}


def _write(content: dict[str, Any]) -> None:
    """Replaces the file; of two that do so at the same time one is forgotten."""
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    clear(file.parent)
    with whole_file(file) as new:
        new.write(json.dumps(content).encode())
