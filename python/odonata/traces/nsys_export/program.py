"""Exports of Nsight Systems as a program in files (docs/program-format.md): a stream for each stream of a
GPU.

Kernels and copies become computation of their duration. Calls of NCCL become operations: the simulation
determines their duration. If a stream has waited for events of others (`cudaStreamWaitEvent`) and the wait is
recorded, its next operation comes after the operations before those events. Otherwise, an operation after
idle time comes after the operations of other streams that ended meanwhile. The remaining idle time becomes
computation. If communication takes as long as recorded, all operations begin at their recorded times.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from odonata.errors import InputError, given, option
from odonata.programs.program_tables import ProgramTables
from odonata.traces.nsys_export.calls import Call, kind_of_kernel
from odonata.traces.nsys_export.job import Activity, Job, Rank
from odonata.traces.reader_process import NotWhole

PS_PER_NS = 1000
#: Most streams of a rank.
MOST_STREAMS = 256
#: Bytes of an element of a reduced vector: those of a float.
ELEMENT = 4
#: Factor of nccl-tests' bus bandwidth for a collective on n ranks; for all-gather and reduce-scatter relative
#: to all blocks (nccl-tests, PERFORMANCE.md).
_BUS: dict[str, Callable[[int], float]] = {
    "allreduce": lambda n: 2 * (n - 1) / n,
    "allgather": lambda n: (n - 1) / n,
    "reduce_scatter_block": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
}
_BLOCKS = ("allgather", "reduce_scatter_block")


def write(
    job: Job,
    folder: Path,
    progress: Callable[[int, int, int], None],
    *,
    copies: int | None = None,
    incomplete: bool = False,
    bus_bandwidth: float | None = None,
) -> tuple[int, int, list[str]]:
    """Writes the program to the empty `folder`; returns ranks, operations, omissions and assumptions.

    Args:
        job: The content of the files.
        folder: The folder to write.
        progress: Called with complete ranks, all ranks, and operations.
        copies: Number of ranks that repeat the only one.
        incomplete: Restrict communicators with missing ranks to the existing ones.
        bus_bandwidth: In B/s; unrecorded sizes of collectives follow from it.

    Raises:
        InputError: Ranks of a communicator are missing, or call other collectives.
    """
    ranks = job.ranks if copies is None else job.ranks * copies
    notes: Counter[str] = Counter()
    _check_members(job, copies, incomplete=incomplete)
    guessed = _guess(job, len(ranks), bus_bandwidth, notes)
    numbers, members = _communicators(job, copies)
    seen: dict[str, tuple[Path, list[tuple[str, int]]]] = {}
    text = f"export of Nsight Systems, {job.name}"
    with ProgramTables(folder, len(ranks), text, "odonata trace convert, nsys", job.files[0]) as tables:
        for comm, number in sorted(numbers.items(), key=lambda item: item[1]):
            if number:
                tables.communicator(number, members[comm])
        for number, rank in enumerate(ranks):
            maker = _Maker(tables, number, rank, numbers, members, guessed, notes)
            maker.run()
            for comm, called in maker.called.items():
                _compare(seen, comm, called, rank.file)
            progress(number + 1, len(ranks), tables.operations)
        operations = tables.operations
    return len(ranks), operations, [f"{count} {what}" for what, count in sorted(notes.items())]


def _check_members(job: Job, copies: int | None, *, incomplete: bool) -> None:
    for comm, members in job.members.items():
        size = job.sizes.get(comm, len(members))
        if copies is not None:
            if job.sizes.get(comm, copies) != copies:
                raise InputError(
                    f"communicator {comm} has {size} ranks",
                    file=str(job.files[0]),
                    key=option("ranks"),
                    value=str(copies),
                    expected=f"{size}, where all communicators have as many",
                )
        elif size > len(members) and not incomplete:
            rest = " continues with the existing ones"
            if len(job.ranks) == 1:
                rest += ", " + given("ranks", size) + f" lets {size} do the same"
            raise NotWhole(
                f"communicator {comm} has {size} ranks, of which {len(members)} are in the files",
                job.files[0],
                "the exports of all ranks in one folder",
                rest,
            )


def _communicators(job: Job, copies: int | None) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Numbers and members of communicators; the first one with all ranks in order is the world, 0."""
    if copies is not None:
        return dict.fromkeys(job.members, 0), {comm: list(range(copies)) for comm in job.members}
    everybody = list(range(len(job.ranks)))
    world = next((comm for comm in sorted(job.members) if job.members[comm] == everybody), None)
    numbers: dict[str, int] = {}
    for comm in sorted(job.members):
        numbers[comm] = 0 if comm == world else 1 + max(numbers.values(), default=0)
    return numbers, job.members


def _compare(
    seen: dict[str, tuple[Path, list[tuple[str, int]]]],
    comm: str,
    called: list[tuple[str, int]],
    file: Path,
) -> None:
    """Compares a rank's collectives with those of the first member of the communicator."""
    first, others = seen.setdefault(comm, (file, called))
    if others == called:
        return
    place = next(
        (at for at, (one, other) in enumerate(zip(others, called, strict=False)) if one != other),
        min(len(others), len(called)),
    )

    def shown(calls: list[tuple[str, int]]) -> str:
        return f"{calls[place][0]} of {calls[place][1]} B" if place < len(calls) else "nothing more"

    raise InputError(
        f"collective number {place} of communicator {comm or '(not recorded)'} is {shown(called)} here, and "
        f"{shown(others)} in {first.name}",
        file=str(file),
        expected="the same collectives in the same order at all members: recordings of the same steps",
    )


def _guess(
    job: Job, ranks: int, bus_bandwidth: float | None, notes: Counter[str]
) -> list[tuple[str, str, int]]:
    """Kinds, no communicator and bytes of the collectives without a size, in order.

    They follow from the shortest time of each: the last rank to arrive waits least.
    """
    if bus_bandwidth is None:
        return []
    times: list[list[int]] = []
    kinds: list[str] = []
    for rank in job.ranks:
        unsized = [(kind_of_kernel(one.name), one) for one in rank.activities if one.unsized]
        known = [(kind, one) for kind, one in unsized if kind is not None]
        own = [kind for kind, _ in known]
        if rank is job.ranks[0]:
            kinds, times = own, [[] for _ in own]
        elif own != kinds:
            raise InputError(
                f"the collectives without a size are {len(own)} here, and {len(kinds)} in "
                f"{job.ranks[0].file.name}, or others",
                file=str(rank.file),
                key=option("bytes_from_time"),
                expected="the same collectives in the same order at all ranks",
            )
        for place, (_, one) in enumerate(known):
            times[place].append(one.end - one.start)
    found = []
    for kind, spent in zip(kinds, times, strict=True):
        whole = bus_bandwidth * min(spent) * 1e-9 / _BUS[kind](ranks) if ranks > 1 else 0
        if whole >= 1 << 62:
            raise InputError("sizes of more than 2^62 B follow from it", key=option("bytes_from_time"))
        found.append((kind, "", max(1, round(whole / ranks if kind in _BLOCKS else whole))))
        notes[f"sizes of calls of {kind} are reckoned from their times, and sent by all ranks"] += 1
    return found


class _Maker:
    """Makes the operations of one rank."""

    def __init__(
        self,
        tables: ProgramTables,
        number: int,
        rank: Rank,
        numbers: dict[str, int],
        members: dict[str, list[int]],
        guessed: list[tuple[str, str, int]],
        notes: Counter[str],
    ) -> None:
        self.tables, self.number, self.rank = tables, number, rank
        self.numbers, self.members, self.notes = numbers, members, notes
        self.guessed = iter(guessed)
        self.has_guesses = bool(guessed)
        #: Collectives by communicator: kind and bytes.
        self.called: dict[str, list[tuple[str, int]]] = {}
        #: Requests of a stream: those of its largest group.
        self.most_messages = max(len(activity.calls) for activity in rank.activities)
        #: For each stream: ends in ns, in order, and numbers of operations.
        self.ended: dict[int, tuple[list[int], list[int]]] = {}
        #: For each stream: numbers of launches, in order, with end and number of the operation.
        self.launched: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        #: Number of processed waits of each stream.
        self.waited: Counter[tuple[int, int]] = Counter()

    def run(self) -> None:
        """Writes all operations."""
        streams: dict[tuple[int, int], int] = {}
        begin = self.rank.activities[0].start
        for activity in self.rank.activities:
            stream = streams.setdefault(activity.stream, len(streams))
            if stream >= MOST_STREAMS:
                raise InputError(
                    f"GPU {self.rank.device} has more than {MOST_STREAMS} streams",
                    file=str(self.rank.file),
                    expected=f"at most {MOST_STREAMS}",
                )
            ends, operations = self.ended.setdefault(stream, ([], []))
            idle_since = ends[-1] if ends else begin
            after, since = self._recorded(activity, idle_since)
            if not after:
                after, since = self._waited(stream, activity.start, idle_since)
            operation = self._write(stream, activity, after, activity.start - since)
            if operation is not None:
                ends.append(max(activity.end, idle_since))
                operations.append(operation)
                if activity.launch:
                    launch = (activity.launch, ends[-1], operation)
                    self.launched.setdefault(activity.stream, []).append(launch)

    def _recorded(self, activity: Activity, idle_since: int) -> tuple[list[int], int]:
        """Operations that the stream has waited for by events since the previous one, and their end."""
        waits = self.rank.waits.get(activity.stream, [])
        last: dict[tuple[int, int], tuple[int, int]] = {}
        while activity.launch and self.waited[activity.stream] < len(waits):
            wait, other, record = waits[self.waited[activity.stream]]
            if wait > activity.launch:
                break
            self.waited[activity.stream] += 1
            launched = self.launched.get(other, [])
            at = bisect_left(launched, (record, 0, 0)) - 1
            if at >= 0:
                _, end, operation = launched[at]
                last[other] = max(last.get(other, (-1, -1)), (operation, end))
        if last:
            self.notes["operations ordered across streams by recorded events"] += 1
        ends = [end for _, end in last.values()]
        since = min(activity.start, max(idle_since, *ends)) if ends else activity.start
        return [operation for operation, _ in last.values()], since

    def _waited(self, stream: int, start: int, idle_since: int) -> tuple[list[int], int]:
        """Operations of other streams that ended while this one was idle, and the end of the last one."""
        after: list[int] = []
        since = min(start, idle_since)
        if start <= idle_since and self.ended[stream][0]:
            return after, start
        for other, (ends, operations) in self.ended.items():
            at = bisect_right(ends, start) - 1
            if other != stream and at >= 0 and (ends[at] > idle_since or not self.ended[stream][0]):
                after.append(operations[at])
                since = max(since, ends[at])
        if after:
            self.notes["operations ordered across streams by their recorded times"] += 1
        return after, since

    def _write(self, stream: int, activity: Activity, after: list[int], idle: int) -> int | None:
        """Writes the operations of an activity; returns the number of the last one."""
        calls = activity.calls
        if activity.unsized:
            kind = kind_of_kernel(activity.name)
            if self.has_guesses and kind is not None:
                waited = self._compute(stream, idle, after)
                call = Call(*next(self.guessed))
                return self._collective(stream, call, [] if waited is not None else after)
            self.notes["kernels of NCCL without a size, computation of their time"] += 1
        if not calls:
            return self._compute(stream, idle + activity.end - activity.start, after)
        last = self._compute(stream, idle, after)
        after = [] if last is not None else after
        for call in calls:
            if call.kind not in ("send", "recv"):
                last = self._collective(stream, call, after)
                after = []
        messages = [call for call in calls if call.kind in ("send", "recv")]
        sent = self._messages(stream, messages, after)
        return last if sent is None else sent

    def _compute(self, stream: int, nanoseconds: int, after: list[int]) -> int | None:
        if nanoseconds <= 0 and not after:
            return None
        values = {"duration_ps": max(0, nanoseconds) * PS_PER_NS}
        return self.tables.add(self.number, "compute", values, stream=stream, after=after)

    def _collective(self, stream: int, call: Call, after: list[int]) -> int:
        comm = self.numbers.get(call.comm, 0)
        bytes = call.bytes or 0
        values = {"comm": comm, "bytes": bytes}
        if call.kind in ("broadcast", "reduce", "gather", "scatter"):
            if call.root is None:
                self.notes[f"calls of {call.kind} without a recorded root: rank 0 of their communicator"] += 1
            values["root"] = call.root or 0
        if call.kind in ("allreduce", "reduce", "reduce_scatter_block"):
            values["count"] = max(1, bytes // ELEMENT if bytes % ELEMENT == 0 else bytes)
        if not call.comm:
            self.notes["calls without a recorded communicator: all ranks"] += 1
        self.called.setdefault(call.comm, []).append((call.kind, bytes))
        return self.tables.add(self.number, call.kind, values, stream=stream, after=after)

    def _messages(self, stream: int, calls: list[Call], after: list[int]) -> int | None:
        """Messages of a group, all at once: receives, sends, then a wait for all."""
        last = None
        base = stream * self.most_messages
        requests = 0
        for call in sorted(calls, key=lambda call: call.kind != "recv"):
            members = self.members.get(call.comm, [])
            if call.peer is None or call.peer >= max(1, len(members)):
                self.notes["messages with a peer outside the files, left out"] += 1
                continue
            values = {
                "comm": self.numbers.get(call.comm, 0),
                "peer": call.peer,
                "bytes": call.bytes or 0,
                "tag": 0,
                "request": base + requests,
            }
            last = self.tables.add(self.number, f"i{call.kind}", values, stream=stream, after=after)
            after = []
            requests += 1
        if requests:
            values = {"request": base, "count": requests}
            last = self.tables.add(self.number, "wait_all", values, stream=stream)
        return last
