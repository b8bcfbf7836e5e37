"""Other sizes: machines of 36 to 216 nodes, messages of 32 KiB to 4 MiB."""

from __future__ import annotations

from typing import Any


def stencil(ranks: int, message: str, iterations: int, **more: Any) -> dict[str, Any]:
    """A job: exchanges with neighbors."""
    return {
        "ranks": ranks,
        "placement": "random",
        "workload": {"stencil": {"message": message, "iterations": iterations, "compute": "20 us"}},
        **more,
    }


def a2a(ranks: int, size: str, iterations: int, **more: Any) -> dict[str, Any]:
    """A job: all-to-alls."""
    return {
        "ranks": ranks,
        "placement": "random",
        "workload": {"alltoall": {"bytes": size, "iterations": iterations}},
        **more,
    }


BIG = {"groups": 7, "routers_per_group": 6, "nodes_per_router": 3, "global_ports_per_router": 1}

#: Machine, network, jobs.
OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = {
    "dragonfly of 126, ugal - stencil of 1 MiB": (
        {"dragonfly": BIG},
        {"routing": {"algorithm": "ugal"}},
        [stencil(96, "1 MiB", 2)],
    ),
    "dragonfly of 126, valiant - all-to-all of 32 KiB, buffers of 64 KiB": (
        {"dragonfly": BIG},
        {
            "routing": {"algorithm": "valiant"},
            "links": {
                "local": {"buffer": "64 KiB"},
                "global": {"buffer": "64 KiB"},
                "terminal": {"buffer": "64 KiB"},
            },
        },
        [a2a(64, "32 KiB", 1)],
    ),
    "dragonfly of 126, minimal - two jobs": (
        {"dragonfly": BIG},
        {"routing": {"algorithm": "minimal"}},
        [stencil(48, "256 KiB", 4, name="stencil"), a2a(48, "32 KiB", 4, name="all-to-all")],
    ),
    "fat tree of 36, random up - stencil of 4 MiB": (
        {"fat-tree": {"k": 6, "n": 2}},
        {"routing": {"up": "random"}},
        [stencil(27, "4 MiB", 1)],
    ),
    "fat tree of 216, adaptive up - all-to-all of 256 KiB": (
        {"fat-tree": {"k": 6, "n": 3}},
        {"routing": {"up": "adaptive"}},
        [a2a(48, "256 KiB", 1)],
    ),
    "torus of 72, valiant - stencil of 128 KiB": (
        {"torus": {"dims": [6, 6, 2]}},
        {"routing": {"algorithm": "valiant"}},
        [stencil(64, "128 KiB", 5)],
    ),
    "torus of 64, dimension order - ring all-reduce of 4 MiB": (
        {"torus": {"dims": [8, 8]}},
        {"routing": {"algorithm": "dimension-order"}},
        [
            {
                "ranks": 48,
                "placement": "random",
                "workload": {"allreduce": {"bytes": "4 MiB", "iterations": 1, "algorithm": "ring"}},
            }
        ],
    ),
    "HyperX of 108, valiant - all-to-all of 64 KiB": (
        {"hyperx": {"dims": [6, 6], "nodes_per_router": 3}},
        {"routing": {"algorithm": "valiant"}},
        [a2a(64, "64 KiB", 1)],
    ),
    "HyperX of 108, ugal - stencil of 256 KiB": (
        {"hyperx": {"dims": [6, 6], "nodes_per_router": 3}},
        {"routing": {"algorithm": "ugal"}},
        [stencil(96, "256 KiB", 4)],
    ),
    "Slim Fly of 100, ugal - two jobs": (
        {"slim-fly": {"q": 5, "nodes_per_router": 2}},
        {"routing": {"algorithm": "ugal"}},
        [stencil(36, "1 MiB", 2, name="stencil"), a2a(36, "64 KiB", 4, name="all-to-all")],
    ),
}
