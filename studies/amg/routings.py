"""Replays the AMG trace of 27 ranks on the dragonfly of 1,056 nodes, under three routings.

The trace (DOE Design Forward, algebraic multigrid, one solve, recorded on a Cray XE6) is not part of the
repository: the environment variable ODONATA_REFERENCE names the folder with traces/dumpi/df-amg-27. Each rank
repeats it 100 times, once with the recorded computation and once with none. The machine is the preset
"mfnetsim".

Exit code: 0; 1 if a run fails; 2 if the trace is missing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "tests/traces"))

import reference

import odonata
from odonata.base.wording import duration

ROUTINGS = ("minimal", "valiant", "progressive-adaptive")

HEAD = (
    "| computation | routing | communication time, mean of ranks | hops, mean | not minimal "
    "| packet latency, mean | 99% | largest |\n|---|---|---:|---:|---:|---:|---:|---:|"
)


def row(job: dict[str, Any], compute_scale: float, routing: str) -> str:
    """Runs one combination; its line of the table."""
    job = {**job, "compute_scale": compute_scale}
    scenario = {"preset": "mfnetsim", "network": {"routing": {"algorithm": routing}}, "jobs": [job]}
    [found] = odonata.run(scenario).rows("jobs")
    latency = [duration(found[f"mpi_packet_latency_{which}_s"]) for which in ("mean", "p99", "max")]
    cells = [
        "as recorded" if compute_scale == 1 else "none",
        routing,
        duration(found["mpi_s"]),
        f"{found['mpi_hops_mean']:.2f}",
        f"{found['mpi_packets_nonminimal'] / found['mpi_packets']:.1%}",
        *latency,
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Prints the table, line by line as the runs end."""
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeat", type=int, default=100, metavar="N", help="how often the trace is done [100]"
    )
    parser.add_argument(
        "--placement", default="random", choices=("random", "contiguous"), help="of the ranks [random]"
    )
    arguments = parser.parse_args()
    try:
        path = reference.one("dumpi", "df-amg-27")
    except reference.NotThere as error:
        print(error, file=sys.stderr)
        return 2
    if path is None:
        print(reference.absence("dumpi/df-amg-27"), file=sys.stderr)
        return 2
    job = {"name": "amg", "trace": str(path), "repeat": arguments.repeat, "placement": arguments.placement}
    print(HEAD, flush=True)
    for compute_scale in (1.0, 0.0):
        for routing in ROUTINGS:
            print(row(job, compute_scale, routing), flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except odonata.RunFailed as error:
        sys.exit(f"failed: {error}")
