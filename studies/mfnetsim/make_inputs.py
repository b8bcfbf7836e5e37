"""Writes the study's inputs: the 24 scenarios and the two node lists.

The inputs are in the repository, so that a run needs nothing else; this script says where they come from and
keeps them alike. It reads the placement of the published runs from `../shared/reference/mfnetsim/alloc`
(relative to the repository; the environment variable ODONATA_SHARED names another place). Without that folder
only the scenarios are written.

    python studies/mfnetsim/make_inputs.py
"""

from __future__ import annotations

import csv
import sys
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

#: A job has the nodes of its slot alone as in a mix: baseline and mix differ in nothing else.
SLOTS = {"milc": 0, "nekbone": 0, "checkpoint": 1, "cosmoflow": 2}

#: What the published skeletons do where the paper says otherwise; all else is the default of the workload.
PROGRAMS = {
    "milc": "milc = {}",
    "nekbone": "nekbone = {}",
    "checkpoint": 'checkpoint = { offset = "zero", coordinated = false }',
    "cosmoflow": 'cosmoflow = { io = "write", pipelined = false }',
}

RANKS = 300


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


def node_list(placement: str, folder: Path) -> str:
    """The node list of a placement, from the folder of the published runs.

    Client c (compute nodes, servers left out) is on terminal (node of the machine) 32 (c div 30) + c mod 30:
    a group has 30 clients and, on its last two terminals, two servers. Both columns are kept, and held
    against each other, so that a slip in either is found.
    """
    lines = ["slot,rank,client,terminal"]
    with (folder / "alloc" / f"{placement}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            client, terminal = int(row["client"]), int(row["terminal"])
            if terminal != 32 * (client // 30) + client % 30:
                raise ValueError(f"{placement}: client {client} is not on terminal {terminal}")
            lines.append(f"{row['slot']},{row['rank']},{client},{terminal}")
    return "\n".join(lines) + "\n"


def main() -> None:
    for name in names():
        (HERE / "scenarios" / f"{name}.toml").write_text(scenario(name), encoding="utf-8")
    print(f"{len(names())} scenarios written")
    folder = stored.folder()
    if not folder.is_dir():
        sys.exit(f"{folder} is not there: the node lists stay as they are")
    for placement in PLACEMENTS.values():
        (HERE / "nodes" / f"{placement}.csv").write_text(node_list(placement, folder), encoding="utf-8")
    print("2 node lists written")


if __name__ == "__main__":
    main()
