"""How many short messages each fidelity carries in a second of CPU time.

    messages.py       prints a line for each; some seconds of CPU time

1,000 nodes of a fat tree send messages of 64 B to nodes drawn at random, at 5 % of their links, by D-mod-K.

Exit code: 0; 130 if it was interrupted.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

# study_tools, which all studies share.
sys.path.append(str(Path(__file__).parents[1]))

from study_tools import command

import odonata

RANKS, EACH = 1000, 1000


def scenario(fidelity: str) -> dict[str, Any]:
    """The messages of all ranks."""
    uniform = {"bytes": "64 B", "load": 0.05, "messages": EACH}
    return {
        "machine": {"fat-tree": {"k": 10, "n": 3}},
        "network": {"fidelity": fidelity},
        "run": {"blame": False, "message_rows": 0},
        "jobs": [{"ranks": RANKS, "workload": {"uniform": uniform}}],
    }


def cpu() -> float:
    """CPU time of this process so far, seconds."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main() -> int:
    """See the top."""
    for fidelity in ("packet", "flow", "analytic"):
        before = cpu()
        odonata.run(scenario(fidelity))
        spent = cpu() - before
        rate = RANKS * EACH / spent / 1e6
        print(f"{fidelity}: {RANKS * EACH:,} messages in {spent:.2f} s, {rate:.2f} M/s", flush=True)
    return 0


if __name__ == "__main__":
    command.run(main)
