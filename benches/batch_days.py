"""CPU time and memory of `odonata batch`: a day and a week of a machine of 9,000 nodes.

    .venv/bin/python benches/batch_days.py [FOLDER]

The lists have sizes and run times by the model of Lublin and Feitelson, scaled to the machine, as in
`studies/batch/weeks.py`; submissions are uniform. Profiles are drawn by `studies/batch/rules.toml`, and nodes
are random, so that jobs meet. FOLDER (default: results/batch-days) gets lists and results.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "studies" / "batch"))

import weeks  # noqa: E402

#: The machine: 9,000 compute nodes, 300 storage servers.
PRESET, NODES = "cori-like", 9000
RULES, PLACEMENT = str(ROOT / "studies/batch/rules.toml"), "queue.placement=random"
DAY_S = 86_400
#: The lists: name, jobs, seconds.
LISTS = (("a day", 5_000, DAY_S), ("a week", 14_000, 7 * DAY_S))


def swf(jobs: int, seconds: int, seed: int) -> str:
    """A list in the Standard Workload Format."""
    draw = random.Random(seed)
    weeks.NODES = NODES
    lines = [f"; MaxNodes: {NODES}", f"; MaxProcs: {NODES}"]
    for number, submit in enumerate(sorted(draw.randrange(seconds) for _ in range(jobs)), 1):
        nodes, run = weeks.lublin(draw)
        times = f"{submit} -1 {run} {nodes} -1 -1 {nodes} {2 * run}"
        lines.append(f"{number} {times} -1 1 {number * 7 % 16} 1 {number % 5} 1 1 -1 -1")
    return "\n".join(lines) + "\n"


def cost(arguments: list[str]) -> tuple[float, float]:
    """CPU seconds and the largest memory in MB of a command."""
    process = subprocess.Popen([sys.executable, "-m", "odonata", *arguments], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: odonata {' '.join(arguments)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main(folder: Path) -> None:
    """Measures every list and prints the table."""
    folder.mkdir(parents=True, exist_ok=True)
    print("| list | jobs | nodes | utilization | node time lost to contention | CPU time | memory |")
    print("|---|---|---|---|---|---|---|")
    for name, jobs, seconds in LISTS:
        place = folder / name.replace(" ", "-")
        listed, batch = (str(place.with_suffix(suffix)) for suffix in (".swf", ".toml"))
        Path(listed).write_text(swf(jobs, seconds, seed=1))
        cost(["import", listed, "--machine", PRESET, "--rules", RULES, "-o", batch, "--force"])
        cpu, memory = cost(["batch", batch, "-o", str(place), "-q", "-f", "--set", PLACEMENT])
        answer = json.loads((place / "batch.json").read_text())
        print(
            f"| {name} | {jobs:,} | {answer['nodes']:,} | {answer['utilization']:.0%} | "
            f"{answer['lost_share']:.0%} | {cpu:.0f} s | {memory:.0f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results" / "batch-days")
