"""MPI: every algorithm of every collective, protocols of messages, communicators, persistent requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rank_programs
from case import Case, merged
from workloads import on_dragonfly

Table = dict[str, Any]

#: Algorithms by the key of `mpi.collectives`; the last of each is of Open MPI or rarely chosen.
ALGORITHMS: dict[str, list[str]] = {
    "barrier": ["dissemination", "recursive-doubling", "double-ring", "tree"],
    "broadcast": [
        "binomial",
        "scatter-recursive-doubling",
        "scatter-ring",
        "linear",
        "chain",
        "binary",
        "split-binary",
        "segmented-binomial",
        "bine-latency",
        "bine-bandwidth",
    ],
    "reduce": [
        "binomial",
        "reduce-scatter-gather",
        "linear",
        "chain",
        "binary",
        "segmented-binomial",
        "bine-latency",
        "bine-bandwidth",
    ],
    "gather": ["binomial", "linear", "linear-sync", "bine-latency"],
    "scatter": ["binomial", "linear", "bine-latency"],
    "allreduce": [
        "recursive-doubling",
        "reduce-scatter-allgather",
        "ring",
        "segmented-ring",
        "reduce-broadcast",
        "bine-latency",
        "bine-bandwidth",
        "bine-segmented",
    ],
    "reduce_scatter_block": [
        "recursive-halving",
        "pairwise",
        "ring",
        "recursive-doubling",
        "reduce-then-scatter",
        "bine-permute",
        "bine-send",
    ],
    "reduce_scatter": [
        "recursive-halving",
        "pairwise",
        "ring",
        "recursive-doubling",
        "reduce-then-scatter",
    ],
    "scan": ["recursive-doubling", "linear"],
    "exscan": ["recursive-doubling", "linear"],
    "allgather": [
        "recursive-doubling",
        "bruck",
        "ring",
        "neighbor-exchange",
        "linear",
        "sparbit",
        "bine-permute",
        "bine-send",
        "bine-block-by-block",
        "bine-two-blocks",
    ],
    "allgatherv": ["recursive-doubling", "bruck", "ring", "neighbor-exchange"],
    "alltoall": ["bruck", "pairwise", "pairwise-exchange", "linear", "scattered", "bine-permute"],
    "alltoallv": ["pairwise", "pairwise-exchange", "linear", "scattered"],
}


def program(function: Any, ranks: int, **keys: Any) -> Table:
    """A job that runs a function of `rank_programs`."""
    return {"python": function, "ranks": ranks, "placement": "random", **keys}


def collectives() -> Iterator[Case]:
    """Each algorithm on 13 and on 16 ranks at once; what the libraries choose for several sizes."""
    for kind, algorithms in ALGORITHMS.items():
        for algorithm in algorithms:
            args = {"kind": kind}
            jobs = [
                program(rank_programs.one_collective, ranks, name=f"on-{ranks}", args=args)
                for ranks in (13, 16)
            ]
            keys = {kind: algorithm, "segment": "8 KiB", "window": 4}
            yield Case(f"mpi/{kind}/{algorithm}", on_dragonfly(jobs, mpi={"collectives": keys}))
    for library in ("mpich", "open-mpi"):
        for size in (8, 720, 9_000, 70_000, 300_000):
            for later in (False, True):
                jobs = [
                    program(
                        rank_programs.all_collectives,
                        ranks,
                        name=f"on-{ranks}",
                        args={"size": size, "later": later},
                    )
                    for ranks in (5, 12, 16)
                ]
                label = f"mpi/{library}/{'non-blocking' if later else 'blocking'}/{size}"
                yield Case(label, on_dragonfly(jobs, mpi={"collectives": {"library": library}}))


#: Protocols of messages: table `mpi`.
PROTOCOLS: dict[str, Table] = {
    "eager": {"eager_threshold": "none"},
    "rendezvous": {"eager_threshold": "0 B"},
    "mixed": {"eager_threshold": "4 KiB"},
    "in-calls": {"eager_threshold": "1 KiB", "progress": "in-calls"},
    "zero-copy": {
        "eager_threshold": "1 KiB",
        "rendezvous_zero_copy": True,
        "rendezvous_control": "200 B",
        "send_per_byte": "0.55 ns/B",
    },
    "costs": {
        "send_delay": "3.51 us",
        "send_per_byte": "0.55 ns/B",
        "send_overhead": "0 ns",
        "recv_overhead": "700 ns",
        "local_latency": "50 ns",
        "local_bandwidth": "4 GB/s",
    },
    "library": {
        "library": "openmpi-ucx",
        "acknowledged_above": "100 B",
        "eager_threshold": "2 KiB",
        "progress": "in-calls",
    },
    "jitter": {"call_jitter": {"min": "1 ns", "max": "400 ns"}},
    "noise": {
        "noise": [
            {"period": "20 us", "duration": "500 ns", "durations": "exponential"},
            {"period": "50 us", "duration": "2 us", "timing": "periodic"},
        ]
    },
}

PROGRAMS = {
    "point-to-point": rank_programs.point_to_point,
    "anybody": rank_programs.anybody,
    "persistent": rank_programs.persistent,
    "communicators": rank_programs.on_communicators,
    "one-sided": rank_programs.one_sided,
    "streams": rank_programs.streams,
    "collectives": rank_programs.all_collectives,
    "later": rank_programs.all_collectives,
}


def protocols() -> Iterator[Case]:
    """Every program under every protocol, one rank to a node and several."""
    for name, function in PROGRAMS.items():
        args = {"args": {"later": True}} if name == "later" else {}
        for protocol, mpi in PROTOCOLS.items():
            scenario = on_dragonfly([program(function, 24, **args)], mpi=mpi)
            yield Case(f"mpi/{protocol}/{name}", scenario)
        shared = program(function, 30, ranks_per_node=4, repeat=2, **args)
        yield Case(f"mpi/shared-nodes/{name}", on_dragonfly([shared]))


def endings() -> Iterator[Case]:
    """Runs that do not complete, and file access."""
    stuck = [program(rank_programs.stuck, 9), program(rank_programs.all_collectives, 12, name="other")]
    yield Case("mpi/stuck", on_dragonfly(stuck))
    fails = [program(rank_programs.fails, 9), program(rank_programs.all_collectives, 12, name="other")]
    yield Case("mpi/program-error", on_dragonfly(fails))
    storage = {"nodes": {"per_group": 1}, "manager": {"block": "16 KiB", "memory": "64 KiB"}}
    for name, more in {"files": {}, "files-shared-nodes": {"ranks_per_node": 4}}.items():
        job = program(rank_programs.files, 24, **more)
        yield Case(f"mpi/{name}", merged(on_dragonfly([job]), {"storage": storage}))


def cases() -> Iterator[Case]:
    """All cases of this file."""
    yield from collectives()
    yield from protocols()
    yield from endings()
