"""Runs the MFNetSim case study and shows every result beside the value that its authors stored.

    compare.py                      the quick set: six runs, a few minutes
    compare.py all                  all 24 runs (sets: quick, baselines, stored, all)
    compare.py rand-min-wkld2 ...   runs by name: placement-routing-workload
    compare.py stored --store       the runs with stored values; keeps their times for README.md
    compare.py --figure             draws the figure of README.md from the times that --store kept

Results go to results/mfnetsim/RUN. Tables of the comparison go to results/mfnetsim (all runs of this call)
and into each run's folder. Results of the same inputs and the same build are not computed again.

The stored values are in reference/. A run without stored values is shown alone.

Exit code: 0, whatever the differences of times; 1 if a run fails or values that must be equal differ; 2 if
the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mfnetsim_study import exact, ours, report, runs, stored, times
from mfnetsim_study.exact import Check
from mfnetsim_study.report import Comparison

import odonata


def main() -> int:
    arguments = parse()
    if arguments.figure:
        times.FIGURE.write()
        return 0
    known = stored.summary()
    done = runs.perform(
        arguments.runs,
        arguments.out,
        fresh=arguments.fresh,
        any_build=arguments.any_build,
        at_once=arguments.processes,
        announce=lambda text: print(text, file=sys.stderr, flush=True),
    )
    failures = [f"{run.name}: {run.failure}" for run in done if run.failure]
    folders = {run.name: run.folder for run in done if not run.failure}
    comparisons = []
    for name, place in folders.items():
        comparison = Comparison(ours.load(name, place), stored.load(name) if name in known else None)
        comparisons.append(comparison)
        report.write(place, [comparison])
        show(comparison)
    extra = superposition(folders)
    failures += [f"{c.ours.name}: {check}" for c in comparisons for check in c.failed]
    failures += [str(check) for check in extra if not check.passed]
    if comparisons:
        report.write(arguments.out, comparisons, extra)
        print("=" * 110 + "\n")
        for table in report.summary(comparisons):
            print(table.text())
        for check in extra:
            print(check)
        print(f"written: {arguments.out / 'comparison.md'} and .csv")
    compared = [comparison for comparison in comparisons if comparison.stored]
    if arguments.store and len(compared) == len(known):
        times.write(compared)
        times.FIGURE.write()
    elif arguments.store:
        print("not kept: the figure needs all runs with stored values")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def parse() -> argparse.Namespace:
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", default=["quick"], metavar="RUN", help="runs or sets [quick]")
    parser.add_argument("--processes", "-j", type=int, default=1, metavar="N", help="runs side by side [1]")
    parser.add_argument("--fresh", action="store_true", help="compute everything again")
    parser.add_argument(
        "--any-build", action="store_true", help="accept results of the same version from another build"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results/mfnetsim"),
        metavar="DIR",
        help="where results go [%(default)s]",
    )
    parser.add_argument("--store", action="store_true", help="keep times for the figure of README.md")
    parser.add_argument("--figure", action="store_true", help="draw this figure; run nothing")
    parser.add_argument("--list", action="store_true", help="list sets and runs")
    arguments = parser.parse_args()
    if arguments.list:
        for name, members in runs.SETS.items():
            print(f"{name} ({len(members)}): {' '.join(members)}")
        raise SystemExit(0)
    if arguments.processes < 1:
        parser.error("--processes: at least 1")
    try:
        arguments.runs = runs.expand(arguments.runs)
    except ValueError as error:
        parser.error(f"{error}; see --list")
    return arguments


def show(comparison: Comparison) -> None:
    """Prints the details of a run."""
    for table in report.details(comparison):
        print(table.text())
    if comparison.checks:
        held = len(comparison.checks) - len(comparison.failed)
        print(f"exact: {held} of {len(comparison.checks)} checks hold")
        for check in comparison.checks:
            print(f"  {'equal  ' if check.passed else 'DIFFERS'}  {check}")
    print()


def superposition(folders: dict[str, Path]) -> list[Check]:
    """Compares the mix without shared links and servers with its baselines, if all four have been run."""
    if not {exact.MIX, *exact.SEPARATE} <= folders.keys():
        return []
    alone = [row for name in exact.SEPARATE for row in odonata.load(folders[name]).rows("ranks")]
    return [exact.superposition(odonata.load(folders[exact.MIX]).rows("ranks"), alone)]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("stopped; the runs that had ended are kept, and are not computed again", file=sys.stderr)
        sys.exit(130)
