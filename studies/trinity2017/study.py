"""Runs the study of Trinity's burst buffers under IOR, and judges the claims of its text.

    study.py quick      phase II, 230 buffers, up to 64 nodes: seconds
    study.py phase2     the same up to 512 nodes, N-N and N-1, write and read
    study.py large      the same with 1,024 and 2,048 nodes
    study.py largest    the same with 4,096 and 8,192 nodes
    study.py longer     the same with 1,024 nodes and four times the transfers, N-N write
    study.py merged     the merged machine, 570 buffers, up to 1,024 nodes
    study.py merged-large  the same with up to 8,192 nodes, N-N read, and N-N write by 2,048
    study.py merged-shared  the same, N-1 read by 2,048 and 4,096 nodes
    study.py start      phase II, N-N write, files that begin at the buffers in turn instead of by a hash
    study.py start-longer  the same with four times the transfers, 512 and 1,024 nodes
    study.py cabling    the merged machine under the other two cablings, N-N write
    study.py logs FILE...  Darshan logs replayed on phase II, alone and two at once
    study.py page       renews README.md, APPENDIX.md and the figure from the results of --store

Completed runs of the same build are not repeated; after Ctrl-C the same command continues. Results go to
results/trinity2017/NAME.

Exit code: 0, whatever the verdicts are; 2 if the arguments are wrong; 3 if a run failed; 130 if it was
interrupted.
"""

from __future__ import annotations

from pathlib import Path

# First: it puts the tools of all studies on the module path.
from trinity2017_study import logs, measures, page  # isort: skip

import matplotlib
from study_tools import command, cost, pages, parquet, verdicts

#: The smaller runs of phase II, which are not stored.
QUICK = "quick"
LOGS = "logs"


def main() -> int:
    what = (QUICK, *page.SWEEPS, LOGS)
    arguments = command.parse(str(__doc__), what, Path("results/trinity2017"), "Darshan logs")
    if arguments.what == "page":
        write_page()
        return 0
    if arguments.what == LOGS:
        replay(arguments.files, store=arguments.store)
        return 0
    found = command.sweep(arguments, page.STUDY)
    folder = arguments.out / arguments.what
    runs = measures.of_sweep(folder)
    print(page.run_table(runs).text())
    judged = page.judge(runs)
    print(verdicts.overview(judged).text())
    verdicts.write_csv(folder / "claims.csv", judged)
    if arguments.store and arguments.what != QUICK and found.outcome == "completed":
        parquet.write(page.DATA / f"{arguments.what}.parquet", measures.Run, runs)
        if arguments.what in page.LARGE:
            cost.keep(page.COSTS, cost.of_sweep(folder, lambda results: measures.of_results(results).name))
        print(f"kept: {page.DATA}")
    return command.end(found)


def replay(files: list[Path], *, store: bool) -> None:
    """Replays these logs."""
    replays = list(logs.of_logs(files))
    print(page.log_table(replays).text())
    if store:
        parquet.write(page.DATA / "logs.parquet", logs.Replay, replays)


def write_page() -> None:
    """README.md, APPENDIX.md and the figure."""
    # Equal drawings are equal files.
    with matplotlib.rc_context({"svg.hashsalt": "trinity2017"}):
        page.figure(page.stored(), page.stored_logs()).savefig(
            page.FIGURES / "trinity2017.svg", metadata={"Date": None}
        )
    pages.write(page.texts())


if __name__ == "__main__":
    command.run(main)
