"""Writes all traces and schedules: `python tests/traces/write.py [FOLDER]`, by default in place."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import dumpi
import goal
import programs
import schedules

#: Folder of the traces that the tests read.
HERE = Path(__file__).parent


def write_all(folder: Path) -> None:
    """Every set into a folder of its own, in a folder for each format."""
    for name, (count, program, version) in programs.SETS.items():
        ranks = [dumpi.Rank(rank, version) for rank in range(count)]
        for rank in ranks:
            program(rank, count)
        dumpi.write(folder / "dumpi" / name, ranks)
    for name in schedules.SCHEDULES:
        goal.write(folder / "goal" / name, *schedules.made(name))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    if target == HERE:
        for place in (HERE / "dumpi").iterdir(), (HERE / "goal").iterdir():
            for old in place:
                if old.is_dir():
                    shutil.rmtree(old)
    write_all(target)
