"""What Ctrl-C does to a command.

As long as a command has nothing to clear up it ends at once, without a word from whatever it was doing:
libraries that are interrupted while they are imported say what nobody wants to read. What has begun to write
says so (`raised`), and gets a `KeyboardInterrupt`. A run asks for something else, see `runner.StopRequest`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

#: Exit code of an interrupted command, as in `errors`, which is not imported yet when it is needed first.
INTERRUPTED = 130


#: What is said of what a command has left when it ends at once.
_left = b"; nothing was written"


def leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Ends the process."""
    with contextlib.suppress(OSError):
        os.write(2, b"stopped" + _left + b"\n")
    os._exit(INTERRUPTED)


def wrote() -> None:
    """Notes that something is written from now on, whole."""
    global _left
    _left = b""


def leave_at_once() -> None:
    """From now on Ctrl-C ends the process; unless it is ignored, as in the background of a script."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` in this block, if it would end the process at once."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) != leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, leave)
