"""The process in which one baseline runs: a job alone, to its own result folder.

It is started by `baselines.py`, reads one JSON object from standard input (a `runner.Task` and the folder)
and answers with one JSON object per line: `progress` now and then, at last `done` or `error`. When nobody
listens any more, because the process that started it is gone, it ends too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from odonata import runner
from odonata.errors import InputError

#: Wall time between two reports, in seconds.
REPORT_EVERY_S = 0.3


def main() -> None:
    """Runs what standard input asks for."""
    request = json.loads(sys.stdin.read())
    try:
        answer = {"done": _run(runner.Task(**request["task"]), Path(request["folder"]))}
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


def _run(task: runner.Task, folder: Path) -> dict[str, Any]:
    simulation = task.build()
    said_s = 0.0

    def report(now: runner.Progress) -> None:
        nonlocal said_s
        if now.wall_s - said_s >= REPORT_EVERY_S:
            said_s = now.wall_s
            _say({"progress": now.fraction})

    # No handlers: whoever started this process takes care of signals, and ends it when it has to.
    begin = time.perf_counter()
    runner.drive(simulation, report, runner.StopRequest())
    folder.mkdir(parents=True)
    runner.write(simulation, folder)
    run = runner.description(simulation)
    keys = ("outcome", "detail", "digest")
    return {key: run[key] for key in keys} | {"wall_s": time.perf_counter() - begin}


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _leave() -> None:
    """Ends without a word about the pipe, which the interpreter would try to flush once more."""
    os._exit(1)


if __name__ == "__main__":
    main()
