"""Code of users that Odonata calls, and how it is stopped.

A signal is heard by Python's main thread, between two steps of Python. The code of a user that computes for
long, or for ever, would not notice: handlers of this package only make a note. So while a run is being
stopped, `Interrupted` is raised in it, again and again until it is over: it may have been caught.
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

#: Makes the main thread look whether it is to be stopped, also out of a system call that waits; without
#: handler, it does nothing.
KNOCK = signal.SIGURG


class Interrupted(BaseException):
    """Raised in the code of a user whose run is to end."""


#: How deep each thread is in the code of users.
_depth: dict[int, int] = {}
#: Held while another thread is disturbed, and when a thread has left and may have been.
_lock = threading.Lock()
#: Whether threads are disturbed.
_stopping = False


def take(iterator: Iterator[Any], count: int) -> tuple[list[Any], bool, BaseException | None]:
    """The next of a user's iterator, at most `count`; whether there may be more; and what it raised."""
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
    """What a user's function returns; or raises."""
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
            # What comes too late is not to be raised elsewhere.
            _raise_in(ident, None)


def disturb() -> None:
    """Raises `Interrupted` in all code of users that runs; called again and again, from another thread."""
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
    """Ends what `disturb` has begun."""
    global _stopping
    _stopping = False


def on_knock(number: int, frame: FrameType | None) -> None:
    """The main thread's handler of `KNOCK`: raises `Interrupted` if it is in the code of a user."""
    if _stopping and _is_inside(frame):
        raise Interrupted


def _is_inside(frame: FrameType | None) -> bool:
    """Whether a thread that is at `frame` is in the code of a user, or in what that has called."""
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
    """Has `kind` raised in the thread `ident` at its next step, or takes back what was to be raised."""
    what = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), what)
