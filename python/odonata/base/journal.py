"""A journal: a line of JSON per record, appended when a piece of work ends.

A killed process loses only running work: the next one cuts off an incomplete last line and goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from odonata.base import foreign


class Journal:
    """A journal that is open for appending."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._file: int | None = None

    def __enter__(self) -> Self:
        self._file = os.open(self.place, os.O_RDWR | os.O_CREAT, 0o666)
        text = foreign.read_bytes(self.place)
        os.ftruncate(self._file, text.rfind(b"\n") + 1)
        os.lseek(self._file, 0, os.SEEK_END)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.fsync(self._file)
            is_empty = not os.fstat(self._file).st_size
            os.close(self._file)
            self._file = None
            if is_empty and error is not None:
                self.place.unlink(missing_ok=True)

    def add(self, record: Any) -> None:
        """Appends a record."""
        assert self._file is not None
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        while line:
            line = line[os.write(self._file, line) :]


def records(place: Path) -> Iterator[Any]:
    """The records of the journal at `place`; lines that are not JSON are left out."""
    for line in foreign.read_bytes(place).split(b"\n")[:-1]:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue
