"""Setup time of about 100,000 nodes of each family: scenario, graph, routing, placement, machine.

The benchmark runs a picosecond of simulated time with a rank on every node, in a process of its own. It
subtracts the start of Python and its libraries, measured with a machine of two nodes. The better of two
measurements counts.

    .venv/bin/python benches/setup.py
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

#: Nodes, machine and routing of each family.
FAMILIES: dict[str, tuple[int, dict[str, Any], str]] = {
    "dragonfly": (
        101_660,
        {
            "dragonfly": {
                "groups": 391,
                "routers_per_group": 26,
                "nodes_per_router": 10,
                "global_ports_per_router": 15,
            }
        },
        "progressive-adaptive",
    ),
    "dragonfly-2d": (
        100_224,
        {
            "dragonfly-2d": {
                "groups": 261,
                "rows": 6,
                "columns": 16,
                "nodes_per_router": 4,
                "global_ports_per_router": 10,
            }
        },
        "minimal",
    ),
    "dragonfly-plus": (
        102_800,
        {
            "dragonfly-plus": {
                "groups": 257,
                "leaves_per_group": 20,
                "spines_per_group": 16,
                "nodes_per_leaf": 20,
                "global_ports_per_spine": 16,
            }
        },
        "minimal",
    ),
    "torus": (101_376, {"torus": {"dims": [48, 48, 44]}}, "dimension-order"),
    "mesh": (101_376, {"mesh": {"dims": [48, 48, 44]}}, "dimension-order"),
    "fat-tree": (104_976, {"fat-tree": {"k": 18, "n": 4}}, "nearest-common-ancestor"),
    "hyperx": (104_976, {"hyperx": {"dims": [18, 18, 18], "nodes_per_router": 18}}, "minimal"),
    "slim-fly": (104_430, {"slim-fly": {"q": 59, "nodes_per_router": 15}}, "minimal"),
}

CODE = """
import json, sys, odonata
run = odonata.run(json.loads(sys.argv[1])).run
assert run["nodes"] == int(sys.argv[2])
print(run["peak_rss_bytes"])
"""


def run(nodes: int, machine: dict[str, Any], algorithm: str) -> tuple[float, float, int]:
    """Wall time, CPU time in seconds, peak memory in bytes."""
    (family,) = machine
    scenario = {
        "machine": machine,
        "run": {"time_limit": "1 ps", "scheduler": "sequential"},
        "network": {"routing": {"algorithm": algorithm}},
        "jobs": [{"ranks": nodes, "workload": {"uniform": {"load": 0.1, "messages": 1}}}],
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(scenario), str(nodes)], capture_output=True, text=True
    )
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        raise SystemExit(f"{family}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, int(done.stdout)


def main() -> int:
    """Prints a line per family."""
    small = (2, {"mesh": {"dims": [2]}}, "dimension-order")
    rest = min(run(*small) for _ in range(3))
    print("family            nodes  on the clock  CPU time  memory per node")
    for family, case in FAMILIES.items():
        runs = [run(*case) for _ in range(2)]
        wall, cpu = min(one[0] for one in runs) - rest[0], min(one[1] for one in runs) - rest[1]
        memory = (runs[0][2] - rest[2]) / case[0] / 1024
        print(f"{family:15}  {case[0]:6}  {wall:10.2f} s  {cpu:6.2f} s  {memory:11.2f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
