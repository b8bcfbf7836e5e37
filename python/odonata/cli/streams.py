"""Standard streams that accept any output, even if the caller has closed them."""

from __future__ import annotations

import io
import os
import sys


def prepare() -> None:
    """Opens closed standard streams, and replaces characters that a stream cannot encode.

    Otherwise a file opened later would get the number of a closed stream and receive its output. As for other
    commands, printing to a closed standard output is an error, and printing to a closed standard error is
    not.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, so this stream's. Writing to standard output still fails.
            os.open(os.devnull, flags)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
