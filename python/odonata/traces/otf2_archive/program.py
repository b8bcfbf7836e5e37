"""An OTF2 archive as a program in files (docs/program-format.md): calls of MPI, and computation between them.

The simulation determines the duration of calls. Sizes of collectives follow Score-P (SCOREP_Mpi_Coll.c): the
contribution of one of N members counts N times if all members receive it.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from odonata.programs.program_tables import ProgramTables
from odonata.traces.otf2_archive import calls
from odonata.traces.otf2_archive.calls import Event, Layout
from odonata.traces.otf2_archive.reader import Archive

PS = 10**12
#: Bytes of an element of a reduced vector.
ELEMENT = 4
#: Collectives without lists, and their operations.
KINDS = {
    "BARRIER": "barrier",
    "BCAST": "broadcast",
    "GATHER": "gather",
    "GATHERV": "gatherv",
    "SCATTER": "scatter",
    "SCATTERV": "scatterv",
    "ALLGATHER": "allgather",
    "ALLGATHERV": "allgatherv",
    "ALLTOALL": "alltoall",
    "ALLTOALLV": "alltoall",
    "ALLTOALLW": "alltoall",
    "ALLREDUCE": "allreduce",
    "REDUCE": "reduce",
    "REDUCE_SCATTER": "reduce_scatter_block",
    "REDUCE_SCATTER_BLOCK": "reduce_scatter_block",
    "SCAN": "scan",
    "EXSCAN": "exscan",
    **dict.fromkeys(
        (
            "CREATE_HANDLE",
            "DESTROY_HANDLE",
            "ALLOCATE",
            "DEALLOCATE",
            "CREATE_HANDLE_AND_ALLOCATE",
            "DESTROY_HANDLE_AND_DEALLOCATE",
        ),
        "barrier",
    ),
}
#: Calls that test for a completion or message.
_TESTS = ("MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status")


def write(
    archive: Archive, folder: Path, progress: Callable[[int, int, int], None], *, call_time: bool = False
) -> tuple[int, int, list[str]]:
    """Writes the program to the empty `folder`; returns ranks, operations, omissions and assumptions.

    With `call_time`, time in calls counts as computation too.
    """
    where = calls.layout(archive)
    ranks = calls.by_rank(archive, where)
    listed = calls.listed(archive, where, ranks)
    notes = where.notes
    text = f"OTF2 archive {archive.path.name}"
    with ProgramTables(folder, where.ranks, text, "odonata trace convert, otf2", archive.path) as tables:
        for ref, number in sorted(where.numbers.items(), key=lambda item: item[1]):
            if ref in where.own:
                for rank, events in enumerate(ranks):
                    if any(event["comm"] == ref for event in events):
                        tables.communicator(number, [rank])
            elif number:
                tables.communicator(number, where.groups[ref])
        for rank, events in enumerate(ranks):
            maker = _Maker(archive, where, listed, tables, rank, events, call_time=call_time)
            maker.run()
            notes += maker.notes
            progress(rank + 1, where.ranks, tables.operations)
        operations = tables.operations
    return where.ranks, operations, [f"{count} {what}" for what, count in sorted(notes.items())]


class _Thread:
    """The state of a rank's thread."""

    def __init__(self, begin: int) -> None:
        #: End of its last call, in ticks.
        self.end = begin
        #: Depth of nested MPI calls, and the outermost one.
        self.depth = 0
        self.region = ""
        self.records: list[tuple[int, Event]] = []
        #: Whether its last call was an unsuccessful test.
        self.polling = False


class _Maker:
    """Makes the operations of one rank."""

    def __init__(
        self,
        archive: Archive,
        where: Layout,
        listed: dict[int, list[dict[int, Event]]],
        tables: ProgramTables,
        rank: int,
        events: list[Event],
        *,
        call_time: bool,
    ) -> None:
        self.call_time = call_time
        self.archive, self.where, self.listed, self.tables = archive, where, listed, tables
        self.rank, self.events = rank, events
        self.fates = calls.requests(events)
        self.notes: Counter[str] = Counter()
        self.threads: dict[int, _Thread] = {}
        #: Requests in flight: number in the program by that in the archive; and free numbers.
        self.open: dict[int, int] = {}
        self.free: list[int] = []
        self.used = 0
        self.calls: Counter[int] = Counter()

    def run(self) -> None:
        """Writes all operations."""
        for place, event in enumerate(self.events):
            self._event(place, event)
        for stream, thread in sorted(self.threads.items()):
            if thread.records:
                self._call(stream, thread)
        for location, (rank, stream) in self.where.places.items():
            ended = self.threads.get(stream)
            if rank == self.rank and ended is not None and not ended.depth:
                self._compute(stream, ended, self.archive.ticks[location][1])

    def _event(self, place: int, event: Event) -> None:
        stream, kind, time = event["stream"], event["kind"], event["time"]
        thread = self.threads.get(stream)
        if thread is None:
            thread = _Thread(self.archive.ticks[event["location"]][0])
            self.threads[stream] = thread
        if kind == "Enter":
            if thread.depth == 0:
                thread.region = self.archive.regions[event["region"]]
                if thread.polling and thread.region.startswith(_TESTS) and not self.call_time:
                    thread.end = max(thread.end, time)
                self._compute(stream, thread, time)
            thread.depth += 1
        elif kind == "Leave":
            if thread.depth == 0:
                self.notes["ends of calls that have no beginning"] += 1
                return
            thread.depth -= 1
            if thread.depth == 0:
                self._call(stream, thread)
                if not self.call_time:
                    thread.end = max(thread.end, time)
        elif thread.depth:
            thread.records.append((place, event))
        else:
            thread.region = ""
            self._compute(stream, thread, time)
            thread.records.append((place, event))
            self._call(stream, thread)

    def _compute(self, stream: int, thread: _Thread, until: int) -> None:
        """Adds computation from the end of the last call on."""
        if until > thread.end:
            picoseconds = (until - thread.end) * PS // self.archive.resolution
            if picoseconds:
                self.tables.add(self.rank, "compute", {"duration_ps": picoseconds}, stream=stream)
            thread.end = until

    def _call(self, stream: int, thread: _Thread) -> None:
        """The operations of a call, from its records."""
        records = thread.records
        thread.records = []
        kinds = [event["kind"] for _, event in records]
        done = any(
            kind in ("MpiIsendComplete", "MpiIrecv", "NonBlockingCollectiveComplete") for kind in kinds
        )
        thread.polling = thread.region.startswith(_TESTS) and not done
        if thread.polling:
            self.notes["tests and probes that found nothing, left out"] += 1
        if sorted(kinds) == ["MpiRecv", "MpiSend"]:
            self._sendrecv(stream, dict(zip(kinds, (event for _, event in records), strict=True)))
            return
        for place, event in records:
            self._record(stream, thread.region, place, event)

    def _known(self, event: Event, what: str) -> bool:
        """Whether the program has the communicator of an event, and the peer in it."""
        members = self.where.members(event["comm"], self.rank)
        if members is None:
            self.notes[f"{what} on communicators between groups, left out"] += 1
            return False
        if event["peer"] is not None and what == "messages" and event["peer"] >= len(members):
            self.notes["messages to or from ranks that their communicator does not have, left out"] += 1
            return False
        return True

    def _message(self, event: Event) -> dict[str, int | None]:
        return {
            "peer": event["peer"],
            "tag": event["tag"],
            "bytes": event["bytes"],
            "comm": self.where.numbers[event["comm"]],
        }

    def _sendrecv(self, stream: int, events: dict[str, Event]) -> None:
        send, receive = events["MpiSend"], events["MpiRecv"]
        if send["comm"] != receive["comm"] or not self._known(send, "messages"):
            for event in (send, receive):
                self._record(stream, "", 0, event)
            return
        if not self._known(receive, "messages"):
            return
        values = self._message(send)
        values |= {f"recv_{name}": receive[name] for name in ("peer", "tag", "bytes")}
        self.tables.add(self.rank, "sendrecv", values, stream=stream)

    def _record(self, stream: int, region: str, place: int, event: Event) -> None:
        kind = event["kind"]
        if kind in ("MpiSend", "MpiRecv"):
            if not self._known(event, "messages"):
                return
            values = self._message(event)
            name = "recv" if kind == "MpiRecv" else "ssend" if "Ssend" in region else "send"
            if "Bsend" in region and kind == "MpiSend":
                name, values["request"] = "isend", -1
            self.tables.add(self.rank, name, values, stream=stream)
        elif kind in ("MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest"):
            self._begin(stream, region, place, event)
        elif kind in ("MpiIsendComplete", "MpiIrecv", "NonBlockingCollectiveComplete"):
            number = self.open.pop(event["request"], None)
            if number is None:
                # The completion of an omitted request, or of one from before the trace.
                return
            self.tables.add(self.rank, "wait", {"request": number}, stream=stream)
            heapq.heappush(self.free, number)
        elif kind == "MpiCollectiveEnd":
            self._collective(stream, event, None)

    def _begin(self, stream: int, region: str, place: int, event: Event) -> None:
        """Starts a request; the completing event identifies a receive or a collective."""
        kind = event["kind"]
        if place in self.fates.cancelled:
            self.notes["requests that were cancelled, left out"] += 1
            return
        completed = self.fates.completed.get(place)
        if completed is None and kind != "MpiIsend":
            self.notes["receives and collectives that never complete, left out"] += 1
            return
        described = event if kind == "MpiIsend" or completed is None else completed
        what = "collectives" if kind == "NonBlockingCollectiveRequest" else "messages"
        if not self._known(described, what):
            return
        number = -1
        if completed is None:
            self.notes["sends without a wait"] += 1
        else:
            if self.free:
                number = heapq.heappop(self.free)
            else:
                number, self.used = self.used, self.used + 1
            self.open[event["request"]] = number
        if what == "collectives":
            self._collective(stream, described, number)
            return
        values = self._message(described) | {"request": number}
        name = "irecv" if kind == "MpiIrecvRequest" else "issend" if "ssend" in region else "isend"
        self.tables.add(self.rank, name, values, stream=stream)

    def _collective(self, stream: int, event: Event, request: int | None) -> None:
        op = self.archive.ops.get(event["op"], "")
        kind = KINDS.get(op)
        members = self.where.members(event["comm"], self.rank)
        if kind is None or members is None:
            what = f"collectives {op or event['op']}" if kind is None else "collectives"
            where = "" if kind is None else " on communicators between groups"
            self.notes[f"{what}{where}, left out"] += 1
            if request is not None and request >= 0:
                self.open.pop(event["request"], None)
                heapq.heappush(self.free, request)
            return
        if kind == "barrier" and op != "BARRIER":
            self.notes["collectives that make or free a handle: barriers of their communicator"] += 1
        values: dict[str, int | None] = {"comm": self.where.numbers[event["comm"]], "request": request}
        values |= self._sizes(op, kind, event, len(members), request)
        if kind in ("broadcast", "gather", "scatter", "reduce", "gatherv", "scatterv"):
            if event["peer"] >= len(members):
                self.notes[f"collectives {op} with a root outside their communicator: rank 0"] += 1
            values["root"] = event["peer"] if event["peer"] < len(members) else 0
        name = kind if request is None else f"i{kind}"
        self.tables.add(self.rank, name, values, stream=stream)

    def _sizes(
        self, op: str, kind: str, event: Event, members: int, request: int | None
    ) -> dict[str, int | None]:
        """Sizes of a collective for the program, from the sums of Score-P."""
        sent, received = event["bytes"], event["received"]
        if kind == "barrier":
            return {}
        if op in calls.LISTED:
            return self._list(op, event, members, request)
        if kind == "broadcast":
            return {"bytes": received or sent // members}
        if kind in ("gather", "reduce"):
            bytes = sent
        elif kind == "scatter":
            bytes = received
        elif kind in ("scan", "exscan"):
            # N - r times at rank r of N, and r + 1 times received.
            self.notes["scans, whose sizes follow from what is sent and received"] += 1
            bytes = (sent + received) // max(1, members + (1 if kind == "scan" else -1))
        else:
            bytes = -(-sent // members)
        if op in ("ALLTOALLV", "ALLTOALLW", "REDUCE_SCATTER"):
            self.notes[f"collectives {op}: the sizes by member are not recorded, all have the mean"] += 1
        if kind in ("allreduce", "reduce", "scan", "exscan", "reduce_scatter_block"):
            return {"bytes": bytes, "count": max(1, bytes // ELEMENT if bytes % ELEMENT == 0 else bytes)}
        return {"bytes": bytes}

    def _list(self, op: str, event: Event, members: int, request: int | None) -> dict[str, int | None]:
        """The sizes of all members, from each member's record."""

        def own(call: Event) -> int:
            size: int = call["received"] if op == "SCATTERV" else call["bytes"]
            return size // members if op == "ALLGATHERV" else size

        if event["comm"] in self.where.own:
            sizes = [own(event)]
        elif request is not None:
            # Calls of other members cannot be matched by their number: all use this one's size.
            self.notes[f"non-blocking collectives {op}: all members as the rank itself"] += 1
            sizes = [own(event)]
        else:
            comm = event["comm"]
            call = self.listed[comm][self.calls[comm]]
            self.calls[comm] += 1
            ranks = self.where.members(comm, self.rank) or []
            sizes = [own(call[rank]) if rank in call else 0 for rank in ranks]
            root = event["peer"]
            if op != "ALLGATHERV" and (root >= members or ranks[root] != self.rank):
                sizes = [own(event)]
        if op == "SCATTERV":
            return {"counts": self.tables.sizes(self.rank, by_taker=sizes)}
        return {"counts": self.tables.sizes(self.rank, by_giver=sizes)}
