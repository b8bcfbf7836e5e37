"""A job in packets with the rest of the machine as flows, against all jobs in packets.

    mixed.py measure [NAME ...]   scenarios with one of these in their names, by default all: half an hour
    mixed.py page                 the table of docs/fidelity.md, from the stored results

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).parent
# study_tools, which all studies share.
sys.path.append(str(HERE.parent))

from study_tools import command, passage  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402

STORED = HERE / "data" / "mixed.json"
PASSAGE = Passage("fidelity.md", "<!-- mixed: studies/fidelity/mixed.py page -->", "<!-- end of mixed -->")


def machine(groups: int, routers: int, nodes: int, cables: int) -> dict[str, Any]:
    """A dragonfly."""
    shape = {
        "groups": groups,
        "routers_per_group": routers,
        "nodes_per_router": nodes,
        "global_ports_per_router": cables,
    }
    return {"dragonfly": shape}


#: Machine, ranks of the job in packets, nodes of the background.
MACHINES = {
    "1,056 nodes": (machine(33, 8, 4, 4), 64, 960),
    "9,702 nodes": (machine(99, 14, 7, 7), 512, 8000),
}

#: The traffic of the job.
JOBS = {
    "stencil": {"stencil": {"message": "64 KiB", "iterations": 4, "compute": "20 us"}},
    "all-reduce": {"allreduce": {"bytes": "1 MiB", "iterations": 1}},
}

#: Message and load of the background.
BACKGROUND = {"light": ("1 MiB", 0.02), "short": ("64 KiB", 0.1), "long": ("4 MiB", 0.1)}

ROUTINGS = ("minimal", "valiant", "ugal")

#: Scenarios that take minutes have the first seed alone.
SEEDS = (3, 4, 5)
SLOW = ("9,702 nodes, valiant, long", "9,702 nodes, ugal, long")


def scenarios() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and scenario."""
    for size, (graph, ranks, nodes) in MACHINES.items():
        for routing in ROUTINGS:
            for background, (bytes_, load) in BACKGROUND.items():
                if background == "short" and routing != "minimal":
                    # Flows of 64 KiB over sixteen paths cost a hundred times as much as their packets.
                    continue
                for job, workload in JOBS.items():
                    own = {"name": "job", "ranks": ranks, "placement": "random", "workload": workload}
                    rest = {
                        "name": "background",
                        "ranks": nodes,
                        "placement": "random",
                        "until": "job",
                        "fidelity": "flow",
                        "workload": {"uniform": {"bytes": bytes_, "load": load}},
                    }
                    content = {
                        "machine": graph,
                        "network": {"routing": {"algorithm": routing}},
                        "run": {"blame": False, "threads": 1, "message_rows": 0},
                        "jobs": [own, rest],
                    }
                    yield f"{size}, {routing}, {background}: {job}", content


def one_seed(content: dict[str, Any]) -> dict[str, Any]:
    """The time of the job in packets and mixed, and alone in packets."""
    found = odonata.fidelity(content, tiers=["packet", "mixed"])
    row: dict[str, Any] = {"seed": content["seed"]}
    for tier in found["tiers"]:
        job = tier["jobs"][0]
        row[tier["tier"]] = {"elapsed_s": job["elapsed_s"], "cpu_s": round(tier["cpu_s"], 2)}
    alone = {**content, "jobs": content["jobs"][:1]}
    row["alone_s"] = odonata.fidelity(alone, tiers=["packet"])["tiers"][0]["jobs"][0]["elapsed_s"]
    return row


def measure(names: list[str]) -> None:
    """Runs the scenarios in packets and mixed, and stores the time of the job."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for name, content in scenarios():
        if names and not any(part in name for part in names):
            continue
        seeds = SEEDS[:1] if name.startswith(SLOW) else SEEDS
        stored[name] = [one_seed({"seed": seed, **content}) for seed in seeds]
        print(name, stored[name], flush=True)
        order = [known for known, _ in scenarios()]
        kept = {known: stored[known] for known in order if known in stored}
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def text() -> str:
    """The table of the page."""
    rows = []
    for name, seeds in json.loads(STORED.read_text(encoding="utf-8")).items():

        def mean(tier: str, key: str, seeds: list[dict[str, Any]] = seeds) -> float:
            return fmean(row[tier][key] for row in seeds)

        alone = fmean(row["alone_s"] for row in seeds)
        packet, mixed = mean("packet", "elapsed_s"), mean("mixed", "elapsed_s")
        off = [row["mixed"]["elapsed_s"] / row["packet"]["elapsed_s"] - 1 for row in seeds]
        cpu = [mean(tier, "cpu_s") for tier in ("packet", "mixed")]
        rows.append(
            [
                name,
                f"{packet / alone:.2f}x",
                f"{mixed / alone:.2f}x",
                f"{100 * (mixed / packet - 1):+.1f}%",
                f"{100 * min(off):+.1f} to {100 * max(off):+.1f}%" if len(off) > 1 else "one seed",
                f"{cpu[0]:.1f} s",
                f"{cpu[1]:.1f} s",
                f"{cpu[0] / cpu[1]:.1f}",
            ]
        )
    header = [
        "scenario",
        "slowdown, packets",
        "mixed",
        "off",
        "single seeds",
        "CPU, packets",
        "mixed",
        "ratio",
    ]
    return Table("", header, rows).markdown()


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), "of scenarios, or parts of these", measure, PASSAGE, text)


if __name__ == "__main__":
    command.run(main)
