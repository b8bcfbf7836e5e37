"""The ranks of a job, from the exports of all its files, and their communicators.

A rank is a GPU of a process that has kernels or CUDA graphs. Its number is that of NCCL if the ranges of the
largest communicator give it for all ranks. Otherwise ranks are in the order of files, processes and devices.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from odonata.errors import InputError
from odonata.traces.nsys_export import calls, files, reader
from odonata.traces.nsys_export.calls import Call, Found
from odonata.traces.nsys_export.reader import Export

#: Most ranks of a program.
MOST_RANKS = 1 << 24


@dataclass(slots=True)
class Activity:
    """An activity on a stream: a kernel, a CUDA graph, a copy, or calls of NCCL that a kernel executes."""

    start: int
    end: int
    stream: tuple[int, int]
    name: str
    is_kernel: bool
    is_graph: bool = False
    #: Calls of NCCL; empty for computation.
    calls: list[Call] = field(default_factory=list)
    #: Whether it is a kernel of NCCL without a known call or size.
    unsized: bool = False
    #: Number of the call that launched it; 0 if not recorded.
    launch: int = 0


@dataclass
class Rank:
    """A GPU of a process."""

    file: Path
    process: int
    device: int
    #: In the order of their begin.
    activities: list[Activity] = field(default_factory=list)
    #: Waits of each stream: the waiting call, the other stream, and the call that recorded the event.
    waits: dict[tuple[int, int], list[tuple[int, tuple[int, int], int]]] = field(default_factory=dict)


@dataclass
class Job:
    """The content of all files."""

    name: str
    files: list[Path]
    ranks: list[Rank]
    #: Ranks of the job in each communicator, in the order of its own numbers.
    members: dict[str, list[int]]
    #: Number of ranks of a communicator, if NCCL recorded it.
    sizes: dict[str, int]
    #: Whether rank numbers are those of NCCL.
    numbered: bool
    counts: Counter[str] = field(default_factory=Counter)
    copied: Counter[str] = field(default_factory=Counter)
    #: Time on GPUs by kind.
    took_ns: Counter[str] = field(default_factory=Counter)
    #: Rows of unused tables, their time on GPUs, and other omissions, with counts.
    not_used: Counter[str] = field(default_factory=Counter)
    not_used_ns: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    #: Kernels of NCCL without a size, by name.
    unsized: Counter[str] = field(default_factory=Counter)


def read(path: Path) -> Job:
    """The job at `path`; `InputError` if a file cannot be read."""
    found = files.find(path)
    job = Job(path.stem if path.is_file() else path.name, found, [], {}, {}, False)
    parts = [_ranks_of_file(job, reader.read(file)) for file in found]
    ranks = [rank for part in parts for rank in part]
    if not ranks:
        raise files.wrong(path, "no GPU has run a kernel", "a recording with kernels")
    if len(ranks) > MOST_RANKS:
        raise files.wrong(path, f"it has {len(ranks)} GPUs")
    _number(job, ranks)
    return job


class _ProcessRank(Rank):
    """A rank with the data of its process."""

    memberships: dict[str, tuple[int, int]]


def _ranks_of_file(job: Job, export: Export) -> list[_ProcessRank]:
    """The ranks of a file, in the order of process and device."""
    found = calls.find(export)
    job.counts += Counter(export.counts)
    job.copied += Counter(export.copied)
    job.took_ns += Counter(export.took_ns)
    job.not_used += Counter(export.not_used)
    job.not_used_ns += Counter(export.not_used_ns)
    for count, what in (
        (export.other_ranges, "NVTX events that are not NCCL's, left out"),
        (export.unfinished, "NVTX ranges of NCCL without an end, left out"),
        (export.unknown_waits, "waits of streams for unrecorded events, left out"),
    ):
        if count:
            job.left_out[what] += count
    for name, count in found.others.items():
        job.left_out[f"NVTX ranges {name}, which carry no data: left out"] += count
    ranks: dict[tuple[int, int], _ProcessRank] = {}
    names = ("kind", "name", "process", "device", "context", "stream", "start", "end", "launch")
    shared = _share(job, export, found)
    columns = (export.activities[name].to_pylist() for name in names)
    rows = zip(*columns, strict=True)
    for place, (kind, name, process, device, context, stream, start, end, launch) in enumerate(rows):
        key = (process, device)
        rank = ranks.get(key)
        if rank is None:
            rank = ranks[key] = _ProcessRank(export.path, process, device)
            rank.memberships = {}
        activity = Activity(
            start, end, (context, stream), name, kind == "kernel", kind == "graph", launch=launch
        )
        if activity.is_kernel and name.startswith("nccl"):
            _communication(job, activity, place, found, shared)
        rank.activities.append(activity)
    _wait(export, list(ranks.values()))
    with_kernels = []
    for key in sorted(ranks):
        rank = ranks[key]
        if any(activity.is_kernel or activity.is_graph for activity in rank.activities):
            rank.activities.sort(key=lambda activity: (activity.start, activity.end))
            with_kernels.append(rank)
        else:
            job.left_out["copies of processes on GPUs without kernels, left out"] += len(rank.activities)
    for comm, members in found.members.items():
        _join(with_kernels, comm, members)
    return with_kernels


def _communication(
    job: Job, activity: Activity, place: int, found: Found, shared: dict[int, list[Call]]
) -> None:
    """The calls that a kernel of NCCL executes: the first kernel of a group all calls of its GPU, the others
    none.
    """
    if place not in found.of_kernel:
        activity.unsized = True
    elif place in shared:
        activity.calls = shared[place]
        activity.unsized = any(call.bytes is None for call in activity.calls)
        if activity.unsized:
            activity.calls = []
    else:
        # The time of such a group counts at its first kernel.
        activity.end = activity.start
        job.left_out["further kernels of groups of NCCL, which are one operation"] += 1
    if activity.unsized:
        job.unsized[activity.name] += 1


def _share(job: Job, export: Export, found: Found) -> dict[int, list[Call]]:
    """Calls of each group's kernels, by the position of the first kernel.

    A group of a process with several GPUs has the calls of all of them. They can be separated if each GPU has
    the same calls.
    """
    devices = export.activities["device"].to_pylist()
    starts = export.activities["start"].to_pylist()
    shared: dict[int, list[Call]] = {}
    for group in found.groups:
        kernels = sorted(group.kernels, key=lambda place: starts[place])
        first: dict[int, int] = {}
        for place in kernels:
            first.setdefault(devices[place], place)
        if not first:
            job.left_out[
                "calls of NCCL without a kernel (of one rank, or recorded in a CUDA graph), left out"
            ] += len(group.calls)
            continue
        parts = [group.calls[number :: len(first)] for number in range(len(first))]
        if any(
            part != parts[0] or (len(parts) > 1 and call.peer is not None) for part in parts for call in part
        ):
            parts = [[Call("unknown", "", None)]] * len(first)
            job.left_out["calls of groups over several GPUs that do not all have the same"] += len(
                group.calls
            )
        for part, device in zip(parts, sorted(first), strict=True):
            shared[first[device]] = part
    return shared


def _wait(export: Export, ranks: list[_ProcessRank]) -> None:
    """Assigns to each rank the waits of its streams; contexts separate the ranks of a process."""
    own = {(rank.process, activity.stream): rank for rank in ranks for activity in rank.activities}
    for row in export.waits.to_pylist():
        stream, other = (row["context"], row["stream"]), (row["from_context"], row["from_stream"])
        rank = own.get((row["process"], stream))
        if rank is not None and stream != other:
            rank.waits.setdefault(stream, []).append((row["wait"], other, row["record"]))
    for rank in ranks:
        for waited in rank.waits.values():
            waited.sort()


def _join(ranks: list[_ProcessRank], comm: str, members: list[calls.Member]) -> None:
    """Records the numbers of these ranks in a communicator: in a process with several GPUs, in their
    order.
    """
    by_process: dict[int, list[calls.Member]] = {}
    for member in members:
        by_process.setdefault(member.thread & ~0xFFFFFF, []).append(member)
    for process, inside in by_process.items():
        there = [rank for rank in ranks if rank.process == process]
        if len(there) == len(inside):
            for rank, member in zip(there, sorted(inside, key=lambda member: member.rank), strict=True):
                rank.memberships[comm] = (member.rank, member.nranks)


def _number(job: Job, ranks: list[_ProcessRank]) -> None:
    """Sorts the ranks, and fills in the communicators."""
    numbers: list[int] = []
    for rank in ranks:
        whole = [number for number, size in rank.memberships.values() if size == len(ranks)]
        if whole:
            numbers.append(whole[0])
    job.numbered = sorted(numbers) == list(range(len(ranks)))
    if job.numbered:
        ranks = [rank for _, rank in sorted(zip(numbers, ranks, strict=True), key=lambda pair: pair[0])]
    job.ranks = list(ranks)
    places: dict[str, dict[int, int]] = {}
    for number, rank in enumerate(ranks):
        for comm, (of_comm, size) in rank.memberships.items():
            if of_comm in places.setdefault(comm, {}):
                raise InputError(
                    f"communicator {comm} has two ranks {of_comm}",
                    file=str(rank.file),
                    expected="exports of one run",
                )
            places[comm][of_comm] = number
            job.sizes[comm] = max(size, job.sizes.get(comm, 0))
    called: dict[str, set[int]] = {}
    for number, rank in enumerate(ranks):
        for activity in rank.activities:
            for call in activity.calls:
                called.setdefault(call.comm, set()).add(number)
    for comm in sorted(called):
        numbered = places.get(comm, {})
        if called[comm] <= set(numbered.values()):
            job.members[comm] = [numbered[place] for place in sorted(numbered)]
        else:
            job.members[comm] = list(range(len(ranks))) if comm == "" else sorted(called[comm])
