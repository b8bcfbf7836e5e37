"""Recorded programs: DUMPI traces of our own writer, programs in files, programs in coNCePTuaL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rank_programs
from case import ROOT, Case
from workloads import on_dragonfly

from odonata import operations

Table = dict[str, Any]

DUMPI = ROOT / "tests/traces/dumpi"
GOAL = ROOT / "tests/traces/goal/everything-8.goal"
STORAGE: Table = {"nodes": {"per_group": 1}, "manager": {"block": "4 KiB", "memory": "16 KiB"}}
NOISE: Table = {
    "name": "noise",
    "ranks": 30,
    "placement": "random",
    "workload": {"uniform": {"bytes": "3 KiB", "load": 0.2, "messages": 40}},
}

#: Programs that are written to files: name, function, ranks, arguments.
IN_FILES: list[tuple[str, Any, int, Table]] = [
    ("collectives", rank_programs.all_collectives, 12, {"size": 5_000}),
    ("point-to-point", rank_programs.point_to_point, 10, {}),
    ("anybody", rank_programs.anybody, 9, {}),
    ("persistent", rank_programs.persistent, 8, {}),
    ("communicators", rank_programs.on_communicators, 12, {}),
    ("streams", rank_programs.streams, 8, {}),
    ("files", rank_programs.files, 8, {}),
]

#: Programs of the library, tasks, options that keep them small.
CONCEPTUAL: dict[str, tuple[int, str]] = {
    "allreduce": (12, "--iterations 2 --elements 1K"),
    "checkpoint": (12, "--total 800000 --interval 2000"),
    "cosmoflow": (12, "--iterations 2 --elements 3000 --sample 60000 --compute 5000"),
    "halo2d": (12, "--iterations 3 --bytes 2K --compute 1000"),
    "incast": (12, "--iterations 3 --bytes 4K --compute 1000"),
    "jacobi3d": (12, "--iterations 3 --bytes 9000 --compute 3000"),
    "lammps": (16, "--steps 1 --compute 1000"),
    "latency": (8, "--reps 2 --maxbytes 16K"),
    "many-to-many": (12, "--iterations 3 --bytes 4K"),
    "milc": (16, "--iterations 1 --bytes 9000 --compute 2000"),
    "nearest-neighbor": (27, "--iterations 2 --bytes 2K"),
    "nekbone": (12, "--first 3 --last 3 --iterations 2 --elements 4"),
    "spread": (12, "--iterations 3 --bytes 4K --compute 1000"),
}


def prepare(work: Path) -> None:
    """Writes the programs in files to the folder `work`."""
    for name, function, ranks, args in IN_FILES:
        operations.write(work / f"{name}.program", function, ranks, args=args)


def dumpi() -> Iterator[Case]:
    """Each trace as it was recorded, beside others, repeated, under rendezvous."""
    for folder in sorted(DUMPI.iterdir()):
        trace = {"name": "traced", "trace": str(folder), "placement": "random"}
        variants: dict[str, tuple[list[Table], Table]] = {
            "recorded": ([trace], {}),
            "beside-others": ([{**trace, "compute_scale": 0.1}, NOISE], {}),
            "repeated": ([{**trace, "compute_scale": 0.5, "repeat": 3, "ranks_per_node": 2}], {}),
            "in-calls": ([trace], {"mpi": {"eager_threshold": "1 KiB", "progress": "in-calls"}}),
        }
        for variant, (jobs, more) in variants.items():
            yield Case(f"dumpi/{folder.name}/{variant}", on_dragonfly(jobs, storage=STORAGE, **more))


def goal() -> Iterator[Case]:
    """A GOAL schedule in packets, where it is repeated too, and under the LogGOPS model."""
    job = {"name": "goal", "trace": str(GOAL), "placement": "random"}
    yield Case("goal/packets", on_dragonfly([job, NOISE]))
    yield Case("goal/repeated", on_dragonfly([{**job, "repeat": 3, "compute_scale": 0.5}, NOISE]))
    model = {"latency": "1 us", "gap": "20 ns", "gap_per_byte": "0.1 ns/B"}
    network = {"fidelity": "analytic", "analytic": model}
    yield Case("goal/analytic", on_dragonfly([job, NOISE], network=network))
    checkpoint = {
        "name": "checkpoint",
        "ranks": 8,
        "placement": "random",
        "workload": {"checkpoint": {"iterations": 2, "total": "8 MiB", "interval": "20 us"}},
    }
    yield Case("analytic/storage", on_dragonfly([checkpoint, NOISE], storage=STORAGE, network=network))


def cases(work: Path) -> Iterator[Case]:
    """All cases of this file; programs in files are in the folder `work`."""
    yield from dumpi()
    yield from goal()
    for name, *_ in IN_FILES:
        job = {"name": "filed", "trace": str(work / f"{name}.program"), "placement": "random"}
        yield Case(f"program/{name}", on_dragonfly([job, NOISE], storage=STORAGE))
    for name, (tasks, options) in CONCEPTUAL.items():
        path = str(ROOT / f"programs/{name}.ncptl")
        job = {"name": name, "program": path, "ranks": tasks, "args": options.split(), "placement": "random"}
        yield Case(f"conceptual/{name}", on_dragonfly([job], storage=STORAGE))
