"""Reads a Darshan log with PyDarshan in a process of its own, with bounds on time and memory."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from odonata.base import optional_packages
from odonata.errors import InputError, is_mistake
from odonata.traces import reader_process
from odonata.traces.darshan_log import header
from odonata.traces.darshan_log.log import Log

_READER = reader_process.Reader(
    Path(__file__).with_name("worker.py"), "the package darshan", "the log", header.FILES, "log.json"
)
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
        raise _refused(path, f"the log cannot be read: {error.strerror}") from None
    except reader_process.NotWhole:
        if not incomplete:
            raise
    optional_packages.find("darshan", "reading a Darshan log", file=str(path))
    with tempfile.TemporaryDirectory(prefix="odonata-darshan-") as name:
        folder = Path(name)
        _READER.read(path, folder, memory=memory, seconds=seconds)
        return _collect(path, folder, incomplete)


def _collect(path: Path, folder: Path, incomplete: bool) -> Log:
    """The log from the tables in `folder`."""
    found = json.loads((folder / "log.json").read_text(encoding="utf-8"))
    problems = [(problem["where"], problem["text"]) for problem in found["problems"]]
    if "job" not in found:
        where, text = problems[0] if problems else ("log", "it cannot be read")
        raise _refused(path, f"PyDarshan refuses it: {where}: {text}")
    if problems and not incomplete:
        where, text = problems[0]
        raise reader_process.NotWhole(f"the log is damaged: {where}: {text}", path, header.FILES)
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
        raise _refused(path, f"the job record says that there were {log.ranks} processes")
    return log


def _refused(path: Path, problem: str) -> InputError:
    return InputError(problem, file=str(path), expected=header.FILES)
