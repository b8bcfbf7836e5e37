"""Reads the nodes of one rank from a Chakra execution trace, in protobuf or JSON, compressed by gzip or not.

Files come from outside: a length counts only if as many bytes are left, and the data of a rank is bounded.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from odonata.base import foreign
from odonata.errors import InputError, is_mistake
from odonata.traces.chakra import schema
from odonata.traces.chakra.files import FILES, RankFile

#: Bytes of a message and of a JSON file, and nodes and dependencies of a rank, at most.
MOST_MESSAGE = 8 << 20
MOST_JSON = 256 << 20
MOST_NODES = 1 << 22
MOST_DEPENDENCIES = 1 << 26
#: Most attribute names of a rank that are counted individually, and characters of a name that are kept.
MOST_NAMES, LONGEST_NAME = 1000, 200
#: Largest time in microseconds, id and size: picoseconds must fit into 63 bits.
MOST_MICROS = (1 << 63) // 10**6
LARGEST = (1 << 63) - 1

#: Attributes whose values are used.
_USED = ("comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "tid", "num_ops")
#: Attributes that name the process group; the first has precedence.
_GROUPS = ("pg_name", "comm_group")
#: All attributes that affect the conversion of a node.
HONOURED = frozenset((*_USED, *_GROUPS, "is_cpu_op", "involved_dim"))
#: Attributes that only describe a node.
DESCRIPTIVE = frozenset(
    (
        "fw_parent",
        "fw_tid",
        "kernel_backend",
        "kernel_file",
        "op_schema",
        "rf_id",
        "schema",
        "scope",
        "seq_id",
    )
)


@dataclass(slots=True)
class Node:
    """A node of the graph: an activity of a rank."""

    id: int
    name: str
    type: int
    ctrl_deps: list[int]
    data_deps: list[int]
    duration_micros: int = 0
    is_cpu: bool = False
    #: The process group of communication, and the attribute that names it.
    group: str = ""
    group_by: str = ""
    #: Whether it concerns only some dimensions of the network.
    partial: bool = False
    #: Its values of the attributes `_USED`.
    values: dict[str, int] = field(default_factory=dict)


@dataclass
class RankTrace:
    """The nodes of a rank in the order of the file, and counts of ignored parts."""

    file: RankFile
    bytes: int
    is_packed: bool = False
    #: Messages of the file; for JSON, nodes.
    messages: int = 0
    schema: str = ""
    nodes: list[Node] = field(default_factory=list)
    attributes: Counter[str] = field(default_factory=Counter)


def read(file: RankFile) -> RankTrace:
    """Reads the nodes in `file`.

    Raises:
        InputError: The file cannot be read, or is damaged; with the number of the message and its position.
        OSError: The computer fails.
    """
    try:
        trace = RankTrace(file, file.path.stat().st_size, is_packed=foreign.is_packed(file.path))
        nodes = _of_json(trace) if file.is_json else _of_protobuf(trace)
        dependencies = 0
        for node in nodes:
            dependencies += len(node.ctrl_deps) + len(node.data_deps)
            if len(trace.nodes) >= MOST_NODES or dependencies > MOST_DEPENDENCIES:
                raise wrong(
                    file.path,
                    f"more than {MOST_NODES} nodes or {MOST_DEPENDENCIES} dependencies",
                    "a trace of fewer steps",
                )
            trace.nodes.append(node)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise wrong(file.path, f"cannot be unpacked: {error}", "a whole file of gzip") from None
    except OSError as error:
        if not is_mistake(error):
            raise
        raise wrong(file.path, f"the trace cannot be read: {error.strerror}") from None
    return trace


def wrong(path: Path, problem: str, expected: str = FILES) -> InputError:
    """The error for a file."""
    return InputError(problem, file=str(path), expected=expected)


def _of_protobuf(trace: RankTrace) -> Iterator[Node]:
    from google.protobuf.message import DecodeError

    messages = schema.messages()
    path = trace.file.path
    with foreign.open_unpacked(path) as stream:
        at = 0
        while (first := stream.read(1)) != b"":
            number, begin = trace.messages, at
            what = f"message {number}, at byte {begin}"
            length, at = _length(stream, first, at, path, what)
            # The uncompressed length is unknown in advance.
            if not trace.is_packed and length > trace.bytes - at:
                raise wrong(
                    path, f"the file ends at byte {trace.bytes}, but {what}, would end at byte {at + length}"
                )
            if length > MOST_MESSAGE:
                raise wrong(path, f"{what}, has {length} bytes", f"messages of at most {MOST_MESSAGE} bytes")
            data = stream.read(length)
            if len(data) < length:
                raise wrong(
                    path,
                    f"the file ends at byte {at + len(data)}, but {what}, would end at byte {at + length}",
                )
            at += length
            trace.messages += 1
            is_metadata = number == 0 and not _is_node(data)
            try:
                if is_metadata:
                    trace.schema = _schema_of(messages.metadata.FromString(data))
                    continue
                if not data:
                    raise wrong(path, f"{what}, is empty", "a node")
                yield _node(messages.node.FromString(data), trace, what)
            except DecodeError as error:
                kind = "metadata" if is_metadata else "node"
                raise wrong(path, f"{what}, is no {kind}: {error}") from None
    if trace.messages == 0:
        raise wrong(path, "the file is empty", "a message with metadata, then one for each node")


def _length(stream: BinaryIO, byte: bytes, at: int, path: Path, what: str) -> tuple[int, int]:
    """The varint that begins with `byte` at `at`, and the position after it."""
    value = shift = 0
    while True:
        at += 1
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise wrong(path, f"{what}: its length is no number of 64 bits")
        byte = stream.read(1)
        if not byte:
            raise wrong(path, f"the file ends at byte {at}, in the length of {what}")


def _is_node(data: bytes) -> bool:
    """Whether the first message is a node: files of 2023 have no metadata. Metadata lacks the field
    `type`.
    """
    from google.protobuf.message import DecodeError

    try:
        return bool(schema.messages().node.FromString(data).type)
    except DecodeError:
        return False


def _schema_of(metadata: Any) -> str:
    """The version of the schema in the metadata, if given."""
    from google.protobuf.message import DecodeError

    found = [(each.name, _value(each)) for each in metadata.attr]
    for data in metadata.version:
        try:
            attribute = schema.messages().attribute.FromString(data)
            found.append((attribute.name, _value(attribute)))
        except DecodeError:
            if re.fullmatch(rb"[\w. -]{1,50}", data):
                found.append(("schema", data.decode("ascii")))
    named = [str(value) for name, value in found if name == "schema" and value is not None]
    return named[0][:LONGEST_NAME] if named else ""


def _value(attribute: Any) -> Any:
    which = attribute.WhichOneof("value")
    return None if which is None else getattr(attribute, which)


def _node(message: Any, trace: RankTrace, what: str) -> Node:
    if message.old_attributes or any(getattr(message, f"old_{number}") for number in schema.OLD_FIELDS):
        raise wrong(
            trace.file.path,
            f"{what}: a node of a Chakra schema before October 2023 (0.0.1 to 0.0.3)",
            "schema 0.0.4 or later, whose nodes have ctrl_deps and data_deps",
        )
    node = Node(
        message.id,
        message.name[:LONGEST_NAME],
        message.type,
        list(message.ctrl_deps),
        list(message.data_deps),
        message.duration_micros,
    )
    for attribute in message.attr:
        name = attribute.name
        count(trace, name)
        if name in HONOURED:
            value = _value(attribute)
            if name == "involved_dim":
                node.partial = hasattr(value, "values") and not all(value.values)
            else:
                _use(node, name, value, trace, what)
    return _checked(node, trace, what)


def count(trace: RankTrace, name: str) -> None:
    """Counts an attribute by its name."""
    name = name[:LONGEST_NAME]
    if name not in trace.attributes and len(trace.attributes) >= MOST_NAMES:
        name = "(others)"
    trace.attributes[name] += 1


def _use(node: Node, name: str, value: Any, trace: RankTrace, what: str) -> None:
    """Stores the value of an attribute that the conversion uses."""
    if name in _GROUPS:
        if node.group_by != _GROUPS[0]:
            node.group, node.group_by = str(value)[:LONGEST_NAME], name
        return
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value):
        value = int(value)
    if not isinstance(value, int):
        raise wrong(trace.file.path, f"{what}: {name} is {str(value)[:50]!r}", "a whole number")
    if name == "is_cpu_op":
        node.is_cpu = bool(value)
        return
    if not 0 <= value <= LARGEST and name != "tid":
        raise wrong(trace.file.path, f"{what}: {name} is {value}", "a number from 0 to 2^63 - 1")
    node.values[name] = value


def _checked(node: Node, trace: RankTrace, what: str) -> Node:
    if node.duration_micros > MOST_MICROS:
        raise wrong(
            trace.file.path,
            f"{what}: node {node.id} takes {node.duration_micros} us",
            f"at most {MOST_MICROS} us",
        )
    return node


#: Keys of a node in JSON, ignoring case and underscores.
_KEYS = {
    "id": "id",
    "name": "name",
    "nodetype": "type",
    "type": "type",
    "ctrldeps": "ctrl_deps",
    "datadeps": "data_deps",
    "runtime": "duration_micros",
    "durationmicros": "duration_micros",
}


def _of_json(trace: RankTrace) -> Iterator[Node]:
    path = trace.file.path
    with foreign.open_unpacked(path) as file:
        text = file.read(MOST_JSON + 1)
    if len(text) > MOST_JSON:
        raise wrong(path, f"more than {MOST_JSON} bytes of JSON", "less; longer ones in protobuf")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise wrong(path, f"it is no JSON: {error}") from None
    graph = found.get("workload_graph") if isinstance(found, dict) else None
    if not isinstance(graph, list):
        raise wrong(path, "it has no list workload_graph", "an object with a list of nodes, workload_graph")
    for number, entry in enumerate(graph):
        trace.messages += 1
        what = f"node number {number} of workload_graph"
        if not isinstance(entry, dict):
            raise wrong(path, f"{what} is {str(entry)[:50]!r}", "an object")
        yield _json_node(entry, trace, what)


def _json_node(entry: dict[str, Any], trace: RankTrace, what: str) -> Node:
    values: dict[str, Any] = {"id": None, "name": "", "type": 0, "ctrl_deps": [], "data_deps": []}
    node = Node(0, "", 0, [], [])
    for key, value in entry.items():
        known = _KEYS.get(key.lower().replace("_", ""))
        if known is not None:
            values[known] = value
            continue
        count(trace, key)
        if key == "involved_dim":
            node.partial = isinstance(value, list) and not all(value)
        elif key in HONOURED:
            _use(node, key, value, trace, what)

    def number(value: Any, key: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
            raise wrong(trace.file.path, f"{what}: {key} is {str(value)[:50]!r}", "a whole number from 0 on")
        return value

    node.id, node.type = number(values["id"], "id"), number(values["type"], "type")
    node.name = str(values["name"])[:LONGEST_NAME]
    node.duration_micros = number(values.get("duration_micros", 0), "runtime")
    for key in ("ctrl_deps", "data_deps"):
        if not isinstance(values[key], list):
            raise wrong(trace.file.path, f"{what}: {key} is {str(values[key])[:50]!r}", "a list of ids")
        setattr(node, key, [number(value, key) for value in values[key]])
    return _checked(node, trace, what)
