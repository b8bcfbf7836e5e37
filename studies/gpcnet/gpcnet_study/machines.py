"""Two machines: one like Crystal (Aries), one like Shandy (Slingshot), small enough for many runs."""

from __future__ import annotations

from typing import Any

#: Congestion control -> its settings. "per-pair" is that of the Slingshot presets.
CONTROLS: dict[str, dict[str, Any]] = {
    "none": {"kind": "none"},
    "ecn": {"kind": "ecn"},
    "per-pair": {"kind": "per-pair", "recovery": "10 ms"},
}

MACHINES: dict[str, dict[str, Any]] = {
    # Two groups of 384 nodes, like Crystal. The 96 cables between them give as many global links per node as
    # Theta has with 12 to each of 8 other groups.
    "Aries": {
        "preset": "theta",
        "machine": {"dragonfly-2d": {"groups": 2, "cables": 96}},
    },
    # Four groups of 128 interfaces, like Shandy. The 24 cables between any two give as many global links per
    # interface as Frontier has (4 to each of 73 others, for 512).
    "Slingshot": {
        "preset": "frontier-like",
        "machine": {"dragonfly": {"groups": 4, "routers_per_group": 8, "cables": 24}},
    },
}
#: The congestion control of each machine.
OWN_CONTROL = {"Aries": "none", "Slingshot": "per-pair"}
#: Compute nodes.
NODES = {"Aries": 768, "Slingshot": 512}


def scenario(machine: str, control: str) -> dict[str, Any]:
    """The machine without jobs."""
    return {
        **MACHINES[machine],
        "network": {"congestion_control": CONTROLS[control]},
        # One-sided and small messages: these benchmarks never wait for a rendezvous.
        "mpi": {"eager_threshold": "none"},
    }
