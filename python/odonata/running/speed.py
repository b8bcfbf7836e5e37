"""The speed of this computer, measured, and the time of a run that follows from it.

Short built-in runs measure the CPU time per unit of work: a router visited by a packet or by a flit, a
message of each fidelity, a message examined for matching. Each unit is measured on a machine that fits into
the caches and on one that does not, under light and under heavy traffic: the fast and the slow end of the
range of `odonata check`. The measurement takes less than a second per unit. Its rates are kept in the user's
cache folder by computer and version; they affect no result.
"""

from __future__ import annotations

import contextlib
import json
import math
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odonata import _core
from odonata._core import __version__
from odonata.base import foreign
from odonata.base.output_file import whole_file
from odonata.base.partial import clear
from odonata.base.user_cache import user_cache

#: CPU seconds of a measurement, after those that fill the network.
MEASURED_S, WARM_UP_S = 0.05, 0.02
#: Wall seconds between two looks at the clock.
SLICE_S = 0.01
#: Computers in the file: several may share a home folder.
MOST_MACHINES = 64

#: Dragonflies by groups, routers per group, nodes per router and global ports per router: one fits into the
#: caches, one does not. Pipelined routers have ten times the state.
SMALL, MIDDLE, LARGE = (9, 4, 2, 2), (33, 8, 4, 4), (51, 10, 10, 5)

_UNIFORM = 'uniform = {{ bytes = "4 KiB", load = {}, messages = 10_000_000 }}'
_FLITS = 'uniform = {{ bytes = "512 B", load = {}, messages = 10_000_000 }}'
_PIPELINED = '[network]\nrouter = "pipelined"\nclock = "1 ns"\npacket = "512 B"\nflit = "32 B"\n'


@dataclass(frozen=True)
class Unit:
    """A unit of work, and the runs that measure it: on each machine, a fast and a slow workload."""

    machines: tuple[tuple[int, int, int, int], ...]
    network: str
    workloads: tuple[str, str]
    #: The unit in the progress of a run, and its number for each of these.
    progress: str
    times: float = 1.0
    #: Further units in the same runs, by their number per counted one; their time is subtracted.
    others: tuple[str, ...] = ()


_ALLREDUCE = 'allreduce = {{ bytes = "8 B", iterations = 3_000, compute = "{}" }}'
UNITS = {
    "packet_hops": Unit((SMALL, LARGE), "", (_UNIFORM.format(0.05), _UNIFORM.format(0.15)), "packet_hops"),
    "packet_messages": Unit(
        (SMALL, LARGE),
        "",
        (_ALLREDUCE.format("1 us"), _ALLREDUCE.format("0 us")),
        "messages",
        others=("packet_hops",),
    ),
    "searches": Unit(
        (SMALL,),
        '[mpi.collectives]\nalltoall = "linear"\n',
        (
            'alltoall = { bytes = "64 B", iterations = 200 }',
            'alltoall = { bytes = "4 KiB", iterations = 200 }',
        ),
        "messages",
        # Half of the other 70 messages of a rank.
        times=35.0,
        others=("packet_hops", "packet_messages"),
    ),
    "flit_hops": Unit(
        (SMALL, MIDDLE),
        _PIPELINED,
        (_FLITS.format(0.3), _FLITS.format(0.05)),
        "packet_hops",
        times=16.0,
    ),
    "flow_messages": Unit(
        (SMALL, LARGE),
        '[network]\nfidelity = "flow"\n',
        (_UNIFORM.format(0.05), _UNIFORM.format(0.15)),
        "messages",
    ),
    "analytic_messages": Unit(
        (SMALL, LARGE),
        '[network]\nfidelity = "analytic"\n',
        (_UNIFORM.format(0.05), _UNIFORM.format(0.15)),
        "messages",
    ),
}


@dataclass(frozen=True)
class Rate:
    """CPU seconds per unit of work with so much state, in a fast and in a slow run."""

    state_bytes: float
    fast: float
    slow: float


def place() -> Path:
    """The file of the rates."""
    return user_cache() / "rates.json"


def estimate_time(report: dict[str, Any], rates: Callable[[str], list[Rate]] | None = None) -> dict[str, Any]:
    """Adds the time of the run to the report of `check`, from `rates` by unit (default: this computer's)."""
    cost = report["cost"]
    if cost is not None:
        state = report["memory"]["idle_bytes"] if report["memory"] else 0
        counts = {unit: cost[unit] for unit in UNITS}
        # A visit of a packet to a pipelined router is the visits of its flits.
        if counts["flit_hops"]:
            counts["packet_hops"] = 0.0
        detour = cost["longest_packet_hops"] / max(cost["packet_hops"], 1.0)
        least, most = duration(counts, detour, state, rates or here)
        cost["time"] = {"least_s": least, "most_s": most, "source": "rates", "trial": None}
    return report


def duration(
    counts: Mapping[str, float], detour: float, state: float, rates: Callable[[str], list[Rate]]
) -> tuple[float, float]:
    """The least and the most CPU seconds for so many units of work; `detour`: of the longest paths.

    >>> rates = {"packet_hops": [Rate(1e6, 1e-7, 2e-7), Rate(1e8, 3e-7, 6e-7)]}
    >>> least, most = duration({"packet_hops": 1e6, "searches": 0.0}, 1.5, 1e7, rates.__getitem__)
    >>> round(least, 3), round(most, 3)
    (0.2, 0.6)
    """
    least, most = 0.0, 0.0
    for unit, count in counts.items():
        if count > 0:
            fast, slow = between(rates(unit), state)
            least += count * fast
            most += count * slow * (detour if unit in ("packet_hops", "flit_hops") else 1.0)
    return least, most


def between(rates: list[Rate], state: float) -> tuple[float, float]:
    """The rates for so much state, interpolated by its logarithm.

    >>> rates = [Rate(1e6, 1.0, 2.0), Rate(1e8, 3.0, 6.0)]
    >>> between(rates, 0.0), between(rates, 1e7), between(rates, 1e12)
    ((1.0, 2.0), (2.0, 4.0), (3.0, 6.0))
    """
    first, last = rates[0], rates[-1]
    if state <= first.state_bytes or first.state_bytes >= last.state_bytes:
        return first.fast, first.slow
    share = math.log(state / first.state_bytes) / math.log(last.state_bytes / first.state_bytes)
    share = min(share, 1.0)
    return first.fast + share * (last.fast - first.fast), first.slow + share * (last.slow - first.slow)


def here(unit: str) -> list[Rate]:
    """The rates of this computer: from the file, or measured and written to it."""
    content = _read()
    machine = content.pop(_machine(), None)
    machine = machine if isinstance(machine, dict) else {}
    if (known := _rates(machine.get(unit))) is not None:
        return known
    found = measure(unit, here)
    # The measurement may have written other units.
    machine = machine | _read().get(_machine(), {})
    machine[unit] = [[rate.state_bytes, rate.fast, rate.slow] for rate in found]
    kept = dict(list(content.items())[-(MOST_MACHINES - 1) :])
    with contextlib.suppress(OSError):
        _write(kept | {_machine(): machine})
    return found


def measure(
    name: str, rates: Callable[[str], list[Rate]], clock: Callable[[], float] = time.process_time
) -> list[Rate]:
    """The rates of a unit by `clock`; `rates` has those of the other units in its runs."""
    unit = UNITS[name]
    found = []
    for machine in unit.machines:
        times = []
        texts = [_scenario(machine, unit.network, workload) for workload in unit.workloads]
        state = json.loads(_core.check(texts[0], "rates.toml"))["memory"]["idle_bytes"]
        for text in texts:
            done, spent = _run(_core.Simulation(text, "rates.toml"), clock)
            if "packet_hops" in unit.others:
                spent -= done["packet_hops"] * between(rates("packet_hops"), state)[0]
            if "packet_messages" in unit.others:
                spent -= done["messages"] * between(rates("packet_messages"), state)[0]
            times.append(max(spent, 0.0) / max(done[unit.progress] * unit.times, 1.0))
        found.append(Rate(state, min(times), max(times)))
    return found


def _run(simulation: _core.Simulation, clock: Callable[[], float]) -> tuple[dict[str, float], float]:
    """The packet-hops and messages of a stretch of a run, and its time."""
    before: Any = {}
    begin = clock()
    while not before or clock() - begin < WARM_UP_S:
        before = simulation.advance(SLICE_S)
    after, begin, spent = before, clock(), 0.0
    while spent < MEASURED_S and not after["finished"]:
        after = simulation.advance(SLICE_S)
        spent = clock() - begin
    return {count: after[count] - before[count] for count in ("packet_hops", "messages")}, spent


def _scenario(machine: tuple[int, int, int, int], network: str, workload: str) -> str:
    groups, routers, nodes, ports = machine
    return (
        f"[machine.dragonfly]\ngroups = {groups}\nrouters_per_group = {routers}\nnodes_per_router = {nodes}\n"
        f'global_ports_per_router = {ports}\n{network}[run]\nscheduler = "sequential"\nmessage_rows = 0\n'
        f"[[jobs]]\nranks = {groups * routers * nodes}\nworkload.{workload}\n"
    )


def _machine() -> str:
    """The name of this computer with this version: another version has another speed."""
    return f"{platform.node()} {platform.machine()} {__version__}"


def _read() -> dict[str, Any]:
    """The content of the file; empty if it is unreadable or no file of ours."""
    try:
        content = json.loads(foreign.read_bytes(place()))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _rates(written: Any) -> list[Rate] | None:
    """The rates of a unit as written to the file; None if they are not valid.

    >>> _rates([[1e6, 1e-7, 2e-7]]), _rates([]), _rates([[1e6, True, 2e-7]]), _rates(None)
    ([Rate(state_bytes=1000000.0, fast=1e-07, slow=2e-07)], None, None, None)
    """

    def valid(one: Any) -> bool:
        return isinstance(one, list) and len(one) == 3 and all(type(value) is float for value in one)

    if not isinstance(written, list) or not written or not all(valid(one) for one in written):
        return None
    found = [Rate(*one) for one in written]
    return found if all(0 <= rate.fast <= rate.slow < math.inf for rate in found) else None


def _write(content: dict[str, Any]) -> None:
    """Replaces the file; of two simultaneous writes one is lost."""
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    clear(file.parent)
    with whole_file(file) as new:
        new.write(json.dumps(content).encode())
