"""One digest for all schedulers, threads, processes and MPI libraries, over four scenarios.

    make setup && tests/mpi/setup.sh && .venv/bin/python tests/mpi/digests.py

`--quick` leaves out the demo, the only one that takes long. Exit code 1 if a digest differs from that of the
sequential scheduler. With more processes than cores it takes a while: MPI libraries wait by spinning.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from mpi_library import Mpi  # noqa: E402

ODONATA = [sys.executable, "-m", "odonata"]
#: A longer run counts as hung.
PATIENCE_S = 1_800

#: Workload 1 of the MFNetSim paper in small, under the settings of the published runs: credits take 1.419 ns.
HYBRID = """
preset = "codes-compatible"
[[jobs]]
name = "milc"
ranks = 100
placement = "random"
workload = { milc = { iterations = 1, message = "4 KiB" } }
[[jobs]]
name = "checkpoint"
ranks = 100
placement = "random"
workload = { checkpoint = { iterations = 1, total = "10 MB", interval = "20 us" } }
[[jobs]]
name = "cosmoflow"
ranks = 100
placement = "random"
workload = { cosmoflow = { iterations = 1, elements = 5000, sample = "100 kB", compute = "20 us" } }
"""

MACHINE = """
[machine.dragonfly]
groups = 9
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 2
"""

#: All ranks send to the next group, with adaptive routing.
WORST_CASE = f"""
{MACHINE}
[network.routing]
algorithm = "progressive-adaptive"
[[jobs]]
ranks = 72
workload = {{ next-group = {{ bytes = "9 KiB", load = 0.3, messages = 60 }} }}
"""

#: Simultaneous events: links of one speed and latency, messages of whole packets at equal times.
TIES = f"""
{MACHINE}
[network]
packet = "1 KiB"
router_delay = "100 ns"
[network.routing]
algorithm = "progressive-adaptive"
[network.links]
terminal = {{ bandwidth = "10.24 GB/s", latency = "100 ns", credit_delay = "100 ns" }}
local = {{ bandwidth = "10.24 GB/s", latency = "100 ns", credit_delay = "100 ns" }}
global = {{ bandwidth = "10.24 GB/s", latency = "100 ns", credit_delay = "100 ns" }}
[[jobs]]
name = "all"
ranks = 40
workload = {{ stencil = {{ dims = [5, 4, 2], message = "8 KiB", iterations = 5, compute = "1 us" }} }}
[[jobs]]
name = "other"
ranks = 32
workload = {{ stencil = {{ dims = [4, 4, 2], message = "8 KiB", iterations = 5, compute = "1 us" }} }}
"""


@dataclass(frozen=True)
class Place:
    """The place of a run: one process, or several of an MPI library."""

    name: str
    command: list[str]
    environment: dict[str, str] | None = None


def places() -> list[Place]:
    """One process, and 1, 2 and 3 processes of every library built by `setup.sh`."""
    found = [Place("1 process", ODONATA)]
    for folder in sorted((ROOT / "target/mpi").glob("*/built")):
        mpi = Mpi(folder.parent.name, folder.parent)
        for processes in (1, 2, 3):
            command = mpi.command(processes, *ODONATA)
            found.append(Place(f"{mpi.name} -n {processes}", command, mpi.environment()))
    return found


def digest(place: Place, scenario: Path, *options: str) -> str:
    """The digest of a run, or the reason for its absence."""
    out = ["-o", str(scenario.with_suffix("")), "--force", "--json"]
    command = [*place.command, "run", str(scenario), *out, *options]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=place.environment
        )
    except subprocess.TimeoutExpired:
        return f"none after {PATIENCE_S} s"
    if done.returncode != 0:
        return f"none: exit code {done.returncode}, {done.stderr.strip()[-200:]}"
    return str(json.loads(done.stdout)["digest"])


def compare(title: str, text: str, folder: Path) -> tuple[int, int]:
    """Runs a scenario everywhere; returns the numbers of runs and of different digests."""
    scenario = folder / f"{title}.toml"
    scenario.write_text(text)
    everywhere = places()
    expected = digest(everywhere[0], scenario, "--scheduler", "sequential")
    print(f"{title}: {expected}", flush=True)
    runs = different = 0
    for scheduler, threads, place in itertools.product(("conservative", "optimistic"), (1, 2, 4), everywhere):
        # Enough parts for three processes of four threads.
        options = ["--scheduler", scheduler, "--threads", str(threads), "--set", "run.parts=12"]
        begin = time.monotonic()
        got = digest(place, scenario, *options)
        same = got == expected
        runs, different = runs + 1, different + (not same)
        what = "equal" if same else got
        print(
            f"  {scheduler}, threads {threads}, {place.name}: {what}, {time.monotonic() - begin:.1f} s",
            flush=True,
        )
    return runs, different


def main() -> int:
    """Runs all scenarios everywhere."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the demo")
    texts = {"hybrid": HYBRID, "worst-case": WORST_CASE, "ties": TIES}
    if not parser.parse_args().quick:
        texts["demo"] = (ROOT / "examples/interference.toml").read_text()
    with tempfile.TemporaryDirectory() as folder:
        counts = [compare(title, text, Path(folder)) for title, text in texts.items()]
    runs, different = map(sum, zip(*counts, strict=True))
    print(f"{runs} runs, {different} with another digest than the sequential scheduler has")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
