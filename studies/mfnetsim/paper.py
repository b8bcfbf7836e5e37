"""Runs the MFNetSim case study as its paper describes it, and judges the paper's claims.

    paper.py                        all eight mixes, each with its three baselines: about half an hour
    paper.py rand-min-wkld2 ...     mixes by name: placement-routing-workload
    paper.py --store                all mixes; keeps their claims and figures for the page
    paper.py --page                 renews PAPER.md and figures 10 to 13 from the results of --store

In addition, one published mix is run with its baselines, to separate devices from network
(results/mfnetsim-paper/published). The column "with artifacts" uses the results of compare.py in
results/mfnetsim (`compare.py all`); this script runs none of them.

Results go to results/mfnetsim-paper/RUN, the verdicts to results/mfnetsim-paper/claims.md and .csv. Results
of the same inputs and the same build are not computed again.

Exit code: 0, whatever the verdicts are; 1 if a run fails; 2 if the arguments are wrong; 130 if it was
interrupted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mfnetsim_study import claim_report, paper_page, runs
from mfnetsim_study.cases import Case

import odonata

#: The job of each single run in results/mfnetsim.
ALONE = {"milc": "milc", "nekbone": "nekbone", "checkpoint": "checkpoint", "cosmoflow": "cosmo"}

#: The published mix that is run with baselines.
SPLIT = "rand-min-wkld2"


def main() -> int:
    arguments = parse()
    if arguments.page:
        paper_page.write()
        return 0
    failures = perform(arguments)
    paper = with_baselines(arguments.runs, arguments.out)
    published = published_cases(arguments.out / "published", arguments.published)
    if not paper:
        print("\n".join(f"FAILED {failure}" for failure in failures))
        return 1
    judged = claim_report.judge(paper, published)
    claim_report.write(arguments.out, judged, paper, published)
    print(claim_report.details(judged))
    for table in [claim_report.verdicts(judged), *claim_report.splits(paper, published)]:
        print(table.text())
    print(claim_report.overview(judged).text())
    print(f"without the artifacts: {claim_report.names(paper)}; with them: {claim_report.names(published)}")
    if len(published) < len(runs.PAPER.names):
        print("make study-mfnetsim RUNS=all computes the rest of those with them")
    print(f"written: {arguments.out / 'claims.md'} and .csv")
    if arguments.store and len(paper) == len(published) == len(runs.PAPER.names):
        paper_page.store(judged, paper, published)
    elif arguments.store:
        print("not kept: the page needs all mixes, with the artifacts and without them")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def parse() -> argparse.Namespace:
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="mixes [all eight]")
    parser.add_argument(
        "--processes",
        "-j",
        type=int,
        metavar="N",
        help="a run and its baselines: so many side by side [cores]",
    )
    parser.add_argument("--fresh", action="store_true", help="compute everything again")
    parser.add_argument(
        "--any-build", action="store_true", help="accept results of the same version from another build"
    )
    parser.add_argument("--store", action="store_true", help="keep claims and figures for PAPER.md")
    parser.add_argument("--page", action="store_true", help="renew PAPER.md from what was kept; run nothing")
    parser.add_argument("--no-split", action="store_true", help=f"do not run the published {SPLIT}")
    parser.add_argument(
        "--out", type=Path, default=Path("results/mfnetsim-paper"), metavar="DIR", help="[%(default)s]"
    )
    parser.add_argument(
        "--published",
        type=Path,
        default=Path("results/mfnetsim"),
        metavar="DIR",
        help="where compare.py has its results [%(default)s]",
    )
    arguments = parser.parse_args()
    if arguments.processes is not None and arguments.processes < 1:
        parser.error("--processes: at least 1")
    unknown = [name for name in arguments.runs if name not in runs.PAPER.names]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(runs.PAPER.names)}")
    arguments.runs = list(dict.fromkeys(arguments.runs)) or list(runs.PAPER.names)
    return arguments


def perform(arguments: argparse.Namespace) -> list[str]:
    """Runs everything that is missing; returns the failed runs, with reasons."""
    start = time.perf_counter()

    def announce(text: str) -> None:
        minutes, seconds = divmod(round(time.perf_counter() - start), 60)
        print(f"[{minutes}:{seconds:02}] {text}", file=sys.stderr, flush=True)

    common = {
        "fresh": arguments.fresh,
        "any_build": arguments.any_build,
        "processes": arguments.processes,
        "announce": announce,
    }
    # One at a time: a run and its baselines already run in parallel.
    done = runs.perform(arguments.runs, arguments.out, kind=runs.PAPER, **common)
    if not arguments.no_split:
        folder = arguments.out / "published"
        done += runs.perform([SPLIT], folder, overrides=["run.baselines=true"], **common)
    return [f"{run.folder}: {run.failure}" for run in done if run.failure]


def with_baselines(names: Sequence[str], folder: Path) -> list[Case]:
    """The successful mixes of a folder, with their baselines."""
    found = []
    for name in names:
        if not (folder / name / "run.json").is_file():
            continue
        together = odonata.load(folder / name)
        if together.completed and not together.failed_baselines and together.baselines:
            found.append(of_name(name, together, together.baselines))
    return found


def of_name(name: str, together: odonata.Results, alone: Mapping[str, odonata.Results]) -> Case:
    """The mix with this name, placement-routing-workload."""
    placement, routing, workload = name.split("-")
    return Case(placement, routing, workload, together, alone)


def published_cases(split: Path, folder: Path) -> list[Case]:
    """The published mixes: with their own baselines, or beside runs of single jobs."""
    found = with_baselines(runs.PAPER.names, split)
    for name in runs.PAPER.names:
        if name not in [case.name for case in found] and (case := separate(name, folder)):
            found.append(case)
    return sorted(found, key=lambda case: runs.PAPER.names.index(case.name))


def separate(name: str, folder: Path) -> Case | None:
    """A mix beside single runs of its jobs; None if one of them is missing."""
    start = name.rpartition("-")[0]
    together = loaded(folder / name)
    if together is None:
        return None
    alone = {row["job"]: loaded(folder / f"{start}-{ALONE[row['job']]}") for row in together.rows("jobs")}
    complete = {job: results for job, results in alone.items() if results is not None}
    return of_name(name, together, complete) if len(complete) == len(alone) else None


def loaded(folder: Path) -> odonata.Results | None:
    """A completed result, or None."""
    if not (folder / "run.json").is_file():
        return None
    results = odonata.load(folder)
    return results if results.completed else None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("stopped; the runs that had ended are kept, and are not computed again", file=sys.stderr)
        sys.exit(130)
