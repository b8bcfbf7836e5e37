"""Every family of machines with every routing, router model and kind of flow control that it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import ROOT, Case, merged

Table = dict[str, Any]

DRAGONFLY = {
    "groups": 5,
    "routers_per_group": 4,
    "nodes_per_router": 2,
    "global_ports_per_router": 2,
    "arrangement": "circulant",
}
DRAGONFLY_2D = {
    "groups": 4,
    "rows": 2,
    "columns": 3,
    "column_cables": 2,
    "nodes_per_router": 2,
    "global_ports_per_router": 2,
    "cables": 3,
    "exceptions": [{"router": 1, "nodes": 0}, {"router": 5, "nodes": 3}],
}
DRAGONFLY_PLUS = {
    "groups": 4,
    "leaves_per_group": 3,
    "spines_per_group": 2,
    "nodes_per_leaf": 3,
    "global_ports_per_spine": 3,
}
RING = ROOT / "crates/system/odonata-system/tests/machines/ring.txt"

#: Name, table `machine`, nodes, routings.
FAMILIES: list[tuple[str, Table, int, list[str]]] = [
    (
        "dragonfly",
        {"dragonfly": DRAGONFLY},
        40,
        ["minimal", "valiant", "ugal", "progressive-adaptive", "up-down"],
    ),
    (
        "dragonfly-2d",
        {"dragonfly-2d": DRAGONFLY_2D},
        44,
        ["minimal", "valiant", "ugal", "progressive-adaptive", "up-down"],
    ),
    (
        "dragonfly-plus",
        {"dragonfly-plus": DRAGONFLY_PLUS},
        36,
        ["minimal", "valiant", "ugal", "progressive-adaptive", "up-down"],
    ),
    (
        "torus",
        {"torus": {"dims": [4, 3, 3], "nodes_per_router": 1}},
        36,
        ["dimension-order", "bubble", "minimal-adaptive", "valiant", "romm", "up-down"],
    ),
    (
        "mesh",
        {"mesh": {"dims": [4, 4], "nodes_per_router": 2}},
        32,
        ["dimension-order", "minimal-adaptive", "valiant", "romm", "up-down"],
    ),
    ("fat-tree", {"fat-tree": {"k": 3, "n": 3}}, 27, ["nearest-common-ancestor", "up-down"]),
    (
        "xgft",
        {"fat-tree": {"down": [4, 3, 2], "up": [1, 2, 2], "parallel": [1, 2, 1]}},
        24,
        ["nearest-common-ancestor", "up-down"],
    ),
    (
        "slim-fly",
        {"slim-fly": {"q": 4, "nodes_per_router": 1}},
        32,
        ["minimal", "valiant", "ugal", "up-down"],
    ),
    (
        "polarfly",
        {"polarfly": {"q": 4, "nodes_per_router": 1}},
        21,
        ["minimal", "valiant", "ugal", "up-down"],
    ),
    (
        "hyperx",
        {"hyperx": {"dims": [3, 4], "cables": [1, 2], "nodes_per_router": 3}},
        36,
        ["minimal", "valiant", "ugal", "dal", "up-down"],
    ),
    (
        "rail-optimized",
        {"rail-optimized": {"pods": 2, "hosts_per_pod": 4, "gpus_per_host": 3, "spines": 2}},
        24,
        ["minimal", "pxn", "up-down"],
    ),
    ("graph", {"graph": {"file": str(RING), "nodes_per_router": 2}}, 10, ["up-down"]),
]

#: Router models, and their required settings.
ROUTERS: dict[str, Table] = {
    "input-queued": {"router": "input-queued"},
    "output-queued": {"router": "output-queued"},
    "pipelined": {"router": "pipelined", "clock": "1 ns", "packet": "512 B"},
}


def traffic(nodes: int) -> list[Table]:
    """Half of the nodes exchange halos and reduce, the others send at random."""
    half = nodes // 2
    stencil = {"dims": [half], "message": "3 KiB", "iterations": 2, "compute": "1 us"}
    return [
        {"name": "halo", "ranks": half, "placement": "random", "workload": {"stencil": stencil}},
        {
            "name": "noise",
            "ranks": nodes - half,
            "placement": "random-router",
            "workload": {"uniform": {"load": 0.3, "messages": 30}},
        },
    ]


def scenario(machine: Table, nodes: int, network: Table, **more: Any) -> Table:
    """Halos beside noise on a machine."""
    base = {"machine": machine, "network": {"packet": "1 KiB"}, "jobs": traffic(nodes)}
    return merged(base, {"network": network}, more)


def every_routing() -> Iterator[Case]:
    """Family by routing by router model."""
    for family, machine, nodes, algorithms in FAMILIES:
        for algorithm in algorithms:
            for router, keys in ROUTERS.items():
                if algorithm == "bubble" and router != "input-queued":
                    continue
                network = {**keys, "routing": {"algorithm": algorithm}}
                yield Case(f"machine/{family}/{algorithm}/{router}", scenario(machine, nodes, network))


#: Settings of routing on a family: label, family, table `network.routing`.
ROUTINGS: list[tuple[str, str, Table]] = [
    ("by-router", "dragonfly", {"algorithm": "valiant", "via": "router"}),
    ("by-router", "dragonfly", {"algorithm": "progressive-adaptive", "via": "router"}),
    ("by-router", "dragonfly-2d", {"algorithm": "valiant", "via": "router"}),
    ("by-router", "dragonfly-2d", {"algorithm": "progressive-adaptive", "via": "router"}),
    ("own-ports", "dragonfly", {"algorithm": "progressive-adaptive", "divert": "own-global-ports"}),
    ("codes-channels", "dragonfly", {"algorithm": "progressive-adaptive", "vc_rule": "codes"}),
    (
        "phase-channels",
        "dragonfly",
        {"algorithm": "ugal", "vc_rule": "phase", "deadlock_check": "warn", "vcs": 3},
    ),
    (
        "weights",
        "dragonfly",
        {
            "algorithm": "progressive-adaptive",
            "bias": 1.5,
            "threshold": "2 KiB",
            "candidates": 4,
            "comparison": "sum",
            "weigh_hops": True,
        },
    ),
    *[
        ("in-group", "dragonfly", {"algorithm": algorithm, "in_group": "adaptive", "threshold": "1 KiB"})
        for algorithm in ("ugal", "progressive-adaptive")
    ],
    ("many-channels", "dragonfly", {"algorithm": "minimal", "vcs": {"terminal": 4, "local": 3, "global": 5}}),
    ("lightest", "torus", {"algorithm": "minimal-adaptive", "selection": "lightest", "vcs": 4}),
    ("random-port", "torus", {"algorithm": "minimal-adaptive", "selection": "random", "vcs": 4}),
    ("d-mod-k", "xgft", {"algorithm": "nearest-common-ancestor", "up": "d-mod-k"}),
    ("random-up", "xgft", {"algorithm": "nearest-common-ancestor", "up": "random"}),
    ("adaptive-up", "xgft", {"algorithm": "nearest-common-ancestor", "up": "adaptive"}),
    ("adaptive-up", "torus", {"algorithm": "up-down", "up": "adaptive"}),
    *[
        (spread, family, {"algorithm": algorithm, "spread": spread})
        for algorithm in ("shortest-paths", "k-shortest-paths")
        for spread in ("flow", "packet", "adaptive")
        for family in ("dragonfly", "graph")
    ],
    ("routes", "graph", {"algorithm": "table", "routes": str(RING.with_name("ring-routes.csv"))}),
    *[
        (knowledge, family, {"algorithm": "ugal", "knowledge": knowledge, "knowledge_interval": "150 ns"})
        for knowledge in ("global", "piggyback")
        for family in ("dragonfly", "dragonfly-2d", "dragonfly-plus")
    ],
]


def settings_of_routing() -> Iterator[Case]:
    """Settings of `network.routing` besides the algorithm, under all router models."""
    machines = {name: (machine, nodes) for name, machine, nodes, _ in FAMILIES}
    for name, family, routing in ROUTINGS:
        for router, keys in ROUTERS.items():
            machine, nodes = machines[family]
            label = f"routing/{family}/{routing['algorithm']}/{name}/{router}"
            yield Case(label, scenario(machine, nodes, {**keys, "routing": routing}))


CLASSES = {
    "traffic_classes": [
        {"name": "latency", "share": 0.5},
        {"name": "bulk", "share": 0.3},
        {"name": "first", "share": 0.1, "priority": 1},
    ]
}


def flow_control() -> Iterator[Case]:
    """Switching, queues, traffic classes, congestion control, interfaces, links."""
    adaptive: Table = {"routing": {"algorithm": "progressive-adaptive"}}
    variants: dict[str, Table] = {
        "fifo": {"input_queues": "fifo"},
        "store-and-forward": {"switching": "store-and-forward"},
        "store-and-forward-output-queued": {"switching": "store-and-forward", "router": "output-queued"},
        "small-packets": {"packet": "128 B", "flit": "16 B"},
        "large-packets": {"packet": "8 KiB", "flit": "64 B"},
        "no-router-delay": {"router_delay": "1 ns"},
        "tight-buffers": {
            "links": {name: {"buffer": "1 KiB"} for name in ("terminal", "local", "global")},
        },
        "slow-credits": {
            "links": {"local": {"credit_delay": "700 ns"}, "global": {"credit_delay": "1419 ps"}},
        },
        **{
            f"{kind}-{router}": {
                "router": router,
                "congestion_control": {
                    "kind": kind,
                    "threshold": "2 KiB",
                    "interval": "2 us",
                    "recovery": "60 us",
                },
            }
            for kind in ("ecn", "per-flow", "per-pair")
            for router in ("input-queued", "output-queued")
        },
    }
    for name, network in variants.items():
        case = scenario({"dragonfly": DRAGONFLY}, 40, merged(adaptive, network))
        yield Case(f"flow/{name}", case)
    with_classes: dict[str, Table] = {
        "virtual-output": {"input_queues": "virtual-output"},
        "fifo": {"input_queues": "fifo"},
        "pipelined": ROUTERS["pipelined"],
    }
    for name, keys in with_classes.items():
        case = scenario({"dragonfly": DRAGONFLY}, 40, merged(adaptive, CLASSES, keys))
        case["jobs"][0]["traffic_class"] = {"mpi": "first"}
        case["jobs"][1]["traffic_class"] = {"mpi": "bulk"}
        yield Case(f"flow/classes-{name}", case)
    incast = {"targets": [3, 30], "bytes": "20 KiB", "load": 0.6, "messages": 8}
    for kind in ("ecn", "per-flow", "per-pair"):
        control = {"kind": kind, "threshold": "8 KiB", "interval": "2 us", "recovery": "60 us"}
        case = scenario({"dragonfly": DRAGONFLY}, 40, {"congestion_control": control})
        case["jobs"] = [{"ranks": 40, "placement": "random", "workload": {"incast": incast}}]
        yield Case(f"flow/{kind}-incast", case)
    nics: dict[str, Table] = {
        "rate": {"rate": "2 GB/s"},
        "queue": {"queue": 1},
        "delay": {"message_delay": "3 us"},
        "handoff": {"handoff": {"min": "0.5 ns", "max": "90 ns"}},
        "per-peer": {"queues": "per-peer"},
        "one-way": {"queues": "per-peer", "one_way_above": "2 KiB"},
        "receive-rate": {"receive_rate": "2 GB/s"},
        "message-gap": {"message_gap": "300 ns"},
        "message-rates": {"message_rates": [{"above": "2 KiB", "rate": "2 GB/s"}]},
    }
    for name, nic in nics.items():
        yield Case(f"flow/nic-{name}", scenario({"dragonfly": DRAGONFLY}, 40, adaptive, nic=nic))
    for name, network in {
        "per-peer-output-queued": ROUTERS["output-queued"],
        "per-peer-pipelined": ROUTERS["pipelined"],
        "per-peer-ecn": variants["ecn-input-queued"],
    }.items():
        case = scenario({"dragonfly": DRAGONFLY}, 40, merged(adaptive, network), nic={"queues": "per-peer"})
        yield Case(f"flow/nic-{name}", case)
    several: dict[str, tuple[Table, Table]] = {
        "block": ({}, {}),
        "round-robin": ({}, {"affinity": "round-robin"}),
        "striped": ({}, {"stripe_above": "2 KiB"}),
        "striped-per-peer": ({}, {"stripe_above": "2 KiB", "queues": "per-peer"}),
        "striped-flows": ({"fidelity": "flow"}, {"stripe_above": "2 KiB"}),
        "striped-pipelined": (ROUTERS["pipelined"], {"stripe_above": "2 KiB"}),
    }
    for name, (network, nic) in several.items():
        case = scenario({"interfaces": 2, "dragonfly": DRAGONFLY}, 40, merged(adaptive, network), nic=nic)
        for job in case["jobs"]:
            job["ranks_per_node"] = 2
        yield Case(f"flow/interfaces-{name}", case)
    for router in ("input-queued", "output-queued"):
        case = scenario({"dragonfly": DRAGONFLY}, 40, merged(adaptive, {"router": router, "header": "100 B"}))
        yield Case(f"flow/header-{router}", case)
    rails = {"rail-optimized": {"pods": 2, "hosts_per_pod": 4, "gpus_per_host": 3, "spines": 2}}
    own: dict[str, tuple[Table, Table]] = {
        "adaptive": ({"dragonfly": DRAGONFLY}, adaptive),
        "classes": ({"dragonfly": DRAGONFLY}, CLASSES),
        "rails": (rails, {"routing": {"algorithm": "pxn"}}),
        "rails-as-flows": (rails, {"routing": {"algorithm": "pxn"}, "fidelity": "flow"}),
    }
    for name, (machine, network) in own.items():
        case = scenario(machine, 24, network, nic={"send_queues": "per-output"})
        if name == "classes":
            case["jobs"][0]["traffic_class"] = {"mpi": "first"}
            case["jobs"][1]["traffic_class"] = {"mpi": "bulk"}
        yield Case(f"flow/send-queues-{name}", case)
    case = scenario(rails, 24, {}, nic={"send_queues": "per-output", "queues": "per-peer"})
    yield Case("flow/send-queues-per-peer", case)


def arbitrations() -> Iterator[Case]:
    """Every arbitration, in every router model."""
    routers = {**ROUTERS, "fifo": {"router": "input-queued", "input_queues": "fifo"}}
    for name, router in routers.items():
        for arbitration in ("age", "first-come", "lowest-first"):
            keys = merged(router, {"arbitration": arbitration, "routing": {"vcs": 4}})
            yield Case(f"arbitration/{name}/{arbitration}", scenario({"mesh": {"dims": [6, 6]}}, 36, keys))


def flows() -> Iterator[Case]:
    """Messages as flows: over one path, drawn ones, and paths by load; beside packets."""
    for name, machine, nodes, routing in (
        ("one-path", {"torus": {"dims": [4, 4]}}, 16, {"algorithm": "dimension-order"}),
        ("drawn", {"dragonfly": DRAGONFLY}, 40, {"algorithm": "valiant"}),
        ("drawn-up", {"fat-tree": {"k": 4, "n": 2}}, 16, {"up": "random"}),
        ("by-load", {"dragonfly": DRAGONFLY}, 40, {"algorithm": "ugal"}),
    ):
        yield Case(f"flows/{name}", scenario(machine, nodes, {"fidelity": "flow", "routing": routing}))


def ethernets() -> Iterator[Case]:
    """Messages over an Ethernet: every transport and load balancing, with trims, drops and pauses."""
    small = {"queue": "20 KiB", "ecn_low": "4 KiB", "ecn_high": "16 KiB", "window": "32 KiB"}
    variants: dict[str, Table] = {
        **{
            name: {**small, "load_balancing": name}
            for name in ("oblivious", "ecmp", "reps", "reps-legacy", "bitmap", "mixed")
        },
        "constant": {**small, "congestion_control": "constant"},
        "rccc": {**small, "congestion_control": "rccc"},
        "drops": {**small, "trimming": False},
        "roce": {"transport": "roce", "pause_above": 3, "resume_below": 2},
        "full-packets": {"transport": "roce", "pause_above": 3, "resume_below": 2, "full_packets": True},
    }
    for name, ethernet in variants.items():
        network = {"fidelity": "ethernet", "ethernet": ethernet, "routing": {"up": "random"}}
        yield Case(f"ethernet/{name}", scenario({"fat-tree": {"k": 4, "n": 2}}, 16, network))
    # Messages of many packets, so that switches trim, drop, pause and mark.
    variants["dcqcn"] = {
        "transport": "roce",
        "congestion_control": "dcqcn",
        **{"ecn_low": "4 KiB", "ecn_high": "32 KiB", "ecn_probability": 0.5},
        "dcqcn": {"notification_interval": "5 us", "rate_timer": "4 us", "byte_counter": "20 KiB"},
    }
    variants["hpcc"] = {
        **{"transport": "roce", "congestion_control": "hpcc", "pause_above": 30},
        "hpcc": {"target_utilization": 0.9, "additive_increase": "500 B", "increase_stages": 2},
    }
    variants["hpcc-drops"] = {
        **{"transport": "roce", "congestion_control": "hpcc", "retransmission": "go-back-n"},
        **{"pauses": False, "queue": "20 KiB", "load_balancing": "oblivious"},
    }
    variants["swift"] = {
        **{**small, "congestion_control": "swift"},
        "swift": {"target": "9 us", "scaling_range": "1 us"},
    }
    for retransmission in ("selective", "go-back-n"):
        dropping = {"transport": "roce", "pauses": False, "queue": "20 KiB"}
        variants[retransmission] = {**dropping, "retransmission": retransmission}
    shared: Table = {"buffer": "60 KiB", "alpha": 0.5}
    variants["shared-buffer"] = {**shared, "transport": "roce"}
    variants["shared-buffer-drops"] = {**shared, "transport": "roce", "pauses": False}
    variants["shared-buffer-trims"] = {**small, **shared}
    del variants["shared-buffer-trims"]["queue"]
    exchange = {
        "name": "exchange",
        "ranks": 16,
        "workload": {"alltoall": {"bytes": "64 KiB", "iterations": 1}},
    }
    for name, ethernet in variants.items():
        network = {"fidelity": "ethernet", "ethernet": ethernet, "routing": {"up": "random"}}
        machine: Table = {"fat-tree": {"k": 4, "n": 2}}
        yield Case(f"ethernet/exchange/{name}", scenario(machine, 16, network, jobs=[exchange]))
    network = {"fidelity": "ethernet", "ethernet": small, "routing": {"algorithm": "ugal"}}
    yield Case("ethernet/dragonfly", scenario({"dragonfly": DRAGONFLY}, 40, network))
    network = {"fidelity": "ethernet", "routing": {"up": "adaptive"}}
    yield Case("ethernet/adaptive", scenario({"fat-tree": {"k": 4, "n": 2}}, 16, network))


def pipelines() -> Iterator[Case]:
    """Stages, allocators and switching of pipelined routers."""
    stages: dict[str, Table] = {
        "stages": {"routing": 2, "vc_allocation": 2, "switch_allocation": 2, "crossbar": 3},
        "output-first": {"allocator": "output-first", "iterations": 2},
        "speedup": {"internal_speedup": 1.5, "input_speedup": 2},
        "busy-when-full": {"busy_when_full": True},
    }
    link = {"bandwidth": "1 flit/cycle", "latency": "5 cycles", "credit_delay": "2 cycles"}
    network: Table = {
        **ROUTERS["pipelined"],
        "flit": "32 B",
        "links": {
            "terminal": {**link, "buffer": "16 flits"},
            "local": {**link, "buffer": "16 flits"},
            "global": {**link, "bandwidth": "0.5 flits/cycle", "buffer": "20 flits"},
        },
    }
    for switching in ("wormhole", "cut-through", "store-and-forward"):
        for name, pipeline in {"plain": {}, **stages}.items():
            for machine, algorithm, nodes in (
                ({"torus": {"dims": [6, 6]}}, "minimal-adaptive", 36),
                ({"dragonfly": DRAGONFLY}, "ugal", 40),
            ):
                keys = merged(network, {"switching": switching, "routing": {"algorithm": algorithm}})
                keys = merged(keys, {"pipeline": pipeline} if pipeline else {})
                case = scenario(machine, nodes, keys)
                yield Case(f"pipeline/{switching}/{name}/{algorithm}", case)
    as_booksim = {"pipeline": {"adaptive_requests": "first", "injection_vc": "random"}}
    adaptive = {"algorithm": "minimal-adaptive", "vcs": {"terminal": 4, "local": 3}}
    torus = merged(network, {"routing": adaptive})
    dragonfly = merged(network, {"routing": {"algorithm": "minimal", "vc_rule": "phase", "vcs": 4}})
    for machine, nodes, keys in (
        ({"torus": {"dims": [6, 6]}}, 36, torus),
        ({"dragonfly": DRAGONFLY}, 40, dragonfly),
    ):
        name = next(iter(machine))
        yield Case(f"pipeline/as-booksim/{name}", scenario(machine, nodes, merged(keys, as_booksim)))


def storage_of_rails() -> Iterator[Case]:
    """Storage nodes of GPU clusters, on a network of their own and below the spines."""
    checkpoint = {"checkpoint": {"iterations": 2, "total": "3 MB", "interval": "20 us"}}
    storage = {"assignment": "round-robin"}
    for fabric in ("separate", "converged"):
        for algorithm in ("minimal", "pxn", "up-down"):
            rails = {
                "pods": 2,
                "hosts_per_pod": 4,
                "gpus_per_host": 3,
                "spines": 2,
                "storage": {"nodes": 5, "fabric": fabric},
            }
            jobs = [
                {"name": "saver", "ranks": 10, "placement": "random", "workload": checkpoint},
                {"name": "noise", "ranks": 10, "until": "saver", "workload": {"uniform": {"load": 0.3}}},
            ]
            network = {"routing": {"algorithm": algorithm}}
            yield Case(
                f"machine/rail-storage/{fabric}/{algorithm}",
                {"machine": {"rail-optimized": rails}, "network": network, "storage": storage, "jobs": jobs},
            )


def cables() -> Iterator[Case]:
    """Failed and slow cables; arrangements of global links."""
    broken = {"failed_links": [{"routers": [0, 1]}], "torus": {"dims": [4, 3], "nodes_per_router": 2}}
    slow = {
        "degraded_links": [{"routers": [0, 1], "factor": 0.25}],
        "torus": {"dims": [4, 3], "nodes_per_router": 2},
    }
    yield Case("cables/failed", scenario(broken, 24, {"routing": {"algorithm": "up-down"}}))
    yield Case("cables/degraded", scenario(slow, 24, {"routing": {"algorithm": "minimal-adaptive"}}))
    yield from storage_of_rails()
    tofu = {"torus": {"dims": [2, 3, 2, 2, 3, 2], "open_dims": [3, 5]}}
    yield Case("cables/open-dimensions", scenario(tofu, 144, {"routing": {"algorithm": "dimension-order"}}))
    kinds = [{"groups": 1, "nodes": 3, "cables_to": [1]}, {"groups": 1, "nodes": 1, "cables_to": [2, 1]}]
    for family, keys, nodes in (
        ("dragonfly", DRAGONFLY, 3 * 4 * 2 + 4 * 3 + 4),
        ("dragonfly-plus", {**DRAGONFLY_PLUS, "nodes_per_leaf": 2}, 2 * 3 * 2 + 3 * 3 + 3),
    ):
        machine = {family: {**keys, "cables": 2, "other_groups": kinds}}
        for algorithm in ("minimal", "progressive-adaptive"):
            case = scenario(machine, nodes, {"routing": {"algorithm": algorithm}})
            yield Case(f"cables/other-groups/{family}/{algorithm}", case)
    for arrangement in ("absolute", "relative", "circulant"):
        for family, keys in (
            ("dragonfly", DRAGONFLY),
            ("dragonfly-2d", {**DRAGONFLY_2D, "bundle": 3}),
            ("dragonfly-plus", {**DRAGONFLY_PLUS, "local_cables": 2}),
        ):
            nodes = {"dragonfly": 40, "dragonfly-2d": 44, "dragonfly-plus": 36}[family]
            machine = {family: {**keys, "arrangement": arrangement}}
            network = {"routing": {"algorithm": "progressive-adaptive"}}
            yield Case(f"cables/{arrangement}/{family}", scenario(machine, nodes, network))


PRESETS = [
    "codes-compatible",
    "mfnetsim",
    "theta",
    "edison",
    "cori-like",
    "cori-like-authors",
    "trinity",
    "bluegene-p",
    "bluegene-q",
    "frontier",
    "frontier-like",
    "dgx-h100-superpod-like",
    "dgx-h100-superpod",
    "dgx-gb200",
    "lumi",
    "leonardo",
    "marenostrum5",
    "perlmutter",
    "aurora",
    "alps",
    "cori",
    "theta-full",
]


def presets() -> Iterator[Case]:
    """A little traffic on every preset."""
    stencil = {"dims": [4, 4, 4], "message": "20 KiB", "iterations": 1, "compute": "5 us"}
    uniform = {"bytes": "2 KiB", "mean_interval": "2 us", "messages": 3}
    for preset in PRESETS:
        jobs = [
            {"name": "halo", "ranks": 64, "placement": "random", "workload": {"stencil": stencil}},
            {"name": "noise", "ranks": 400, "placement": "random", "workload": {"uniform": uniform}},
        ]
        yield Case(f"preset/{preset}", {"preset": preset, "jobs": jobs})


def cases() -> Iterator[Case]:
    """All cases of this file."""
    yield from every_routing()
    yield from settings_of_routing()
    yield from flow_control()
    yield from flows()
    yield from ethernets()
    yield from arbitrations()
    yield from pipelines()
    yield from cables()
    yield from presets()
