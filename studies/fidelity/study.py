"""Compares flows and the analytic model with packets, and renews the table of docs/fidelity.md.

    study.py measure [NAME ...]   scenarios with one of these in their names, default: all (minutes)
    study.py page                 the tables of docs/fidelity.md and their figure, from the stored results

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

from matplotlib.figure import Figure  # noqa: E402
from others import OTHERS  # noqa: E402
from study_tools import command, figures, passage  # noqa: E402
from study_tools.figures import Drawing  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402

STORED = HERE / "data" / "measured.json"
PASSAGE = Passage("fidelity.md", "<!-- errors: studies/fidelity/study.py page -->", "<!-- end -->")

DRAGONFLY = {"groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "global_ports_per_router": 2}

#: Machines of 64 to 100 nodes, each with a routing.
MACHINES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dragonfly, minimal": ({"dragonfly": DRAGONFLY}, {"algorithm": "minimal"}),
    "dragonfly, valiant": ({"dragonfly": DRAGONFLY}, {"algorithm": "valiant"}),
    "dragonfly, ugal": ({"dragonfly": DRAGONFLY}, {"algorithm": "ugal"}),
    "fat tree, random up": ({"fat-tree": {"k": 4, "n": 3}}, {"up": "random"}),
    "fat tree, adaptive up": ({"fat-tree": {"k": 4, "n": 3}}, {"up": "adaptive"}),
    "torus, dimension order": ({"torus": {"dims": [4, 4, 4]}}, {"algorithm": "dimension-order"}),
    "torus, valiant": ({"torus": {"dims": [4, 4, 4]}}, {"algorithm": "valiant"}),
    "HyperX, minimal": ({"hyperx": {"dims": [4, 4], "nodes_per_router": 4}}, {"algorithm": "minimal"}),
    "HyperX, ugal": ({"hyperx": {"dims": [4, 4], "nodes_per_router": 4}}, {"algorithm": "ugal"}),
    "Slim Fly, minimal": ({"slim-fly": {"q": 5, "nodes_per_router": 2}}, {"algorithm": "minimal"}),
}

#: Traffic: kind, jobs, and storage if they need it.
WORKLOADS: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "all-to-all": (
        "bulk",
        [{"ranks": 48, "workload": {"alltoall": {"bytes": "64 KiB", "iterations": 2}}}],
        {},
    ),
    "stencil": (
        "bulk",
        [
            {
                "ranks": 48,
                "placement": "random",
                "workload": {"stencil": {"message": "512 KiB", "iterations": 3, "compute": "20 us"}},
            }
        ],
        {},
    ),
    "two jobs": (
        "bulk",
        [
            {
                "name": "stencil",
                "ranks": 24,
                "placement": "random",
                "workload": {"stencil": {"message": "512 KiB", "iterations": 3, "compute": "20 us"}},
            },
            {
                "name": "all-to-all",
                "ranks": 24,
                "placement": "random",
                "workload": {"alltoall": {"bytes": "128 KiB", "iterations": 2}},
            },
        ],
        {},
    ),
    "checkpoint": (
        "storage",
        [
            {
                "ranks": 32,
                "placement": "random",
                "workload": {"checkpoint": {"total": "64 MiB", "interval": "50 us", "iterations": 2}},
            }
        ],
        {"storage": {"nodes": {"per_group": 1}}},
    ),
    "small all-reduce": (
        "latency",
        [{"ranks": 48, "placement": "random", "workload": {"allreduce": {"bytes": "8 B", "iterations": 20}}}],
        {},
    ),
}


def scenarios() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, kind of traffic, scenario."""
    for machine, (graph, routing) in MACHINES.items():
        for workload, (kind, jobs, more) in WORKLOADS.items():
            named = [{"name": f"job{number}", **job} for number, job in enumerate(jobs)]
            content = {
                "seed": 1,
                "machine": graph,
                "network": {"routing": routing},
                "run": {"blame": False},
                "jobs": named,
                **more,
            }
            yield f"{machine}: {workload}", kind, content
    for name, (graph, network, jobs) in OTHERS.items():
        named = [{"name": f"job{number}", **job} for number, job in enumerate(jobs)]
        content = {"seed": 1, "machine": graph, "network": network, "run": {"blame": False}, "jobs": named}
        yield name, "other sizes", content


def measure(names: list[str]) -> None:
    """Runs the scenarios and stores the times of jobs."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for name, kind, content in scenarios():
        if names and not any(part in name for part in names):
            continue
        found = odonata.fidelity(content)
        tiers = {tier["tier"]: tier for tier in found["tiers"]}
        stored[name] = {
            "kind": kind,
            "cpu_s": {which: round(tier["cpu_s"], 3) for which, tier in tiers.items()},
            "off": {
                which: {job["job"]: round(job["off"]["elapsed_s"], 5) for job in tier["jobs"]}
                for which, tier in tiers.items()
                if which != "packet"
            },
        }
        print(name, stored[name]["off"], stored[name]["cpu_s"], flush=True)
        order = [known for known, _, _ in scenarios()]
        kept = {known: stored[known] for known in order if known in stored}
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def errors(stored: dict[str, Any], tier: str, part: str) -> list[float]:
    """Errors of job times, for scenarios with this text in their name or kind."""
    return [
        abs(off)
        for name, row in stored.items()
        if part in name or part == row["kind"]
        for off in row["off"].get(tier, {}).values()
    ]


def text() -> str:
    """The tables of the page."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))

    def rows(parts: list[str]) -> list[list[str]]:
        found = []
        for part in parts:
            cells = [part.strip(": ")]
            for tier in ("flow", "analytic"):
                off = errors(stored, tier, part)
                cells += [f"{100 * fmean(off):.1f}%", f"{100 * max(off):.1f}%"]
            found.append(cells)
        return found

    header = ["", "flow, mean", "flow, worst", "analytic, mean", "analytic, worst"]
    kinds = Table("", ["traffic", *header[1:]], rows(["bulk", "storage", "latency", "other sizes"]))
    workloads = Table("", ["workload", *header[1:]], rows([f": {name}" for name in WORKLOADS]))
    machines = Table("", ["machine and routing", *header[1:]], rows([f"{name}:" for name in MACHINES]))
    cpu = {
        tier: sum(row["cpu_s"][tier] for row in stored.values()) for tier in ("packet", "flow", "analytic")
    }
    times = ", ".join(f"{tier} {seconds:.0f} s" for tier, seconds in cpu.items())
    tables = "\n".join(table.markdown() for table in (kinds, workloads, machines))
    return f"{len(stored)} scenarios; CPU time of all of them: {times}.\n\n{tables}"


def figure() -> Figure:
    """Errors of job times by kind of traffic, and CPU time of all scenarios by tier."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    kinds = ("bulk", "other sizes", "storage", "latency")
    picture, (errors_of, costs) = figures.panels(2.9, 2, width_ratios=(2.6, 1))
    errors_of.axvline(0, color=figures.REFERENCE, linewidth=0.8)
    for turn, tier in enumerate(("flow", "analytic")):
        xs, ys = [], []
        for place, kind in enumerate(kinds):
            found = [row["off"][tier] for row in stored.values() if row["kind"] == kind]
            off = sorted(100 * value for jobs in found for value in jobs.values())
            xs += off
            # Side by side in the order of errors, so that equal ones are seen.
            middle, spread = place + 0.4 * (turn - 0.5), 0.26
            ys += [middle + spread * (i / max(len(off) - 1, 1) - 0.5) for i in range(len(off))]
        color, marker = figures.COLORS[turn], figures.MARKERS[turn]
        errors_of.plot(xs, ys, marker, color=color, fillstyle="none", markersize=4, label=tier)
    figures.rows(errors_of, kinds)
    errors_of.set_xlabel("error of a job's time against packets, %")
    errors_of.set_title("Error of each job, by traffic")
    errors_of.legend(loc="lower left")
    tiers = ("packet", "flow", "analytic")
    for place, tier in enumerate(tiers):
        seconds = sum(row["cpu_s"][tier] for row in stored.values())
        color = figures.REFERENCE if place == 0 else figures.COLORS[place - 1]
        costs.barh(place, seconds, 0.6, color=color)
        costs.annotate(f"{seconds:.1f} s", (seconds, place), (3, 0), textcoords="offset points", va="center")
    figures.rows(costs, tiers)
    costs.margins(x=0.3)
    costs.set_xlabel("CPU time, s")
    costs.set_title(f"All {len(stored)} scenarios")
    return picture


FIGURE = Drawing("fidelity", figure)


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), "of scenarios, or parts of these", measure, PASSAGE, text, FIGURE)


if __name__ == "__main__":
    command.run(main)
