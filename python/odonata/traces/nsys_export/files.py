"""The files of an export of Nsight Systems: one or several `NAME.sqlite` of a job.

A path is one of them, or a folder with those of one job: one per process, one per host, or one for all.
"""

from __future__ import annotations

import re
from pathlib import Path

from odonata.base import foreign
from odonata.errors import InputError, is_mistake

#: Description of a path of this format.
FILES = "an export of Nsight Systems (NAME.sqlite of nsys export -t sqlite, or the folder of them)"
#: First bytes of every SQLite database.
MAGIC = b"SQLite format 3\0"
#: Most files of a job.
MOST_FILES = 1 << 16


def is_at(path: Path) -> bool:
    """Whether `path` is such an export: by its ending, or a folder with such files."""
    try:
        return bool(_in(path)) if path.is_dir() else _is_named(path)
    except OSError:
        return False


def _is_named(path: Path) -> bool:
    return path.suffix == ".sqlite" and not path.name.startswith(".")


def _in(folder: Path) -> list[Path]:
    return sorted((path for path in folder.iterdir() if _is_named(path)), key=_by_numbers)


def _by_numbers(path: Path) -> list[tuple[int, int, str]]:
    """Sort key: numbers in names count by value."""
    parts = re.findall(r"\d+|\D+", path.name)
    return [(0, int(part), "") if part.isdecimal() and len(part) < 18 else (1, 0, part) for part in parts]


def find(path: Path) -> list[Path]:
    """The files at `path`; raises `InputError` for a file that is no database."""
    try:
        files = _in(path) if path.is_dir() else [path]
        if len(files) > MOST_FILES:
            raise wrong(path, f"the folder has {len(files)} exports")
        for file in files:
            foreign.check(file)
            with file.open("rb") as stream:
                start = stream.read(len(MAGIC))
            if start != MAGIC:
                raise wrong(file, "it is no SQLite database" if start else "the file is empty")
    except OSError as error:
        if not is_mistake(error):
            raise
        raise wrong(path, f"the export cannot be read: {error.strerror}") from None
    return files


def wrong(path: Path, problem: str, expected: str = FILES) -> InputError:
    """The error for a file."""
    return InputError(problem, file=str(path), expected=expected)
