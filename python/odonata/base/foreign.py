"""Files that somebody else has made: read if they are regular files, and have an end."""

from __future__ import annotations

import errno
import gzip
import os
import stat
from pathlib import Path
from typing import BinaryIO, cast

#: What else can be at a path, by the type in its mode.
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check(path: Path) -> None:
    """Raises the `OSError` for what is at `path` if it is no regular file."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {what}, not a regular file", os.fspath(path))


def read_bytes(path: Path, longest: int | None = None) -> bytes:
    """What is in the regular file `path`, of a longer one `longest` + 1 bytes.

    Anything else is an `OSError` that says what it is, and is not opened: a pipe that nobody writes to would
    be waited for, and a device may have no end.
    """
    check(path)
    with path.open("rb") as file:
        return file.read() if longest is None else file.read(longest + 1)


def is_packed(path: Path) -> bool:
    """Whether the regular file `path` is packed by gzip, by its first bytes."""
    check(path)
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def open_unpacked(path: Path) -> BinaryIO:
    """The regular file `path` to be read, unpacked if it is packed by gzip.

    Reading damaged gzip raises `gzip.BadGzipFile`, `EOFError` or `zlib.error`.
    """
    return cast(BinaryIO, gzip.open(path, "rb")) if is_packed(path) else path.open("rb")
