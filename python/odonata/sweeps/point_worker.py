"""The process that executes runs of a sweep, one after the other.

`worker_process` starts it. It reads a JSON object per line from standard input (`Work.request`) and answers
each with lines on its original standard output: `progress` now and then, at last `done`. It ends when its
input or its reader is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import IO, Any

from odonata.errors import InputError
from odonata.running import runner
from odonata.sweeps import record

#: Wall time between two reports, in seconds.
REPORT_EVERY_S = 0.3


def main() -> None:
    """Executes the requests from standard input, until it ends."""
    # Output of user code must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        for line in sys.stdin:
            request = json.loads(line)
            _say(answers, {"done": carry_out(request, lambda share: _say(answers, {"progress": share}))})
    except BrokenPipeError:
        # Ends without flushing the pipe, which would fail once more.
        os._exit(1)


def carry_out(request: dict[str, Any], on_progress: Any) -> dict[str, Any]:
    """Executes `request`; returns its record."""
    key = request["key"]
    limit = _Limit(request["timeout_s"])
    try:
        with limit:
            kept = _run(key, runner.Task(**request["task"]), request["folder"], limit.stop, on_progress)
    except BrokenPipeError:
        raise
    except InputError as error:
        kept = record.failure(key, "wrong-input", " ".join(str(error).split()))
    except MemoryError as error:
        kept = record.failure(key, "out-of-memory", str(error) or "not enough memory")
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        kept = record.failure(key, "failed", f"{error.strerror or error}{place}")
    if limit.over:
        return record.failure(key, "timed-out", f"unfinished after {request['timeout_s']:g} s")
    return kept


def _run(
    key: str, task: runner.Task, folder: str | None, stop: runner.StopRequest, on_progress: Any
) -> dict[str, Any]:
    from odonata.analysis.tables import from_core
    from odonata.base.folder import ResultFolder
    from odonata.results.results import Results

    simulation = task.build(stop=stop)
    reported_s = 0.0

    def report(now: runner.Progress) -> None:
        nonlocal reported_s
        if now.wall_s - reported_s >= REPORT_EVERY_S:
            reported_s = now.wall_s
            on_progress(now.fraction)

    runner.drive(simulation, report, stop)
    run = runner.description(simulation)
    if folder is not None and not stop.requested:
        with ResultFolder(folder, replace=True) as made:
            runner.write(simulation, made.path)
            made.publish()
    needed = ("jobs", "messages", "ranks")
    kept = record.of_results(key, Results(run, {name: from_core(simulation, name) for name in needed}))
    if folder is not None:
        kept["folder"] = f"runs/{Path(folder).name}"
    return kept


class _Limit:
    """Stops a run at the end of its wall time."""

    def __init__(self, seconds: float | None) -> None:
        self.stop = runner.StopRequest()
        self.over = False
        self._timer = None if seconds is None else threading.Timer(seconds, self._end)

    def __enter__(self) -> None:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self.over = True
        self.stop.requested = True
        # The run may be busy with a single event.
        self.stop.interrupt.ask()


def _say(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
