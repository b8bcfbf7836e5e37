"""Locks that die with their process, however it dies: who may work on what an unfinished run has left."""

from __future__ import annotations

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
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # somebody has removed the empty folder
            continue
        if take(file, wait=wait) is False:
            os.close(file)
            return None
        if is_at(file, path):
            return file
        # Whoever had it has removed the file.
        os.close(file)


def seize(path: Path) -> int | None:
    """The lock of the file at `path`, if it is certain that no process has it.

    None also where there is no such file, or its file system knows no locks.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if take(file) and is_at(file, path):
        return file
    os.close(file)
    return None


def take(file: int, *, wait: bool = False) -> bool | None:
    """Whether this process has the lock of an open file now; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # the file system knows none
        return None
    return True


def is_at(file: int, path: Path) -> bool:
    """Whether the open `file` is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
