"""Random small machines, and networks for them: every family, router model, routing, switching and knowledge.

Combinations that docs/router.md and docs/routing.md exclude are not drawn, except for a few that must be
refused with a reason.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hostile import toml_writer
from odonata import _core

T = TypeVar("T")

DRAGONFLY = ("minimal", "valiant", "ugal", "progressive-adaptive", "up-down")
#: Routings by family.
ROUTINGS: dict[str, tuple[str, ...]] = {
    "dragonfly": DRAGONFLY,
    "dragonfly-2d": DRAGONFLY,
    "dragonfly-plus": DRAGONFLY,
    "torus": ("dimension-order", "bubble", "minimal-adaptive", "valiant", "romm", "up-down"),
    "mesh": ("dimension-order", "minimal-adaptive", "valiant", "romm", "up-down"),
    "fat-tree": ("nearest-common-ancestor", "up-down"),
    "slim-fly": ("minimal", "valiant", "ugal", "up-down"),
    "polarfly": ("minimal", "valiant", "ugal", "up-down"),
    "hyperx": ("minimal", "valiant", "ugal", "dal", "up-down"),
    "rail-optimized": ("minimal", "pxn", "up-down"),
    "graph": ("up-down",),
}
#: Routings of every family, besides "up-down".
OF_ANY_GRAPH = ("shortest-paths", "k-shortest-paths")
ROUTINGS = {family: (*names, *OF_ANY_GRAPH) for family, names in ROUTINGS.items()}
#: Routings that depend on load.
ADAPTIVE = ("ugal", "progressive-adaptive", "minimal-adaptive", "dal")
#: The file of machines of kind graph.
GRAPH_FILE = "graph.txt"


@dataclass
class Machine:
    """A machine, its number of nodes, and its properties."""

    family: str
    keys: dict[str, Any]
    nodes: int
    #: Groups, all with nodes; 0 if servers cannot be assigned to groups.
    groups: int
    files: dict[str, bytes] = field(default_factory=dict)


def one_of(lot: random.Random, *choices: T) -> T:
    """One of these."""
    return lot.choice(choices)


def draw_machine(lot: random.Random, family: str | None = None) -> Machine:
    """A machine of 4 to 100 nodes."""
    family = family or lot.choice(
        ["dragonfly"] * 4 + ["dragonfly-2d", "dragonfly-plus"] * 2 + list(ROUTINGS)[3:]
    )
    few = lot.randint
    files: dict[str, bytes] = {}
    groups = 0
    keys: dict[str, Any]
    match family:
        case "dragonfly":
            groups, routers, each = few(2, 6), few(2, 4), few(1, 3)
            keys = {"groups": groups, "routers_per_group": routers, "nodes_per_router": each}
            keys["global_ports_per_router"] = (
                few(-(-(groups - 1) // routers), 3) if groups <= routers * 3 + 1 else 3
            )
            keys["arrangement"] = one_of(lot, "relative", "absolute", "circulant")
            nodes = groups * routers * each
        case "dragonfly-2d":
            groups, columns, each = few(2, 4), few(2, 3), few(1, 2)
            keys = {"groups": groups, "rows": 2, "columns": columns, "nodes_per_router": each}
            keys |= {"global_ports_per_router": few(1, 2), "column_cables": few(1, 3)}
            nodes = groups * 2 * columns * each
        case "dragonfly-plus":
            groups, each = few(2, 5), few(1, 3)
            keys = {"groups": groups, "leaves_per_group": 2, "spines_per_group": 2, "nodes_per_leaf": each}
            keys |= {"global_ports_per_spine": few(2, 3), "local_cables": few(1, 2)}
            nodes = groups * 2 * each
        case "torus" | "mesh":
            dims = one_of(lot, [4], [8], [4, 3], [5, 4], [4, 3, 2], [2, 2, 2, 2], [3, 3])
            each = few(1, 3)
            keys = {"dims": dims, "nodes_per_router": each}
            nodes = each * product(dims)
        case "hyperx":
            dims, each = one_of(lot, [4, 4], [3, 3, 2], [5], [3, 4]), few(1, 2)
            keys = {"dims": dims, "nodes_per_router": each}
            if lot.random() < 0.3:
                keys["cables"] = few(1, 3)
            nodes = each * product(dims)
        case "fat-tree":
            k, n = one_of(lot, (4, 2), (3, 3), (2, 3), (2, 4))
            keys, nodes = {"k": k, "n": n}, k**n
            if lot.random() < 0.4:
                keys, nodes = {"down": [4, 3], "up": [1, 2], "parallel": [1, few(1, 3)]}, 12
        case "slim-fly":
            q, each = one_of(lot, 3, 4, 5), few(1, 2)
            keys, nodes = {"q": q, "nodes_per_router": each}, 2 * q * q * each
        case "polarfly":
            q, each = one_of(lot, 2, 3, 4, 5), few(1, 2)
            keys, nodes = {"q": q, "nodes_per_router": each}, (q * q + q + 1) * each
        case "rail-optimized":
            groups, hosts, gpus = few(1, 3), one_of(lot, 2, 4), few(1, 4)
            keys = {"pods": groups, "hosts_per_pod": hosts, "gpus_per_host": gpus}
            keys["host_links"] = one_of(lot, "switch", "all-to-all")
            if lot.random() < 0.5:
                keys |= {"spines": 1, "oversubscription": one_of(lot, 1, 2)}
            nodes, groups = groups * hosts * gpus, 0
        case _:
            routers, each = few(3, 9), few(1, 3)
            edges = [(a, lot.randrange(a)) for a in range(1, routers)]
            edges += [tuple(lot.sample(range(routers), 2)) for _ in range(few(0, 5))]  # type: ignore[misc]
            lines = [f"r{a} r{b} cables={few(1, 2)} class={one_of(lot, 'local', 'global')}" for a, b in edges]
            files = {GRAPH_FILE: "\n".join([*lines, ""]).encode()}
            keys, nodes = {"file": GRAPH_FILE, "nodes_per_router": each}, routers * each
    return Machine(family, keys, nodes, groups, files)


def cables_of(machine: Machine) -> list[tuple[int, int, str]]:
    """The cables between routers of a machine, each with its class; none for an impossible machine."""
    if machine.files:
        return []
    text = toml_writer.document({"machine": {machine.family: machine.keys}})
    try:
        graph = _core.graphml(text, "machine.toml")
    except _core.InputError:
        return []
    found = re.findall(r'source="(\d+)" target="(\d+)"[^>]*><data key="class">(\w+)', graph)
    return [(int(one), int(other), kind) for one, other, kind in found]


def product(numbers: Sequence[int]) -> int:
    """Their product."""
    found = 1
    for number in numbers:
        found *= number
    return found


@dataclass
class Network:
    """The keys below `network`, and their properties."""

    keys: dict[str, Any]
    routing: str
    router: str
    classes: list[str]
    #: Bytes of a packet.
    packet: int
    clocked: bool


def draw_network(
    lot: random.Random,
    machine: Machine,
    *,
    refusable: float = 0.0,
    routing: str | None = None,
    router: str | None = None,
) -> Network:
    """A network for `machine`, with this routing and router or any.

    With probability `refusable` its parts may not fit together.
    """
    any_way = lot.random() < refusable
    routing = routing or lot.choice(ROUTINGS[machine.family])
    models = ["input-queued", "input-queued", "output-queued", "pipelined"]
    if routing == "bubble" and not any_way:
        models.remove("output-queued")
    router = router or lot.choice(models)
    clocked = router == "pipelined"
    switchings = ["cut-through", "cut-through", "store-and-forward"]
    if clocked or any_way:
        switchings += ["wormhole", "wormhole"]
    flit = one_of(lot, 16, 32, 64) if clocked else 32 << lot.randrange(5)
    packet = flit * one_of(lot, 1, 4, 8) if clocked else max(flit, 512 << lot.randrange(4))
    keys: dict[str, Any] = {"packet": f"{packet} B", "flit": f"{flit} B", "router": router}
    keys["switching"] = lot.choice(switchings)
    keys["arbitration"] = one_of(lot, "round-robin", "age", "first-come", "lowest-first")
    if clocked:
        keys["clock"] = "1 ns"
        keys["pipeline"] = _pipeline(lot)
    else:
        keys["router_delay"] = one_of(lot, "100 ns", "50 ns", "51.2 ns", "0 ns", "1 ps")
    if router == "input-queued" or any_way:
        keys["input_queues"] = one_of(lot, "virtual-output", "virtual-output", "fifo")
    classes: list[str] = []
    if (router == "input-queued" and lot.random() < 0.3) or (any_way and lot.random() < 0.3):
        classes = ["latency", "bulk", "rest"][: lot.randint(1, 3)]
        keys["traffic_classes"] = [
            {"name": name, "share": one_of(lot, 0.1, 0.2, 0.3), "priority": lot.randint(0, 1)}
            for name in classes
        ]
    if lot.random() < 0.3:
        kind = one_of(lot, "ecn", "per-flow", "per-pair")
        keys["congestion_control"] = {"kind": kind, "threshold": f"{2 * packet} B", "interval": "1 us"}
        keys["congestion_control"]["recovery"] = one_of(lot, "20 us", "5 us")
    keys["links"] = {name: _link(lot, packet, flit, routing, keys) for name in _classes_of(machine)}
    keys["routing"] = _routing(lot, machine, routing, packet, keys["links"], any_way)
    return Network(keys, routing, router, classes, packet, clocked)


def _classes_of(machine: Machine) -> list[str]:
    """Classes of links; a scenario may also name classes that the machine lacks."""
    return ["terminal", "local", "global", *(["column"] if machine.family == "dragonfly-2d" else [])]


def _pipeline(lot: random.Random) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    if lot.random() < 0.6:
        chosen = {
            "adaptive_requests": one_of(lot, "all", "first"),
            "allocator": one_of(lot, "input-first", "output-first"),
            "busy_when_full": lot.random() < 0.3,
            "crossbar": lot.randint(1, 2),
            "injection_vc": one_of(lot, "in-turn", "random", "booksim"),
            "input_speedup": lot.randint(1, 2),
            "internal_speedup": one_of(lot, 1.0, 1.0, 1.5, 2.0),
            "iterations": lot.randint(1, 2),
            "routing": lot.randint(0, 1),
            "switch_allocation": lot.randint(1, 2),
            "vc_allocation": lot.randint(1, 2),
        }
        kept = lot.sample(sorted(chosen), lot.randint(1, len(chosen)))
        chosen = {key: chosen[key] for key in kept}
    return chosen


def _link(lot: random.Random, packet: int, flit: int, routing: str, keys: dict[str, Any]) -> dict[str, Any]:
    """A class of links; rounded times and rates make events coincide."""
    least = 2 if routing == "bubble" else 1
    if keys["router"] == "pipelined":
        buffer = (
            flit * lot.randint(1, 12) if keys["switching"] == "wormhole" else packet * lot.randint(least, 4)
        )
        if routing == "bubble":
            buffer = packet * lot.randint(2, 4)
        cycles = one_of(lot, 1, 1, 2, 5, 20, 100)
        chosen = {"bandwidth": "1 flit/cycle", "latency": f"{cycles} cycles", "buffer": f"{buffer} B"}
        if lot.random() < 0.4:
            chosen["credit_delay"] = f"{one_of(lot, 1, 2, cycles)} cycles"
        if lot.random() < 0.1:
            chosen["bandwidth"] = "0.5 flits/cycle"
        return chosen
    return {
        "bandwidth": one_of(lot, "10.24 GB/s", "5.12 GB/s", "4.7 GiB/s", "1 GB/s"),
        "latency": one_of(lot, "100 ns", "51.2 ns", "33 ns", "2 ns", "300 ns"),
        "credit_delay": one_of(lot, "100 ns", "51.2 ns", "1419 ps", "1 ps"),
        "buffer": f"{packet * lot.randint(least, 5)} B",
    }


def _routing(
    lot: random.Random, machine: Machine, routing: str, packet: int, links: dict[str, Any], any_way: bool
) -> dict[str, Any]:
    keys: dict[str, Any] = {"algorithm": routing}
    dragonfly = machine.family.startswith("dragonfly")
    detours = routing in ("valiant", "ugal", "progressive-adaptive")
    if (detours and machine.family in ("dragonfly", "dragonfly-2d") and lot.random() < 0.6) or (
        any_way and lot.random() < 0.3
    ):
        keys["via"] = one_of(lot, "group", "router")
    if routing in ("ugal", "progressive-adaptive") and (dragonfly or routing == "ugal"):
        if lot.random() < 0.4:
            keys["candidates"] = lot.randint(1, 4)
        if lot.random() < 0.5 and machine.family != "hyperx":
            keys["threshold"] = f"{one_of(lot, 0, packet, 4 * packet)} B"
            keys["bias"] = one_of(lot, 0.0, 0.5, 1.0, 2.0)
    if routing == "ugal" and dragonfly:
        keys |= _knowledge(lot, links)
    if routing == "minimal-adaptive" and lot.random() < 0.5:
        keys["selection"] = one_of(lot, "lightest", "random")
    if routing in ("nearest-common-ancestor", "up-down"):
        ways = ["random", "adaptive"] + (["d-mod-k"] if routing == "nearest-common-ancestor" else [])
        keys["up"] = lot.choice(ways)
    if routing in OF_ANY_GRAPH:
        keys["spread"] = one_of(lot, "flow", "packet", "adaptive")
        if routing == "k-shortest-paths":
            keys["paths"] = lot.randint(1, 6)
    if lot.random() < 0.3:
        keys["vcs"] = one_of(lot, 1, 2, 3, 6, {"local": 4}, {"terminal": 2, "local": 3, "global": 2})
    return keys


def picoseconds(text: str) -> int:
    """A time, with a clock of 1 ns."""
    number, _, unit = text.partition(" ")
    factor = {"ps": 1, "ns": 1000, "us": 10**6, "ms": 10**9, "cycles": 1000, "cycle": 1000}[unit]
    return round(float(number) * factor)


def _knowledge(lot: random.Random, links: dict[str, Any]) -> dict[str, Any]:
    """Knowledge of a source, published at intervals and after delays that divide each other, or do not."""
    knowledge = one_of(lot, "local", "global", "global", "piggyback")
    if knowledge == "local":
        return {"knowledge": knowledge}
    keys: dict[str, Any] = {"knowledge": knowledge}
    least = sum(picoseconds(links[name]["latency"]) for name in ("local", "column") if name in links)
    # A leaf of a dragonfly+ is two links away from another.
    delay = 2 * least * lot.randint(1, 3) if lot.random() < 0.5 else None
    if delay is not None:
        keys["knowledge_delay"] = f"{delay} ps"
    typical_ps = delay or least
    interval = one_of(
        lot,
        typical_ps,
        typical_ps // 2,
        typical_ps // 5,
        typical_ps // 10,
        typical_ps * 2,
        10_000,
        51_200,
        130_000,
        1000,
    )
    keys["knowledge_interval"] = f"{max(1, interval)} ps"
    if knowledge == "piggyback" and lot.random() < 0.5:
        keys["congestion_factor"] = one_of(lot, 0.5, 1.0, 1.5)
        keys["congestion_threshold"] = one_of(lot, "0 B", "1 KiB", "16 KiB")
    return keys
