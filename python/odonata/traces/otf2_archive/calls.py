"""Ranks, communicators and requests of an OTF2 archive.

Ranks are those of MPI; the threads of a rank become streams. Peers in events are ranks of their communicator,
as in a program.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from odonata.errors import InputError
from odonata.traces.otf2_archive.reader import FILES, Archive

#: Most streams of a rank.
MOST_STREAMS = 256
#: Collectives whose sizes by member are gathered from all members.
LISTED = ("GATHERV", "SCATTERV", "ALLGATHERV")

Event = dict[str, Any]


@dataclass
class Layout:
    """Ranks and communicators."""

    ranks: int
    #: Rank and stream of each location with events of MPI.
    places: dict[int, tuple[int, int]]
    #: Numbers of communicators of the program, by those of the archive; 0 is the world.
    numbers: dict[int, int]
    #: Ranks of the job in each communicator, by its number in the archive.
    groups: dict[int, list[int]]
    #: Communicators of a single rank, merged over all ranks.
    own: set[int] = field(default_factory=set)
    #: Parts with a changed or missing conversion, with counts.
    notes: Counter[str] = field(default_factory=Counter)

    def members(self, comm: int, rank: int) -> list[int] | None:
        """Members of a communicator of this rank; `None` if it connects two groups, or is undefined."""
        return [rank] if comm in self.own else self.groups.get(comm)


def layout(archive: Archive) -> Layout:
    """Ranks, streams and communicators; raises `InputError` if locations contradict each other."""
    processes: dict[int, int] = {}
    found = Layout(0, {}, {}, {})
    location_of = {location["ref"]: location for location in archive.locations}
    order = archive.mpi_locations
    if not order:
        order = []
        for location in sorted(archive.locations, key=lambda location: location["ref"]):
            if location["type"] == "CPU_THREAD" and location["group"] not in processes:
                processes[location["group"]] = len(order)
                order.append(location["ref"])
        found.notes["archive names no ranks of MPI: its processes are taken in their order"] += 1
    for rank, ref in enumerate(order):
        if ref not in location_of:
            raise _wrong(archive, f"rank {rank} is location {ref}, which is not defined")
        processes.setdefault(location_of[ref]["group"], rank)
    found.ranks = len(order)
    if not 1 <= found.ranks <= 1 << 24:
        raise _wrong(archive, f"it has {found.ranks} ranks")
    streams: Counter[int] = Counter()
    with_events = set(archive.events["location"].unique().to_pylist())
    rank_of = {ref: rank for rank, ref in enumerate(order)}
    for location in sorted(archive.locations, key=lambda one: (one["ref"] not in rank_of, one["ref"])):
        ref = location["ref"]
        rank_or_none = rank_of.get(ref, processes.get(location["group"]))
        if ref not in with_events:
            continue
        if rank_or_none is None:
            found.notes["locations with calls of MPI that belong to no rank, left out"] += 1
            continue
        rank = rank_or_none
        if streams[rank] >= MOST_STREAMS:
            raise _wrong(archive, f"rank {rank} has more than {MOST_STREAMS} threads that call MPI")
        found.places[ref] = (rank, streams[rank])
        streams[rank] += 1
    everybody = list(range(found.ranks))
    for comm in archive.comms:
        if comm["kind"] == "self":
            found.own.add(comm["ref"])
            found.numbers[comm["ref"]] = 1
        if comm["kind"] != "group" or not comm["members"]:
            continue
        members = [rank_of.get(ref, -1) for ref in comm["members"]]
        if -1 in members or len(set(members)) < len(members):
            raise _wrong(
                archive, f"communicator {comm['ref']} ({comm['name']}) has members that are no ranks"
            )
        found.groups[comm["ref"]] = members
        found.numbers[comm["ref"]] = 0 if members == everybody else 1
    # The smallest possible numbers: those of the archive are arbitrary.
    others = sorted(ref for ref, number in found.numbers.items() if number)
    found.numbers |= {ref: number for number, ref in enumerate(others, start=1)}
    return found


def _wrong(archive: Archive, problem: str) -> InputError:
    return InputError(problem, file=str(archive.path), expected=FILES)


def by_rank(archive: Archive, where: Layout) -> list[list[Event]]:
    """Events of each rank in time order, with the stream of each."""
    found: list[list[Event]] = [[] for _ in range(where.ranks)]
    for batch in archive.events.to_batches():
        for event in pa.Table.from_batches([batch]).to_pylist():
            place = where.places.get(event["location"])
            if place is not None:
                event["stream"] = place[1]
                found[place[0]].append(event)
    for events in found:
        events.sort(key=lambda event: event["time"])
    return found


@dataclass
class Requests:
    """The completions of a rank's requests, by the positions of the events that make them."""

    #: The event that completes each request.
    completed: dict[int, Event] = field(default_factory=dict)
    #: Positions of events whose requests were canceled.
    cancelled: set[int] = field(default_factory=set)


_MAKES = ("MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest")
_COMPLETES = ("MpiIsendComplete", "MpiIrecv", "NonBlockingCollectiveComplete")


def requests(events: list[Event]) -> Requests:
    """Matches requests with their completions; a completed number may be reused."""
    found = Requests()
    open_at: dict[int, int] = {}
    for place, event in enumerate(events):
        kind, number = event["kind"], event["request"]
        if kind in _MAKES:
            open_at[number] = place
        elif kind in _COMPLETES and number in open_at:
            found.completed[open_at.pop(number)] = event
        elif kind == "MpiRequestCancelled" and number in open_at:
            found.cancelled.add(open_at.pop(number))
    return found


def listed(archive: Archive, where: Layout, ranks: list[list[Event]]) -> dict[int, list[dict[int, Event]]]:
    """Calls of collectives with a size for each member: by communicator, in order, by rank."""
    found: dict[int, list[dict[int, Event]]] = {}
    for rank, events in enumerate(ranks):
        number: Counter[int] = Counter()
        for event in events:
            if event["kind"] != "MpiCollectiveEnd" or archive.ops.get(event["op"]) not in LISTED:
                continue
            comm = event["comm"]
            if comm not in where.groups:
                continue
            calls = found.setdefault(comm, [])
            if number[comm] == len(calls):
                calls.append({})
            calls[number[comm]][rank] = event
            number[comm] += 1
    return found
