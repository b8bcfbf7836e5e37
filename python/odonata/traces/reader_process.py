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

#: The host script: it sets the bounds, and runs the worker.
_BOUNDED = Path(__file__).parent / "reader_worker.py"
#: Bytes of library messages that are examined.
_SHOWN = 600


@dataclass(frozen=True)
class Failure:
    """The end of a process that did not complete its work."""

    returncode: int
    #: The last step that it has started; empty if none.
    step: str
    #: The last line of the library's messages; empty without any.
    message: str

    @property
    def out_of_time(self) -> bool:
        """Whether the system ended it because its CPU time was over."""
        return self.returncode in (-signal.SIGXCPU, -signal.SIGKILL)

    @property
    def signal(self) -> str:
        """The name of the signal that ended it; empty without one."""
        return signal.Signals(-self.returncode).name if self.returncode < 0 else ""


def run(worker: Path, path: Path, folder: Path, *, done: str, memory: int, seconds: int) -> Failure | None:
    """Lets `worker` read `path` into `folder`; returns None if the file `done` exists afterwards.

    Raises:
        subprocess.TimeoutExpired: It waits forever.
    """
    ended = subprocess.run(
        [
            *(sys.executable, "-P", str(_BOUNDED), str(worker)),
            *(str(path.absolute()), str(folder), done, str(memory), str(seconds)),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        # Its CPU time limit normally stops it; this stops a process that waits.
        timeout=4 * seconds + 60,
        check=False,
    )
    if ended.returncode == 0 and (folder / done).is_file():
        return None
    steps = [line for line in ended.stdout.decode(errors="replace").split("\n") if line]
    complaints = folder / "complaints"
    message = complaints.read_bytes()[-_SHOWN:] if complaints.is_file() else ended.stderr[-_SHOWN:]
    lines = message.decode(errors="replace").strip().splitlines()
    return Failure(ended.returncode, steps[-1] if steps else "", lines[-1] if lines else "")
