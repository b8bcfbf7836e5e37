"""The jobs of a batch system: one record per job, and the CSV file that holds them.

Times are seconds from the first submission or start. A node list has node numbers of the machine. The file
has a header; its columns may stand in any order, and only `submit`, `nodes` and `run` are required.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from odonata.base.nearest import did_you_mean, nearest
from odonata.base.wording import counted
from odonata.batch_queue.lines import Line
from odonata.batch_queue.profiles import LEAST_ACCESS, MOST_ACCESS
from odonata.errors import InputError

#: Most jobs of a list, and most nodes of a job.
MOST_JOBS, MOST_NODES = 2_000_000, 1 << 24
#: Most nodes in the lists of all jobs together: some gigabytes.
MOST_LISTED_TOGETHER = 1 << 26
#: Ids that a sentence names, and characters of each.
SHOWN_IDS, LONGEST_SHOWN = 5, 40
#: Largest number of seconds (30 years), and of bytes.
MOST_SECONDS, MOST_BYTES = 1e9, 1e18
#: Most characters of a path.
LONGEST_PATH = 4096


@dataclass(slots=True)
class Job:
    """A job of a batch system."""

    id: str
    submit_s: float
    nodes: int
    #: Run time without contention.
    run_s: float
    #: Recorded start.
    start_s: float | None = None
    #: Time limit.
    limit_s: float | None = None
    #: Recorded nodes; empty: unknown.
    node_list: list[int] = field(default_factory=list)
    user: str = ""
    group: str = ""
    partition: str = ""
    #: Jobs that must have ended before this one starts, by id.
    after: list[str] = field(default_factory=list)
    priority: float | None = None
    name: str = ""
    application: str = ""
    #: Counters of the whole job.
    sent_bytes: float | None = None
    read_bytes: float | None = None
    written_bytes: float | None = None
    #: Mean bytes of a call that reads or writes.
    access_bytes: float | None = None
    #: A Darshan log whose counters are not read yet: its path from the folder of the list.
    darshan: str = ""
    #: Name of its application profile; empty before rules are applied.
    profile: str = ""
    #: Line of the file.
    line: int = 0


@dataclass
class JobList:
    """The jobs of a file, in the order of submission, and what was assumed or left out."""

    path: Path
    jobs: list[Job]
    #: The kind of file: `swf`, `sacct` or `csv`.
    kind: str
    #: Assumptions, a sentence each.
    assumptions: list[str] = field(default_factory=list)
    #: Reasons for which jobs were left out, with their ids.
    left_out: dict[str, list[str]] = field(default_factory=dict)
    #: Nodes in the lists of all jobs, and the hosts of jobs that name them, by id.
    listed: int = 0
    hosts_of: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, reason: str, id: str) -> None:
        """Records a job that is left out."""
        self.left_out.setdefault(reason, []).append(id)

    @property
    def notes(self) -> list[str]:
        """What was left out or assumed, a sentence each."""
        left = [
            about(ids, f"is left out, {reason}", f"are left out, {reason}")
            for reason, ids in self.left_out.items()
        ]
        return left + self.assumptions

    def count_listed(self, line: Line, nodes: int, column: str) -> None:
        """Counts the nodes in the list of a job.

        Raises:
            InputError: The lists of the file have too many nodes together.
        """
        self.listed += nodes
        if self.listed > MOST_LISTED_TOGETHER:
            raise line.error(
                "too many nodes in the lists of all jobs",
                str(self.listed),
                column,
                f"at most {MOST_LISTED_TOGETHER}",
            )

    def completed(self) -> JobList:
        """Orders the jobs, counts times from the first one, and checks the dependencies.

        Raises:
            InputError: The file has no job, two jobs have one id, or a dependency is circular.
        """
        if not self.jobs:
            reasons = "; ".join(f"{counted(len(ids), 'job')} {why}" for why, ids in self.left_out.items())
            raise InputError(
                "no job to simulate", file=str(self.path), value=reasons or None,
                expected="at least one job with nodes and a run time",
            )  # fmt: skip
        self.jobs.sort(key=lambda job: job.submit_s)
        first = min(
            min(job.submit_s, job.submit_s if job.start_s is None else job.start_s) for job in self.jobs
        )
        known: dict[str, Job] = {}
        for job in self.jobs:
            job.submit_s -= first
            if job.start_s is not None:
                job.start_s -= first
            if other := known.get(job.id):
                raise InputError(
                    "two jobs have one id", file=str(self.path), line=max(job.line, other.line), key="job",
                    value=job.id, expected=f"another id than the job of line {min(job.line, other.line)}",
                )  # fmt: skip
            known[job.id] = job
        waiting = []
        for job in self.jobs:
            kept = [other for other in job.after if other in known]
            if len(kept) < len(job.after):
                waiting.append(job.id)
            job.after = kept
        if waiting:
            jobs = "depends on jobs", "depend on jobs"
            rest = "outside the list, which are taken as ended"
            self.assumptions.append(about(waiting, *(f"{one} {rest}" for one in jobs)))
        self._refuse_circles(known)
        return self

    def _refuse_circles(self, known: dict[str, Job]) -> None:
        """Raises `InputError` if jobs wait for each other."""
        waits = {job.id: len(job.after) for job in self.jobs}
        followers: dict[str, list[str]] = {}
        for job in self.jobs:
            for other in job.after:
                followers.setdefault(other, []).append(job.id)
        ready = [name for name, count in waits.items() if count == 0]
        while ready:
            for follower in followers.get(ready.pop(), []):
                waits[follower] -= 1
                if waits[follower] == 0:
                    ready.append(follower)
        stuck = next((name for name, count in waits.items() if count), None)
        if stuck is None:
            return
        # Every job that is left waits for another one that is left: the walk ends in a circle.
        walked: dict[str, None] = {}
        while stuck not in walked:
            walked[stuck] = None
            stuck = next(other for other in known[stuck].after if waits[other])
        circle = list(walked)
        circle = circle[circle.index(stuck) :]
        first = min(circle, key=lambda name: known[name].line)
        turned = circle[circle.index(first) :] + circle[: circle.index(first)]
        shown = turned[:SHOWN_IDS]
        more = f" and {len(turned) - len(shown)} more" if len(turned) > len(shown) else ""
        names = shown if more else [*shown, first]
        raise InputError(
            "jobs wait for each other", file=str(self.path), line=known[first].line, key="after",
            value=" after ".join(name[:LONGEST_SHOWN] for name in names) + more,
            expected="dependencies without a circle",
        )  # fmt: skip


#: Columns of the CSV file with their meaning.
COLUMNS = {
    "job": "id; default: number of the row",
    "submit": "submission, seconds; required",
    "start": "recorded start, seconds",
    "nodes": "number of nodes; required",
    "node_list": "recorded nodes: numbers and ranges such as `0-3 8`, or hosts such as `nid[001-004]`",
    "run": "run time without contention, seconds; required",
    "limit": "time limit, seconds; 0: none",
    "user": "user",
    "group": "group or account",
    "partition": "partition",
    "priority": "priority; larger goes first",
    "after": "ids of jobs that must have ended, separated by spaces",
    "name": "name of the job",
    "application": "name of the application",
    "sent_bytes": "bytes that all nodes sent",
    "read_bytes": "bytes that all nodes read from storage",
    "written_bytes": "bytes that all nodes wrote to storage",
    "access_bytes": "mean bytes of a call that reads or writes",
    "darshan": "Darshan log, whose counters replace those of storage: its path from the folder of the list",
    "profile": "application profile",
}
REQUIRED = ("submit", "nodes", "run")


def read_csv(path: Path, lines: Iterator[Line]) -> JobList:
    """The job list of a CSV file."""
    found = JobList(path, [], "csv")
    header = next(lines)
    names = [name.strip().lower() for name in _cells(header)]
    for name in names:
        if name not in COLUMNS:
            raise header.error(
                "unknown column", name or "(empty)", expected=f"one of {', '.join(COLUMNS)}",
                hint=did_you_mean(nearest(name, COLUMNS)),
            )  # fmt: skip
        if names.count(name) > 1:
            raise header.error("a column twice", name, expected="every column once")
    for name in REQUIRED:
        if name not in names:
            raise header.error("a column is missing", name, expected=f"a column `{name}`")
    for row, line in enumerate(lines, 1):
        cells = _cells(line)
        if len(cells) != len(names):
            raise line.error(
                "another number of fields than the header", str(len(cells)), expected=f"{len(names)} fields"
            )
        values = dict(zip(names, (cell.strip() for cell in cells), strict=True))
        id = line.name(values.get("job", "") or str(row), "job")
        run = line.number(values["run"], "run", most=MOST_SECONDS)
        if run == 0:
            found.leave_out("without a run time", id)
            continue
        nodes = line.whole(values["nodes"], "nodes", 1, MOST_NODES)
        node_list, hosts = _listed(line, values.get("node_list", ""))
        listed = len(node_list) + len(hosts)
        found.count_listed(line, listed, "node_list")
        if listed and listed != nodes:
            raise line.error("another number of nodes than listed", str(nodes), "nodes", str(listed))
        if hosts:
            found.hosts_of[id] = hosts

        def optional(
            name: str, most: float, line: Line = line, values: dict[str, str] = values
        ) -> float | None:
            return line.number(values[name], name, most=most) if values.get(name) else None

        priority = values.get("priority", "")
        found.jobs.append(
            Job(
                id=id,
                submit_s=line.number(values["submit"], "submit", most=MOST_SECONDS),
                nodes=nodes,
                run_s=run,
                start_s=optional("start", MOST_SECONDS),
                limit_s=optional("limit", MOST_SECONDS) or None,
                node_list=node_list,
                **{
                    name: line.name(values.get(name, ""), name)
                    for name in ("user", "group", "partition", "name", "application", "profile")
                },
                after=[line.name(name, "after") for name in values.get("after", "").split()],
                priority=line.number(priority, "priority", -1e15, 1e15) if priority else None,
                sent_bytes=optional("sent_bytes", MOST_BYTES),
                read_bytes=optional("read_bytes", MOST_BYTES),
                written_bytes=optional("written_bytes", MOST_BYTES),
                access_bytes=_access(line, values.get("access_bytes", "")),
                darshan=_path(line, values.get("darshan", "")),
                line=line.line_number,
            )
        )
    return found


def _access(line: Line, text: str) -> float | None:
    """The mean size of a call."""
    return line.number(text, "access_bytes", LEAST_ACCESS, MOST_ACCESS) if text else None


def _path(line: Line, text: str) -> str:
    """The path of a file."""
    if len(text) > LONGEST_PATH or "\0" in text:
        raise line.error("not a path", ascii(text), "darshan", f"at most {LONGEST_PATH} characters")
    return text


def _listed(line: Line, text: str) -> tuple[list[int], list[str]]:
    """The nodes of a list, or its hosts: names that do not begin with a digit."""
    if not text or text[0].isdigit():
        return line.nodes(text, "node_list"), []
    return [], line.hosts(",".join(part.strip(",") for part in text.split()), "node_list")


def _cells(line: Line) -> list[str]:
    """The fields of a line."""
    try:
        rows = list(csv.reader([line.text], strict=True))
    except csv.Error as error:
        raise line.error(
            f"not a line of CSV: {error}", line.text, expected="fields with commas between"
        ) from None
    return rows[0] if rows else [""]


def csv_text(jobs: Iterable[Job]) -> str:
    """The CSV file of jobs; columns without a value are left out."""
    rows = [_row(job) for job in jobs]
    names = [name for name in COLUMNS if name in REQUIRED or any(row[name] for row in rows)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row[name] for name in names] for row in rows)
    return text.getvalue()


def _row(job: Job) -> dict[str, str]:
    """The fields of a job."""
    return {
        "job": job.id,
        "submit": _number(job.submit_s),
        "start": _number(job.start_s),
        "nodes": str(job.nodes),
        "node_list": ranges(job.node_list),
        "run": _number(job.run_s),
        "limit": _number(job.limit_s),
        "user": job.user,
        "group": job.group,
        "partition": job.partition,
        "priority": _number(job.priority),
        "after": " ".join(job.after),
        "name": job.name,
        "application": job.application,
        "sent_bytes": _number(job.sent_bytes),
        "read_bytes": _number(job.read_bytes),
        "written_bytes": _number(job.written_bytes),
        "access_bytes": _number(job.access_bytes),
        "darshan": job.darshan,
        "profile": job.profile,
    }


def _number(value: float | None) -> str:
    """A number without trailing digits; empty without one.

    >>> _number(60.0), _number(0.5), _number(None)
    ('60', '0.5', '')
    """
    if value is None:
        return ""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def about(ids: Sequence[str], one: str, several: str) -> str:
    """A sentence about jobs, with the ids of the first ones.

    >>> about(["7"], "is left out", "are left out")
    '1 job is left out: 7.'
    >>> about([str(id) for id in range(8)], "has no time limit", "have no time limit")
    '8 jobs have no time limit: 0, 1, 2, 3, 4 and 3 more.'
    """
    return f"{counted(len(ids), 'job')} {one if len(ids) == 1 else several}: {first_of(ids, len(ids))}."


def too_large(ids: Sequence[str], most: str) -> str:
    """A sentence about jobs that need more than the nodes named `most`.

    >>> too_large(["7"], "4 compute nodes of the machine")
    '1 job needs more than the 4 compute nodes of the machine and never fits: 7.'
    """
    rest = f"more than the {most} and never"
    return about(ids, f"needs {rest} fits", f"need {rest} fit")


def first_of(ids: Sequence[str], count: int) -> str:
    """The first ids of `count` jobs, and how many more there are.

    >>> first_of(["a", "b"], 9)
    'a, b and 7 more'
    """
    shown = ids[:SHOWN_IDS]
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(id[:LONGEST_SHOWN] for id in shown) + more


def ranges(nodes: list[int]) -> str:
    """Node numbers with ranges, in the order of the list.

    >>> ranges([0, 1, 2, 8, 4, 5])
    '0-2 8 4-5'
    """
    parts: list[list[int]] = []
    for node in nodes:
        if parts and parts[-1][-1] + 1 == node:
            parts[-1] = [parts[-1][0], node]
        else:
            parts.append([node])
    return " ".join("-".join(map(str, part)) for part in parts)
