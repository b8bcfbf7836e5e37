"""Twelve scenarios of small machines: is the advice better than the scenario itself and two placements?

    python studies/advice/held_out.py

asks `odonata advise` for placement and routing with four seeds, and runs the answer in packets with three
seeds that the search did not see. It writes data/held_out.jsonl, prints the table of README.md and draws
docs/figures/advice.svg; with --stored from the stored answers.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

# study_tools, which all studies share.
sys.path.append(str(Path(__file__).parents[1]))

from matplotlib.figure import Figure
from study_tools import figures
from study_tools.figures import Drawing

import odonata
from odonata.sweeps.statistics import paired

DATA = Path(__file__).parent / "data" / "held_out.jsonl"
#: Seeds that the search does not see.
SEEDS = (101, 102, 103)
MACHINES = {
    "dragonfly": """
[machine.dragonfly]
groups = 5
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 1
""",
    "torus": """
[machine.torus]
dims = [4, 4, 2]
""",
    "fat-tree": """
[machine.fat-tree]
radix = 8
levels = 2
""",
    "slim-fly": """
[machine.slim-fly]
q = 3
nodes_per_router = 2
""",
}
#: Jobs of each mix: name, ranks, workload.
MIXES = {
    "halo, uniform": [
        ("halo", 12, 'stencil = { message = "32 KiB", iterations = 6, compute = "5 us" }'),
        ("noise", 12, 'uniform = { bytes = "8 KiB", mean_interval = "2 us", messages = 60 }'),
    ],
    "all-reduce, uniform": [
        ("train", 12, 'allreduce = { bytes = "512 KiB", iterations = 4 }'),
        ("noise", 12, 'uniform = { bytes = "16 KiB", mean_interval = "4 us", messages = 40 }'),
    ],
    "halo, all-reduce, uniform": [
        ("halo", 8, 'stencil = { message = "64 KiB", iterations = 4, compute = "5 us" }'),
        ("train", 8, 'allreduce = { bytes = "256 KiB", iterations = 4 }'),
        ("noise", 8, 'uniform = { bytes = "8 KiB", mean_interval = "1 us", messages = 80 }'),
    ],
}


def scenario(machine: str, mix: str, placement: str) -> str:
    """The scenario of a machine and a mix."""
    text = f'name = "{machine} {mix}"\nseed = 1\n{MACHINES[machine]}'
    for name, ranks, workload in MIXES[mix]:
        text += f'\n[[jobs]]\nname = "{name}"\nranks = {ranks}\nplacement = "{placement}"\n'
        text += f"workload = {{ {workload} }}\n"
    return text


def score(file: Path, settings: dict[str, Any], seed: int) -> float:
    """The geometric mean of the times of the jobs."""
    results = odonata.run(file, overrides={**settings, "seed": seed})
    times = [row["elapsed_s"] for row in results.rows("jobs")]
    return math.exp(sum(map(math.log, times)) / len(times))


def advise(machine: str, mix: str, placement: str, folder: Path) -> dict[str, Any]:
    """The advice for a scenario, and its ratios with seeds that the search did not see."""
    file = folder / f"{machine} {mix}.toml"
    file.write_text(scenario(machine, mix, placement))
    found = odonata.advise(file, ["placement", "routing"], seeds=4, budget="10 min")
    rivals: dict[str, dict[str, Any]] = {
        "default": {},
        **{
            rule: {f"jobs.{job}.placement": rule for job in range(len(MIXES[mix]))}
            for rule in ("contiguous", "random")
        },
    }
    chosen = [score(file, found["settings"], seed) for seed in SEEDS]
    ratios = {}
    for rival, settings in rivals.items():
        pair = paired([score(file, settings, seed) for seed in SEEDS], chosen)
        assert pair is not None
        ratios[rival] = pair.in_words
    return {
        "scenario": f"{machine}, {mix}", "placement": placement, "best": found["best"],
        "candidates": found["candidates"], "runs": found["runs"], "wall_s": round(found["wall_s"]),
        "held_out": ratios,
    }  # fmt: skip


def row(found: dict[str, Any]) -> str:
    """The row of a scenario."""
    ratios = " | ".join(found["held_out"][rival] for rival in ("default", "contiguous", "random"))
    best = found["best"] or "nothing is known to be better"
    return f"| {found['scenario']} ({found['placement']}) | {best} | {found['runs']} | {ratios} |"


def stored() -> list[dict[str, Any]]:
    """The stored answers, by scenario."""
    return [json.loads(line) for line in DATA.read_text().splitlines()]


def interval(words: str) -> tuple[float, float, float]:
    """A ratio and its interval, from the words of the answer; a ratio without an interval is exact.

    >>> interval("0.80x (0.77x to 0.83x) in all 3 seeds"), interval("1.00x in all 3 seeds")
    ((0.8, 0.77, 0.83), (1.0, 1.0, 1.0))
    """
    ratio, *ends = (float(number) for number in re.findall(r"(\d+\.\d+)x", words))
    low, high = ends or (ratio, ratio)
    return ratio, low, high


def figure() -> Figure:
    """Ratio of times with the advice to those under two placements, with intervals, by scenario."""
    answers = stored()
    picture, (axes,) = figures.panels(4.9)
    axes.axvline(1, color=figures.REFERENCE, linewidth=0.8)
    for turn, rival in enumerate(("contiguous", "random")):
        color, marker = figures.COLORS[turn], figures.MARKERS[turn]
        for place, answer in enumerate(answers):
            ratio, low, high = interval(answer["held_out"][rival])
            is_own = answer["placement"] == rival
            axes.errorbar(
                ratio,
                place + 0.36 * (turn - 0.5),
                xerr=[[ratio - low], [high - ratio]],
                fmt=marker,
                color=color,
                markerfacecolor=color if is_own else "white",
                elinewidth=1.2,
                capsize=2.5,
            )
        for fill, of in ((color, "the scenario's own"), ("white", "another")):
            axes.plot([], [], marker, color=color, markerfacecolor=fill, label=f"{rival} placement, {of}")
    axes.set_xscale("log")
    ticks = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    figures.rows(axes, [answer["scenario"] for answer in answers])
    axes.set_xlabel("time with the advice / time under the placement (below 1: the advice is faster)")
    figures.legend(picture, axes, 2)
    return picture


FIGURE = Drawing("advice", figure)


if __name__ == "__main__":
    if "--stored" not in sys.argv:
        with tempfile.TemporaryDirectory() as scratch, DATA.open("w") as data:
            for number, (machine, mix) in enumerate(itertools.product(MACHINES, MIXES)):
                found = advise(machine, mix, "random" if number % 2 else "contiguous", Path(scratch))
                data.write(json.dumps(found) + "\n")
                data.flush()
    print("| scenario (placement) | advice | runs | against the scenario | contiguous | random |")
    print("|---|---|---|---|---|---|")
    for answer in stored():
        print(row(answer))
    FIGURE.write()
