"""Waits of tests for a command: for its CPU time or its effects, independent of other load."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launcher import PATIENCE_S


def processor_time(pid: int) -> float:
    """CPU time of a process in seconds: proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def works(process: subprocess.Popen[Any], seconds: float, pid: int | None = None) -> bool:
    """Waits until `process`, or its child `pid`, has had this many more seconds of a core.

    False if it ended before.
    """
    pid = process.pid if pid is None else pid
    until = time.monotonic() + 2 * PATIENCE_S
    try:
        begun = processor_time(pid)
        while process.poll() is None and time.monotonic() < until:
            if processor_time(pid) >= begun + seconds:
                return True
            time.sleep(0.01)
    except (FileNotFoundError, ProcessLookupError):
        return False
    assert time.monotonic() < until, f"less than {seconds} s of a core in {2 * PATIENCE_S} s"
    return False


def await_work(process: subprocess.Popen[Any], seconds: float, pid: int | None = None) -> None:
    """Waits as `works`; the process must not end before."""
    assert works(process, seconds, pid), process.communicate()


def await_that(
    holds: Callable[[], Any], process: subprocess.Popen[Any] | None = None, patience_s: float = PATIENCE_S
) -> None:
    """Waits until a condition holds, while `process` runs."""
    until = time.monotonic() + patience_s
    while not holds():
        if process is not None:
            assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, f"not so after {patience_s} s"
        time.sleep(0.01)
