"""Instructions, cache misses and mispredictions per packet-hop, as counted by Cachegrind.

Every case of `hop_costs/` runs twice, short and longer; what the longer one takes more, by what it hops more,
is the cost of a hop without that of setting up. Cachegrind simulates a core with 32 KiB of L1 and 1 MiB of L2
without a prefetcher, whatever machine it runs on, so the same program counts the same everywhere; another
compiler makes another program.

    .venv/bin/python benches/hop_costs.py                  # counts, and shows them beside those of last time
    .venv/bin/python benches/hop_costs.py --check          # fails where a hop has become dearer (the gate)
    .venv/bin/python benches/hop_costs.py --record 'why'   # adds them to hop_costs.csv
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
HISTORY = HERE / "hop_costs.csv"
EXAMPLE = ROOT / "target/release/examples/packet_hops"

#: The key that makes a case longer, and its two values.
LENGTHS = {
    "minimal-0.3": ("jobs.0.workload.uniform.messages", "20", "100"),
    "par-0.7": ("jobs.0.workload.uniform.messages", "20", "100"),
    "pipelined-0.3": ("jobs.0.workload.uniform.messages", "20", "100"),
    "storage": ("jobs.0.workload.checkpoint.total", "60 MB", "180 MB"),
    "mpi": ("jobs.0.workload.nekbone.cg_iterations", "1", "2"),
}

#: What is counted, as Cachegrind names it in its summary, and by how much it may grow before the gate
#: closes. Mispredictions are shown and not judged: they move by a tenth with where branches lie.
COUNTS = {
    "instructions": (r"I\s+refs:\s+([\d,]+)", 0.03),
    "l1_misses": (r"D1\s+misses:\s+([\d,]+)", 0.05),
    "l2_misses": (r"LLd\s+misses:\s+([\d,]+)", 0.15),
    "mispredicts": (r"Mispredicts:\s+([\d,]+)", None),
}

#: Misses of which a hop has so few are not held against their margin.
FEW = 0.5

#: L1 and L2 as in speed measurements of this project: bytes, ways, bytes of a line.
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="fail where a hop has become dearer")
    parser.add_argument("--record", metavar="WHAT", help="add the figures to hop_costs.csv, with what is new")
    chosen = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing (Debian: apt install valgrind)")
    build()
    with ThreadPoolExecutor(2) as pool:
        figures = dict(zip(LENGTHS, pool.map(costs, LENGTHS), strict=True))
    before = recorded()
    compiler = output("rustc", "--version").strip()
    dearer = [line for case in figures for line in show(case, figures[case], before.get(case), compiler)]
    if chosen.record:
        append(figures, compiler, chosen.record)
    if chosen.check and dearer:
        print("\ndearer than recorded:", *dearer, sep="\n  ")
        print("where that is meant: .venv/bin/python benches/hop_costs.py --record 'why'")
        return 1
    return 0


def build() -> None:
    """Builds the example that runs a scenario and says how many hops it had."""
    command = ["cargo", "build", "--release", "--locked", "--quiet"]
    # With odonata-py, of which nothing is built here, libraries have the features that they have in the
    # Python package, and are not compiled a second time.
    packages = ["-p", "odonata-system", "-p", "odonata-py"]
    subprocess.run([*command, *packages, "--example", EXAMPLE.name], cwd=ROOT, check=True)


def costs(case: str) -> dict[str, float]:
    """What a hop of `case` takes."""
    key, short, long = LENGTHS[case]
    (hops_before, before), (hops_after, after) = (count(case, f"{key}={length}") for length in (short, long))
    return {name: (after[name] - before[name]) / (hops_after - hops_before) for name in COUNTS}


def count(case: str, override: str) -> tuple[int, dict[str, int]]:
    """Packet-hops of a run, and what it took."""
    options = ["--cache-sim=yes", "--branch-sim=yes", *CACHES, "--cachegrind-out-file=/dev/null"]
    run = subprocess.run(
        ["valgrind", "--tool=cachegrind", *options, EXAMPLE, HERE / f"hop_costs/{case}.toml", override],
        capture_output=True,
        text=True,
        # Where the stack begins, and so which lines it shares, hangs on the environment.
        env={"PATH": "/usr/bin:/bin"},
        check=False,
    )
    if run.returncode:
        sys.exit(f"{case} with {override} ended with {run.returncode}:\n{run.stderr[-2000:]}")
    done = json.loads(run.stdout)
    if done["outcome"] != "completed":
        sys.exit(f"{case} with {override}: {done['outcome']}")
    found = {name: re.search(pattern, run.stderr) for name, (pattern, _) in COUNTS.items()}
    missing = [name for name, match in found.items() if match is None]
    if missing:
        sys.exit(f"Cachegrind did not say: {', '.join(missing)}\n{run.stderr}")
    return done["packet_hops"], {
        name: int(match[1].replace(",", "")) for name, match in found.items() if match
    }


def show(case: str, now: dict[str, float], before: dict[str, str] | None, compiler: str) -> list[str]:
    """Prints a case beside its last figures; says what is dearer by more than its margin."""
    said, dearer = [], []
    # Another compiler chooses other instructions: then only a large step counts.
    wider = 1.0 if before is None or before["compiler"] == compiler else 4.0
    for name, (_, margin) in COUNTS.items():
        text = f"{name.replace('_', ' ')} {now[name]:.1f}"
        if before is not None:
            last = float(before[name])
            text += f" ({now[name] / last - 1:+.1%})"
            if margin is not None and now[name] > last * (1 + margin * wider) and now[name] - last > FEW:
                dearer.append(f"{case}: {name.replace('_', ' ')} per hop {last:.1f} -> {now[name]:.1f}")
        said.append(text)
    print(f"{case:14} " + ", ".join(said))
    return dearer


def recorded() -> dict[str, dict[str, str]]:
    """The last row of each case."""
    if not HISTORY.exists():
        return {}
    with HISTORY.open(newline="", encoding="utf-8") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def append(figures: dict[str, dict[str, float]], compiler: str, what: str) -> None:
    columns = ["date", "commit", "compiler", "case", *COUNTS, "what"]
    begin = not HISTORY.exists()
    commit = output("git", "rev-parse", "--short=9", "HEAD").strip()
    with HISTORY.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if begin:
            writer.writeheader()
        for case, row in figures.items():
            counted = {name: f"{value:.2f}" for name, value in row.items()}
            head = {"date": date.today().isoformat(), "commit": commit, "compiler": compiler}
            writer.writerow(head | {"case": case} | counted | {"what": what})


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
