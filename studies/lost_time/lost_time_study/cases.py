"""The scenarios: two examples, the mixes of the MFNetSim case study made short, and eight on other machines.

All have several jobs, which end by themselves, so that each has a time alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lost_time_study import HERE, STUDIES

Table = dict[str, Any]

ROOT = STUDIES.parent


@dataclass(frozen=True)
class Case:
    """A scenario."""

    name: str
    #: A file, or its content.
    scenario: Any
    #: Whether routing depends on load.
    adaptive: bool
    overrides: Table = field(default_factory=dict)


#: Settings that shorten the mixes of MFNetSim: fewer iterations, fewer bytes, all at the same time.
SHORT: Table = {
    "jobs.0.workload.milc.iterations": 4,
    "jobs.0.workload.nekbone.cg_iterations": 2,
    "jobs.1.workload.checkpoint.interval": "200 us",
    "jobs.1.workload.checkpoint.total": "600 MB",
    "jobs.2.workload.cosmoflow.iterations": 1,
    "jobs.2.workload.cosmoflow.compute": "1 ms",
    "jobs.2.workload.cosmoflow.elements": 400_000,
}

#: Other routings for the two examples, each of which has one.
MINIMAL: Table = {"network.routing": {"algorithm": "minimal"}}


def cases() -> Iterator[Case]:
    """All of them."""
    examples = ROOT / "examples"
    for name in ("interference", "training"):
        path = examples / f"{name}.toml"
        adaptive = {"network.routing": {"algorithm": "progressive-adaptive"}}
        yield Case(f"{name}, minimal", path, False, MINIMAL)
        yield Case(f"{name}, adaptive", path, True, adaptive)
    for workload in ("wkld2", "wkld3"):
        first = {"wkld2": "milc", "wkld3": "nekbone"}[workload]
        other = {"milc": "nekbone", "nekbone": "milc"}[first]
        short = {key: value for key, value in SHORT.items() if f".{other}." not in key}
        for placement in ("cont", "rand"):
            for routing in ("min", "par"):
                name = f"{placement}-{routing}-{workload}"
                path = STUDIES / "mfnetsim" / "scenarios" / f"{name}.toml"
                yield Case(f"MFNetSim, {name}", path, routing == "par", short)
    yield from other_machines()


def stencil(name: str, ranks: int, dims: list[int], message: str, iterations: int) -> Table:
    """Halos on a torus, and an all-reduce at the end of each sweep."""
    workload = {"dims": dims, "wrap": True, "message": message, "iterations": iterations, "allreduce": "8 B"}
    return {
        "name": name,
        "ranks": ranks,
        "placement": "random",
        "workload": {"stencil": workload | {"compute": "20 us"}},
    }


def exchange(name: str, ranks: int, size: str, iterations: int) -> Table:
    """All-to-alls."""
    workload = {"alltoall": {"bytes": size, "iterations": iterations, "compute": "50 us"}}
    return {"name": name, "ranks": ranks, "placement": "random", "workload": workload}


def training(name: str, ranks: int) -> Table:
    """All-reduces of 4 MB."""
    workload = {"allreduce": {"bytes": "4 MB", "iterations": 4, "compute": "300 us"}}
    return {"name": name, "ranks": ranks, "placement": "random", "workload": workload}


def machine(name: str, table: Table, routing: Table, jobs: list[Table], **more: Table) -> Table:
    """A scenario of these jobs."""
    network = {"packet": "2 KiB", "routing": routing}
    return {"name": name, "machine": table, "network": network, "jobs": jobs} | more


def other_machines() -> Iterator[Case]:
    """Other families, adaptive routings, tiers of storage, traces, coNCePTuaL."""
    dragonfly = {"groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "global_ports_per_router": 2}
    torus = {"torus": {"dims": [4, 4, 4], "nodes_per_router": 2}}
    mix = [stencil("halo", 48, [4, 4, 3], "96 KiB", 30), exchange("exchange", 64, "16 KiB", 8)]
    yield Case(
        "torus, dimension order", machine("torus", torus, {"algorithm": "dimension-order"}, mix), False
    )
    yield Case(
        "torus, minimal adaptive",
        machine("torus", torus, {"algorithm": "minimal-adaptive"}, mix),
        True,
    )
    yield Case(
        "fat tree",
        machine(
            "fat-tree",
            {"fat-tree": {"k": 4, "n": 3}},
            {"algorithm": "nearest-common-ancestor"},
            [stencil("halo", 24, [4, 3, 2], "96 KiB", 30), training("training", 32)],
        ),
        False,
    )
    yield Case(
        "HyperX, DAL",
        machine(
            "hyperx",
            {"hyperx": {"dims": [4, 5], "nodes_per_router": 4}},
            {"algorithm": "dal"},
            [stencil("halo", 36, [4, 3, 3], "96 KiB", 30), exchange("exchange", 40, "32 KiB", 8)],
        ),
        True,
    )
    yield Case(
        "Slim Fly, UGAL",
        machine(
            "slim-fly",
            {"slim-fly": {"q": 5, "nodes_per_router": 2}},
            {"algorithm": "ugal"},
            [stencil("halo", 48, [4, 4, 3], "96 KiB", 30), training("training", 48)],
        ),
        True,
    )
    yield Case("tiers of storage", ROOT / "examples" / "tiers.toml", False)
    yield Case(
        "traces",
        machine(
            "traces",
            {"dragonfly": dragonfly},
            {"algorithm": "minimal"},
            [
                {
                    "name": "wave",
                    "ranks": 24,
                    "placement": "random",
                    "trace": str(HERE / "data" / "wave.goal"),
                },
                exchange("exchange", 44, "32 KiB", 8),
            ],
        ),
        False,
    )
    program = ROOT / "programs" / "jacobi3d.ncptl"
    yield Case(
        "coNCePTuaL",
        machine(
            "conceptual",
            {"dragonfly": dragonfly},
            {"algorithm": "progressive-adaptive"},
            [
                {"name": "jacobi", "ranks": 27, "placement": "random", "program": str(program)},
                exchange("exchange", 44, "32 KiB", 8),
            ],
        ),
        True,
    )
