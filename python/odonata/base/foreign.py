"""Files from outside: they are read only if they are regular files, and have an end."""

from __future__ import annotations

import errno
import gzip
import os
import stat
from pathlib import Path
from typing import BinaryIO, cast

#: Other kinds of paths, by the type in their mode.
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check(path: Path) -> None:
    """Raises an `OSError` if `path` is no regular file."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {what}, not a regular file", os.fspath(path))


def read_bytes(path: Path, longest: int | None = None) -> bytes:
    """The content of the regular file `path`; of a longer file, the first `longest` + 1 bytes.

    Any other kind of path raises an `OSError` that names the kind. It is not opened: a pipe without a writer
    would block, and a device may have no end.
    """
    check(path)
    with path.open("rb") as file:
        return file.read() if longest is None else file.read(longest + 1)


def is_packed(path: Path) -> bool:
    """Whether the regular file `path` is compressed with gzip, by its first bytes."""
    check(path)
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def open_unpacked(path: Path) -> BinaryIO:
    """Opens the regular file `path` for reading, and decompresses gzip.

    Damaged gzip raises `gzip.BadGzipFile`, `EOFError` or `zlib.error` when it is read.
    """
    return cast(BinaryIO, gzip.open(path, "rb")) if is_packed(path) else path.open("rb")
