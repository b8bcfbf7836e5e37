"""Calls of NCCL, from NVTX ranges, and the kernels that each group of calls has launched.

A kernel has the number of the CUDA call that launched it. That call lies within a range of NCCL on the same
thread: of one call, or of the `ncclGroupEnd` that closes several. Sizes and peers are in the payload of the
range, or in its text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from odonata.traces.nsys_export.reader import Export

#: Operations of collectives and messages, by the name of the call.
KINDS = {
    "ncclAllReduce": "allreduce",
    "ncclAllGather": "allgather",
    "ncclReduceScatter": "reduce_scatter_block",
    "ncclBroadcast": "broadcast",
    "ncclBcast": "broadcast",
    "ncclReduce": "reduce",
    "ncclAlltoAll": "alltoall",
    "ncclGather": "gather",
    "ncclScatter": "scatter",
    "ncclSend": "send",
    "ncclRecv": "recv",
}
#: Operations by the name of the kernel.
OF_KERNEL = {
    "AllReduce": "allreduce",
    "AllGather": "allgather",
    "ReduceScatter": "reduce_scatter_block",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
}
_KERNEL = re.compile(r"nccl\w*?[Kk]ernel_?(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce)(?![a-zA-Z])")
_NAME = re.compile(r"nccl[A-Za-z]+")
#: Fields in the text of ranges, `key value` or `key: value`, and their names here.
_TEXT = {
    "bytes": re.compile(r"\bdata_size:? (\d{1,18})\b"),
    "peer": re.compile(r"\b(?:receiver_rank|sender_rank|peer):? (\d{1,9})\b"),
    "root": re.compile(r"\broot:? (\d{1,9})\b"),
    "nranks": re.compile(r"\bnranks:? (\d{1,9})\b"),
    "rank": re.compile(r"\brank:? (\d{1,9})\b"),
}
_COMM = re.compile(r"\bcommHash:? (0x[0-9a-fA-F]{1,16})\b")


@dataclass
class Call:
    """A call of NCCL that transfers data."""

    kind: str
    #: Number of the communicator; empty if it is not recorded.
    comm: str
    #: Bytes as NCCL counts them: the contribution of a member; for a reduce-scatter, its result. None if not
    #: recorded.
    bytes: int | None
    peer: int | None = None
    root: int | None = None


@dataclass
class Group:
    """Calls whose kernels are launched together."""

    calls: list[Call]
    start: int
    end: int
    #: Positions of its kernels in the table of activities.
    kernels: list[int] = field(default_factory=list)


@dataclass
class Member:
    """The data of a process when it joined a communicator."""

    thread: int
    rank: int
    nranks: int


@dataclass
class Found:
    """Calls of an export."""

    groups: list[Group] = field(default_factory=list)
    #: The group of each kernel of NCCL that has one, by its position in the table of activities.
    of_kernel: dict[int, Group] = field(default_factory=dict)
    #: Members of each communicator.
    members: dict[str, list[Member]] = field(default_factory=dict)
    #: Ranges of NCCL without transfer, by name, and groups that were not closed.
    others: dict[str, int] = field(default_factory=dict)


def kind_of_kernel(name: str) -> str | None:
    """The collective of a kernel, by its name; `None` for messages and unknown names."""
    found = _KERNEL.match(name)
    return OF_KERNEL[found[1]] if found else None


def find(export: Export) -> Found:
    """Calls, groups and their kernels."""
    found = Found()
    rows = export.calls.to_pylist()
    threads: dict[int, list[dict[str, object]]] = {}
    for row in rows:
        _complete(row)
        threads.setdefault(row["thread"], []).append(row)
    by_thread = {thread: _groups(sorted(ranges, key=_order), found) for thread, ranges in threads.items()}
    for groups in by_thread.values():
        found.groups += groups
    _launched(export, by_thread, found)
    return found


def _order(row: dict[str, object]) -> tuple[int, int]:
    start, end = row["start"], row["end"]
    assert isinstance(start, int)
    assert isinstance(end, int)
    return start, -end


def _complete(row: dict[str, object]) -> None:
    """Adds the fields that only the text has."""
    text = row["text"]
    assert isinstance(text, str)
    for name, pattern in _TEXT.items():
        if row[name] is None:
            parsed = pattern.search(text)
            row[name] = int(parsed[1]) if parsed else None
    if row["comm"] is None:
        parsed = _COMM.search(text)
        row["comm"] = f"0x{int(parsed[1], 16):x}" if parsed else None


def _groups(rows: list[dict[str, object]], found: Found) -> list[Group]:
    """Groups of a thread, whose ranges are in time order, outer ones first."""
    groups: list[Group] = []
    open_group: Group | None = None
    depth = 0
    #: The enclosing call, and its end: calls may be nested ranges, and contain groups.
    outer, outer_end = None, -1
    for row in rows:
        name = _name(row)
        start, end = -1, -1
        if isinstance(row["start"], int) and isinstance(row["end"], int):
            start, end = row["start"], row["end"]
        if start < outer_end or (start == outer_end and end == outer_end):
            if outer is not None and KINDS.get(name) == outer.kind:
                _merge(outer, row)
            continue
        if name == "ncclGroupStart":
            depth += 1
            if open_group is None:
                open_group = Group([], start, end)
        elif name == "ncclGroupEnd":
            depth = max(0, depth - 1)
            if open_group is not None and depth == 0:
                open_group.end = end
                groups.append(open_group)
                open_group = None
        elif name in KINDS:
            call = Call(KINDS[name], "", None)
            _merge(call, row)
            outer, outer_end = call, end
            if open_group is None:
                groups.append(Group([call], start, end))
            else:
                open_group.calls.append(call)
        else:
            if isinstance(row["rank"], int) and isinstance(row["nranks"], int) and row["comm"]:
                thread = row["thread"]
                assert isinstance(thread, int)
                member = Member(thread, row["rank"], row["nranks"])
                known = found.members.setdefault(str(row["comm"]), [])
                if member not in known:
                    known.append(member)
            found.others[name] = found.others.get(name, 0) + 1
    if open_group is not None:
        found.others["ncclGroupStart without an end"] = 1 + found.others.get(
            "ncclGroupStart without an end", 0
        )
    return [group for group in groups if group.calls]


def _name(row: dict[str, object]) -> str:
    parsed = _NAME.match(str(row["text"]))
    return parsed[0] if parsed else "commHash"


def _merge(call: Call, row: dict[str, object]) -> None:
    """Adds the fields of a range to a call."""
    call.comm = call.comm or str(row["comm"] or "")
    for name in ("bytes", "peer", "root"):
        value = row[name]
        if getattr(call, name) is None and isinstance(value, int) and value >= 0:
            setattr(call, name, value)


def _launched(export: Export, by_thread: dict[int, list[Group]], found: Found) -> None:
    """Assigns each kernel of NCCL to the group in whose range it was launched."""
    begins = {thread: [group.start for group in groups] for thread, groups in by_thread.items()}
    launches: dict[tuple[int, int], tuple[int, int]] = {}
    table = export.launches
    for thread, launch, start in zip(
        *(table[name].to_pylist() for name in ("thread", "launch", "start")), strict=True
    ):
        launches.setdefault((thread & ~0xFFFFFF, launch), (thread, start))
    columns = (export.activities[name].to_pylist() for name in ("name", "kind", "process", "launch"))
    for place, (name, kind, process, launch) in enumerate(zip(*columns, strict=True)):
        if kind != "kernel" or not name.startswith("nccl"):
            continue
        thread, start = launches.get((process, launch), (-1, 0))
        at = bisect_right(begins.get(thread, []), start) - 1
        if at >= 0 and start <= by_thread[thread][at].end:
            group = by_thread[thread][at]
            group.kernels.append(place)
            found.of_kernel[place] = group
