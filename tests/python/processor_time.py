"""Processor time of processes: what a test waits for that must not hang on how busy the machine is."""

import os
import subprocess
import time
from pathlib import Path


def processor_time(pid: int) -> float:
    """Seconds of a core that a process has had: proc_pid_stat(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def await_work(process: subprocess.Popen, seconds: float, pid: int | None = None) -> None:
    """Waits until `process`, or its child `pid`, has had so many more seconds of a core."""
    pid = process.pid if pid is None else pid
    begun = processor_time(pid)
    while processor_time(pid) < begun + seconds:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
