"""A process that executes runs of a sweep, seen from its parent.

A run that crashes or exhausts memory ends its process only. That is the outcome of the run, and the next run
gets a new process.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from odonata.running.baselines import LAST_WORDS, explain
from odonata.sweeps import record

#: Wall time beyond that of a run after which its process is killed, in seconds.
PATIENCE_S = 5.0


class WorkerProcess:
    """The process, started on demand."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._closed = False

    def run(self, request: dict[str, Any], on_progress: Callable[[float | None], None]) -> dict[str, Any]:
        """The record of the requested run; `on_progress` is called with its progress."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        limit = request["timeout_s"]
        timer = None if limit is None else threading.Timer(limit + PATIENCE_S, end)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has died; the reason is reported below
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                for line in process.stdout:
                    answer = json.loads(line)
                    if "done" in answer:
                        done: dict[str, Any] = answer["done"]
                        return done
                    on_progress(answer["progress"])
        finally:
            if timer is not None:
                timer.cancel()
        code = process.wait()
        words = self._last_words()
        self._forget()
        if late.is_set():
            return record.failure(request["key"], "timed-out", f"killed after {limit:g} s, unfinished")
        outcome, detail = explain(code, words)
        if outcome == "killed":
            detail = "its process was killed (signal 9), probably because memory ran out"
        return record.failure(request["key"], outcome, detail)

    def close(self) -> None:
        """Ends the process, even during a run."""
        self._closed = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._forget()
        if self._closed:
            raise RuntimeError("the process was closed")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, open for as long as the process runs
        package = str(Path(__file__).parents[2])
        search = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            # -P: a json.py in the user's folder must not be imported.
            [sys.executable, "-P", "-m", "odonata.sweeps.point_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | {"PYTHONPATH": search},
            # Only the main process handles Ctrl-C.
            start_new_session=True,
        )
        return self._process

    def _last_words(self) -> str:
        assert self._errors is not None
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - LAST_WORDS))
        return self._errors.read().decode(errors="replace").strip()

    def _forget(self) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
        if self._errors is not None:
            self._errors.close()
        self._process = self._errors = None
