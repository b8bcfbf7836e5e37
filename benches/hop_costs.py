"""Instructions, cache misses and mispredictions per packet-hop, as counted by Cachegrind.

Every case of `hop_costs/` runs twice, short and longer. The difference in counts over the difference in hops
is the cost of a hop without setup. Cachegrind simulates a core with 32 KiB of L1 and 1 MiB of L2 without a
prefetcher, so a program has the same instructions on every machine. Its misses vary by a few percent with the
addresses that the system and the folder of the build give it. Another compiler makes another program.

    .venv/bin/python benches/hop_costs.py             # counts, and shows them beside their bases
    .venv/bin/python benches/hop_costs.py --check     # fails if a hop costs more (the gate)
    .venv/bin/python benches/hop_costs.py --record WHAT
    .venv/bin/python benches/hop_costs.py --record WHAT --accept FEATURE --gain GAIN

The base is the lowest recorded cost, plus the accepted rises (hop_costs_history.py). `--record` adds the
counts to hop_costs.csv and renews table and chart. It refuses a rise without a named feature.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import hop_costs_history as history

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EXAMPLE = ROOT / "target/release/examples/packet_hops"

#: The key that lengthens a case, and its two values.
LENGTHS = {
    "minimal-0.3": ("jobs.0.workload.uniform.messages", "20", "100"),
    "par-0.7": ("jobs.0.workload.uniform.messages", "20", "100"),
    "pipelined-0.3": ("jobs.0.workload.uniform.messages", "20", "100"),
    "storage": ("jobs.0.workload.checkpoint.total", "60 MB", "180 MB"),
    "mpi": ("jobs.0.workload.nekbone.cg_iterations", "1", "2"),
}

#: Counts, by their names in Cachegrind's summary.
COUNTS = {
    "instructions": r"I\s+refs:\s+([\d,]+)",
    "l1_misses": r"D1\s+misses:\s+([\d,]+)",
    "l2_misses": r"LLd\s+misses:\s+([\d,]+)",
    "mispredicts": r"Mispredicts:\s+([\d,]+)",
}

#: L1 and L2 as in speed measurements of this project: bytes, ways, bytes of a line.
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="fail where a hop costs more than its base")
    parser.add_argument("--record", metavar="WHAT", help="add the counts to hop_costs.csv, with what is new")
    parser.add_argument("--accept", metavar="FEATURE", help="with --record: the feature that a rise is for")
    parser.add_argument("--gain", metavar="GAIN", help="with --accept: what users have of it")
    chosen = parser.parse_args()
    if (chosen.accept is None) != (chosen.gain is None):
        parser.error("--accept FEATURE and --gain GAIN go together")
    if chosen.accept is not None and not (chosen.record and chosen.accept.strip() and chosen.gain.strip()):
        parser.error("--accept and --gain need words, and --record")
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing (Debian: apt install valgrind)")
    build()
    with ThreadPoolExecutor(2) as pool:
        figures = dict(zip(LENGTHS, pool.map(costs, LENGTHS), strict=True))
    rows, compiler = history.read(), output("rustc", "--version").strip()
    bases = history.bases(rows, compiler)
    for case, counts in figures.items():
        show(case, counts, bases)
    addresses = 0.0 if chosen.record else history.OTHER_ADDRESSES
    rises = [
        rise
        for case in figures
        for rise in history.rises(rows, case, figures[case], compiler, addresses=addresses)
    ]
    if rises:
        print("\nabove the base:", *rises, sep="\n  ")
    if rises and chosen.accept is None and (chosen.check or chosen.record):
        print("where a feature is worth it: --record WHAT --accept FEATURE --gain 'what users have of it'")
        return 1
    if chosen.record:
        commit = output("git", "rev-parse", "--short=9", "HEAD").strip()
        head = {"date": date.today().isoformat(), "commit": commit, "compiler": compiler}
        risen = {rise.case for rise in rises}
        history.write([*rows, *(head | row(case, figures[case], chosen, case in risen) for case in figures)])
        history.publish()
    return 0


def row(case: str, counts: dict[str, float], chosen: argparse.Namespace, risen: bool) -> dict[str, str]:
    """The row of a case in hop_costs.csv; only a case that has risen names the feature."""
    names = {"feature": chosen.accept, "gain": chosen.gain} if risen else {"feature": "", "gain": ""}
    counted = {name: f"{value:.2f}" for name, value in counts.items()}
    return {"case": case, **counted, "what": chosen.record, **names}


def build() -> None:
    """Builds the example that runs a scenario and prints its number of hops."""
    command = ["cargo", "build", "--release", "--locked", "--quiet"]
    # With odonata-py, of which nothing is built here, libraries have the same features as in the Python
    # package, and need no second compilation.
    packages = ["-p", "odonata-system", "-p", "odonata-py"]
    subprocess.run([*command, *packages, "--example", EXAMPLE.name], cwd=ROOT, check=True)


def costs(case: str) -> dict[str, float]:
    """The cost of a hop of `case`."""
    key, short, long = LENGTHS[case]
    (hops_before, before), (hops_after, after) = (count(case, f"{key}={length}") for length in (short, long))
    return {name: (after[name] - before[name]) / (hops_after - hops_before) for name in COUNTS}


def count(case: str, override: str) -> tuple[int, dict[str, int]]:
    """Packet-hops of a run, and its counts."""
    options = ["--cache-sim=yes", "--branch-sim=yes", *CACHES, "--cachegrind-out-file=/dev/null"]
    scenario = f"{HERE.relative_to(ROOT)}/hop_costs/{case}.toml"
    run = subprocess.run(
        ["valgrind", "--tool=cachegrind", *options, f"./{EXAMPLE.relative_to(ROOT)}", scenario, override],
        cwd=ROOT,
        capture_output=True,
        text=True,
        # Environment and arguments determine the start of the stack, and so its cache lines.
        env={"PATH": "/usr/bin:/bin"},
        check=False,
    )
    if run.returncode:
        sys.exit(f"{case} with {override} ended with {run.returncode}:\n{run.stderr[-2000:]}")
    done = json.loads(run.stdout)
    if done["outcome"] != "completed":
        sys.exit(f"{case} with {override}: {done['outcome']}")
    found = {name: re.search(pattern, run.stderr) for name, pattern in COUNTS.items()}
    missing = [name for name, match in found.items() if match is None]
    if missing:
        sys.exit(f"Cachegrind did not say: {', '.join(missing)}\n{run.stderr}")
    return done["packet_hops"], {
        name: int(match[1].replace(",", "")) for name, match in found.items() if match
    }


def show(case: str, now: dict[str, float], bases: dict[tuple[str, str], float]) -> None:
    """Prints a case beside its bases."""
    output = []
    for name, value in now.items():
        text = f"{name.replace('_', ' ')} {value:.1f}"
        if base := bases.get((case, name)):
            text += f" ({value / base - 1:+.1%})"
        output.append(text)
    print(f"{case:14} " + ", ".join(output))


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
