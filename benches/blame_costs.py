"""CPU time of blame (`run.blame`), of blame for a sample of packets, and of lost time.

    .venv/bin/python benches/blame_costs.py [--rounds N] [CASE ...]

Every case runs in all variants in turn, once per round, as the example `packet_hops` on one thread. The
result is user time: the median of the ratios within a round, and the ratio of the smallest times. The
benchmark judges nothing.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess

from hop_costs import EXAMPLE, ROOT, build

BLAME = ["run.blame=true", "run.lost_time=false"]
LOST = ["run.blame=true", "run.lost_time=true", "run.lost_time_path=0"]
PATH = ["run.blame=true", "run.lost_time=true", "run.lost_time_path=1000"]

#: Scenario, settings of all variants, and the variants: name and settings. The first is the reference.
CASES: dict[str, tuple[str, list[str], dict[str, list[str]]]] = {
    "saturated adaptive": (
        "benches/hop_costs/par-0.7.toml",
        ["jobs.0.workload.uniform.messages=600"],
        {
            "nothing": ["run.blame=false"],
            "blame": ["run.blame=true"],
            "1 packet in 16": ["run.blame=true", "run.blame_sampling=16"],
            "1 packet in 64": ["run.blame=true", "run.blame_sampling=64"],
        },
    ),
    "flows, full links": (
        "benches/hop_costs/par-0.7.toml",
        [
            "network.fidelity=flow",
            "network.routing.algorithm=minimal",
            "jobs.0.workload.uniform.bytes=1 MiB",
            "jobs.0.workload.uniform.mean_interval=288 us",
            "jobs.0.workload.uniform.messages=100",
        ],
        {"nothing": ["run.blame=false"], "blame": ["run.blame=true"]},
    ),
    "interference": (
        "examples/interference.toml",
        [
            "run.baselines=false",
            "jobs.0.workload.stencil.iterations=8",
            "jobs.1.workload.cosmoflow.iterations=1",
            "jobs.2.workload.checkpoint.iterations=1",
            "jobs.2.workload.checkpoint.total=96 MB",
        ],
        {"blame": BLAME, "lost time": LOST, "with the path": PATH},
    ),
    "training": (
        "examples/training.toml",
        ["run.baselines=false", "jobs.0.workload.data-loader.steps=6"],
        {"blame": BLAME, "lost time": LOST, "with the path": PATH},
    ),
}


def cpu_s(scenario: str, settings: list[str]) -> float:
    """User time of a run, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [str(EXAMPLE), scenario, "run.scheduler=sequential", "run.threads=1", *settings]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="how often every way runs (default: 7)")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all without")
    chosen = parser.parse_args()
    if unknown := set(chosen.cases) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    build()
    for case in chosen.cases or CASES:
        scenario, common, ways = CASES[case]
        rounds = [
            {way: cpu_s(scenario, [*common, *settings]) for way, settings in ways.items()}
            for _ in range(chosen.rounds)
        ]
        first = next(iter(ways))
        least = {way: min(times[way] for times in rounds) for way in ways}
        print(f"{case} ({chosen.rounds} rounds; {first}: {least[first]:.2f} s)", flush=True)
        for way in list(ways)[1:]:
            ratio = statistics.median(times[way] / times[first] for times in rounds)
            smallest = least[way] / least[first]
            print(f"    {way:16} {ratio:5.2f} x, of the smallest {smallest:5.2f} x", flush=True)


if __name__ == "__main__":
    main()
