"""Runs a package that reads foreign files in a process of its own, with bounds on time and memory.

Foreign input may make such a package crash, loop or exhaust memory; only its process ends then. A worker is a
script with the functions that `reader_worker.py`, its host, calls. It prints each step; library messages go
to the file `complaints` in its folder. It has succeeded if it ends with 0 and its last file exists.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from odonata.errors import InputError, given

#: The host script: it sets the bounds, and runs the worker.
_BOUNDED = Path(__file__).parent / "reader_worker.py"
#: Bytes of library messages that are examined.
_SHOWN = 600


class NotWhole(InputError):
    """A damaged trace, of which `incomplete` reads the rest."""

    def __init__(self, problem: str, path: Path, expected: str, rest: str = " reads the rest") -> None:
        super().__init__(problem, file=str(path), expected=expected, hint=given("incomplete") + rest)


@dataclass(frozen=True)
class Reader:
    """A worker, and the words for its errors."""

    worker: Path
    #: The package or library that reads.
    package: str
    #: What it reads, as "the log", and the expectation in errors.
    what: str
    expected: str
    #: The file that the worker writes last.
    done: str

    def read(self, path: Path, folder: Path, *, memory: int, seconds: int) -> None:
        """Lets the worker read `path` into `folder`.

        Args:
            path: The file.
            folder: An empty folder for the results.
            memory: Address space of the reading process, in bytes.
            seconds: CPU time of the reading process.

        Raises:
            InputError: The worker fails, is stopped at a bound, or crashes; with the step and the reason.
        """
        command = [sys.executable, "-P", str(_BOUNDED), str(self.worker), str(path.absolute())]
        try:
            ended = subprocess.run(
                [*command, str(folder), self.done, str(memory), str(seconds)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                # Its CPU time limit normally stops it; this stops a process that waits.
                timeout=4 * seconds + 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._error(path, f"{self.package} did not come to an end") from None
        if ended.returncode == 0 and (folder / self.done).is_file():
            return
        steps = [line for line in ended.stdout.decode(errors="replace").split("\n") if line]
        complaints = folder / "complaints"
        text = complaints.read_bytes()[-_SHOWN:] if complaints.is_file() else ended.stderr[-_SHOWN:]
        problem = self._problem(ended.returncode, steps[-1] if steps else "start", memory, seconds)
        raise self._error(
            path, ": ".join([problem, *text.decode(errors="replace").strip().splitlines()[-1:]])
        )

    def _problem(self, code: int, step: str, memory: int, seconds: int) -> str:
        if step == "memory":
            return f"it takes more than {memory >> 20} MiB of memory to read"
        if step == f"package {self.package.rpartition(' ')[2]}":
            return f"{self.package} cannot be loaded"
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return f"reading the {step} took more than {seconds} s, or was killed"
        ending = f"crashed ({signal.Signals(-code).name})" if code < 0 else "failed"
        return f"{self.package} {ending} while it read the {step}: {self.what} is damaged"

    def _error(self, path: Path, problem: str) -> InputError:
        return InputError(problem, file=str(path), expected=self.expected)
