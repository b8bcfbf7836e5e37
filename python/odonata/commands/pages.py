"""What a report is made of: one result, several to compare, or the table of a sweep."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from odonata.errors import InputError, option
from odonata.results.results import Results

#: The table of a sweep, in the folder of one: that of `odonata sweep`, or one that a user has made.
SWEEP_FILES = ("points.parquet", "sweep.parquet")


def page(paths: Sequence[Path]) -> str:
    """The page about what is at `paths`.

    Raises:
        InputError: There is no result, or it is damaged.
    """
    from odonata.report import several, single
    from odonata.sweeps import report as sweep

    if len(paths) == 1:
        table = sweep_table(paths[0])
        if table is not None:
            return sweep.html(table)
        return single.html(Results.load(paths[0]))
    for number, path in enumerate(paths):
        if sweep_table(path) is not None:
            raise InputError(
                "reports do not compare sweeps",
                key=option("folders", "DIR"),
                value=str(path),
                expected="a single sweep",
            )
        if any(path.resolve() == other.resolve() for other in paths[:number]):
            raise InputError(
                "the same result is given twice",
                key=option("folders", "DIR"),
                value=str(path),
                expected="different results",
            )
    return several.html([Results.load(path) for path in paths])


def sweep_table(path: Path) -> Path | None:
    """The table of a sweep at `path`: itself, or in the folder `path`; None if it is no sweep."""
    if os.path.isfile(path) and path.suffix == ".parquet":
        return path
    files = (path / name for name in SWEEP_FILES)
    return next((file for file in files if os.path.isfile(file)), None)
