"""Writes all traces: `python tests/traces/write.py [FOLDER]`; by default, those of the repository anew."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from dumpi import Rank, write
from programs import SETS

#: Where the traces are that the tests read.
HERE = Path(__file__).parent / "dumpi"


def write_all(folder: Path) -> None:
    """Every set into a folder of its own."""
    for name, (count, program, version) in SETS.items():
        ranks = [Rank(rank, version) for rank in range(count)]
        for rank in ranks:
            program(rank, count)
        write(folder / name, ranks)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    if target == HERE and HERE.exists():
        shutil.rmtree(HERE)
    write_all(target)
