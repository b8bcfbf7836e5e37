"""The effect of Ctrl-C on a command.

A command that has nothing to clean up ends at once and silently: libraries that are interrupted during their
import would print tracebacks. Code that has started to write calls `raised`, and gets a `KeyboardInterrupt`.
A run stops by `runner.StopRequest` instead.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

#: Exit code of an interrupted command; repeats the one of `errors`, which may not be imported yet.
INTERRUPTED = 130


#: The part of the message that states what the command left behind when it ends at once.
_left = b"; nothing was written"


def leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Ends the process."""
    with contextlib.suppress(OSError):
        os.write(2, b"stopped" + _left + b"\n")
    os._exit(INTERRUPTED)


def wrote() -> None:
    """Notes that complete files are being written from now on."""
    global _left
    _left = b""


def leave_at_once() -> None:
    """Makes Ctrl-C end the process, unless it is ignored, as in the background of a script."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` in this block if it would end the process otherwise."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) != leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, leave)
