"""I/O counters of jobs from their Darshan logs: bytes read and written, and the mean size of a call.

Counters are those of the POSIX interface and of streams, over all files and processes. A job names its log in
the column `darshan`, or a folder has logs with the id of the job in their names, as Darshan writes them:
`USER_EXECUTABLE_idJOB_...darshan`. Several logs of a job, one for each executable, add up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from odonata.batch_queue.job_list import Job, JobList, about
from odonata.batch_queue.profiles import LEAST_ACCESS, MOST_ACCESS
from odonata.errors import InputError

_ID = re.compile(r"_id(\d{1,18})[_-]")
#: Most logs of a folder.
MOST_LOGS = 1_000_000


def of_column(found: JobList) -> None:
    """Gives the jobs that name a log its counters; raises `InputError` for a log that cannot be read."""
    jobs = [job for job in found.jobs if job.darshan]
    for job in jobs:
        path = found.path.parent / job.darshan
        if not path.is_file():
            raise InputError(
                "there is no such Darshan log", file=str(found.path), line=job.line, key="darshan",
                value=job.darshan, expected="the path of a log, from the folder of the list",
            )  # fmt: skip
        _count(job, [path])
        job.darshan = ""
    _note(found, jobs)


def of_folder(found: JobList, folder: Path) -> None:
    """Gives the jobs whose ids are in the names of logs in `folder` their counters.

    Raises:
        InputError: There is no such folder, no log of a job of the list, or a log cannot be read.
    """
    known = {job.id: job for job in found.jobs}
    logs: dict[str, list[Path]] = {}
    try:
        for path in sorted(folder.rglob("*.darshan"))[:MOST_LOGS]:
            match = _ID.search(path.name)
            if match and match[1] in known:
                logs.setdefault(match[1], []).append(path)
    except OSError as error:
        raise _wrong(folder, f"cannot be read: {error.strerror}") from None
    if not logs:
        raise _wrong(folder, "no Darshan log of a job of the list")
    jobs = [known[id] for id in logs]
    for job in jobs:
        _count(job, logs[job.id])
    _note(found, jobs)


def _wrong(folder: Path, problem: str) -> InputError:
    return InputError(
        problem, file=str(folder), key="darshan",
        expected="logs with names such as ann_vasp_id4242_1-5-36000.darshan",
    )  # fmt: skip


def _count(job: Job, logs: Sequence[Path]) -> None:
    """Replaces the counters of storage of a job by those of its logs."""
    # numpy and PyDarshan are loaded on first use.
    from odonata.traces.darshan_log import accesses, reader

    read = written = calls = 0
    for path in logs:
        _, files = accesses.counted(reader.read(path))
        read += sum(file.bytes_read for file in files)
        written += sum(file.bytes_written for file in files)
        calls += sum(file.reads + file.writes for file in files)
    job.read_bytes, job.written_bytes = float(read), float(written)
    if calls and read + written:
        job.access_bytes = min(max((read + written) / calls, LEAST_ACCESS), MOST_ACCESS)


def _note(found: JobList, jobs: Sequence[Job]) -> None:
    """Records which jobs have counters of logs."""
    if jobs:
        rest = "bytes and sizes of calls from a Darshan log"
        found.assumptions.append(about([job.id for job in jobs], f"has {rest}", f"have {rest}"))
