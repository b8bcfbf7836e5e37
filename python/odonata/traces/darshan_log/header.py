"""The header of a Darshan log: whether a file is a log, and whether it is complete.

Layout of `struct darshan_header` (darshan-log-format.h), in the byte order of the writing machine, which the
magic number reveals:

- 8 bytes of version ("3.21") and the magic number 6567223 (8 bytes);
- the kind of compression (1 byte, and padding);
- flags of incomplete modules (4 bytes; 8 since 3.41);
- offset and length (8 bytes each) of the compressed names, and of each of 16 modules (64 since 3.41).

The job record precedes the names.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import NamedTuple

from odonata import _core
from odonata.base import foreign
from odonata.errors import InputError, is_mistake
from odonata.traces.reader_process import NotWhole

MAGIC = 6567223
#: Description of a path of this format.
FILES = "a Darshan log (.darshan, or the folder of one)"
#: Most logs of a folder in the message that asks for a choice.
_MOST_NAMES = 8
#: Bytes that identify the format.
START = 16


class Layout(NamedTuple):
    """Positions of fields in the header, in bytes."""

    #: Offset of the pair (offset, length) of the names; those of the modules follow.
    maps: int
    modules: int
    #: Bytes of the header.
    length: int


#: By the version of the log, written by libraries from 3.0.0, 3.1.0 and 3.4.0 on.
_LAYOUTS = {
    "3.00": Layout(24, 16, 24 + 17 * 16),
    **dict.fromkeys(("3.10", "3.20", "3.21"), Layout(24, 16, 24 + 17 * 16 + 16 * 4)),
    "3.41": Layout(32, 64, 32 + 65 * 16 + 64 * 4),
}


def is_at(path: Path) -> bool:
    """Whether `path` is a Darshan log: by its name, or the beginning of the file.

    A folder counts if it has such a file, and is no trace of the core's formats: a log may lie beside the
    message trace of its job.
    """
    try:
        if path.is_dir():
            return bool(_in(path)) and _core.trace_format(path) is None
        if path.suffix == ".darshan":
            return True
        foreign.check(path)
        with path.open("rb") as file:
            start = file.read(START)
    except OSError:
        return False
    return len(start) == START and any(
        struct.unpack_from(f"{order}q", start, 8)[0] == MAGIC for order in "<>"
    )


def _in(folder: Path) -> list[Path]:
    """The logs of a folder, by their ending; `._*` are files of macOS archives."""
    return sorted(path for path in folder.glob("*.darshan") if not path.name.startswith("."))


def log_of(path: Path) -> Path:
    """The log at `path`: itself, or the only one of a folder; raises `InputError` if there are several."""
    try:
        found = _in(path) if path.is_dir() else [path]
    except OSError as error:
        if not is_mistake(error):
            raise
        raise _wrong(path, f"the log cannot be read: {error.strerror}") from None
    if len(found) == 1:
        return found[0]
    if not found:
        raise _wrong(path, "the folder has no log")
    names = ", ".join(log.name for log in found[:_MOST_NAMES]) + (", ..." if len(found) > _MOST_NAMES else "")
    raise InputError(
        f"the folder holds {len(found)} Darshan logs: {names}",
        file=str(path),
        expected="the path of one of them",
    )


def check(path: Path) -> None:
    """Raises `InputError` if the file is no log or is truncated; `OSError` if it is unreadable."""
    data = foreign.read_bytes(path, _LAYOUTS["3.41"].length)
    size = path.stat().st_size
    if len(data) < START:
        raise _wrong(path, f"the file has {size} bytes, too few for the header of a log")
    order = next((order for order in "<>" if struct.unpack_from(f"{order}q", data, 8)[0] == MAGIC), None)
    version = data[:8].rstrip(b"\0").decode("ascii", "replace")
    if order is None:
        if re.match(rb"\x1f\x8b|BZh", data):
            raise _wrong(path, "a compressed file; Darshan 2 and before write these, and they are not read")
        raise _wrong(path, f"bytes 8 to 15 are not Darshan's magic number, {MAGIC}")
    layout = _LAYOUTS.get(version)
    if layout is None:
        # PyDarshan decides about other versions.
        return
    if len(data) < layout.length:
        problem = f"the file ends at byte {size}, in its header of {layout.length} bytes"
        raise NotWhole(problem, path, FILES)
    end = layout.length
    for number in range(layout.modules + 1):
        offset, length = struct.unpack_from(f"{order}QQ", data, layout.maps + 16 * number)
        if length == 0:
            continue
        what = "the names of files" if number == 0 else f"module number {number}"
        if offset < layout.length:
            raise _wrong(path, f"{what} would be at byte {offset}, in the header of {layout.length} bytes")
        if offset + length > size:
            problem = f"the file ends at byte {size}, but {what} would end at byte {offset + length}"
            raise NotWhole(problem, path, FILES)
        end = max(end, offset + length)
    if end < size and end > layout.length:
        problem = f"the log ends at byte {end}, but the file has {size}: {size - end} bytes are behind it"
        raise NotWhole(problem, path, FILES)


def _wrong(path: Path, problem: str) -> InputError:
    return InputError(problem, file=str(path), expected=FILES)
