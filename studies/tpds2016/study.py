"""Runs the study of IEEE TPDS 28(1), dragonfly and torus, and holds it against the paper's claims.

    study.py quick      three programs on machines of some 2,000 nodes: five minutes
    study.py larger     AMG with its 13,824 ranks, Crystal Router with more bytes
    study.py machines   ping-pongs on Blue Gene, schedulers and threads
    study.py full       all of these
    study.py page       README.md and its figures anew, from what --store has kept

What has been run by the same build is not run again; after Ctrl-C the same command goes on. Results go to
results/tpds2016, verdicts to claims.csv in there.

Exit code: 0, whatever the verdicts are; 2 if the arguments are wrong; 3 if a run failed; 130 if it was
interrupted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

# First: it puts what all studies share on the module path.
from tpds2016_study import bluegene, bluegene_load, cost, figures, measures, page  # isort: skip

from study_tools import command, verdicts

import odonata

PARTS = {
    "quick": ("programs",),
    "larger": ("larger",),
    "machines": ("machines",),
    "full": ("programs", "larger", "machines"),
}


def main() -> int:
    arguments = command.parse(str(__doc__), tuple(PARTS), Path("results/tpds2016"))
    if arguments.what == "page":
        figures.draw(page.FIGURES, *page.figure_data())
        page.PAGE.write_text(page.text(), encoding="utf-8")
        print(f"written: {page.PAGE}")
        return 0
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
    """Runs the sweeps of a part, judges what they say; gives how they ended."""
    folders = [arguments.out / name for name in page.SWEEPS[part]]
    for folder in folders:
        found = odonata.sweep(
            page.STUDY / "sweeps" / f"{folder.name}.toml",
            folder,
            overrides={"run.threads": 1},
            processes=arguments.processes,
            reuse=arguments.reuse,
            progress=command.show,
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
