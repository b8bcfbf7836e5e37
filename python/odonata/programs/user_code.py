"""Calls of user code, and their interruption.

Python's main thread handles signals between two bytecodes, and the handlers of this package only set a flag.
User code that computes for long would not notice. While a run is being stopped, `Interrupted` is therefore
raised in user code repeatedly, because the code may catch it.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from threading import get_ident
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

#: Wakes the main thread, also from a blocking system call, so that it checks for a stop; without a handler,
#: it has no effect.
KNOCK = signal.SIGURG


class Interrupted(BaseException):
    """Raised in user code when its run must end."""


#: Depth of each thread in user code.
_depth: dict[int, int] = {}
#: Held while another thread is interrupted, and when a thread has left user code.
_lock = threading.Lock()
#: Whether threads are being interrupted.
_stopping = False


def take(iterator: Iterator[Any], count: int) -> tuple[list[Any], bool, BaseException | None]:
    """The next items of a user's iterator, at most `count`; whether there may be more; and its exception."""
    items: list[Any] = []
    raised: BaseException | None = None
    _enter()
    try:
        for item in islice(iterator, count):
            items.append(item)
    except BaseException as error:
        raised = error
    _leave()
    return items, raised is None and len(items) == count, raised


def call(function: Callable[..., Result], *args: Any, **named: Any) -> Result:
    """Calls a user's function."""
    _enter()
    try:
        return function(*args, **named)
    finally:
        _leave()


def _enter() -> None:
    ident = get_ident()
    _depth[ident] = _depth.get(ident, 0) + 1


def _leave() -> None:
    ident = get_ident()
    depth = _depth.get(ident, 1) - 1
    if depth:
        _depth[ident] = depth
        return
    _depth.pop(ident, None)
    if _stopping:
        with _lock:
            # A late exception must not be raised elsewhere.
            _raise_in(ident, None)


def disturb() -> None:
    """Raises `Interrupted` in all running user code; called repeatedly, from another thread."""
    global _stopping
    _stopping = True
    main = threading.main_thread().ident
    with _lock:
        for ident in list(_depth):
            if ident == main:
                signal.pthread_kill(ident, KNOCK)
            elif _is_inside(sys._current_frames().get(ident)):
                _raise_in(ident, Interrupted)


def calm() -> None:
    """Ends the effect of `disturb`."""
    global _stopping
    _stopping = False


def on_knock(number: int, frame: FrameType | None) -> None:
    """The main thread's handler of `KNOCK`: raises `Interrupted` in user code."""
    if _stopping and _is_inside(frame):
        raise Interrupted


def _is_inside(frame: FrameType | None) -> bool:
    """Whether the call stack of `frame` contains user code."""
    called = False
    while frame is not None:
        if frame.f_code in _DOORS:
            return called
        called = frame.f_code not in _OWN
        frame = frame.f_back
    return False


_DOORS = (take.__code__, call.__code__)
_OWN = (_enter.__code__, _leave.__code__)


def _raise_in(ident: int, kind: type[BaseException] | None) -> None:
    """Raises `kind` in the thread `ident` at its next bytecode, or withdraws a pending exception."""
    what = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), what)
