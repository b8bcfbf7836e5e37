"""Locks that die with their process, however it dies: who may work on what an unfinished run has left."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # no POSIX system: two processes at the same work are not noticed
    fcntl = None  # type: ignore[assignment]


def hold(path: Path, *, wait: bool = False) -> int | None:
    """An open file at `path` whose lock this process has until it closes it or ends.

    None if another one has it, unless this one is to `wait` for it. Folders on the way are made. Where a file
    system knows no locks, it is as if nobody had one.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(file)
                return None
            except OSError:
                pass
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        # Whoever had it has removed the file.
        os.close(file)
