"""Generates the study's inputs: the 24 scenarios of the runs, the 8 of the paper, and their node lists.

The inputs are in the repository, so that a run needs nothing else; this script documents their origin and
keeps them consistent. The placement of the published runs is in reference/alloc.

    python studies/mfnetsim/make_inputs.py
"""

from __future__ import annotations

import csv
from pathlib import Path

from mfnetsim_study import stored

HERE = Path(__file__).resolve().parent

PLACEMENTS = {"cont": "contiguous", "rand": "random"}
ROUTINGS = {"min": "minimal", "par": "progressive-adaptive"}

#: The jobs of each workload, by its short name.
WORKLOADS = {
    "milc": ("milc",),
    "nekbone": ("nekbone",),
    "checkpoint": ("checkpoint",),
    "cosmo": ("cosmoflow",),
    "wkld2": ("milc", "checkpoint", "cosmoflow"),
    "wkld3": ("nekbone", "checkpoint", "cosmoflow"),
}

#: A job has the nodes of its slot, alone and in a mix, so that baseline and mix differ in nothing else.
SLOTS = {"milc": 0, "nekbone": 0, "checkpoint": 1, "cosmoflow": 2}

#: Settings of the published skeletons that differ from the paper; all others are defaults of the workload.
PROGRAMS = {
    "milc": "milc = {}",
    "nekbone": "nekbone = {}",
    "checkpoint": 'checkpoint = { offset = "zero", coordinated = false }',
    "cosmoflow": 'cosmoflow = { io = "write", pipelined = false }',
}

RANKS = 300

#: The mixes of the paper: its Workload 1 and Workload 2.
MIXES = ("wkld2", "wkld3")


def names() -> list[str]:
    """All runs: placement-routing-workload."""
    return [f"{place}-{route}-{load}" for place in PLACEMENTS for route in ROUTINGS for load in WORKLOADS]


def scenario(name: str) -> str:
    """The scenario of a run."""
    place, route, load = name.split("-")
    jobs = WORKLOADS[load]
    head = f"# MFNetSim: {' + '.join(jobs)}, {PLACEMENTS[place]} placement, {ROUTINGS[route]} routing."
    lines = [
        head,
        "# Written by ../make_inputs.py; ../README.md says what it stands for.",
        "",
        f'name = "{name}"',
        'preset = "codes-compatible"',
        "",
        "[network.routing]",
        f'algorithm = "{ROUTINGS[route]}"',
    ]
    for job in jobs:
        nodes = f'file = "../nodes/{PLACEMENTS[place]}.csv", slot = {SLOTS[job]}'
        lines += [
            "",
            "[[jobs]]",
            f'name = "{job}"',
            f"ranks = {RANKS}",
            f"placement = {{ {nodes} }}",
            f"workload = {{ {PROGRAMS[job]} }}",
        ]
    return "\n".join(lines) + "\n"


def paper_names() -> list[str]:
    """The runs as the paper describes them: placement-routing-workload, each with its baselines."""
    return [f"{place}-{route}-{load}" for place in PLACEMENTS for route in ROUTINGS for load in MIXES]


def paper_scenario(name: str) -> str:
    """The scenario of a run as the paper describes it; settings outside the preset are defaults."""
    place, route, load = name.split("-")
    jobs, where = WORKLOADS[load], f"{PLACEMENTS[place]} placement"
    lines = [
        f"# The MFNetSim paper: {' + '.join(jobs)}, {where}, {ROUTINGS[route]} routing.",
        "# Written by ../make_inputs.py; ../PAPER.md says what it stands for.",
        "",
        f'name = "paper-{name}"',
        'preset = "mfnetsim"',
        "",
        "[network.routing]",
        f'algorithm = "{ROUTINGS[route]}"',
        "",
        "[run]",
        "baselines = true",
    ]
    for job in jobs:
        lines += [
            "",
            "[[jobs]]",
            f'name = "{job}"',
            f"ranks = {RANKS}",
            f'placement = {{ file = "nodes/{PLACEMENTS[place]}.csv", slot = {SLOTS[job]} }}',
            f"workload = {{ {job} = {{}} }}",
        ]
    return "\n".join(lines) + "\n"


def paper_node_list(published: str) -> str:
    """The node list of the runs with the servers where the paper has them: first in their group.

    The published placements name clients: client c is compute node c mod 30 of group c div 30. With the
    servers before the compute nodes instead of after them, every terminal moves up by two.
    """
    lines = ["slot,rank,client,terminal"]
    for row in csv.DictReader(published.splitlines()):
        client = int(row["client"])
        lines.append(f"{row['slot']},{row['rank']},{client},{32 * (client // 30) + 2 + client % 30}")
    return "\n".join(lines) + "\n"


def node_list(placement: str) -> str:
    """The node list of a placement of the published runs.

    Client c (compute nodes, servers left out) is on terminal (node of the machine) 32 (c div 30) + c mod 30:
    a group has 30 clients and, on its last two terminals, two servers. The list keeps both columns and
    compares them, which reveals an error in either.
    """
    lines = ["slot,rank,client,terminal"]
    with (stored.FOLDER / "alloc" / f"{placement}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            client, terminal = int(row["client"]), int(row["terminal"])
            if terminal != 32 * (client // 30) + client % 30:
                raise ValueError(f"{placement}: client {client} is not on terminal {terminal}")
            lines.append(f"{row['slot']},{row['rank']},{client},{terminal}")
    return "\n".join(lines) + "\n"


def main() -> None:
    for name in names():
        (HERE / "scenarios" / f"{name}.toml").write_text(scenario(name), encoding="utf-8")
    for name in paper_names():
        (HERE / "paper" / f"{name}.toml").write_text(paper_scenario(name), encoding="utf-8")
    print(f"{len(names())} scenarios of the runs, {len(paper_names())} of the paper written")
    for placement in PLACEMENTS.values():
        own = HERE / "nodes" / f"{placement}.csv"
        own.write_text(node_list(placement), encoding="utf-8")
        shifted = paper_node_list(own.read_text(encoding="utf-8"))
        (HERE / "paper" / "nodes" / f"{placement}.csv").write_text(shifted, encoding="utf-8")
    print("4 node lists written")


if __name__ == "__main__":
    main()
