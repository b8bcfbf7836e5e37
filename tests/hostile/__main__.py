"""`python -m hostile`: random and hostile trials for some minutes, their findings, and counts.

Exit code: 0 no findings, 1 some, 2 the command line is invalid or a campaign ran no trial, 130 it was
interrupted before any trial.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hostile import ledger, pool, worker
from hostile.campaign import CAMPAIGNS, Campaign, campaign
from hostile.ledger import Ledger

DESCRIPTION = "Hands Odonata random and hostile input, and looks whether it holds what it promises."


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="hostile", description=DESCRIPTION)
    parser.add_argument("--minutes", type=float, default=3.0, help="how long, over all campaigns [3]")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices [1]")
    parser.add_argument("--trials", type=int, help="so many of each campaign, however long that takes")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial [0]")
    parser.add_argument("--workers", type=int, default=2, help="processes that carry them out [2]")
    parser.add_argument(
        "--keep", type=Path, default=Path("results/hostile"), help="for what reproduces findings"
    )
    parser.add_argument(
        "--again", type=Path, metavar="DIR", help="run a trial that was kept once more, only that"
    )
    parser.add_argument("campaigns", nargs="*", help=f"which, of {', '.join(CAMPAIGNS)} [all]")
    chosen = parser.parse_args(given)
    for name in chosen.campaigns:
        if name not in CAMPAIGNS and ":" not in name:
            parser.error(f"no campaign is named {name}; there are {', '.join(CAMPAIGNS)}")
    if chosen.workers < 1 or chosen.minutes <= 0:
        parser.error("expected at least one worker, and some time")
    return chosen


def again(place: Path, scratch: Path) -> int:
    """Repeats a kept trial, and prints its findings."""
    name, trial = ledger.load(place)
    which = _prepared(name, scratch)
    ledger.copy_files(place, scratch / "trial")
    print(f"{place}: {'; '.join(trial.commands)}")
    worker.limit_memory(which.memory)
    verdict = worker.carry_out(which, trial, scratch / "trial", lambda what: print(f"- {what}", flush=True))
    print(ledger.reproduced(verdict.findings))
    return 1 if verdict.findings else 0


def _prepared(name: str, scratch: Path) -> Campaign:
    fixtures = scratch / "fixtures"
    fixtures.mkdir(parents=True)
    which = campaign(name, fixtures)
    which.prepare()
    return which


def one(kept: Ledger, seconds: float, options: argparse.Namespace, scratch: Path) -> None:
    """Runs one campaign, and records its results."""
    which = _prepared(kept.name, scratch)
    reports = pool.carry_out(
        which,
        kept.name,
        options.seed,
        scratch / "workers",
        workers=options.workers,
        seconds=seconds,
        trials=options.trials,
        first=options.first,
    )
    with contextlib.closing(reports):
        for report in reports:
            kept.enter(report, which)


def all_of(names: Sequence[str], options: argparse.Namespace, scratch: Path) -> tuple[list[Ledger], bool]:
    """Runs these campaigns and prints their results; returns whether it was interrupted."""
    shares = [campaign(name, scratch).share for name in names]
    ledgers: list[Ledger] = []
    stopped = False
    for name, share in zip(names, shares, strict=True):
        place = scratch / str(len(ledgers))
        ledgers.append(Ledger(name, options.seed, options.keep))
        try:
            one(ledgers[-1], options.minutes * 60 * share / sum(shares), options, place)
        except KeyboardInterrupt:
            stopped = True
        print("\n".join(ledgers[-1].summary()), flush=True)
        shutil.rmtree(place, ignore_errors=True)
        if stopped:
            break
    return ledgers, stopped


def main(given: Sequence[str] | None = None) -> int:
    """Runs the campaigns; the exit code."""
    options = arguments(given)
    # Any signal that ends it prints the count up to then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    scratch = Path(tempfile.mkdtemp(prefix="hostile-"))
    began = time.monotonic()
    try:
        if options.again is not None:
            return again(options.again, scratch)
        ledgers, stopped = all_of(options.campaigns or list(CAMPAIGNS), options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    trials = sum(one.trials for one in ledgers)
    findings = sum(sum(one.kinds.values()) for one in ledgers)
    kinds = sum(len(one.kinds) for one in ledgers)
    print(
        f"seed {options.seed}, {(time.monotonic() - began) / 60:.1f} min: {trials:,} trials, "
        f"{findings:,} findings of {kinds} kinds"
        + (f"; what reproduces them is in {options.keep}" if findings else "")
        + ("; interrupted" if stopped else "")
    )
    if findings:
        return 1
    if stopped:
        return 130
    return 0 if all(one.trials for one in ledgers) else 2


if __name__ == "__main__":
    sys.exit(main())
