"""Compares the results of many runs with those recorded in `expected.json`.

    python tests/digests/check.py [--quick] [--update] [PATTERN ...]

A PATTERN is a part of the names of cases, such as `torus` or `mpi/`; by default all cases run. Several
schedulers run every case, with its machine undivided and in parts. README.md beside this file describes the
cases and the handling of differences.

Exit code: 0 all results are as recorded, 1 something differs, 2 the request is invalid.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from case import SCHEDULERS, Case
from cases import all_cases
from measure import begin, measure
from traces import prepare

EXPECTED = Path(__file__).parent / "expected.json"

#: Seconds without a completed run after which runs count as hung; complete runs take minutes.
PATIENCE_S, PATIENCE_WHOLE_S = 300, 3_600

Measured = dict[str, Any]


def arguments() -> argparse.Namespace:
    """The request of the user."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="parts of names; a case needs one")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="leave out the cases that take seconds each, and run the others by two schedulers, not all",
    )
    parser.add_argument("--whole", action="store_true", help="also MFNetSim to its end (minutes)")
    parser.add_argument("--update", action="store_true", help="record what comes out now")
    parser.add_argument("--list", action="store_true", help="names of the cases, nothing is run")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="runs at a time")
    parser.add_argument(
        "--scheduler", action="append", choices=list(SCHEDULERS), help="only this one (repeatable)"
    )
    parser.add_argument("--expected", type=Path, default=EXPECTED, help="the file of recorded results")
    return parser.parse_args()


def chosen(cases: Mapping[str, Case], asked: argparse.Namespace) -> list[Case]:
    """The cases to run, the longest first."""
    patterns = asked.patterns
    found = [case for name, case in cases.items() if not patterns or any(one in name for one in patterns)]
    found = [case for case in found if not (asked.quick and case.long) and (asked.whole or not case.whole)]
    return sorted(found, key=lambda case: (not case.whole, not case.long))


def by_schedulers(cases: Iterable[Case], asked: list[str], quick: bool) -> list[tuple[Case, str]]:
    """Each case with the requested schedulers; `quick`: the first and one other in turn."""
    runs = []
    for number, case in enumerate(cases):
        schedulers = [scheduler for scheduler in case.schedulers if scheduler in asked]
        if quick and len(schedulers) > 2:
            schedulers = [schedulers[0], schedulers[1 + number % (len(schedulers) - 1)]]
        runs += [(case, scheduler) for scheduler in schedulers]
    return runs


def run_all(runs: Iterable[tuple[Case, str]], processes: int, work: Path) -> dict[str, dict[str, Measured]]:
    """Measurements by case and scheduler."""
    seen: dict[str, dict[str, Measured]] = {}
    # Processes are started anew, not forked: they have threads.
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=begin, initargs=(work,)) as pool:
        pending: dict[Future[Measured], tuple[Case, str]] = {
            pool.submit(measure, case.name, scheduler): (case, scheduler) for case, scheduler in runs
        }
        while pending:
            whole = any(case.whole for case, _ in pending.values())
            patience = PATIENCE_WHOLE_S if whole else PATIENCE_S
            done, _ = wait(pending, timeout=patience, return_when=FIRST_COMPLETED)
            if not done:
                hung = [f"{case.name} ({how})" for run, (case, how) in pending.items() if run.running()]
                print(f"nothing has ended in {patience} s; under way: {', '.join(hung)}", file=sys.stderr)
                os._exit(1)
            for run in done:
                case, scheduler = pending.pop(run)
                seen.setdefault(case.name, {})[scheduler] = run.result()
    return {name: {how: by[how] for how in SCHEDULERS if how in by} for name, by in seen.items()}


def difference(expected: Measured | None, seen: Measured) -> str | None:
    """The difference of a run from the recorded results, in words; None without a difference."""
    if "error" in seen:
        return str(seen["error"])
    if expected is None:
        return "nothing is recorded: make digests-update"
    if expected == seen:
        return None
    changes = [
        f"{key} {seen[key]}, recorded {expected[key]}"
        for key in seen
        if key != "columns" and seen[key] != expected[key]
    ]
    old, new = expected.get("columns", {}), seen.get("columns", {})
    changed = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
    for what, names in (
        ("other values in", changed),
        ("no longer there:", sorted(old.keys() - new.keys())),
        ("not recorded:", sorted(new.keys() - old.keys())),
    ):
        if names:
            changes.append(f"{what} {', '.join(names)}")
    return "; ".join(changes)


def report(expected: Mapping[str, Measured], seen: Mapping[str, Mapping[str, Measured]]) -> int:
    """Prints differences; returns the number of cases with one."""
    differ = 0
    for name, by_scheduler in sorted(seen.items()):
        differences = {
            how: difference(expected.get(name), measured) for how, measured in by_scheduler.items()
        }
        if not any(differences.values()):
            continue
        differ += 1
        print(name)
        if len(set(differences.values())) == 1:
            print(f"    {' '.join(differences)}: {next(iter(differences.values()))}")
        else:
            for how, text in differences.items():
                print(f"    {how}: {text or 'as recorded'}")
    return differ


def update(expected: dict[str, Measured], seen: Mapping[str, Mapping[str, Measured]]) -> int:
    """Records results that are equal under all schedulers; returns the number of other cases."""
    wrong = 0
    for name, by_scheduler in sorted(seen.items()):
        first, *others = by_scheduler.values()
        if "error" in first or any(other != first for other in others):
            wrong += 1
            print(f"{name}: not recorded, as it has no result, or not one")
            report({name: first}, {name: by_scheduler})
        else:
            expected[name] = first
    return wrong


def write(path: Path, expected: Mapping[str, Measured]) -> None:
    """A line per case, so that a difference is a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(expected.items()))
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> int:
    """Runs the requested cases."""
    asked = arguments()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="odonata-digests-") as folder:
        work = Path(folder)
        cases = all_cases(work)
        wanted = chosen(cases, asked)
        if asked.list:
            print("\n".join(case.name for case in wanted))
            return 0
        if not wanted:
            print(f"no case has a name with {' or '.join(asked.patterns)} in it (--list)", file=sys.stderr)
            return 2
        prepare(work)
        runs = by_schedulers(wanted, asked.scheduler or list(SCHEDULERS), asked.quick and not asked.update)
        seen = run_all(runs, asked.processes, work)
    expected: dict[str, Measured] = {}
    if asked.expected.exists():
        expected = json.loads(asked.expected.read_text())
    gone = sorted(expected.keys() - cases.keys())
    if asked.update:
        before = dict(expected)
        bad = update(expected, seen)
        for name in gone:
            del expected[name]
        write(asked.expected, expected)
        changed = sum(expected.get(name) != before.get(name) for name in seen)
        what = f"{changed} recorded anew, {len(gone)} removed, {bad} not recorded"
    else:
        bad = report(expected, seen) + len(gone)
        for name in gone:
            print(f"{name}\n    recorded, but there is no such case any more")
        what = f"{bad} differ" if bad else "all as recorded"
    print(f"{len(seen)} cases in {len(runs)} runs, {time.monotonic() - begun:.0f} s: {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
