"""Handling of requests to stop a run: Ctrl-C, or SIGTERM from a batch system."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from odonata import _core
from odonata.errors import INTERRUPTED
from odonata.programs import user_code

if TYPE_CHECKING:
    from odonata.running.checkpoint import Checkpoints

#: Wall time after a signal before a run is interrupted within its slice, in seconds.
GRACE_S = 0.4

#: The same if SIGTERM should save a snapshot, which is impossible within an event.
GRACE_TO_SAVE_S = 5.0

#: Wall time between two attempts to interrupt user code.
DISTURB_EVERY_S = 0.1

#: The number of signals after which the process ends immediately, if user code blocks the others.
MOST_SIGNALS = 3


class Stop(Protocol):
    """Says whether work is to stop."""

    @property
    def requested(self) -> bool:
        """Whether it is."""


class Deadline:
    """Stops work when it is requested, and at a time of `time.monotonic`."""

    def __init__(self, stop: Stop, at_s: float) -> None:
        self._stop = stop
        self._at_s = at_s

    @property
    def requested(self) -> bool:
        """Whether the work is to stop."""
        return self._stop.requested or time.monotonic() >= self._at_s


class StopRequest:
    """While active, the first SIGINT or SIGTERM asks the run to stop; the second ends it at once.

    Batch systems send SIGTERM before they kill a job; a run with snapshots is then saved. Outside the main
    thread, where Python allows no handlers, nothing changes.

    Python calls handlers only in the main thread, between two bytecodes. A watcher thread receives signals
    through the wakeup descriptor, and so stops a run that is busy with one event or with user code.
    """

    def __init__(self) -> None:
        self.requested = False
        #: Whether the signal was SIGTERM: the batch system needs the computer.
        self.terminated = False
        #: Interrupts a run that was built with it, even within an event.
        self.interrupt = _core.Interrupt()
        #: Whether SIGTERM saves the run.
        self.saves = False
        self._signals = 0
        self._over = threading.Event()
        self._previous: dict[signal.Signals, Any] = {}
        self._wakeup: tuple[socket.socket, socket.socket, int] | None = None
        self._watcher: threading.Thread | None = None

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            receiver, sender = socket.socketpair()
            sender.setblocking(False)
            previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
            self._wakeup = (receiver, sender, previous)
            self._watcher = threading.Thread(
                target=self._watch, args=(receiver,), name="odonata-signals", daemon=True
            )
            self._watcher.start()
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._on_signal)
            self._previous[user_code.KNOCK] = signal.signal(user_code.KNOCK, user_code.on_knock)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()
        if self._wakeup is not None:
            receiver, sender, previous = self._wakeup
            signal.set_wakeup_fd(previous)
            sender.close()
            if self._watcher is not None:
                self._watcher.join()
            receiver.close()
            self._wakeup = None
        user_code.calm()

    def suspends(self, checkpoints: Checkpoints | None) -> bool:
        """Whether a run with these snapshots is to be saved and left, not ended."""
        return self.terminated and checkpoints is not None and checkpoints.interval_s is not None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1:
            raise KeyboardInterrupt
        self._note(number)

    def _note(self, number: int) -> None:
        self.terminated = self.terminated or (not self.requested and number == signal.SIGTERM)
        self.requested = True

    def _watch(self, receiver: socket.socket) -> None:
        """Waits for a signal, and then for the end of the run that it stops."""
        asked = (signal.SIGINT, signal.SIGTERM)
        while numbers := receiver.recv(64):
            number = next((number for number in numbers if number in asked), None)
            if number is None:
                continue
            self._note(number)
            grace_s = GRACE_TO_SAVE_S if self.terminated and self.saves else GRACE_S
            if self._over.wait(grace_s):
                return
            self.interrupt.ask()
            receiver.setblocking(False)
            more = 0
            while not self._over.wait(DISTURB_EVERY_S):
                user_code.disturb()
                with contextlib.suppress(BlockingIOError):
                    more += sum(number in asked for number in receiver.recv(64))
                if more >= MOST_SIGNALS - 1:
                    # User code that catches every exception cannot be ended otherwise.
                    os._exit(INTERRUPTED)
            return
