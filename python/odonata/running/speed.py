"""Speed of earlier runs on this computer, for the estimate of `odonata check`.

A small file in the user's cache folder holds the speed of the last runs, by computer, by kind of router or
the analytic model, and by one or several threads. It affects estimates only, never results or digests.
Without it, or where it cannot be written, the estimate assumes a rate measured elsewhere.

The file holds units of work per second: events per second differ more between scenarios than between
computers. A router that a packet visits is one unit, a message counts several, and both take longer if the
machine's state does not fit into the caches. Runs of flows are not recorded: the work of a flow depends on
how many flows share its links.
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

#: Number of the last runs of each kind that count.
KEPT = 5
#: Number of computers in the file: a cluster may share a home folder.
MOST_MACHINES = 64
#: Shorter runs measure mainly the construction of the machine.
LEAST_CPU_S, LEAST_EVENTS = 1.0, 1_000_000

#: Units of work of a message, relative to a router visited by a packet, and of one comparison in its
#: matching.
MESSAGE_WORK, SEARCH_WORK = 3.3, 0.55
#: Units of work of a flow: 4 us at the assumed rate (measured: 1.5 to 94 us, more if more flows share links).
FLOW_WORK = 20.0
#: CPU seconds to build one byte of the machine's state.
BUILDING_S = 6e-9
#: Work takes up to this factor longer if the state is much larger than this number of bytes.
CROWDED, CROWDED_BYTES = 8.0, 60 << 20
#: Assumed units of work per CPU-second without earlier runs; events for pipelined routers.
ASSUMED = {"pipelined": 4e6}
ASSUMED_OTHERS = 5e6


def place() -> Path:
    """The path of the file."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("odonata", appauthor=False)) / "speed.json"


def remember(run: Mapping[str, Any]) -> None:
    """Records the speed of the run with this run.json, if it was long enough; never fails."""
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
    """Units of work of a run with these numbers of events, packet_hops, messages, searches and flows.

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
    """Factor by which a unit of work takes longer with this much state.

    >>> crowding(0.0), crowding(60 << 20), round(crowding(4e12), 3)
    (1.0, 5.0, 9.0)
    """
    return 1 + CROWDED * state_bytes / (state_bytes + CROWDED_BYTES)


def rate(router: str, threads: int = 1, fidelity: str = run_fidelity.PACKET) -> tuple[float, int] | None:
    """Units of work per CPU-second of such runs on this computer, and the number of runs in the median.

    Runs with one or several threads count as asked; without them, the others; None without any.
    """
    machine = _read().get(_machine())
    for number in (threads, 3 - min(threads, 2)):
        if rates := _rates(machine, _kind(router, number, fidelity)):
            return statistics.median(rates), len(rates)
    return None


def tell(report: dict[str, Any]) -> dict[str, Any]:
    """The report of `check` with the CPU time on this computer, from earlier runs.

    `runs` of its cost is their number; 0: the rate is assumed.
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
    """The key under which similar runs are recorded.

    >>> _kind("pipelined", 1), _kind("pipelined", 8), _kind("pipelined", 1, "analytic")
    ('work pipelined', 'work pipelined, threads', 'work analytic')
    """
    # Older files have the name of the router alone.
    kind = router if fidelity == run_fidelity.PACKET else fidelity
    return f"work {kind}" if threads <= 1 else f"work {kind}, threads"


def _machine() -> str:
    """The name of this computer with this version: another version has another speed."""
    return f"{platform.node()} {platform.machine()} {__version__}"


def _read() -> dict[str, Any]:
    """The content of the file; empty if it cannot be read or has another format."""
    try:
        content = json.loads(foreign.read_bytes(place()))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _rates(machine: Any, kind: str) -> list[float]:
    """The recorded rates of a computer.

    >>> _rates({"pipelined": [2e6, "fast", -1.0, True]}, "pipelined"), _rates(None, "pipelined")
    ([2000000.0], [])
    """
    rates = machine.get(kind) if isinstance(machine, dict) else None
    if not isinstance(rates, list):
        return []
    numbers = [float(rate) for rate in rates if isinstance(rate, int | float) and not isinstance(rate, bool)]
    return [number for number in numbers if 0 < number < 1e12][-KEPT:]


def _with(content: dict[str, Any], kind: str, rate: float) -> dict[str, Any]:
    """`content` with one more run on this computer, as its newest."""
    machine = content.pop(_machine(), None)
    machine = machine if isinstance(machine, dict) else {}
    machine[kind] = [*_rates(machine, kind), rate][-KEPT:]
    return dict(list(content.items())[-(MOST_MACHINES - 1) :]) | {_machine(): machine}


def _write(content: dict[str, Any]) -> None:
    """Replaces the file; of two simultaneous replacements one is lost."""
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    clear(file.parent)
    with whole_file(file) as new:
        new.write(json.dumps(content).encode())
