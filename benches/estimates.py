"""The counts, the memory and the time that `odonata check` reports, beside those of the run.

Each scenario of `benches/estimates/` is checked, tried for half a second and then run in a process of its
own, sequentially. Memory is the peak resident size of that process, tables included; time is CPU time.
`check` gives a range of times, by rates measured on this computer or by the trial; the table has the ratio
of its geometric mean.

    .venv/bin/python benches/estimates.py [NAME ...] [--write]

Exit code: 0; 1 if messages or memory are off by more than the promised factor.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCENARIOS = Path(__file__).parent / "estimates"
PAGE = Path(__file__).with_name("README.md")
#: Largest factor between expected and found messages and memory.
PROMISED = 1.5
PEAK_MEMORY = Path(__file__).parent / "peak_memory.py"
#: CPU seconds of a trial: the runs take a few seconds.
TRIAL_S = 0.5
TRIAL = """
import json, sys
from odonata.running import trial
text = open(sys.argv[1], encoding="utf-8").read()
print(json.dumps(trial.run(text, sys.argv[1], sys.argv[3:], None, seconds=float(sys.argv[2]))))
"""


def python(*arguments: str, cache: Path) -> tuple[str, int]:
    """The output of a Python process, and its peak resident size in bytes; rates are in `cache`."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    cache.mkdir(parents=True, exist_ok=True)
    peak = cache / "peak"
    command = [sys.executable, str(PEAK_MEMORY), str(peak), sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout, int(peak.read_text(encoding="ascii"))


def measure(scenario: Path, folder: Path, cache: Path, settings: list[str]) -> dict[str, Any]:
    """The expected and the found numbers of a scenario, with settings `KEY=VALUE`."""
    options = [part for setting in settings for part in ("--set", setting)]
    odonata = ("-m", "odonata")
    check, _ = python(*odonata, "check", str(scenario), "--json", *options, cache=cache)
    report = json.loads(check)
    trial, _ = python("-c", TRIAL, str(scenario), str(TRIAL_S), *settings, cache=cache)
    target = folder / scenario.stem
    run = ("run", str(scenario), "-o", str(target), "--quiet", "--force")
    _, memory = python(*odonata, *run, *options, cache=cache)
    found = json.loads((target / "run.json").read_text(encoding="utf-8"))
    cost = report["cost"]
    return {
        "name": scenario.stem,
        "messages": (cost["messages"], found["messages"]),
        "packet_hops": (cost["packet_hops"], found["packet_hops"]),
        "memory": (report["memory"]["bytes"], memory),
        "rates": (middle(cost["time"]), found["cpu_s"]),
        "trial": (middle(json.loads(trial)), found["cpu_s"]),
        "range": (cost["time"]["least_s"], cost["time"]["most_s"]),
    }


def middle(time: dict[str, Any]) -> float:
    """The geometric mean of a range of times; infinite without an upper end.

    >>> middle({"least_s": 1.0, "most_s": 4.0})
    2.0
    """
    return math.sqrt(time["least_s"] * time["most_s"]) if time["most_s"] is not None else math.inf


def ratio(pair: tuple[float, float]) -> float:
    """Expected over found."""
    return pair[0] / max(pair[1], 1e-9)


def factor(pair: tuple[float, float]) -> float:
    """The factor between expected and found, at least 1.

    >>> factor((1.0, 2.0)), factor((3.0, 2.0))
    (2.0, 1.5)
    """
    return max(ratio(pair), 1 / max(ratio(pair), 1e-9))


def row(one: dict[str, Any]) -> str:
    """A line of the table."""
    messages, hops, memory, rates, trial = (
        one[key] for key in ("messages", "packet_hops", "memory", "rates", "trial")
    )
    least, most = one["range"]
    return (
        f"| {one['name']} | {messages[1] / 1e6:.2f} M | {ratio(messages):.2f} | {hops[1] / 1e6:.2f} M "
        f"| {ratio(hops):.2f} | {memory[1] / 2**20:.0f} MiB | {ratio(memory):.2f} | {rates[1]:.2f} s "
        f"| {least:.2f} to {most:.2f} s | {ratio(rates):.2f} | {ratio(trial):.2f} |"
    )


def off_by(found: list[dict[str, Any]]) -> str:
    """The factors between expected and found, in the median and at most."""
    texts = []
    names = {"messages": "messages", "memory": "memory", "rates": "time by rates", "trial": "by trials"}
    for what, name in names.items():
        factors = [factor(one[what]) for one in found]
        texts.append(f"{name} {statistics.median(factors):.2f} and {max(factors):.2f}")
    return f"Factors between expected and found, in the median and at most: {'; '.join(texts)}"


def replaced(page: str, table: list[str]) -> str:
    """The page with another table, and another line of factors below it.

    >>> page = "Text\\n\\n| scenario | a |\\n|---|\\n| b | c |\\n\\nFactors: 1\\n\\nMore"
    >>> replaced(page, ["| d |", "", "e"])
    'Text\\n\\n| d |\\n\\ne\\n\\nMore'
    """
    before, mark, after = page.partition("\n| scenario |")
    if not mark:
        sys.exit(f"{PAGE} has no table of scenarios")
    rest = after.split("\n\n", 2)[2]
    return "\n".join([before, *table, "", rest])


def main() -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--write", action="store_true", help=f"replace the table of benches/{PAGE.name}")
    asked = parser.parse_args()
    scenarios = sorted(SCENARIOS.glob("*.toml"))
    if asked.names:
        scenarios = [one for one in scenarios if one.stem in asked.names]
    share = "expected / found"
    times = ("CPU time", "by rates", share, f"by a trial of {TRIAL_S} s")
    heads = ("scenario", "messages", share, "packet-hops", share, "memory", share, *times)
    table = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    print(*table, sep="\n")
    found = []
    with tempfile.TemporaryDirectory(prefix="odonata-estimates-") as name:
        folder, cache = Path(name), Path(name) / "cache"
        for scenario in scenarios:
            found.append(measure(scenario, folder, cache, ["run.scheduler=sequential"]))
            table.append(row(found[-1]))
            print(table[-1], flush=True)
    table += ["", f"{off_by(found)}."]
    print(*table[-2:], sep="\n")
    if asked.write:
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    off = [one for one in found for key in ("messages", "memory") if factor(one[key]) > PROMISED]
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
