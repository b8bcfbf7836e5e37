"""Writes OTF2 archives for tests, with the writer of the package otf2: calls of MPI with their times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import otf2
from otf2.enums import CollectiveOp, GroupType, LocationGroupType, LocationType, Paradigm, RegionRole

#: Ticks of the clock in a second.
TICKS = 1_000_000


class Rank:
    """The events of a rank; its clock advances by `compute`, and by 1 us in each call."""

    def __init__(self, events: Any, region: Callable[[str], Any], comms: dict[str, Any]) -> None:
        self.events, self.region, self.comms = events, region, comms
        self.now = 100

    def compute(self, us: int) -> None:
        self.now += us

    def call(self, name: str, *records: tuple) -> None:
        """A call with records: the name of the event's function, and its arguments."""
        region = self.region(name)
        self.events.enter(self.now, region)
        for kind, *values in records:
            values = [self.comms.get(value, value) if isinstance(value, str) else value for value in values]
            getattr(self.events, kind)(self.now, *values)
        self.now += 1
        self.events.leave(self.now, region)

    def collective(
        self, name: str, op: str, sent: int, received: int, comm: str = "world", root: int = 0
    ) -> None:
        begin = ("mpi_collective_begin",)
        self.call(name, begin, ("mpi_collective_end", getattr(CollectiveOp, op), comm, root, sent, received))


def write(folder: Path, ranks: int, work: Callable[[Rank, int], None], groups: dict[str, list[int]]) -> Path:
    """Writes an archive of the calls of `work(events, rank)` on each rank; returns its anchor file.

    Communicators are "world", "self", and those of `groups`, by their ranks.
    """
    with otf2.writer.open(str(folder), timer_resolution=TICKS) as trace:
        made = trace.definitions
        node = made.system_tree_node("node", "machine")
        locations = [
            made.location(
                f"thread of {rank}",
                LocationType.CPU_THREAD,
                group=made.location_group(
                    f"MPI Rank {rank}", LocationGroupType.PROCESS, system_tree_parent=node
                ),
            )
            for rank in range(ranks)
        ]
        made.group("ranks", GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
        comms = {}
        for name, members in {"world": list(range(ranks)), **groups}.items():
            of = [locations[rank] for rank in members]
            group = made.group(name, GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=of)
            comms[name] = made.comm(name, group)
        alone = made.group("self", GroupType.COMM_SELF, paradigm=Paradigm.MPI, members=[])
        comms["self"] = made.comm("self", alone)
        regions: dict[str, Any] = {}

        def region(name: str) -> Any:
            if name not in regions:
                paradigm = Paradigm.MPI if name.startswith("MPI_") else Paradigm.USER
                regions[name] = made.region(name, region_role=RegionRole.FUNCTION, paradigm=paradigm)
            return regions[name]

        for rank, location in enumerate(locations):
            work(Rank(trace.event_writer_from_location(location), region, comms), rank)
    return folder / "traces.otf2"
