"""The command line of a study that consists of sweeps: arguments, progress, exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import odonata


def parse(
    description: str, sweeps: Sequence[str], out: Path, files: str | None = None, *, minutes: bool = False
) -> argparse.Namespace:
    """Parses the arguments.

    `description` is the docstring of the script, `out` the default folder of its results, `files` the kind of
    its input files; `minutes` adds the option to stop a run after some minutes.
    """
    first, _, rest = description.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*sweeps, "page"])
    parser.add_argument("--processes", "-j", type=int, metavar="N", help="runs side by side [cores]")
    parser.add_argument(
        "--reuse",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a sweep whose runs need not be run again",
    )
    parser.add_argument("--store", action="store_true", help="keep what was measured for the page")
    parser.add_argument("--out", type=Path, default=out, metavar="DIR", help="[%(default)s]")
    if minutes:
        parser.add_argument(
            "--minutes", type=float, metavar="N", help="stop a run at full size, saved, after N"
        )
    if files:
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help=files)
    arguments = parser.parse_args()
    if arguments.processes is not None and arguments.processes < 1:
        parser.error("--processes: at least 1")
    return arguments


def sweep(arguments: argparse.Namespace, study: Path) -> odonata.Sweep:
    """Runs the requested sweep of the study in this folder."""
    found = odonata.sweep(
        study / "sweeps" / f"{arguments.what}.toml",
        arguments.out / arguments.what,
        # One thread each: a point is a run and its baselines, which run in parallel.
        overrides={"run.threads": 1},
        processes=arguments.processes,
        reuse=arguments.reuse,
        progress=line(),
    )
    print(file=sys.stderr)
    return found


def line() -> Callable[[Any], None]:
    """Prints the progress of a sweep: on a terminal in one line, elsewhere a line for each change."""
    output = ""

    def show(progress: Any) -> None:
        nonlocal output
        text = f"{progress.done} of {progress.planned} points, {progress.runs} runs"
        if sys.stderr.isatty():
            left = "" if progress.left_s is None else f", {progress.left_s / 60:.0f} min left"
            print(f"\r{text + left:<60}", end="", file=sys.stderr, flush=True)
        elif text != output:
            print(text, file=sys.stderr, flush=True)
        output = text

    return show


def end(found: odonata.Sweep) -> int:
    """Prints the failed runs; returns the exit code."""
    for failure in found.failed:
        print(f"FAILED {failure}")
    return {"completed": 0, "failed": 3, "interrupted": 130}[found.outcome]


def run(main: Callable[[], int]) -> None:
    """Ends the process with the exit code of `main`, or of its interruption or usage error."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except odonata.InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
