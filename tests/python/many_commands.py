"""Many commands without the start of as many interpreters: each in a process of its own, forked from one.

Unlike a user's command, such a command finds its libraries imported, which takes longer than most commands.
`Server` is for tests; run as a program, this file is the forking process.
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

import launcher
import surroundings
from launcher import PATIENCE_S


class Server:
    """The process that forks the commands."""

    def __enter__(self) -> Self:
        self._process = launcher.start(
            [sys.executable, __file__], lasting=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=PATIENCE_S)
        self._process.stdout.close()

    def __call__(self, folder: Path, *arguments: str, largest_file: int | None) -> tuple[int, str, str]:
        """Exit code and output of a command in `folder`; no file may grow beyond `largest_file` bytes.

        Its environment is that of the test, which may have changed since the server started.
        """
        self._process.stdin.write(
            json.dumps([str(folder), largest_file, surroundings.PRINTED | os.environ, arguments]) + "\n"
        )
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def serve() -> None:
    """Runs the commands from standard input."""
    import gc
    import resource
    import signal
    import tempfile

    # Imports of the first declaration of JSON, and of the first table of pyarrow.
    import pandas  # noqa: F401
    import platformdirs  # noqa: F401
    import pyarrow.dataset  # noqa: F401
    import pydantic

    import odonata.analysis.comparison
    import odonata.analysis.comparison_page
    import odonata.analysis.explain_page
    import odonata.analysis.reference
    import odonata.analysis.summary_page
    import odonata.analysis.tables
    import odonata.answers
    import odonata.cli
    import odonata.load_curves.page
    import odonata.report
    import odonata.running.execute
    import odonata.scenario.check_report
    import odonata.timeline.links
    import odonata.traces.report

    # With the first of its types, pydantic looks for its plugins.
    pydantic.TypeAdapter(int)
    odonata.cli.application()
    # Objects that the collector never touches are never copied.
    gc.freeze()
    for line in sys.stdin:
        folder, largest, environment, arguments = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = os.fork()
            if process == 0:
                launcher.end_with_parent()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(environment)
                # Kills a hung command.
                signal.alarm(PATIENCE_S)
                if largest is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
                    sys.dont_write_bytecode = True  # launcher.NO_BYTECODE
                sys.argv = ["odonata", *arguments]
                _leave(odonata.cli.main)
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            output = []
            for stream in (out, err):
                stream.seek(0)
                output.append(stream.read().decode(errors="replace"))
        print(json.dumps([code, *output]), flush=True)


def _leave(main: Callable[[], None]) -> None:
    """Ends the process like `main`, without the slow cleanup of the interpreter."""
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
