"""Runs the study of IEEE TPDS 28(1), dragonfly and torus, and judges the paper's claims.

    study.py quick      three programs on machines of some 2,000 nodes: five minutes
    study.py larger     AMG with its 13,824 ranks, Crystal Router with more bytes
    study.py amg-nonminimal, amg-oblong
                        AMG with its 13,824 ranks under non-minimal routing; on a torus of 36 x 24 x 16
    study.py links      links that Multigrid uses, up to its 110,592 ranks
    study.py machines   ping-pongs on Blue Gene, schedulers and threads
    study.py full       all of these
    study.py paper-router, paper-amg, paper-multigrid
                        a program with the paper's ranks and fewer bytes, three routings and four tori
    study.py amg-full, multigrid-full, crystal-router-full
                        a program with all its ranks and bytes on a dragonfly; --minutes stops and saves it,
                        and the same command continues
    study.py processes  all ranks and fewer bytes, by one process and by two under MPI (docs/mpi.md)
    study.py speed FILE keeps the output of benches/booksim_speed.py --booksim BINARY --json (figure 18)
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
from tpds2016_study import bluegene, bluegene_load, cost, figures, full, measures, page, processes, speed  # isort: skip

from study_tools import command, pages, parquet, verdicts
from study_tools import cost as full_cost

import odonata

PARTS = {
    "quick": ("programs",),
    "larger": ("larger",),
    "machines": ("machines",),
    "amg-nonminimal": ("amg-nonminimal",),
    "amg-oblong": ("amg-oblong",),
    "links": ("links",),
    "full": ("programs", "larger", "amg-nonminimal", "amg-oblong", "links", "machines"),
    **{part: (part,) for part in page.PAPER},
}


def main() -> int:
    names = (*PARTS, *full.CASES, "processes", "speed")
    arguments = command.parse(
        str(__doc__), names, Path("results/tpds2016"), "output of benches/booksim_speed.py", minutes=True
    )
    if arguments.what == "page":
        figures.draw(page.FIGURES, page.figure_data())
        pages.write(page.texts())
        return 0
    if arguments.what in full.CASES:
        return at_full_size(arguments)
    if arguments.what == "processes":
        return by_processes(arguments.store)
    if arguments.what == "speed":
        return beside_booksim(arguments)
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
        parquet.write(page.DATA / f"{part}.parquet", measures.Run, runs)
        if part in page.DISTRIBUTIONS:
            parquet.write(page.DATA / f"{page.DISTRIBUTIONS[part]}.parquet", measures.Point, points)
        if part.startswith("paper"):
            costs = [one for folder in folders for one in full_cost.of_sweep(folder, measures.name_of)]
            full_cost.keep(page.COSTS, costs)
        print(f"kept: {page.DATA}")
    return "completed"


def at_full_size(arguments: argparse.Namespace) -> int:
    """Runs a program to its end, or for some minutes; replaces its stored results."""
    name, out = arguments.what, arguments.out / "full"
    row = full.run(page.STUDY / "dragonfly.toml", name, out, minutes=arguments.minutes)
    print(page.full_table([row]).text())
    if arguments.store:
        kept = [one for one in page.stored_full() if one.name != name]
        kept = sorted([*kept, row], key=lambda one: list(full.CASES).index(one.name))
        parquet.write(page.DATA / "full.parquet", full.Full, kept)
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
        parquet.write(page.DATA / "processes.parquet", processes.Split, rows)
        print(f"kept: {page.DATA}")
    same = all(len({row.digest for row in rows if row.program == one.program}) == 1 for one in rows)
    return 0 if same else 3


def beside_booksim(arguments: argparse.Namespace) -> int:
    """Speed beside BookSim, from the files of its bench."""
    rows = [row for file in arguments.files for row in speed.read(file)]
    if not rows:
        print("speed: expected the output of benches/booksim_speed.py --booksim BINARY --json")
        return 2
    print(page.speed_table(rows).text())
    if arguments.store:
        parquet.write(page.DATA / "speed.parquet", speed.Speed, rows)
        print(f"kept: {page.DATA}")
    return 0


def machines(store: bool) -> None:
    """Blue Gene, and the cost of simulation."""
    times, loads = bluegene.measure(), bluegene_load.measure()
    costs = cost.measure(page.STUDY / "dragonfly.toml")
    print(page.cost_table(costs).text())
    if store:
        parquet.write(page.DATA / "bluegene.parquet", bluegene.Time, times)
        parquet.write(page.DATA / "bluegene-load.parquet", bluegene_load.Load, loads)
        parquet.write(page.DATA / "cost.parquet", cost.Cost, costs)
        print(f"kept: {page.DATA}")


if __name__ == "__main__":
    command.run(main)
