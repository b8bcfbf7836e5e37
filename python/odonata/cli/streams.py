"""Standard streams that can be written to, whatever the caller has closed and whatever is printed."""

from __future__ import annotations

import io
import os
import sys


def prepare() -> None:
    """Opens those of the standard streams that are closed, and lets them print what they cannot encode.

    A file that is opened later would get the number of a closed one, and what is printed would go into it. To
    print on a closed standard output is an error, as it is for other commands; on standard error it is not.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, so this one. Of standard output every write fails.
            os.open(os.devnull, flags)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
