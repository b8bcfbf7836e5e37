"""The only place that starts and ends commands of tests.

A command starts as from an interactive shell: no signal is ignored or blocked. Standard input is empty. The
command has a session of its own, so that Ctrl-C at the terminal of the tests reaches only the tests.

A command ends with its test, however the test ends: `end_all` kills it and its children. If the test process
is killed, the kernel kills the command (Linux).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from surroundings import PRINTED

#: Seconds after which a command counts as hung: more than any needs beside others on one core.
PATIENCE_S = 300

#: Environment variable that marks a command and its children with the test process that started it.
MARK = "ODONATA_TEST_PROCESS"

#: Environment of a command that may write no large file: some releases of Python keep a partly written
#: compiled module, and every later import of it fails.
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}

#: Signals that tests send, and that a parent may ignore.
SIGNALS = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGALRM),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGTSTP),
)  # fmt: skip

#: prctl(2): the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

#: Unique mark of this test process.
_OWN = f"{os.getpid()}-{secrets.token_hex(4)}"


class Command(subprocess.Popen[Any]):
    """A command that is killed if a test leaves its `with` block by an exception."""

    def end(self) -> None:
        """Kills the command and its group, if it has not ended, and waits for its end."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self.kill()
        self.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.end()
        super().__exit__(kind, error, trace)


#: Commands that end with their test, and those that end with the last one.
_started: dict[str, list[Command]] = {"test": [], "lasting": []}


def start(
    command: Sequence[str | bytes | Path],
    *,
    before: Callable[[], None] | None = None,
    env: Mapping[str, str] | None = None,
    largest_file: int | None = None,
    lasting: bool = False,
    **options: Any,
) -> Command:
    """Starts a command that ends with its test, or with the last test if it is `lasting`.

    `before` is called in the new process before the command. The command can write no file larger than
    `largest_file` bytes, as on a full disk. Other options are those of `subprocess.Popen`.
    """
    kind = "lasting" if lasting else "test"

    def prepare() -> None:
        default_signals()
        end_with_parent()
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        if before is not None:
            before()

    options = {"stdin": subprocess.DEVNULL, "start_new_session": True} | options
    marked = {**PRINTED, **(os.environ if env is None else env), MARK: f"{_OWN}-{kind}"}
    if largest_file is not None:
        marked |= NO_BYTECODE
    started = Command(list(command), env=marked, preexec_fn=prepare, **options)
    _started[kind].append(started)
    return started


def run(
    command: Sequence[str | bytes | Path],
    *,
    timeout: float = PATIENCE_S,
    text: bool = True,
    input: str | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Starts a command and waits for its end; keeps its output, by default as text."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": text} | options
    with start(command, **options) as process:
        out, err = process.communicate(input, timeout=timeout)
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        assert done.returncode == 0, err
    return done


def default_signals() -> None:
    """Resets inherited signal handling: ignored and blocked signals."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def end_with_parent() -> None:
    """Makes the kernel kill this process when its parent ends."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def descendants(kind: str) -> list[int]:
    """The processes with the mark of this test process, also those in sessions of their own."""
    mark = f"{MARK}={_OWN}-{kind}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end_all(kind: str = "test") -> None:
    """Kills the running commands of this kind, and their children."""
    if not _started[kind]:
        return
    for process in reversed(_started[kind]):
        process.end()
    _started[kind].clear()
    for pid in descendants(kind):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
