"""A package that reads foreign files, in a process of its own with bounds on time and memory.

What such a package is given may make it crash, loop or take all memory; only its process ends then. A worker
is a script with the functions that `reader_worker.py`, which is started with it, asks for. It prints each
step that it begins; complaints of libraries go to the file `complaints` in the folder that it is given. It
has succeeded if the file that tells so is there when it ends with 0.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: What is started: it sets the bounds, and goes on with the worker.
_BOUNDED = Path(__file__).parent / "reader_worker.py"
#: Bytes of what the library says that are looked at.
_SHOWN = 600


@dataclass(frozen=True)
class Failure:
    """How a process ended that did not come to the end of its work."""

    returncode: int
    #: The last step that it has begun; empty if none.
    step: str
    #: The last line of what the library complained of; empty if it did not.
    said: str

    @property
    def out_of_time(self) -> bool:
        """Whether the system ended it, as it does when its CPU time is over."""
        return self.returncode in (-signal.SIGXCPU, -signal.SIGKILL)

    @property
    def signal(self) -> str:
        """The name of the signal that ended it; empty if it ended itself."""
        return signal.Signals(-self.returncode).name if self.returncode < 0 else ""


def run(worker: Path, path: Path, folder: Path, *, done: str, memory: int, seconds: int) -> Failure | None:
    """Lets `worker` read `path` into `folder`; None if the file `done` is there afterwards.

    Raises:
        subprocess.TimeoutExpired: It waits, and does not come to an end.
    """
    ended = subprocess.run(
        [
            *(sys.executable, "-P", str(_BOUNDED), str(worker)),
            *(str(path.absolute()), str(folder), done, str(memory), str(seconds)),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        # It is stopped by its CPU time; this is for one that waits.
        timeout=4 * seconds + 60,
        check=False,
    )
    if ended.returncode == 0 and (folder / done).is_file():
        return None
    steps = [line for line in ended.stdout.decode(errors="replace").split("\n") if line]
    complaints = folder / "complaints"
    said = complaints.read_bytes()[-_SHOWN:] if complaints.is_file() else ended.stderr[-_SHOWN:]
    lines = said.decode(errors="replace").strip().splitlines()
    return Failure(ended.returncode, steps[-1] if steps else "", lines[-1] if lines else "")
