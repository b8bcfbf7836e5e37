"""Protobuf messages of a Chakra execution trace, built on first use.

A file is a sequence of messages, each preceded by its length as a varint: one `GlobalMetadata`, then one
`Node` for each node. Only the used fields are declared; the library skips the others.

Nodes of the schemas before October 2023 (0.0.1 to 0.0.3) have other numbers for types, and fields from 11 on,
which later schemas lack: `Node.old_attributes` and `Node.old_N` detect them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

#: Kinds of nodes: the values of `NodeType`.
INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, COMM_SEND, COMM_RECV, COMM_COLL = range(8)
NODE_TYPES = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")

#: Operations of a program, by the values of `CollectiveCommType`. All shares of a reduce-scatter are equal,
#: so both of its kinds become the one with blocks.
COLLECTIVES = (
    "allreduce",
    "reduce",
    "allgather",
    "gather",
    "scatter",
    "broadcast",
    "alltoall",
    "reduce_scatter_block",
    "reduce_scatter_block",
    "barrier",
)
BARRIER = 9

#: Fields of nodes of schema 0.0.1 that later schemas lack: operations, kind of a collective, peer, size, tag.
OLD_FIELDS = (12, 13, 16, 17, 18, 19)


class Messages(NamedTuple):
    """The message classes."""

    node: Any
    metadata: Any
    attribute: Any


@cache
def messages() -> Messages:
    """The classes, in a separate pool: the user's program may have loaded Chakra's own."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="odonata/chakra.proto", package="chakra", syntax="proto3")

    def message(name: str, *fields: tuple[str, int, int, bool]) -> Any:
        made = file.message_type.add(name=name)
        for text, number, kind, repeated in fields:
            label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            made.field.add(name=text, number=number, type=kind, label=label)
        return made

    message("BoolList", ("values", 1, field.TYPE_BOOL, True))
    attribute = message("Attribute", ("name", 1, field.TYPE_STRING, False))
    attribute.oneof_decl.add(name="value")
    scalars = (
        (3, field.TYPE_DOUBLE),
        (5, field.TYPE_FLOAT),
        (7, field.TYPE_INT32),
        (9, field.TYPE_INT64),
        (11, field.TYPE_UINT32),
        (13, field.TYPE_UINT64),
        (15, field.TYPE_SINT32),
        (17, field.TYPE_SINT64),
        (19, field.TYPE_FIXED32),
        (21, field.TYPE_FIXED64),
        (23, field.TYPE_SFIXED32),
        (25, field.TYPE_SFIXED64),
        (27, field.TYPE_BOOL),
        (29, field.TYPE_STRING),
    )
    for number, kind in scalars:
        attribute.field.add(
            name=f"value_{number}", number=number, type=kind, label=field.LABEL_OPTIONAL, oneof_index=0
        )
    attribute.field.add(
        name="value_28",
        number=28,
        type=field.TYPE_MESSAGE,
        type_name=".chakra.BoolList",
        label=field.LABEL_OPTIONAL,
        oneof_index=0,
    )
    node = message(
        "Node",
        ("id", 1, field.TYPE_UINT64, False),
        ("name", 2, field.TYPE_STRING, False),
        # As a number, to show values that this list lacks.
        ("type", 3, field.TYPE_INT32, False),
        ("ctrl_deps", 4, field.TYPE_UINT64, True),
        ("data_deps", 5, field.TYPE_UINT64, True),
        ("start_time_micros", 6, field.TYPE_UINT64, False),
        ("duration_micros", 7, field.TYPE_UINT64, False),
        ("old_attributes", 11, field.TYPE_BYTES, True),
        *((f"old_{number}", number, field.TYPE_UINT64, True) for number in OLD_FIELDS),
    )
    # Field 1 is the version; in older files, the attributes.
    metadata = message("GlobalMetadata", ("version", 1, field.TYPE_BYTES, True))
    for made, number in ((node, 10), (metadata, 2)):
        made.field.add(
            name="attr",
            number=number,
            type=field.TYPE_MESSAGE,
            type_name=".chakra.Attribute",
            label=field.LABEL_REPEATED,
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"chakra.{name}"))
        for name in ("Node", "GlobalMetadata", "Attribute")
    )
    return Messages(*found)
