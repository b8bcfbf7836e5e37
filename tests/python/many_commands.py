"""Many commands without waiting for as many interpreters: each in a process of its own, forked from one.

What differs from a user's command is that the libraries have been imported before. `Server` is for tests;
run as a program, this file is the process that forks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE_S = 120


class Server:
    """The process from which commands are forked."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"COLUMNS": "110", "NO_COLOR": "1"},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=PATIENCE_S)
        self._process.stdout.close()

    def __call__(self, folder: Path, *arguments: str, largest_file: int | None) -> tuple[int, str, str]:
        """Exit code and output of a command in `folder`, where no file may grow larger than so many bytes."""
        self._process.stdin.write(json.dumps([str(folder), largest_file, arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def serve() -> None:
    """Runs the commands that standard input asks for."""
    import gc
    import resource
    import tempfile

    import odonata.cli
    import odonata.comparison_page
    import odonata.execute
    import odonata.load_sweep_page
    import odonata.summary_page
    import odonata.tables
    import odonata.trace_report

    # What is never looked at is never copied.
    gc.freeze()
    for line in sys.stdin:
        folder, largest, arguments = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = os.fork()
            if process == 0:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.chdir(folder)
                if largest is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
                sys.argv = ["odonata", *arguments]
                _leave(odonata.cli.main)
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            said = []
            for stream in (out, err):
                stream.seek(0)
                said.append(stream.read().decode(errors="replace"))
        print(json.dumps([code, *said]), flush=True)


def _leave(main: Callable[[], None]) -> None:
    """Ends the process as `main` ends it, but for the tidying up of the interpreter, which takes longest."""
    try:
        main()
        code = 0
    except SystemExit as error:
        code = error.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
