"""Measured collectives and ping-pongs, the nodes they ran on, and the workload that repeats each.

The tables in `data` give medians and percentiles of the raw samples of PICO (HLC-Lab/pico, MIT License), and
values read from the figures of De Sensi et al., SC 2024. A sample is the maximum over ranks.

`bytes` is the vector of reductions and broadcasts, and the whole result of gathers and all-gathers. It is
what the root of a scatter has, what a rank of an all-to-all sends in all, and the input of a reduce-scatter.

`set` is `fitted` for the points that fits may use, which was decided before the first fit: one small run of
each machine, two algorithms, up to 8 MiB. All other points are `given`.
"""

from __future__ import annotations

import csv
import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odonata.machines import hosts

DATA = Path(__file__).parent / "data"

#: The presets with measured points.
MACHINES = ("lumi", "leonardo", "fugaku")


@dataclass(frozen=True)
class Point:
    """A measured collective."""

    machine: str
    run: str
    ranks: int
    collective: str
    algorithm: str
    segment_bytes: int | None
    bytes: int
    p10_s: float
    median_s: float
    p90_s: float
    #: `fitted` or `given`.
    split: str
    allocation: str
    flags: str


@dataclass(frozen=True)
class PingPong:
    """A measured ping-pong: half of the round trip between two hosts at a distance."""

    machine: str
    #: `same switch`, `same group`, `other group`, or `not stated`.
    distance: str
    bytes: int
    half_round_trip_s: float


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def points(machine: str) -> tuple[Point, ...]:
    """The measured collectives of a machine."""
    return tuple(
        Point(
            machine=row["machine"],
            run=row["run"],
            ranks=int(row["ranks"]),
            collective=row["collective"],
            algorithm=row["algorithm"],
            segment_bytes=int(row["segment_bytes"]) if row["segment_bytes"] else None,
            bytes=int(row["bytes"]),
            p10_s=float(row["p10_us"]) * 1e-6,
            median_s=float(row["median_us"]) * 1e-6,
            p90_s=float(row["p90_us"]) * 1e-6,
            split=row["set"],
            allocation=row["allocation"],
            flags=row["flags"],
        )
        for row in _rows("collectives.csv")
        if row["machine"] == machine
    )


@functools.cache
def ping_pongs(machine: str) -> tuple[PingPong, ...]:
    """The measured ping-pongs of a machine."""
    return tuple(
        PingPong(row["machine"], row["distance"], int(row["bytes"]), float(row["half_round_trip_us"]) * 1e-6)
        for row in _rows("point_to_point.csv")
        if row["machine"] == machine
    )


def noise(machine: str) -> dict[str, Any]:
    """The fitted noise of a machine, as overrides of a scenario."""
    found = tomllib.loads((DATA / "noise.toml").read_text(encoding="utf-8"))[machine]
    return {f"mpi.{key}": value for key, value in found.items()}


@functools.cache
def _allocations() -> dict[str, tuple[str, ...]]:
    names: dict[str, dict[str, None]] = {}
    for row in _rows("allocations.csv"):
        names.setdefault(row["allocation"], {})[row["host"]] = None
    return {name: tuple(found) for name, found in names.items()}


def placed(machine: str, allocation: str, ranks: int) -> tuple[list[int], dict[str, Any]]:
    """The node of each rank, one on each host, and overrides of the machine whose nodes are counted."""
    names = _allocations()[allocation][:ranks]
    if machine != "fugaku":
        return [hosts.node(machine, name) for name in names], {}
    # The torus that the job has got: its logical coordinates alone are known.
    places = [[int(part[1:]) for part in name.split(":")] for name in names]
    dims = [1 + max(axis) for axis in zip(*places, strict=True)]
    nodes = []
    for place in places:
        number = 0
        for at, extent in reversed(list(zip(place, dims, strict=True))):
            number = number * extent + at
        nodes.append(number)
    return nodes, {"machine.torus.dims": dims}


#: The algorithm of this simulator by collective and name in the data, without what tells the implementation.
ALGORITHMS: dict[str, dict[str, str]] = {
    "allgather": {
        "ring": "ring",
        "recursive_doubling": "recursive-doubling",
        "neighbor": "neighbor-exchange",
        "brucks": "bruck",
        "k_bruck": "bruck",
        "sparbit": "sparbit",
        "bine_block_by_block": "bine-block-by-block",
        "bine_permute_remap": "bine-permute",
        "bine_permute_static": "bine-permute",
        "bine_send_remap": "bine-send",
        "bine_send_static": "bine-send",
        "bine_2_blocks": "bine-two-blocks",
        "bine_2_blocks_dtype": "bine-two-blocks",
    },
    "allreduce": {
        "recursive_doubling": "recursive-doubling",
        "rabenseifner": "reduce-scatter-allgather",
        "ring": "ring",
        "ring_segmented": "segmented-ring",
        "bine_lat": "bine-latency",
        "bine_bdw_remap": "bine-bandwidth",
        "bine_bdw_static": "bine-bandwidth",
        "bine_bdw_remap_segmented": "bine-segmented",
    },
    "alltoall": {
        "linear": "linear",
        "pairwise": "pairwise",
        "modified_bruck": "bruck",
        "bine": "bine-permute",
    },
    "bcast": {
        "binomial": "binomial",
        "binary": "binary",
        "split_binary": "split-binary",
        "chain": "chain",
        "pipeline": "chain",
        "scatter_allgather": "scatter-recursive-doubling",
        "scatter_allgather_ring": "scatter-ring",
        "bine_lat": "bine-latency",
        "bine_bdw": "bine-bandwidth",
    },
    "reduce": {
        "binomial": "binomial",
        "binary": "binary",
        "linear": "linear",
        "rabenseifner": "reduce-scatter-gather",
        "bine_lat": "bine-latency",
        "bine_bdw": "bine-bandwidth",
    },
    "reduce_scatter": {
        "recursive_halving": "recursive-halving",
        "recursive_doubling": "recursive-doubling",
        "ring": "ring",
        "pairwise": "pairwise",
        "bine_permute_remap": "bine-permute",
        "bine_send_remap": "bine-send",
    },
    "gather": {
        "linear": "linear",
        "binomial": "binomial",
        "bine": "bine-latency",
        "linear_sync": "linear-sync",
    },
    "scatter": {"linear": "linear", "binomial": "binomial", "bine": "bine-latency"},
}


def algorithm(point: Point) -> str | None:
    """The algorithm of this simulator that repeats `point`, if there is one.

    >>> algorithm(next(p for p in points("fugaku") if p.algorithm == "default-recursive-doubling"))
    'recursive-doubling'
    """
    name = point.algorithm.removeprefix("default-").replace("-", "_")
    for implementation in ("_ompi", "_mpich", "_over"):
        name = name.removesuffix(implementation)
    if (point.collective, point.algorithm) == ("bcast", "binomial_ompi"):
        # To all children at once.
        return "segmented-binomial"
    return ALGORITHMS.get(point.collective, {}).get(name)


#: The table of the workload by collective.
WORKLOADS = {"bcast": "broadcast", "reduce_scatter": "reduce-scatter"}

#: Collectives whose `bytes` are those of all ranks together.
_OF_ALL_RANKS = ("allgather", "gather", "scatter", "alltoall", "reduce_scatter")


def workload(point: Point) -> dict[str, Any] | None:
    """The workload that repeats `point` once; None if its algorithm is not known."""
    named = algorithm(point)
    size = point.bytes
    if point.collective in _OF_ALL_RANKS:
        size = 4 * (point.bytes // 4 // point.ranks)
    if named is None or size == 0:
        return None
    keys: dict[str, Any] = {"bytes": f"{size} B", "algorithm": named, "iterations": 1}
    if point.collective in ("allreduce", "reduce", "reduce_scatter"):
        keys["element"] = "4 B"
    if named == "ring" and point.collective == "allreduce" and point.bytes // 4 < point.ranks:
        # As the libraries do.
        keys["algorithm"] = "recursive-doubling"
    return {WORKLOADS.get(point.collective, point.collective): keys}
