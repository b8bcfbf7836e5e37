"""The folder of a sweep: a journal of ended runs, from which the sweep resumes.

The journal is a line of JSON per run, appended when the run ends. A killed process therefore loses only
running work; an incomplete last line is cut off. By its keys (`work`), the journal is also the cache of later
sweeps in this folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from odonata.base import journal as journals
from odonata.base.journal import Journal
from odonata.base.json_types import Wrong, check
from odonata.base.lock import hold
from odonata.base.output_file import sync_folder
from odonata.base.partial import LOCK
from odonata.errors import InputError, check_text, is_mistake, option
from odonata.sweeps import record

#: The file that marks a folder as that of a sweep.
JOURNAL_FILE = "journal.jsonl"
#: The files that every call writes at its end.
SWEEP_FILE, POINTS, INTERVALS, PAIRS = "sweep.json", "points", "intervals", "pairs"
#: Tables of runs, if they are kept.
RUNS = "runs"


class Store:
    """The locked folder; `runs` are the ended runs, by key.

    Raises `InputError` if the folder is of another kind, or another process works on it.
    """

    def __init__(self, target: str | os.PathLike[str], reuse: list[Path] | None = None) -> None:
        check_text(target, option("out"))
        self.folder = Path(target)
        self.runs: dict[str, dict[str, Any]] = {}
        for other in reuse or []:
            # `Path.is_file` raises for invalid file names.
            if not os.path.isfile(other / JOURNAL_FILE):
                raise InputError(
                    "not a sweep",
                    key=option("reuse"),
                    value=str(other),
                    expected=f"a folder that holds {JOURNAL_FILE}",
                )
            # Their tables are elsewhere.
            self.runs |= {key: kept | {"folder": None} for key, kept in read(other / JOURNAL_FILE).items()}
        self._refuse()
        self._lock: int | None = None
        self._journal: Journal | None = None
        self._made: list[Path] = []

    @property
    def run_folder(self) -> Path:
        """The folder for tables of runs."""
        return self.folder / RUNS

    def __enter__(self) -> Self:
        try:
            for folder in reversed([self.folder, *self.folder.parents]):
                if not folder.is_dir():
                    folder.mkdir(exist_ok=True)
                    self._made.append(folder)
            self._lock = hold(self.folder / LOCK)
        except OSError as error:
            if not is_mistake(error):
                raise
            raise self._error(
                f"the folder cannot be written: {error.strerror}", "a folder that can be"
            ) from None
        if self._lock is None:
            raise self._error("another process works on this sweep", "wait for its end")
        place = self.folder / JOURNAL_FILE
        if place.is_file():
            self.runs |= read(place)
        self._journal = Journal(place).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.__exit__(kind, error, trace)
        (self.folder / LOCK).unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
        sync_folder(self.folder)
        if error is not None:
            for folder in reversed(self._made):
                try:
                    folder.rmdir()
                except OSError:  # not empty
                    break

    def add(self, kept: dict[str, Any]) -> None:
        """Records an ended run."""
        assert self._journal is not None
        self.runs[kept["key"]] = kept
        self._journal.add(kept)

    def _refuse(self) -> None:
        try:
            names = set(os.listdir(self.folder))
        except FileNotFoundError:
            return
        except OSError as error:
            if not is_mistake(error):
                raise
            raise self._error(f"the folder cannot be read: {error.strerror}", "a folder, or none") from None
        if names - {LOCK} and JOURNAL_FILE not in names:
            expected = f"a folder that holds {JOURNAL_FILE}, or none"
            hint = "choose another folder with " + option("out")
            raise self._error("the folder is not a sweep", expected, hint)

    def _error(self, problem: str, expected: str, hint: str | None = None) -> InputError:
        return InputError(problem, key=option("out"), value=str(self.folder), expected=expected, hint=hint)


def read(journal: Path) -> dict[str, dict[str, Any]]:
    """The results in a journal, by key; damaged entries and failures of the computer are left out."""
    found: dict[str, dict[str, Any]] = {}
    for kept in journals.records(journal):
        try:
            check(kept, record.KeptRun)
        except Wrong:
            continue
        if record.is_result(kept):
            found[kept["key"]] = kept
        else:
            found.pop(kept["key"], None)
    return found
