"""Batch queues: the day of `examples/batch` by policy, order and placement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import ROOT, Case

DAY = ROOT / "examples" / "batch" / "day.toml"

#: A window in which the first 40 nodes are not there, seconds.
WINDOW = {"nodes": "0-39", "from": "6 h", "to": "9 h"}

#: Settings that replace those of the day, by the name of the case.
CHANGES: dict[str, dict[str, Any]] = {
    **{f"policy/{policy}": {"queue.policy": policy} for policy in ("easy", "fcfs", "conservative")},
    **{f"order/{order}": {"queue.order": order} for order in ("fair-share", "shortest")},
    **{
        f"placement/{placement}": {"queue.placement": placement}
        for placement in ("random", "least-groups", "topology-aware", "whole-groups")
    },
    "placement/random-seed-2": {"queue.placement": "random", "seed": 2},
    "without-contention": {"contention": False},
    "limits": {"queue.limits": "enforce"},
    "reservation": {"reservations": [WINDOW]},
    "failure": {"failures": [WINDOW]},
    "failure-without-requeue": {"failures": [WINDOW], "queue.requeue": False},
    "valiant": {"network.routing.algorithm": "valiant"},
    "classes": {
        "network.traffic_classes": [
            {"name": "bulk", "share": 0.2},
            {"name": "fast", "share": 0.5},
            {"name": "first", "share": 0.1, "priority": 1},
        ],
        "profiles.cfd.class": "fast",
        "profiles.spectral.class": "first",
    },
    "slow-global-links": {"queue.placement": "random", "network.links.global.bandwidth": "2 GB/s"},
}


def cases() -> Iterator[Case]:
    """A case per change of the day."""
    for name, changes in CHANGES.items():
        yield Case(f"batch/{name}", DAY, changes, schedulers=("sequential",), batch=True)
