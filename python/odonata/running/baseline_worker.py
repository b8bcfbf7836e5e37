"""The process that runs one baseline: a job alone, into its own result folder.

`baselines.py` starts it. It reads one JSON object from standard input: a `runner.Task`, the folder, the place
of its snapshots and their interval. It answers with one JSON object per line: `progress` now and then, at
last `done` or `error`. It ends when its reader, the process that started it, is gone.
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
    """Runs the task on standard input."""
    request = json.loads(sys.stdin.read())
    try:
        checkpoints = None
        if request["checkpoints"] is not None:
            folder, interval_s = request["checkpoints"]
            # A batch system sends SIGTERM to all processes; the process that started this one decides.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            # No reader shows warnings here; the main run reports a full disk.
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
        # A previous process may still be running, unaware that its run is gone, and may even complete it.
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

    # No handlers: the process that started this one handles signals, and ends this one if necessary.
    begin = time.perf_counter() - simulation.earlier_wall_s()
    runner.drive(simulation, report, runner.StopRequest(), checkpoints)
    # Not its parents: if they are gone, another process has removed the run.
    folder.mkdir()
    runner.write(simulation, folder)
    if checkpoints is not None:
        checkpoints.clear()
    run = runner.description(simulation)
    return {key: run[key] for key in ENDING} | {"wall_s": time.perf_counter() - begin}


def _build(task: runner.Task, checkpoints: Checkpoints | None) -> _core.Simulation:
    saved = None if checkpoints is None else checkpoints.latest()
    if saved is not None:
        # A baseline whose snapshot does not fit starts again, which costs time but no results.
        with contextlib.suppress(InputError):
            return task.build(saved.folder)
    return task.build()


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _leave() -> None:
    """Ends without flushing the pipe, which would fail once more."""
    os._exit(1)


if __name__ == "__main__":
    main()
