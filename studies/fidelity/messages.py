"""Cost of messages: short ones of each fidelity, and many simultaneous long ones as flows.

    messages.py short   64 B, messages per second of CPU time for each fidelity; some seconds
    messages.py many    a hundred thousand of 1 MiB, between 10,000 nodes; minutes

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path
from typing import Any

# study_tools, which all studies share.
sys.path.append(str(Path(__file__).parents[1]))

from study_tools import command

import odonata


def scenario(ports: int, ranks: int, network: dict[str, Any], **uniform: Any) -> dict[str, Any]:
    """Messages to random nodes, on a three-level fat tree of routers with this many ports."""
    return {
        "machine": {"fat-tree": {"k": ports, "n": 3}},
        "network": network,
        "run": {"blame": False, "message_rows": 0, "threads": 1},
        "jobs": [{"ranks": ranks, "workload": {"uniform": uniform}}],
    }


def show(name: str, content: dict[str, Any]) -> None:
    """Runs a scenario, and prints the CPU time of its messages."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    odonata.run(content, progress=False)
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    job = content["jobs"][0]
    messages = job["ranks"] * job["workload"]["uniform"]["messages"]
    print(f"{name}: {messages:,} messages in {spent:.2f} s, {messages / spent / 1e3:,.0f} k/s", flush=True)


def short() -> None:
    """64 B at 5% of the links of 1,000 nodes, by D-mod-K."""
    for fidelity in ("packet", "flow", "analytic"):
        network = {"fidelity": fidelity}
        show(fidelity, scenario(10, 1000, network, bytes="64 B", load=0.05, messages=1000))


def many() -> None:
    """1 MiB at 90% of the links of 10,000 nodes, up by D-mod-K and at random."""
    for up in ("d-mod-k", "random"):
        network = {"fidelity": "flow", "routing": {"up": up}}
        show(up, scenario(22, 10_000, network, bytes="1 MiB", load=0.9, messages=10))


def main() -> int:
    """See the top."""
    first, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["short", "many"])
    {"short": short, "many": many}[parser.parse_args().what]()
    return 0


if __name__ == "__main__":
    command.run(main)
