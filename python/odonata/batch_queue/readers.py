"""The job list of a file: SWF, accounting records of Slurm, or CSV, recognized by its content."""

from __future__ import annotations

import itertools
from pathlib import Path

from odonata.batch_queue import darshan_logs, hosts, job_list, sacct, swf
from odonata.batch_queue.hosts import Machine
from odonata.batch_queue.job_list import MOST_JOBS, JobList
from odonata.batch_queue.lines import Line, read_lines
from odonata.errors import InputError, given

#: What a job list may be.
KINDS = "SWF (18 numbers per line), sacct --parsable2 (JobID|Submit|...), or CSV (submit,nodes,run,...)"


def kind_of(path: Path) -> str | None:
    """The kind of job list at `path`; None for other files."""
    try:
        first = next(read_lines(path), None)
    except InputError:
        return None
    return None if first is None else _kind(first)


def _kind(first: Line) -> str | None:
    """The kind of job list with this first line."""
    text = first.text.strip()
    if text.startswith(";") or (
        len(words := text.split()) == len(swf.FIELDS) and all(map(_is_number, words))
    ):
        return "swf"
    if "jobid" in [name.strip().lower() for name in text.split("|")] and "|" in text:
        return "sacct"
    if _is_for_people(text):
        return None
    if "," in text and {"submit", "nodes", "run"} & {name.strip().lower() for name in text.split(",")}:
        return "csv"
    return None


def _is_for_people(text: str) -> bool:
    """Whether a text is the header of `sacct` in another form than --parsable2."""
    return "jobid" in text.lower().replace(",", " ").split()


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def read(path: Path, processors_per_node: int | None = None, machine: Machine | None = None) -> JobList:
    """The job list of a file, in the order of submission.

    Args:
        path: The file.
        processors_per_node: For SWF: the processors of a node; by default those of its header.
        machine: The machine whose nodes the hosts are.

    Raises:
        InputError: The file is no job list, or a field is wrong, with its line.
    """
    lines = read_lines(path)
    first = next(lines, None)
    kind = None if first is None else _kind(first)
    if first is None or kind is None:
        raise InputError(
            "not a job list",
            file=str(path),
            line=None if first is None else first.line_number,
            expected=KINDS,
            hint="`sacct` needs --parsable2" if first is not None and _is_for_people(first.text) else None,
        )
    if processors_per_node is not None and kind != "swf":
        raise InputError(
            "only SWF counts processors", file=str(path), key=given("processors_per_node"), expected="SWF"
        )
    if machine is not None and machine.hosts is not None and kind == "swf":
        raise InputError(
            "SWF does not name hosts",
            file=str(path),
            key=given("hosts"),
            expected="CSV, or records of `sacct`",
        )
    bounded = itertools.islice(lines, MOST_JOBS)
    every = itertools.chain([first], bounded)
    if kind == "swf":
        found = swf.read(path, every, processors_per_node)
    elif kind == "sacct":
        found = sacct.read(path, every)
    else:
        found = job_list.read_csv(path, every)
    if next(lines, None) is not None:
        raise InputError(f"more than {MOST_JOBS} lines", file=str(path), expected="a shorter list")
    hosts.number(found, machine or Machine())
    darshan_logs.of_column(found)
    return found.completed()
