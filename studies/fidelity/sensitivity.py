"""How much job times in packets depend on a fraction of a nanosecond.

    sensitivity.py measure [NAME ...]   machines with one of these in their names, default: all (a minute)
    sensitivity.py page                 the table of docs/fidelity.md, from the stored results

Each scenario runs with router delays that differ by at most 0.4%. Where packets compete for links, their
order changes with the delay, and job times differ by more than the delays do.

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).parent
# study_tools, which all studies share.
sys.path.append(str(HERE.parent))

from study import MACHINES  # noqa: E402
from study_tools import command, passage  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402

STORED = HERE / "data" / "sensitivity.json"
PASSAGE = Passage(
    "fidelity.md",
    "<!-- sensitivity: studies/fidelity/sensitivity.py page -->",
    "<!-- end of sensitivity -->",
)

#: Delays of a router; the default first.
DELAYS = ("100 ns", "100.1 ns", "100.2 ns", "100.3 ns", "100.4 ns")

ITERATIONS = 60

#: Workloads of 48 ranks.
WORKLOADS: dict[str, dict[str, Any]] = {
    "stencil": {"stencil": {"message": "512 KiB", "iterations": ITERATIONS, "compute": "100 us"}},
    "all-to-all": {"alltoall": {"bytes": "64 KiB", "iterations": ITERATIONS // 6}},
    "all-reduce": {"allreduce": {"bytes": "1 MiB", "iterations": ITERATIONS}},
}


def elapsed(machine: str, workload: dict[str, Any], delay: str) -> float:
    """The time of the job, in seconds."""
    graph, routing = MACHINES[machine]
    content = {
        "seed": 1,
        "machine": graph,
        "network": {"routing": routing, "router_delay": delay},
        "run": {"blame": False, "threads": 1, "message_rows": 0},
        "jobs": [{"ranks": 48, "placement": "random", "workload": workload}],
    }
    time: float = odonata.run(content).rows("jobs")[0]["elapsed_s"]
    return time


def measure(names: list[str]) -> None:
    """Runs the scenarios and stores the times of jobs."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for machine in MACHINES:
        if names and not any(part in machine for part in names):
            continue
        stored[machine] = {
            name: [round(elapsed(machine, workload, delay), 9) for delay in DELAYS]
            for name, workload in WORKLOADS.items()
        }
        print(machine, stored[machine], flush=True)
        kept = {known: stored[known] for known in MACHINES if known in stored}
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def spread(times: list[float]) -> float:
    """The range of the times, as a part of their mean."""
    return (max(times) - min(times)) / fmean(times)


def text() -> str:
    """The table of the page."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    rows = [
        [machine, *(f"{100 * spread(times[name]):.1f}%" for name in WORKLOADS)]
        for machine, times in stored.items()
    ]
    return Table("", ["machine and routing", *WORKLOADS], rows).markdown()


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), "of machines, or parts of these", measure, PASSAGE, text)


if __name__ == "__main__":
    command.run(main)
