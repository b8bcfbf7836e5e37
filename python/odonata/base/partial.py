"""Unfinished files lie in hidden siblings; those of killed processes are removed.

An unfinished file or folder NAME is `.NAME.HOST.partial` beside its place (`output_file.py`, `folder.py`). A
folder that is about to be replaced waits in `.NAME.HOST.replaced` until its successor has its name.

The process that makes a sibling holds its lock as long as the sibling exists: for a file the file's own, for
a folder that of the file `LOCK` in it. A free lock tells the next command that the owner is gone, and `clear`
removes the sibling.

HOST identifies the computer: 8 digits for its name, 8 for the boot of its kernel (containers share a kernel
and differ in name), and 8 random digits. On a shared file system, locks may hold among the processes of one
computer only.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import socket
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from odonata.base.lock import hold, is_at, seize, take

#: File that is locked in an unfinished folder.
LOCK = ".odonata-lock"

#: Bytes of the longest file name on common file systems.
LONGEST_NAME = 255

_LEFT = re.compile(
    r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{8})(?P<kernel>[0-9a-f]{8})[0-9a-f]{8}\.(?P<purpose>partial|replaced)",
    re.DOTALL,
)


@dataclass
class Partial:
    """A hidden sibling of this process, and the open file that holds its lock."""

    path: Path
    lock: int

    def release(self) -> None:
        """Releases the lock, once the sibling can no longer be mistaken for remains."""
        os.close(self.lock)

    def remove(self) -> None:
        """Removes the folder or file as far as possible, and releases the lock."""
        with contextlib.suppress(OSError):
            _remove(self.path)
        self.release()


def make_file(place: Path) -> Partial:
    """Makes an empty file, open for writing as `lock`, that will become the one at `place`."""
    while True:
        path = hidden(place, "partial")
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            continue
        take(file)
        # Another process may have cleared the file before this one locked it.
        if is_at(file, path):
            return Partial(path, file)
        os.close(file)


def make_folder(place: Path, purpose: str = "partial") -> Partial:
    """Makes a folder, empty but for its lock, that will become the one at `place`."""
    while True:
        path = hidden(place, purpose)
        path.mkdir()
        lock = hold(path / LOCK)
        if lock is not None:  # as above
            return Partial(path, lock)


def hidden(place: Path, purpose: str) -> Path:
    """An unused name beside `place`.

    >>> hidden(Path("results/milc"), "partial").name.startswith(".milc.")
    True
    >>> len(hidden(Path("m" * 255), "partial").name)
    255
    """
    ending = f".{''.join(_here())}{os.urandom(4).hex()}.{purpose}"
    return place.with_name(f".{cut(place.name, len(ending) + 1)}{ending}")


def cut(name: str, room: int) -> str:
    """The longest beginning of `name` that leaves room for `room` more bytes in a file name.

    >>> len(cut("m" * 255, 5)), cut("milc", 5)
    (250, 'milc')
    """
    return name.encode()[: LONGEST_NAME - room].decode(errors="ignore")


def clear(folder: Path) -> list[str]:
    """Removes the siblings in `folder` whose processes on this computer are gone; returns them in words.

    Locked siblings and those of other computers stay. A folder that was about to be replaced gets its name
    back.
    """
    cleared = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        found = _LEFT.fullmatch(name)
        if found is None or not any(map(str.__eq__, (found["host"], found["kernel"]), _here())):
            continue
        with contextlib.suppress(OSError):
            what = _clear(folder / name, folder / found["name"], found["purpose"])
            if what:
                cleared.append(what)
    return cleared


def _clear(path: Path, place: Path, purpose: str) -> str | None:
    kind = os.lstat(path).st_mode
    if stat.S_ISDIR(kind):
        lock = seize(path / LOCK)
        if lock is None:
            # A process was killed right after it had made the folder; a live process makes another.
            path.rmdir()
            return None
    elif stat.S_ISREG(kind) and purpose == "partial":
        lock = seize(path)
        if lock is None:
            return None
    else:
        return None
    try:
        old = path / "old"
        if purpose == "replaced" and old.is_dir() and not os.path.lexists(place):
            old.rename(place)
            _remove(path)
            return f"{place} is back, which a process that was killed was about to replace"
        _remove(path)
        if path.exists():
            return None
        return f"{path} is removed, which a process that was killed had left"
    finally:
        os.close(lock)


def _remove(path: Path) -> None:
    """Removes a folder or a file; the lock comes last, so that a failed removal can be repeated."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    for entry in os.scandir(path):
        if entry.name == LOCK:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
    if os.listdir(path) in ([], [LOCK]):
        (path / LOCK).unlink(missing_ok=True)
        path.rmdir()


@functools.cache
def _here() -> tuple[str, str]:
    """The digits of HOST that identify this computer."""
    names = [socket.gethostname()]
    try:
        names.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
    except OSError:  # not Linux
        names *= 2
    host, kernel = (f"{zlib.crc32(name.encode()):08x}" for name in names)
    return host, kernel
