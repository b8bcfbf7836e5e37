"""The content of a Chakra trace: totals, members of process groups, and errors."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odonata.base.wording import counted
from odonata.traces.chakra import files, order, reader, schema
from odonata.traces.chakra.files import RankFile
from odonata.traces.chakra.reader import Node, RankTrace
from odonata.traces.chakra.schema import COLLECTIVES, COMM_COLL, COMM_RECV, COMM_SEND, COMP, NODE_TYPES

#: Collectives by parts of their names, for nodes without `comm_type`; case and underscores are ignored. The
#: first match counts: a reduce-scatter is no reduce.
_BY_NAME = (
    ("reducescatter", 7),
    ("allreduce", 0),
    ("allgather", 2),
    ("alltoall", 6),
    ("broadcast", 5),
    ("barrier", 9),
    ("sendrecv", None),
    ("reduce", 1),
)


@dataclass
class RankSurvey:
    """The content of a rank's file."""

    file: RankFile
    bytes: int
    messages: int
    schema: str
    types: Counter[str] = field(default_factory=Counter)
    ctrl_deps: int = 0
    data_deps: int = 0
    unique_ids: int = 0
    duration_micros: int = 0
    comm_bytes: int = 0
    attributes: Counter[str] = field(default_factory=Counter)
    #: Collectives by `comm_type`; the others by their treatment and by name.
    collectives: Counter[int] = field(default_factory=Counter)
    untyped: Counter[str] = field(default_factory=Counter)
    sends: int = 0
    send_bytes: int = 0
    #: Process groups of collectives.
    groups: set[str] = field(default_factory=set)
    #: Nodes that compute operations without a time.
    silent: int = 0
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Whether control dependencies order nodes.
    by_control: bool = False


def kind_of(node: Node) -> int | None:
    """The `comm_type` of a collective, else derived from its name; `None` if unknown."""
    stated = node.values.get("comm_type")
    if stated is not None:
        return stated if stated < len(COLLECTIVES) else None
    name = re.sub(r"[_\s-]", "", node.name).lower()
    return next((kind for part, kind in _BY_NAME if part in name), None)


def is_silent(node: Node) -> bool:
    """Whether a node computes operations (`num_ops`) without a time."""
    return node.type == COMP and node.duration_micros == 0 and node.values.get("num_ops", 0) > 0


def is_launch(node: Node) -> bool:
    """Whether a collective is the CPU call that starts one of the GPU, which has a type of its own."""
    return node.is_cpu and "comm_type" not in node.values


def is_complete(node: Node) -> bool:
    """Whether the data of a collective suffices to execute it."""
    kind = kind_of(node)
    return kind is not None and (kind == schema.BARRIER or "comm_size" in node.values)


def of_rank(trace: RankTrace, graph: order.Graph, ranks: int) -> RankSurvey:
    """The content of a rank's nodes; `ranks` is the number of ranks."""
    found = RankSurvey(trace.file, trace.bytes, trace.messages, trace.schema)
    found.attributes = trace.attributes
    found.unique_ids = len({node.id for node in trace.nodes})
    found.by_control = graph.by_control
    odd: Counter[str] = Counter()
    left: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    silent = partial = 0
    for node in trace.nodes:
        known = node.type < len(NODE_TYPES) and node.type >= 0
        type = NODE_TYPES[node.type] if known else f"type {node.type}"
        found.types[type] += 1
        found.ctrl_deps += len(node.ctrl_deps)
        found.data_deps += len(node.data_deps)
        found.duration_micros += node.duration_micros
        found.comm_bytes += node.values.get("comm_size", 0) if node.type == COMM_COLL else 0
        if node.type == COMM_COLL:
            stated = node.values.get("comm_type")
            if stated is not None:
                found.collectives[stated] += 1
            elif is_launch(node):
                found.untyped[node.name] += 1
            if not is_launch(node):
                if is_complete(node):
                    found.groups.add(node.group)
                    partial += node.partial
                else:
                    left[node.name] += 1
        elif node.type in (COMM_SEND, COMM_RECV):
            end = "comm_dst" if node.type == COMM_SEND else "comm_src"
            if end not in node.values or "comm_size" not in node.values:
                left[node.name] += 1
            elif node.values[end] >= ranks:
                found.errors.append(
                    f"node {node.id} ({node.name}) has {end} {node.values[end]}, of {ranks} ranks"
                )
            elif node.type == COMM_SEND:
                found.sends += 1
                found.send_bytes += node.values["comm_size"]
        elif node.type in (schema.MEM_LOAD, schema.MEM_STORE):
            memory[node.name] += 1
        elif node.type == COMP:
            silent += is_silent(node)
        elif node.type != schema.METADATA:
            odd[f"{type} ({node.name})"] += 1
    found.errors += graph.errors
    found.notes += graph.notes
    if found.untyped:
        found.notes.append(
            f"{sum(found.untyped.values())} calls on the CPU that start collectives, computation of their "
            f"duration: {named(found.untyped)}"
        )
    for counts, what in (
        (left, "messages and collectives that lack type, size or peer, left out"),
        (memory, "memory operations, left out"),
        (odd, "nodes of no known type, left out"),
    ):
        if counts:
            found.notes.append(f"{sum(counts.values())} {what}: {named(counts)}")
    found.silent = silent
    ignored = Counter(
        {
            name: count
            for name, count in trace.attributes.items()
            if name not in reader.HONOURED | reader.DESCRIPTIVE
        }
    )
    if ignored:
        found.notes.append(f"{len(ignored)} attributes have no effect: {named(ignored)}")
    if partial:
        found.notes.append(
            f"{partial} collectives are for some dimensions of a network only (involved_dim): taken for all"
        )
    return found


def named(counts: Counter[str]) -> str:
    """The most frequent names with their counts."""
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    text = ", ".join(f"{name or '(no name)'} ({count})" for name, count in most[:5])
    return text + (f", and {len(most) - 5} other names" if len(most) > 5 else "")


@dataclass
class Survey:
    """The content of a trace."""

    name: str
    files: list[RankFile]
    ranks: list[RankSurvey]
    #: Ranks without a file.
    missing: list[int]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Errors that prevent a conversion: place, and sentence."""
        found = [(f"rank {rank}", "the file of this rank is missing") for rank in self.missing]
        return found + [(rank.file.path.name, text) for rank in self.ranks for text in rank.errors]

    @property
    def notes(self) -> list[str]:
        """Omissions and assumptions, with the file if there are several."""
        return self.notes_with(flops=None)

    def notes_with(self, flops: float | None) -> list[str]:
        """The same if `flops`, when given, is the rate of computation."""
        several = len(self.ranks) > 1
        found = []
        for rank in self.ranks:
            notes = list(rank.notes)
            if rank.silent and flops is None:
                notes.append(
                    f"{counted(rank.silent, 'node')} with num_ops but no duration: no time; convert "
                    "--flops RATE gives num_ops / RATE"
                )
            found += [f"{rank.file.path.name}: {text}" if several else text for text in notes]
        return found

    def members(self) -> dict[str, list[int]]:
        """Ranks of each process group that has collectives."""
        groups: dict[str, list[int]] = {}
        for rank in self.ranks:
            for group in rank.groups:
                groups.setdefault(group, []).append(rank.file.rank)
        return groups


def take(path: Path) -> Survey:
    """Surveys all files of the trace at `path`; raises `InputError` if one cannot be read."""
    name, found = files.find(path)
    ranks = found[-1].rank + 1
    surveys = []
    for file in found:
        trace = reader.read(file)
        surveys.append(of_rank(trace, order.dependency_graph(trace), ranks))
    return Survey(name, found, surveys, files.missing(found))


def info(survey: Survey) -> dict[str, Any]:
    """The numbers for JSON: totals, and the same per rank."""
    ranks = [_numbers(rank) for rank in survey.ranks]
    total: dict[str, Any] = {}
    for numbers in ranks:
        for key, value in numbers.items():
            if isinstance(value, int):
                total[key] = total.get(key, 0) + value
            elif isinstance(value, dict):
                sums = total.setdefault(key, {})
                for name, count in value.items():
                    sums[name] = sums.get(name, 0) + count
    kinds: Counter[str] = Counter()
    for rank in survey.ranks:
        for kind, count in rank.collectives.items():
            kinds[COLLECTIVES[kind] if kind < len(COLLECTIVES) else f"comm_type {kind}"] += count
    return {
        "nranks": survey.files[-1].rank + 1,
        "total_records": total["nodes"],
        "total_op_counts": total["node_types"],
        "total_sends": sum(rank.sends for rank in survey.ranks),
        "total_send_bytes": sum(rank.send_bytes for rank in survey.ranks),
        "total_recvs_posted": total["node_types"].get("COMM_RECV", 0),
        "total_persistent_starts": 0,
        "total_collective_calls": dict(sorted(kinds.items())),
        **total,
        "process_groups": dict(sorted(survey.members().items())),
        "missing_ranks": survey.missing,
        "per_rank": [
            {
                "rank": rank.file.rank,
                "file": rank.file.path.name,
                "schema": rank.schema,
                "dependencies": "control and data" if rank.by_control else "data",
                **numbers,
            }
            for rank, numbers in zip(survey.ranks, ranks, strict=True)
        ],
        "notes": survey.notes,
    }


def _numbers(rank: RankSurvey) -> dict[str, Any]:
    types = {name: rank.types[name] for name in NODE_TYPES if rank.types[name]}
    types |= {name: count for name, count in sorted(rank.types.items()) if name not in types}
    return {
        "bytes": rank.bytes,
        "messages": rank.messages,
        "nodes": sum(rank.types.values()),
        "node_types": types,
        "ctrl_deps": rank.ctrl_deps,
        "data_deps": rank.data_deps,
        "unique_ids": rank.unique_ids,
        "sum_duration_micros": rank.duration_micros,
        "sum_comm_size": rank.comm_bytes,
        "attr_names": dict(rank.attributes),
        "comm_coll_with_comm_type": {str(kind): count for kind, count in sorted(rank.collectives.items())},
        "comm_coll_without_comm_type": rank.types["COMM_COLL"] - sum(rank.collectives.values()),
    }
