"""Runs the study of IEEE TPDS 28(1), dragonfly and torus, and judges the paper's claims.

    study.py quick      three programs on machines of some 2,000 nodes: five minutes
    study.py larger     AMG with its 13,824 ranks, Crystal Router with more bytes
    study.py machines   ping-pongs on Blue Gene, schedulers and threads
    study.py full       all of these
    study.py amg-full, multigrid-full, crystal-router-full
                        a program with all its ranks and bytes on a dragonfly; --minutes stops and saves it,
                        and the same command continues
    study.py processes  all ranks and fewer bytes, by one process and by two under MPI (docs/mpi.md)
    study.py page       renews README.md, APPENDIX.md and figures from the results of --store

Completed runs of the same build are not repeated; after Ctrl-C the same command continues. Results go to
results/tpds2016, with verdicts in claims.csv.

Exit code: 0, whatever the verdicts are; 2 if the arguments are wrong; 3 if a run failed; 130 if it was
interrupted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

# First: it puts the tools of all studies on the module path.
from tpds2016_study import bluegene, bluegene_load, cost, figures, full, measures, page, processes  # isort: skip

from study_tools import command, pages, verdicts

import odonata

PARTS = {
    "quick": ("programs",),
    "larger": ("larger",),
    "machines": ("machines",),
    "full": ("programs", "larger", "machines"),
}


def main() -> int:
    names = (*PARTS, *full.CASES, "processes")
    arguments = command.parse(str(__doc__), names, Path("results/tpds2016"), minutes=True)
    if arguments.what == "page":
        figures.draw(page.FIGURES, *page.figure_data())
        pages.write(page.texts())
        return 0
    if arguments.what in full.CASES:
        return at_full_size(arguments)
    if arguments.what == "processes":
        return by_processes(arguments.store)
    outcome = "completed"
    for part in PARTS[arguments.what]:
        if part == "machines":
            machines(arguments.store)
        else:
            outcome = sweeps(part, arguments)
        if outcome != "completed":
            break
    return {"completed": 0, "failed": 3, "interrupted": 130}[outcome]


def sweeps(part: str, arguments: argparse.Namespace) -> str:
    """Runs the sweeps of a part and judges the results; returns the outcome."""
    folders = [arguments.out / name for name in page.SWEEPS[part]]
    for folder in folders:
        found = odonata.sweep(
            page.STUDY / "sweeps" / f"{folder.name}.toml",
            folder,
            overrides={"run.threads": 1},
            processes=arguments.processes,
            reuse=arguments.reuse,
            progress=command.line(),
        )
        for failure in found.failed:
            print(f"FAILED {failure}")
        if found.outcome != "completed":
            return found.outcome
    runs, points = measures.of_sweeps(folders)
    print(page.run_table(runs).text())
    if part == "programs":
        judged = page.judge(page.evidence(runs))
        print(verdicts.overview(judged).text())
        verdicts.write_csv(arguments.out / "claims.csv", judged)
    if arguments.store:
        measures.write(page.DATA, part, runs)
        if part == "programs":
            measures.write(page.DATA, "distributions", points)
        print(f"kept: {page.DATA}")
    return "completed"


def at_full_size(arguments: argparse.Namespace) -> int:
    """Runs a program to its end, or for some minutes; replaces its stored results."""
    name, out = arguments.what, arguments.out / "full"
    row = full.run(page.STUDY / "dragonfly.toml", name, out, minutes=arguments.minutes)
    print(page.full_table([row]).text())
    if arguments.store:
        kept = [one for one in page.stored_full() if one.name != name]
        measures.write(
            page.DATA, "full", sorted([*kept, row], key=lambda one: list(full.CASES).index(one.name))
        )
        print(f"kept: {page.DATA}")
    return 0 if row.outcome == "completed" else 130 if row.outcome in ("stopped", "interrupted") else 3


def by_processes(store: bool) -> int:
    """Digests of one process and of two."""
    mpirun = processes.launcher()
    if mpirun is None:
        print("no mpirun on this machine: docs/mpi.md says how to build for MPI")
        return 2
    rows = processes.measure(page.STUDY / "dragonfly.toml", mpirun)
    print(page.split_table(rows).text())
    if store:
        measures.write(page.DATA, "processes", rows)
        print(f"kept: {page.DATA}")
    same = all(len({row.digest for row in rows if row.program == one.program}) == 1 for one in rows)
    return 0 if same else 3


def machines(store: bool) -> None:
    """Blue Gene, and the cost of simulation."""
    times, loads = bluegene.measure(), bluegene_load.measure()
    costs = cost.measure(page.STUDY / "dragonfly.toml")
    print(page.cost_table(costs).text())
    if store:
        for name, rows in (("bluegene", times), ("bluegene-load", loads), ("cost", costs)):
            measures.write(page.DATA, name, rows)
        print(f"kept: {page.DATA}")


if __name__ == "__main__":
    command.run(main)
