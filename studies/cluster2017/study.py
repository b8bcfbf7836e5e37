"""Runs the study of IEEE Cluster 2017 (I/O against communication), and judges the paper's claims.

    study.py quick      a fifth of the machine, 24 configurations: minutes
    study.py full       all 60 configurations of figures 5 to 8
    study.py scales     seven of them with more and larger blocks
    study.py whole      six of the 60 with the whole checkpoint of 1 TB
    study.py authors, authors-quick, authors-scales, authors-whole
                        with the settings of the authors' own simulator: all 60 configurations; a fifth
                        of the machine; two of these with more and larger blocks; one of the 60 with 1 TiB
    study.py daly       a job that fails and restarts, at five intervals between checkpoints
    study.py page       renews README.md, APPENDIX.md and figures from the results of --store

Completed runs of the same build are not repeated; after Ctrl-C the same command continues. Results go to
results/cluster2017/NAME, with verdicts in claims.csv.

Exit code: 0, whatever the verdicts are; 2 if the arguments are wrong; 3 if a run failed; 130 if it was
interrupted.
"""

from __future__ import annotations

from pathlib import Path

from cluster2017_study import daly, figures, measures, page
from study_tools import command, cost, pages, parquet, verdicts

SWEEPS = (
    *("quick", "full", "scales", "whole", "daly"),
    *("authors-quick", "authors", "authors-scales", "authors-whole"),
)
#: Sweeps without claims, which are compared with each other.
SCALES = ("scales", "whole", "authors-scales", "authors-whole")
#: Sweeps with the whole checkpoint, the cost of whose runs is kept.
WHOLE = ("whole", "authors-whole")


def main() -> int:
    arguments = command.parse(str(__doc__), SWEEPS, Path("results/cluster2017"))
    if arguments.what == "page":
        write_page()
        return 0
    found = command.sweep(arguments, page.STUDY)
    folder = arguments.out / arguments.what
    if arguments.what == "daly":
        solutions = daly.of_sweep(folder)
        print(daly.table(solutions).text())
        if arguments.store and found.outcome == "completed":
            parquet.write(page.DATA / "daly.parquet", daly.Solution, solutions)
        return command.end(found)
    runs, completions = measures.of_sweep(folder)
    if arguments.what in SCALES:
        print(page.scale_table(runs).text())
    else:
        judged = page.judge(runs)
        print(verdicts.overview(judged).text())
        verdicts.write_csv(folder / "claims.csv", judged)
        figures.draw(folder / "figures", runs, completions)
        print(f"written: {folder}/claims.csv, figures")
    if arguments.store and found.outcome == "completed":
        measures.write(page.DATA, runs, completions, arguments.what)
        if arguments.what in WHOLE:
            cost.keep(page.COSTS, cost.of_sweep(folder, measures.name_of))
        print(f"kept: {page.DATA}")
    return command.end(found)


def write_page() -> None:
    """README.md, APPENDIX.md and figures."""
    single = [run for run in page.stored() if page.at_full_scale(run)]
    figures.draw(page.FIGURES, *measures.read(page.DATA, "full"), single)
    theirs = measures.read(page.DATA, page.STORED["authors"][0])
    figures.draw(page.FIGURES, *theirs, prefix="cluster2017-authors", numbers=(7, 8, 9))
    pages.write(page.texts())


if __name__ == "__main__":
    command.run(main)
