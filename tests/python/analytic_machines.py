"""A small machine in the LogGP model, for closed forms of workloads."""

from typing import Any


def with_job(job: dict[str, Any], latency: str, per_byte: str, send: str, receive: str) -> dict[str, Any]:
    """A scenario with one job on eight nodes, with the costs of a message in the network and at its ends."""
    return {
        "machine": {
            "dragonfly": {
                "groups": 1,
                "routers_per_group": 4,
                "nodes_per_router": 2,
                "global_ports_per_router": 0,
            }
        },
        "network": {
            "fidelity": "analytic",
            "analytic": {"latency": latency, "gap": "0 ns", "gap_per_byte": per_byte},
        },
        "nic": {"message_delay": "0 ns"},
        "mpi": {
            "send_delay": send,
            "send_overhead": send,
            "recv_overhead": receive,
            "eager_threshold": "none",
        },
        "jobs": [job],
    }
