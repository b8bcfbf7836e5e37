"""The Standard Workload Format of the Parallel Workloads Archive (version 2.2).

A line has 18 numbers, -1 for unknown ones; lines with `;` are the header (S. Chapin et al., JSSPP 1999,
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html). Processors become nodes by the processors of a
node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from odonata.base.wording import counted
from odonata.batch_queue.job_list import MOST_NODES, MOST_SECONDS, Job, JobList
from odonata.batch_queue.lines import Line
from odonata.errors import InputError

FIELDS = (
    "job", "submit", "wait", "run", "processors", "cpu", "memory", "requested processors", "requested time",
    "requested memory", "status", "user", "group", "executable", "queue", "partition", "preceding job",
    "think time",
)  # fmt: skip
#: Fields that the simulation does not read.
UNREAD = {"cpu", "memory", "requested memory"}
#: Statuses of lines for a part of a job that was stopped and continued; another line has the whole job.
PARTIAL = (2, 3, 4)


def read(path: Path, lines: Iterator[Line], processors_per_node: int | None) -> JobList:
    """The job list of an SWF file."""
    found = JobList(path, [], "swf")
    header: dict[str, str] = {}
    rows: list[tuple[Line, dict[str, float]]] = []
    for line in lines:
        text = line.text.strip()
        if text.startswith(";"):
            key, _, value = text.lstrip("; ").partition(":")
            header.setdefault(key.strip(), value.strip())
            continue
        words = text.split()
        if len(words) != len(FIELDS):
            raise line.error("not a job of SWF", str(len(words)), expected=f"{len(FIELDS)} numbers")
        values = {
            name: line.number(word, name, -1, MOST_SECONDS if name in ("submit", "wait", "run") else 1e15)
            for name, word in zip(FIELDS, words, strict=True)
            if name not in UNREAD
        }
        rows.append((line, values))
    per_node = processors_per_node or _from_header(found, header)
    if parts := sum(values["status"] in PARTIAL for _, values in rows):
        rows = [(line, values) for line, values in rows if values["status"] not in PARTIAL]
        found.assumptions.append(
            f"{counted(parts, 'line')} of partial executions (status 2 to 4) left out: whole jobs have lines."
        )
    for line, values in rows:
        id = f"{values['job']:.0f}"
        processors = values["processors"] if values["processors"] > 0 else values["requested processors"]
        if processors <= 0:
            found.leave_out("without processors", id)
            continue
        if values["run"] <= 0:
            found.leave_out("without a run time", id)
            continue
        if values["submit"] < 0:
            raise line.error("a job without a submission", "-1", "submit", "seconds")
        nodes = math.ceil(processors / per_node)
        if nodes > MOST_NODES:
            raise line.error(
                "too many processors", f"{processors:g}", "processors", f"at most {MOST_NODES} nodes"
            )
        wait, limit, before = values["wait"], values["requested time"], values["preceding job"]

        def name(key: str, values: dict[str, float] = values) -> str:
            return f"{values[key]:.0f}" if values[key] >= 0 else ""

        application = name("executable")
        found.jobs.append(
            Job(
                id=id,
                submit_s=values["submit"],
                nodes=nodes,
                run_s=values["run"],
                start_s=values["submit"] + wait if wait >= 0 else None,
                limit_s=min(limit, MOST_SECONDS) if limit > 0 else None,
                user=name("user"),
                group=name("group"),
                partition=name("partition"),
                after=[f"{before:.0f}"] if before > 0 else [],
                name=f"queue-{name('queue')}" if name("queue") else "",
                application=f"app-{application}" if application else "",
                line=line.line_number,
            )
        )
    if any(values["preceding job"] > 0 and values["think time"] > 0 for _, values in rows):
        found.assumptions.append("Think times after preceding jobs are left out.")
    return found


def _from_header(found: JobList, header: dict[str, str]) -> int:
    """Processors of a node, from `MaxProcs` and `MaxNodes`; otherwise 1."""
    counts = []
    for key in ("MaxProcs", "MaxNodes"):
        word = header.get(key, "").split()[0] if header.get(key, "").split() else ""
        counts.append(int(word) if word.isascii() and word.isdigit() and len(word) < 12 else 0)
    processors, nodes = counts
    if processors and nodes:
        if processors % nodes:
            raise InputError(
                "processors per node cannot be known from the header", file=str(found.path),
                value=f"MaxProcs {processors}, MaxNodes {nodes}", expected="a multiple",
                hint="state the processors per node",
            )  # fmt: skip
        per_node = processors // nodes
        found.assumptions.append(f"A node has {per_node} processors (MaxProcs / MaxNodes).")
        return per_node
    found.assumptions.append("A processor of the list is a node: its header does not say otherwise.")
    return 1
