"""Cycles per second of CPU time of the pipelined dragonfly with 1,056 nodes, beside those of BookSim 2.

BookSim 2 simulates 256, 110 and 50 cycles of it per second of CPU time at loads of 0.1, 0.3 and 0.7 flits
per node and cycle (packets of one flit). Runs of all loads in turn; the median counts.

    .venv/bin/python benches/booksim_speed.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

import odonata

#: Per load: BookSim's cycles per second of CPU time, and the cycles to simulate here.
LOADS = {0.1: (256, 40_000), 0.3: (110, 20_000), 0.7: (50, 10_000)}


def link(cycles: int) -> dict[str, str]:
    """A link of so many cycles; credits take two more."""
    return {"latency": f"{cycles} cycles", "credit_delay": f"{cycles + 2} cycles", "buffer": "256 flits"}


def scenario(load: float, cycles: int) -> dict[str, Any]:
    """Uniform traffic for about so many cycles."""
    traffic = {"load": load, "arrival": "bernoulli", "self": True, "messages": round(load * cycles)}
    return {
        "preset": "booksim",
        "run": {"scheduler": "sequential", "message_rows": 0},
        "machine": {
            "dragonfly": {
                "groups": 33,
                "routers_per_group": 8,
                "nodes_per_router": 4,
                "global_ports_per_router": 4,
            }
        },
        "network": {
            "pipeline": {"internal_speedup": 2.0},
            "links": {"terminal": link(1), "local": link(10), "global": link(100)},
            "routing": {"algorithm": "minimal", "vcs": {"terminal": 2, "local": 2, "global": 1}},
        },
        "jobs": [{"name": "traffic", "ranks": 1056, "workload": {"uniform": traffic}}],
    }


def main() -> int:
    """Prints a line per load."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rates: dict[float, list[float]] = {load: [] for load in LOADS}
    for _ in range(rounds):
        for load, (_, cycles) in LOADS.items():
            run = odonata.run(scenario(load, cycles)).run
            # Packets are all there is: the run is as long as its sources, whose messages come at random.
            rates[load].append(cycles / run["cpu_s"])
    print("load  cycles per CPU-second  BookSim's      least       most")
    for load, (booksim, _) in LOADS.items():
        mine = rates[load]
        middle = statistics.median(mine)
        times = "".join(f"{value / booksim:9.1f} x" for value in (middle, min(mine), max(mine)))
        print(f"{load:4}  {middle:21,.0f}  {times}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
