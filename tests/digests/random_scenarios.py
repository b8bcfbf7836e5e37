"""Random scenarios, always the same ones: unplanned combinations of settings.

All are possible by construction. Rounded times and sizes make events tie.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import rank_programs
from case import Case
from machines import FAMILIES as ALL

#: Families added later would change every draw; they have cases of their own.
FAMILIES = [family for family in ALL if family[0] not in ("polarfly", "rail-optimized")]

Table = dict[str, Any]
T = TypeVar("T")

#: Number of scenarios.
SCENARIOS = 200


class Draws:
    """Random draws that are the same under every version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, n: int) -> int:
        """0 to n - 1."""
        return int(self._random.random() * n)

    def one_of(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.below(len(choices))]

    def chance(self, percent: int) -> bool:
        """True with this probability."""
        return self.below(100) < percent


@dataclass(frozen=True)
class Machine:
    """The drawn properties of the machine that later draws depend on."""

    family: str
    nodes: int
    #: Groups whose nodes can be servers; 0: none.
    groups: int
    algorithm: str
    router: str


#: Groups with nodes in them, by family.
GROUPS = {"dragonfly": 5, "dragonfly-2d": 4, "dragonfly-plus": 4}


def scenario(seed: int) -> Table:
    """The scenario of a seed."""
    draws = Draws(seed)
    family, table, nodes, algorithms = draws.one_of(FAMILIES)
    algorithm = draws.one_of(algorithms)
    models = ["input-queued"] if algorithm == "bubble" else ["input-queued", "output-queued", "pipelined"]
    machine = Machine(family, nodes, GROUPS.get(family, 0), algorithm, draws.one_of(models))
    with_storage = draws.chance(50)
    network = _network(draws, machine)
    jobs = _jobs(draws, machine, with_storage, [one["name"] for one in network.get("traffic_classes", [])])
    result: Table = {
        "seed": draws.below(1_000),
        "machine": table,
        "network": network,
        "run": _run(draws, machine, len(jobs)),
        "mpi": _mpi(draws),
        "nic": _nic(draws),
        "jobs": jobs,
    }
    if with_storage:
        result["storage"] = _storage(draws, machine)
    return {key: value for key, value in result.items() if value != {}}


def _run(draws: Draws, machine: Machine, jobs: int) -> Table:
    run: Table = {"message_rows": draws.one_of([0, 5, 60, 100_000]), "io_rows": draws.one_of([3, 100_000])}
    if jobs > 1:
        run["blame"] = draws.chance(70)
    if draws.chance(30):
        run["series_interval"] = "7 us"
    if draws.chance(15):
        run["time_limit"] = "23 us"
    return run


def _mpi(draws: Draws) -> Table:
    mpi: Table = {}
    if draws.chance(60):
        mpi["eager_threshold"] = draws.one_of(["0 B", "1 KiB", "4 KiB", "none"])
    if draws.chance(30):
        mpi["progress"] = "in-calls"
    if draws.chance(30):
        mpi["send_per_byte"] = "0.55 ns/B"
        mpi["rendezvous_zero_copy"] = draws.chance(50)
    if draws.chance(20):
        mpi["call_jitter"] = {"min": "0 ns", "max": "80 ns"}
    if draws.chance(40):
        mpi["collectives"] = {"library": "open-mpi"}
    return mpi


def _nic(draws: Draws) -> Table:
    nic: Table = {}
    if draws.chance(25):
        nic["queue"] = 1 + draws.below(4)
    if draws.chance(15):
        nic["rate"] = "3 GB/s"
    if draws.chance(20):
        nic["handoff"] = {"min": "0.5 ns", "max": "1 ns"}
    return nic


def _network(draws: Draws, machine: Machine) -> Table:
    pipelined = machine.router == "pipelined"
    packet, flit = 512 << draws.below(3 if pipelined else 4), 32 << draws.below(4)
    network: Table = {"router": machine.router, "packet": f"{packet} B", "flit": f"{flit} B"}
    network["arbitration"] = draws.one_of(["round-robin", "round-robin", "age", "first-come", "lowest-first"])
    network["routing"] = _routing(draws, machine)
    if pipelined:
        network["clock"] = draws.one_of(["1 ns", "1.25 GHz"])
        network["switching"] = draws.one_of(["wormhole", "cut-through", "store-and-forward"])
        network["pipeline"] = {
            "routing": draws.below(3),
            "vc_allocation": 1 + draws.below(2),
            "switch_allocation": 1 + draws.below(2),
            "crossbar": 1 + draws.below(2),
            "iterations": 1 + draws.below(2),
            "internal_speedup": draws.one_of([1.0, 1.5, 2.0]),
            "input_speedup": 1 + draws.below(2),
            "allocator": draws.one_of(["input-first", "output-first"]),
        }
    else:
        network["switching"] = draws.one_of(["cut-through", "cut-through", "store-and-forward"])
        network["router_delay"] = draws.one_of(["100 ns", "40 ns"])
        if draws.chance(25):
            network["congestion_control"] = {
                "kind": draws.one_of(["ecn", "per-flow"]),
                "threshold": f"{2 * packet} B",
                "interval": "1 us",
                "recovery": "20 us",
            }
    if machine.router == "input-queued":
        network["input_queues"] = draws.one_of(["virtual-output", "fifo"])
    if machine.router != "output-queued" and draws.chance(30):
        network["traffic_classes"] = [
            {"name": "a", "share": 0.6},
            {"name": "b", "share": 0.2, "priority": draws.below(2)},
        ]
    network["links"] = {
        name: {
            "bandwidth": draws.one_of(["10.24 GB/s", "5.12 GB/s", "4.7 GiB/s"]),
            "latency": draws.one_of(["100 ns", "51.2 ns", "33 ns", "2 ns"]),
            "credit_delay": draws.one_of(["100 ns", "51.2 ns", "1419 ps"]),
            "buffer": f"{((2 if machine.algorithm == 'bubble' else 1) + draws.below(4)) * packet} B",
        }
        for name in ("terminal", "local", "global", "column")
    }
    return network


def _routing(draws: Draws, machine: Machine) -> Table:
    routing: Table = {"algorithm": machine.algorithm}
    if machine.algorithm in ("valiant", "ugal", "progressive-adaptive") and machine.family in (
        "dragonfly",
        "dragonfly-2d",
    ):
        routing["via"] = draws.one_of(["group", "router"])
    if machine.algorithm == "ugal" and machine.groups:
        # The cases `routing/` cover the knowledge of routers within a cycle.
        known = ["local", "piggyback"] if machine.router == "pipelined" else ["local", "global", "piggyback"]
        routing["knowledge"] = draws.one_of(known)
        if routing["knowledge"] != "local":
            routing["knowledge_interval"] = draws.one_of(["130 ns", "51.2 ns"])
    if machine.algorithm in ("ugal", "progressive-adaptive"):
        routing["bias"] = draws.one_of([1.0, 2.0])
        routing["threshold"] = draws.one_of(["0 B", "3 KiB"])
    if machine.algorithm == "minimal-adaptive":
        routing["selection"] = draws.one_of(["lightest", "random"])
    if machine.algorithm in ("nearest-common-ancestor", "up-down"):
        ways = ["random", "adaptive"] + (["d-mod-k"] if machine.algorithm != "up-down" else [])
        routing["up"] = draws.one_of(ways)
    if draws.chance(20):
        routing["vcs"] = 3 + draws.below(4)
    return routing


def _storage(draws: Draws, machine: Machine) -> Table:
    storage: Table = {
        "nodes": {"per_group": 1, "position": draws.one_of(["first", "last"])}
        if machine.groups
        else {"list": [1, 6]},
        "assignment": draws.one_of(["by-group", "random", "round-robin"]),
        "manager": {
            "block": draws.one_of(["4 KiB", "1000 B"]),
            "memory": "16 KiB",
            "pieces_in_flight": 1 + draws.below(4),
            "object_per_file": draws.chance(70),
        },
        "device": {
            "capacity": draws.one_of(["1 GB", "1 GB", "1 GB", "50 kB"]),
            "rate": {"write": "2 GB/s", "read": "3 GB/s", "overhead": "2 us"},
        },
    }
    if draws.chance(40):
        storage["device"]["rate"]["seek"] = "10 us"
    if draws.chance(40):
        storage["drain"] = {"bandwidth": "0.5 GB/s", "latency": "1 us"}
    return storage


def _jobs(draws: Draws, machine: Machine, with_storage: bool, classes: list[str]) -> list[Table]:
    left = machine.nodes - ((machine.groups or 2) if with_storage else 0)
    jobs: list[Table] = []
    for number in range(1 + draws.below(3)):
        per_node = draws.one_of([1, 1, 1, 2])
        ranks = 3 + draws.below(max(1, min(14, left * per_node - 2)))
        needed = -(-ranks // per_node)
        if ranks < 3 or needed > left:
            break
        left -= needed
        job = {
            "name": f"job{number}",
            "ranks": ranks,
            "ranks_per_node": per_node,
            "placement": draws.one_of(["contiguous", "random", "random-router", "random-group"]),
            **_work(draws, ranks, with_storage),
        }
        if number == 1 and draws.chance(30):
            job["start_after"] = "job0"
        elif draws.chance(20):
            job["start"] = "2 us"
        if classes and draws.chance(60):
            job["traffic_class"] = {draws.one_of(["mpi", "io"]): classes[-1]}
        jobs.append(job)
    return jobs


def _work(draws: Draws, ranks: int, with_storage: bool) -> Table:
    """The work of a job: traffic, an application, or a program of `rank_programs`."""
    size = draws.one_of([0, 64, 3_000, 8_192, 40_960])
    compute = draws.one_of(["0 ns", "1 us", "1.7 us"])
    kind = draws.below(9 if with_storage else 6)
    if kind == 0:
        dims = 1 + draws.below(3)
        keys = {"dimensions": dims, "message": f"{size} B", "iterations": 2, "compute": compute}
        reduced = draws.one_of(["0 B", "8 B", "5000 B"])
        return {"workload": {"stencil": {**keys, "allreduce": reduced}}, "repeat": 1 + draws.below(2)}
    if kind in (1, 2):
        pattern = draws.one_of(
            ["uniform", "incast", "tornado", "neighbors", "permutation", "all-to-all", "shift", "hot-spot"]
        )
        own: Table = {"shift": {"by": 1 + draws.below(2)}, "hot-spot": {"share": 0.4}}.get(pattern, {})
        arrival = draws.one_of(["fixed", "exponential", "bernoulli"])
        period = {"period": "2 ns"} if arrival == "bernoulli" else {}
        keys = {"bytes": f"{max(size, 1)} B", "mean_interval": "1 us", "arrival": arrival, "messages": 7}
        return {"workload": {pattern: {**keys, **period, **own}}}
    if kind in (3, 4, 5):
        function, args = draws.one_of(
            [
                (rank_programs.all_collectives, {"size": max(8, size // 8 * 8)}),
                (rank_programs.all_collectives, {"size": 720, "later": True}),
                (rank_programs.point_to_point, {"size": size}),
                (rank_programs.anybody, {"size": size}),
                (rank_programs.persistent, {"size": size, "rounds": 3}),
                (rank_programs.streams, {"size": size}),
            ]
        )
        return {"python": function, "args": args}
    if kind == 6:
        checkpoint = {"iterations": 2, "total": "60 KiB", "interval": "3 us"}
        return {"workload": {"checkpoint": {**checkpoint, "coordinated": draws.chance(50)}}}
    if kind == 7:
        training = {"iterations": 2, "elements": 700, "sample": "9 KiB", "compute": compute}
        way = {"io": draws.one_of(["read", "write"]), "pipelined": draws.chance(50)}
        return {"workload": {"cosmoflow": {**training, **way}}}
    return {"python": rank_programs.files, "args": {"size": max(size, 100)}}


def cases() -> Iterator[Case]:
    """All cases of this file."""
    for seed in range(SCENARIOS):
        # Half of the machines have five routers.
        yield Case(f"random/{seed:03}", scenario(seed), parts=2 + seed % 4)
