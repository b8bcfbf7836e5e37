"""Reads a Darshan log with PyDarshan in a process of its own, with bounds on time and memory."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from odonata.base import optional_packages
from odonata.errors import InputError, given, is_mistake
from odonata.traces import reader_process
from odonata.traces.darshan_log import header
from odonata.traces.darshan_log.log import Log

_WORKER = Path(__file__).with_name("worker.py")
#: Address space of the reading process in bytes, and its CPU time in seconds.
MEMORY = 8 << 30
CPU_S = 300


def read(path: Path, *, incomplete: bool = False, memory: int = MEMORY, seconds: int = CPU_S) -> Log:
    """Reads the log at `path`.

    Args:
        path: The log.
        incomplete: Read a damaged log as far as possible; `Log.problems` lists the missing parts.
        memory: Address space of the reading process, in bytes.
        seconds: CPU time of the reading process.

    Raises:
        InputError: It is no log, is damaged, or PyDarshan refuses it, with the place and the reason; or
            PyDarshan is not installed.
        OSError: The computer fails.
    """
    try:
        header.check(path)
    except OSError as error:
        if not is_mistake(error):
            raise
        raise _refused(path, f"the log cannot be read: {error.strerror}", "") from None
    except InputError as error:
        # A damaged header is fatal; a truncated file is not.
        if not incomplete or not ("the file ends" in error.message or "behind it" in error.message):
            raise
    optional_packages.find("darshan", "reading a Darshan log", file=str(path))
    with tempfile.TemporaryDirectory(prefix="odonata-darshan-") as name:
        folder = Path(name)
        _work(path, folder, memory, seconds)
        return _collect(path, folder, incomplete)


def _work(path: Path, folder: Path, memory: int, seconds: int) -> None:
    """Lets the worker fill `folder`; raises `InputError` if it fails."""
    try:
        failure = reader_process.run(_WORKER, path, folder, done="log.json", memory=memory, seconds=seconds)
    except subprocess.TimeoutExpired:
        raise _refused(path, "PyDarshan did not come to an end", "") from None
    if failure is None:
        return
    step = failure.step or "start"
    if step == "memory":
        what = f"it takes more than {memory >> 20} MiB of memory to read"
    elif failure.out_of_time:
        what = f"reading the {failure.step or 'log'} took more than {seconds} s, or was killed"
    elif failure.signal:
        what = f"PyDarshan crashed ({failure.signal}) while it read the {step}: the log is damaged"
    elif step == "package darshan":
        what = "the package darshan cannot be loaded"
    else:
        what = f"PyDarshan failed while it read the {step}"
    raise _refused(path, what, failure.message)


def _collect(path: Path, folder: Path, incomplete: bool) -> Log:
    """The log from the tables in `folder`."""
    found = json.loads((folder / "log.json").read_text(encoding="utf-8"))
    problems = [(problem["where"], problem["text"]) for problem in found["problems"]]
    if "job" not in found:
        where, text = problems[0] if problems else ("log", "it cannot be read")
        raise _refused(path, f"PyDarshan refuses it: {where}: {text}", "")
    if problems and not incomplete:
        where, text = problems[0]
        error = _refused(path, f"the log is damaged: {where}: {text}", "")
        error.hint = given("incomplete") + " reads the rest"
        raise error
    tables = {
        file.name.removesuffix(".parquet"): pq.read_table(file) for file in sorted(folder.glob("*.parquet"))
    }
    log = Log(
        path,
        found["job"],
        found["job_metadata"],
        found["exe"],
        [tuple(mount) for mount in found["mounts"]],
        found["n_name_records"],
        found["modules"],
        problems,
        tables,
        found["pydarshan"],
    )
    if not 1 <= log.ranks <= 1 << 24:
        raise _refused(path, f"the job record says that there were {log.ranks} processes", "")
    return log


def _refused(path: Path, problem: str, message: str) -> InputError:
    return InputError(f"{problem}: {message}" if message else problem, file=str(path), expected=header.FILES)
