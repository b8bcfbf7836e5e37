"""The process in which one baseline runs: a job alone, to its own result folder.

It is started by `baselines.py`, reads one JSON object from standard input (a `runner.Task`, the folder, where
its snapshots are and how often they are made) and answers with one JSON object per line: `progress` now and
then, at last `done` or `error`. When nobody listens any more, because the process that started it is gone, it
ends too.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base.lock import hold
from odonata.errors import InputError
from odonata.running import runner
from odonata.running.baselines import ENDING, ending
from odonata.running.checkpoint import Checkpoints

#: Wall time between two reports, in seconds.
REPORT_EVERY_S = 0.3


def main() -> None:
    """Runs what standard input asks for."""
    request = json.loads(sys.stdin.read())
    try:
        checkpoints = None
        if request["checkpoints"] is not None:
            folder, interval_s = request["checkpoints"]
            # A batch system that wants the computer tells all processes; the one that started this decides.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            # Nobody reads warnings here; a full disk is told by the run beside.
            checkpoints = Checkpoints(Path(folder), interval_s, warn=lambda _: None)
        answer = {"done": _run(runner.Task(**request["task"]), Path(request["folder"]), checkpoints)}
    except InputError as error:
        answer = {"error": {"name": "failed", "detail": str(error)}}
    except MemoryError:
        answer = {"error": {"name": "out-of-memory", "detail": "there was not enough memory"}}
    except BrokenPipeError:
        _leave()
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        answer = {"error": {"name": "failed", "detail": f"{error.strerror or error}{place}"}}
    try:
        _say(answer)
    except BrokenPipeError:
        _leave()


def _run(task: runner.Task, folder: Path, checkpoints: Checkpoints | None) -> dict[str, Any]:
    if checkpoints is not None:
        # A process before this one may not have noticed yet that its run is no more, and even complete it.
        hold(checkpoints.folder.with_name(f"{checkpoints.folder.name}.lock"), wait=True)
        done = ending(folder)
        if done is not None:
            return done
        shutil.rmtree(folder, ignore_errors=True)
    simulation = _build(task, checkpoints)
    said_s = 0.0

    def report(now: runner.Progress) -> None:
        nonlocal said_s
        if now.wall_s - said_s >= REPORT_EVERY_S:
            said_s = now.wall_s
            _say({"progress": now.fraction})

    # No handlers: whoever started this process takes care of signals, and ends it when it has to.
    begin = time.perf_counter() - simulation.earlier_wall_s()
    runner.drive(simulation, report, runner.StopRequest(), checkpoints)
    # Not its parents: where they are gone, somebody has cleared up after the run that this belongs to.
    folder.mkdir()
    runner.write(simulation, folder)
    if checkpoints is not None:
        checkpoints.clear()
    run = runner.description(simulation)
    return {key: run[key] for key in ENDING} | {"wall_s": time.perf_counter() - begin}


def _build(task: runner.Task, checkpoints: Checkpoints | None) -> _core.Simulation:
    saved = None if checkpoints is None else checkpoints.latest()
    if saved is not None:
        # A baseline whose snapshot does not fit is begun anew: that costs time, and no results.
        with contextlib.suppress(InputError):
            return task.build(saved.folder)
    return task.build()


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _leave() -> None:
    """Ends without a word about the pipe, which the interpreter would try to flush once more."""
    os._exit(1)


if __name__ == "__main__":
    main()
