"""Locks that end with their process: they decide which process may continue an unfinished run."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # no POSIX system: two processes at the same work go unnoticed
    fcntl = None  # type: ignore[assignment]


def hold(path: Path, *, wait: bool = False) -> int | None:
    """Opens the file at `path` and locks it until this process closes it or ends.

    Returns None if another process holds the lock, unless `wait` is set. Missing parent folders are created.
    On a file system without locks, the lock counts as free.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # another process has removed the empty folder
            continue
        if take(file, wait=wait) is False:
            os.close(file)
            return None
        if is_at(file, path):
            return file
        # The previous owner has removed the file.
        os.close(file)


def seize(path: Path) -> int | None:
    """Takes the lock of the file at `path` if certainly no process holds it.

    Returns None also if the file is missing or its file system has no locks.
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
    """Whether this process now holds the lock of an open file; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        return None
    return True


def is_at(file: int, path: Path) -> bool:
    """Whether the open `file` is still the file at `path`."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
