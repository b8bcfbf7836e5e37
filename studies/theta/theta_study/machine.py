"""Theta as in the preset; with minimal routing; with software and interface set by published numbers."""

from __future__ import annotations

from typing import Any

#: Nodes of a router (a blade), of a chassis and of a group.
BLADE, CHASSIS, GROUP = 4, 64, 384
#: Between any two groups: links, bytes/s of each.
GLOBAL_LINKS, GLOBAL_RATE = 12, 4.6875e9
#: Bytes/s of a link in a group, and of a node's.
LOCAL_RATE, NODE_RATE = 5.25e9, 16 * 2**30
#: Overhead of the preset's hosts per message: send_delay, message_delay and recv_overhead, s.
HOST_S = 300e-9 + 10e-9 + 200e-9

#: Largest injection rate of an Aries interface (Cray, XC series network, p. 21).
INJECTION = "10.2 GB/s"
#: With this, 8 B to a node of the same blade take 1.3 us, as in the same text; the preset has 300 ns.
SEND_DELAY = "969.1 ns"

#: Name -> changes of the preset.
VARIANTS: dict[str, dict[str, Any]] = {
    "preset": {},
    "minimal": {"network": {"routing": {"algorithm": "minimal"}}},
    "fitted": {"mpi": {"send_delay": SEND_DELAY}, "nic": {"rate": INJECTION}},
}

#: Distance -> two nodes. 68 is in another row and another column than 0.
DISTANCES = {"same blade": (0, 1), "same chassis": (0, 4), "same group": (0, 68), "other group": (0, 1000)}


def scenario(variant: str, job: dict[str, Any], **machine: Any) -> dict[str, Any]:
    """A job alone on it; `machine` changes the dragonfly."""
    found: dict[str, Any] = {
        "preset": "theta",
        **VARIANTS[variant],
        "run": {"message_rows": 0},
        "jobs": [{"name": "test", **job}],
    }
    if machine:
        found["machine"] = {"dragonfly-2d": machine}
    return found


def pairing_bound(nodes: int, size: int) -> float:
    """Least time for the first half to send `size` bytes to partners half way on, minimal routing, s.

    Every chassis has 2 of the 12 links to each other group, and they are nearest: minimal routing uses no
    other. Of n messages from a chassis to a group each crosses one of them: n bytes / (2 x 4.6875 GB/s); the
    busiest decides. 0 if no pair crosses.
    """
    crossing: dict[tuple[int, int], int] = {}
    for node in range(nodes // 2):
        partner = node + nodes // 2
        if node // GROUP != partner // GROUP:
            way = (node // CHASSIS, partner // GROUP)
            crossing[way] = crossing.get(way, 0) + 1
    links = GLOBAL_LINKS * CHASSIS // GROUP
    return max(crossing.values(), default=0) * size / (links * GLOBAL_RATE)
