"""Accounting records of Slurm: the output of `sacct --parsable2` or `--parsable`, with any columns.

Records of steps (`123.batch`) are not jobs; their counters of storage (`TRESUsageInTot`, `fs/disk`) count for
their job. Of several records with one id, as of a job that started again, the last one that ran counts.
Slurm prints counts of nodes that are multiples of 512 with units: `2K` are 2,048 nodes.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from pathlib import Path

from odonata.batch_queue.job_list import MOST_BYTES, MOST_NODES, MOST_SECONDS, Job, JobList
from odonata.batch_queue.lines import Line

#: Columns that are read, by their lower-case names; others are ignored.
ID, SUBMIT, START = "jobid", "submit", "start"
_ELAPSED = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2})(?:\.\d{1,9})?")
_DISK = re.compile(r"fs/disk=(\d{1,18}(?:\.\d{1,9})?)([KMGTP]?)")
_COUNT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)([KM])")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_MISSING = {"", "unknown", "none", "n/a", "none assigned"}


def read(path: Path, lines: Iterator[Line]) -> JobList:
    """The job list of accounting records."""
    found = JobList(path, [], "sacct")
    header = next(lines)
    names = [name.strip().lower() for name in header.text.rstrip("|").split("|")]
    for name in (ID, SUBMIT):
        if name not in names:
            raise header.error("a column is missing", name, expected="columns JobID and Submit")
    if not {"nnodes", "allocnodes", "nodelist"} & set(names):
        raise header.error("a column is missing", "nnodes", expected="NNodes, AllocNodes or NodeList")
    if not ({"elapsed", "elapsedraw"} & set(names) or {"start", "end"} <= set(names)):
        raise header.error("a column is missing", "elapsed", expected="Elapsed, ElapsedRaw, or Start and End")
    jobs: dict[str, Job] = {}
    for line in lines:
        cells = line.text.split("|")
        if len(cells) == len(names) + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != len(names):
            hint = "names may contain |: leave out JobName and Comment"
            raise line.error(
                "another number of fields than the header", str(len(cells)), expected=str(len(names)),
                hint=hint if len(cells) > len(names) else None,
            )  # fmt: skip
        values = dict(zip(names, (cell.strip() for cell in cells), strict=True))
        whole, _, step = line.name(values[ID], "JobID").partition(".")
        if step:
            if job := jobs.get(whole):
                _count_storage(line, job, values)
            continue
        job_ = _job(found, line, values, whole)
        if job_ is not None:
            jobs[whole] = job_
            _count_storage(line, job_, values)
    found.jobs = list(jobs.values())
    # A job whose other records never ran is in the list.
    for reason, ids in list(found.left_out.items()):
        found.left_out[reason] = [id for id in dict.fromkeys(ids) if id not in jobs]
        if not found.left_out[reason]:
            del found.left_out[reason]
    return found


def _job(found: JobList, line: Line, values: dict[str, str], name: str) -> Job | None:
    """The job of a record; None if it never ran."""
    start, end = (_moment(line, values.get(key, ""), key) for key in ("start", "end"))
    submit = _moment(line, values[SUBMIT], "submit")
    if submit is None:
        raise line.error(
            "a job without a submission", values[SUBMIT], "Submit", "a time, 2026-01-31T12:00:00"
        )
    run = _run_time(line, values)
    if run is None and start is not None and end is not None:
        run = end - start
    if start is None and "start" in values:
        found.leave_out("never started", name)
        return None
    if run is None or run <= 0:
        found.leave_out("without a run time", name)
        return None
    text = values.get("nodelist", "")
    listed = [] if text.lower() in _MISSING else line.hosts(text, "NodeList")
    found.count_listed(line, len(listed), "NodeList")
    count = values.get("nnodes") or values.get("allocnodes") or str(len(listed))
    if (parts := _COUNT.fullmatch(count)) is not None:
        count = repr(float(parts[1]) * _SCALE[parts[2]])
    nodes = line.whole(count, "NNodes", 0, MOST_NODES)
    if nodes == 0:
        found.leave_out("without nodes", name)
        return None
    found.hosts_of.pop(name, None)
    if listed and len(listed) == nodes:
        found.hosts_of[name] = listed
    elif listed:
        raise line.error("another number of nodes than listed", str(nodes), "NNodes", str(len(listed)))
    limit = values.get("timelimitraw", "")
    if limit.isascii() and limit.isdigit():
        limit_s: float | None = line.number(limit, "TimelimitRaw", most=MOST_SECONDS / 60) * 60
    else:
        limit_s = _duration(line, values.get("timelimit", ""), "Timelimit")
    priority = values.get("priority", "")
    depends = re.findall(r"after(?:any|ok|notok|corr)?:([\d_+:]+)", values.get("dependency", ""))
    return Job(
        id=name,
        submit_s=submit,
        nodes=nodes,
        run_s=run,
        start_s=start,
        limit_s=limit_s or None,
        user=line.name(values.get("user", ""), "User"),
        group=line.name(values.get("account", "") or values.get("group", ""), "Account"),
        partition=line.name(values.get("partition", "").split(",")[0], "Partition"),
        after=[other for group in depends for other in group.split("+")[0].split(":") if other],
        priority=line.number(priority, "Priority", 0, 1e15) if priority.lower() not in _MISSING else None,
        name=line.name(values.get("jobname", ""), "JobName"),
        application=line.name(values.get("comment", ""), "Comment"),
        line=line.line_number,
    )


def _moment(line: Line, text: str, field: str) -> float | None:
    """A time of a record in seconds; None if unknown."""
    if text.lower() in _MISSING:
        return None
    if text.isascii() and text.isdigit():
        return line.number(text, field, most=1e11)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise line.error("not a time", text, field, "a time, 2026-01-31T12:00:00") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def _run_time(line: Line, values: dict[str, str]) -> float | None:
    """The run time of a record in seconds."""
    if raw := values.get("elapsedraw"):
        return line.number(raw, "ElapsedRaw", most=MOST_SECONDS)
    return _duration(line, values.get("elapsed", ""), "Elapsed")


def _duration(line: Line, text: str, field: str) -> float | None:
    """A duration `[D-]HH:MM:SS` in seconds; None if unlimited or unknown."""
    if text.lower() in _MISSING | {"unlimited", "partition_limit", "invalid"}:
        return None
    parts = _ELAPSED.fullmatch(text)
    if parts is None:
        raise line.error("not a duration", text, field, "[D-]HH:MM:SS")
    days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    value = float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    if value > MOST_SECONDS:
        raise line.error("a duration out of range", text, field, f"at most {MOST_SECONDS:g} s")
    return value


def _count_storage(line: Line, job: Job, values: dict[str, str]) -> None:
    """Adds the storage counters of a record to its job."""
    for column, name in (("tresusageintot", "read_bytes"), ("tresusageouttot", "written_bytes")):
        if match := _DISK.search(values.get(column, "")):
            more = float(match[1]) * _SCALE[match[2]] + (getattr(job, name) or 0.0)
            if more > MOST_BYTES:
                raise line.error("a counter out of range", match[0], column, f"at most {MOST_BYTES:g} bytes")
            setattr(job, name, more)
