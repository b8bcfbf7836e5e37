"""A Chakra trace as a program in files (docs/program-format.md): its graph on streams.

Computation has a stream for each thread of the CPU and each stream of the GPU (attribute `tid`).
Communication has a stream for each communicator, and for each peer, direction and tag of messages. Nodes of
one stream run in the order of `order`. Dependencies on nodes of other streams become `after`.

A send of a graph is buffered: for the nodes that depend on it, it completes when it is posted. Whether a send
of the recording waited for its receive depended on the transport.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from odonata.errors import InputError, option
from odonata.operations import DETACHED
from odonata.programs.program_tables import LARGEST, ProgramTables
from odonata.traces.chakra import order, reader, schema
from odonata.traces.chakra.files import RankFile
from odonata.traces.chakra.reader import Node, RankTrace
from odonata.traces.chakra.schema import COLLECTIVES, COMM_COLL, COMM_RECV, COMM_SEND, COMP
from odonata.traces.chakra.survey import Survey, is_complete, is_launch, is_silent, kind_of

PS_PER_US = 10**6
#: Most streams of a rank.
MOST_STREAMS = 256
#: Bytes of an element of a reduced vector: those of a float.
ELEMENT = 4

#: The last operation of each used stream.
_Done = dict[int, int]


class Groups:
    """The communicators of a trace: process groups, by name."""

    def __init__(self, members: dict[str, list[int]], ranks: int) -> None:
        self.members = members
        everybody = list(range(ranks))
        #: Number of each communicator by name; the one of all ranks is the world, 0.
        self.numbers: dict[str, int] = {}
        for name in sorted(members):
            all_of_them = members[name] == everybody
            self.numbers[name] = 0 if all_of_them else 1 + max(self.numbers.values(), default=0)

    def rows(self) -> list[tuple[int, list[int]]]:
        """Numbers and members of all but the world."""
        return [(number, self.members[name]) for name, number in self.numbers.items() if number]


def write(
    survey: Survey,
    folder: Path,
    copies: int | None,
    flops: float | None,
    progress: Callable[[int, int, int], None],
) -> tuple[int, int, list[str]]:
    """Writes the program to the empty `folder`; returns ranks, operations and assumptions.

    With `copies`, this many ranks repeat the only rank of the trace. Nodes with a number of operations and no
    time compute at `flops` operations per second, if given.
    """
    files = survey.files
    members = survey.members()
    if copies is not None:
        files = [RankFile(files[0].path, rank) for rank in range(copies)]
        members = {name: list(range(copies)) for name in members}
    ranks = len(files)
    groups = Groups(members, ranks)
    assumed: Counter[str] = Counter()
    seen: dict[int, tuple[str, list[tuple[str, int]]]] = {}
    text = f"Chakra trace {survey.name}"
    with ProgramTables(folder, ranks, text, "odonata trace convert, Chakra", files[0].path) as tables:
        for number, members_of in groups.rows():
            tables.communicator(number, members_of)
        trace = graph = None
        for file in files:
            if trace is None or graph is None or copies is None:
                trace = reader.read(file)
                graph = order.dependency_graph(trace)
            maker = _Maker(tables, file.rank, ranks, trace, graph, groups, flops)
            maker.run()
            assumed += maker.assumed
            _compare(seen, maker, file)
            progress(file.rank + 1, ranks, tables.operations)
        operations = tables.operations
    return ranks, operations, [f"{count} {what}" for what, count in sorted(assumed.items())]


def _compare(seen: dict[int, tuple[str, list[tuple[str, int]]]], maker: _Maker, file: RankFile) -> None:
    """Compares a rank's collectives with those of the first member of each communicator."""
    for comm, calls in maker.calls.items():
        name, others = seen.setdefault(comm, (file.path.name, calls))
        if others == calls:
            continue
        place = next(
            (at for at, (one, other) in enumerate(zip(others, calls, strict=False)) if one != other),
            min(len(others), len(calls)),
        )

        def shown(calls: list[tuple[str, int]], place: int = place) -> str:
            return f"{calls[place][0]} of {calls[place][1]} B" if place < len(calls) else "nothing more"

        raise InputError(
            f"collective number {place} of process group {maker.groups_by_number[comm]!r} is "
            f"{shown(calls)} here, and {shown(others)} in {name}",
            file=str(file.path),
            expected="the same collectives in the same order at all members",
        )


class _Maker:
    """Makes the operations of one rank."""

    def __init__(
        self,
        tables: ProgramTables,
        rank: int,
        ranks: int,
        trace: RankTrace,
        graph: order.Graph,
        groups: Groups,
        flops: float | None,
    ) -> None:
        self.tables, self.rank, self.ranks = tables, rank, ranks
        self.nodes, self.graph, self.groups = trace.nodes, graph, groups
        self.groups_by_number = {number: name for name, number in groups.numbers.items()}
        self.flops = flops
        self.assumed: Counter[str] = Counter()
        #: Collectives by communicator: kind and bytes.
        self.calls: dict[int, list[tuple[str, int]]] = {}
        self.streams = self._streams()

    def _streams(self) -> dict[tuple[str | int, ...], int]:
        """Numbers of streams, in the order of their first use."""
        for detail in (2, 1, 0):
            keys: dict[tuple[str | int, ...], int] = {}
            for place in self.graph.order:
                key = self._key(self.nodes[place], detail)
                if key is not None:
                    keys.setdefault(key, len(keys))
            if len(keys) <= MOST_STREAMS:
                self.detail = detail
                if detail < 2:
                    what = "peer" if detail else "direction"
                    self.assumed[
                        "ranks send to and receive from more peers and tags than there are streams: messages "
                        f"of one {what} go one after the other"
                    ] += 1
                return keys
        raise InputError(
            f"rank {self.rank} has more threads, streams of the GPU and process groups than a program has "
            f"streams, {MOST_STREAMS}",
            expected=f"at most {MOST_STREAMS}",
        )

    def _key(self, node: Node, detail: int) -> tuple[str | int, ...] | None:
        """The purpose of a node's stream; `None` if it is no operation."""
        if node.type in (COMM_SEND, COMM_RECV):
            peer = node.values.get("comm_dst" if node.type == COMM_SEND else "comm_src")
            if peer is None or "comm_size" not in node.values:
                return None
            return ("message", node.type, peer, node.values.get("comm_tag", 0))[: 2 + detail]
        if node.type == COMM_COLL and not is_launch(node):
            return ("collective", self.groups.numbers[node.group]) if is_complete(node) else None
        if node.type in (COMP, COMM_COLL) and self._duration_ps(node):
            return ("compute", int(node.is_cpu), node.values.get("tid", 0))
        return None

    def _duration_ps(self, node: Node) -> int:
        """Duration of a node's computation."""
        if self.flops is None or not is_silent(node):
            return node.duration_micros * PS_PER_US
        time = round(node.values["num_ops"] / self.flops * 1e12)
        if time > LARGEST:
            raise InputError(
                f"node {node.id} has {node.values['num_ops']} operations, which take {time / 1e12:.3g} s",
                key=option("flops"),
                expected="a rate at which each node takes at most 100 days",
            )
        return time

    def run(self) -> None:
        """Writes all operations."""
        done: list[_Done] = [{}] * len(self.nodes)
        for place in self.graph.order:
            node = self.nodes[place]
            waits: _Done = {}
            for other in self.graph.before[place]:
                for stream, number in done[other].items():
                    if waits.get(stream, -1) < number:
                        waits[stream] = number
            key = self._key(node, self.detail)
            if key is None:
                done[place] = waits
                continue
            stream = self.streams[key]
            # Earlier operations of its own stream are complete.
            after = [number for other, number in waits.items() if other != stream]
            kind, values = self._operation(node)
            done[place] = {stream: self.tables.add(self.rank, kind, values, stream=stream, after=after)}

    def _operation(self, node: Node) -> tuple[str, dict[str, int]]:
        if node.type in (COMM_SEND, COMM_RECV):
            is_send = node.type == COMM_SEND
            values = {
                "peer": node.values["comm_dst" if is_send else "comm_src"],
                "tag": node.values.get("comm_tag", 0),
                "bytes": node.values["comm_size"],
            }
            return ("isend", {**values, "request": DETACHED}) if is_send else ("recv", values)
        if node.type == COMM_COLL and not is_launch(node):
            return self._collective(node)
        if is_silent(node):
            self.assumed["nodes without duration compute their num_ops at the rate of --flops"] += 1
        return "compute", {"duration_ps": self._duration_ps(node)}

    def _collective(self, node: Node) -> tuple[str, dict[str, int]]:
        """A collective: `comm_size` is the size that each member contributes; for a scatter, the root."""
        type = kind_of(node)
        assert type is not None
        kind = COLLECTIVES[type]
        comm = self.groups.numbers[node.group]
        bytes = node.values.get("comm_size", 0)
        members = len(self.groups.members[node.group])
        if "comm_type" not in node.values:
            self.assumed[f"collectives without comm_type are by their names: {kind}"] += 1
        values = {"comm": comm}
        if kind in ("scatter", "alltoall", "reduce_scatter_block"):
            if bytes % members:
                self.assumed["collectives of bytes that are no multiple of the ranks: rounded up"] += 1
            bytes = -(-bytes // members)
        if type != schema.BARRIER:
            values["bytes"] = bytes
        if kind in ("broadcast", "gather", "scatter", "reduce"):
            self.assumed[f"calls of {kind} have rank 0 of their group as root: a trace does not name it"] += 1
            values["root"] = 0
        if kind in ("allreduce", "reduce", "reduce_scatter_block"):
            values["count"] = max(1, bytes // ELEMENT if bytes % ELEMENT == 0 else bytes)
        self.calls.setdefault(comm, []).append((kind, bytes))
        return kind, values
