"""Estimates of `odonata check` beside the actual cost of runs: events, memory and time.

Each scenario of `benches/estimates/` is checked and then run in a process of its own, sequentially. Memory is
the largest resident size of that process, including tables; time is CPU time. The estimated time depends on
earlier runs on the same computer (`odonata.running.speed`). There are therefore two rounds with a separate
cache folder: the first fills it, the second is compared with the estimates.

    .venv/bin/python benches/estimates.py [NAME ...] [--threads N]

Exit code: 0; 1 if an estimate of events or memory is off by more than the documented factor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCENARIOS = Path(__file__).parent / "estimates"
#: Documented accuracy of estimates of events and of memory: this factor.
PROMISED = 1.5
PEAK_MEMORY = Path(__file__).parent / "peak_memory.py"


def odonata(*arguments: str, cache: Path) -> tuple[str, int]:
    """The output of a command, and its largest resident size in bytes; `cache` holds the speed of earlier
    runs.
    """
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    cache.mkdir(parents=True, exist_ok=True)
    peak = cache / "peak"
    command = [sys.executable, str(PEAK_MEMORY), str(peak), sys.executable, "-m", "odonata", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"odonata {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout, int(peak.read_text(encoding="ascii"))


def measure(scenario: Path, folder: Path, cache: Path, settings: list[str]) -> dict[str, Any]:
    """The estimates for a scenario, and its actual cost."""
    report = json.loads(odonata("check", str(scenario), "--json", *settings, cache=cache)[0])
    target = folder / scenario.stem
    _, memory = odonata("run", str(scenario), "-o", str(target), "--quiet", "--force", *settings, cache=cache)
    run = json.loads((target / "run.json").read_text(encoding="utf-8"))
    return {
        "name": scenario.stem,
        "events": (report["cost"]["events"], run["events"]),
        "messages": (report["cost"]["messages"], run["messages"]),
        "packet_hops": (report["cost"]["packet_hops"], run["packet_hops"]),
        "memory": (report["memory"]["bytes"], memory),
        "time": (report["cost"]["cpu_s"], run["cpu_s"]),
        "router": report["cost"]["router"],
    }


def ratio(pair: tuple[float, float]) -> float:
    """Estimate over actual cost."""
    return pair[0] / max(pair[1], 1e-9)


def row(one: dict[str, Any]) -> str:
    """A line of the table."""
    events, memory, time = (one[key] for key in ("events", "memory", "time"))
    return (
        f"| {one['name']} | {events[1] / 1e6:.2f} M | {ratio(events):.2f} | {memory[1] / 2**20:.0f} MiB "
        f"| {ratio(memory):.2f} | {time[1]:.2f} s | {events[1] / time[1] / 1e6:.2f} M/s | {ratio(time):.2f} |"
    )


def main() -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", type=Path, help="also write what was measured")
    asked = parser.parse_args()
    scenarios = sorted(SCENARIOS.glob("*.toml"))
    if asked.names:
        scenarios = [one for one in scenarios if one.stem in asked.names]
    settings = ["--set", "run.scheduler=sequential"]
    if asked.threads:
        settings = ["--set", f"run.threads={asked.threads}"]
    share = "expected / found"
    heads = ("scenario", "events", share, "memory", share, "time", "rate", share)
    print(f"| {' | '.join(heads)} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    found = []
    with tempfile.TemporaryDirectory(prefix="odonata-estimates-") as name:
        folder, cache = Path(name), Path(name) / "cache"
        for scenario in scenarios:
            measure(scenario, folder, cache, settings)
        for scenario in scenarios:
            found.append(measure(scenario, folder, cache, settings))
            print(row(found[-1]), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    off = [
        one for one in found for key in ("events", "memory") if not 1 / PROMISED < ratio(one[key]) < PROMISED
    ]
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
