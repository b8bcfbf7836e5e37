"""Writes Chakra execution traces for tests, byte by byte; shares nothing with any reader.

Messages follow MLCommons' et_def.proto: metadata, then one node after the other, each after its length.
"""

from __future__ import annotations

import struct
from pathlib import Path

METADATA, LOAD, STORE, COMP, SEND, RECV, COLL = range(1, 8)
ALLREDUCE, REDUCE, ALLGATHER, GATHER, SCATTER, BROADCAST, ALLTOALL, REDUCE_SCATTER, BLOCK, BARRIER = range(10)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: object) -> bytes:
    """An attribute by the type of its value: bool, int (int64), float, text, or a list of bool."""
    made = text(1, name)
    if isinstance(value, bool):
        made += number(27, value)
    elif isinstance(value, int):
        made += number(9, value)
    elif isinstance(value, float):
        made += varint(3 << 3 | 1) + struct.pack("<d", value)
    elif isinstance(value, list):
        made += text(28, text(1, bytes(value)))
    else:
        made += text(29, str(value))
    return made


def node(
    id: int,
    kind: int,
    name: str = "",
    after: tuple[int, ...] = (),
    us: int = 0,
    calls: tuple[int, ...] = (),
    packed: bool = True,
    **attributes: object,
) -> bytes:
    """A node with data dependencies on `after`, and control dependencies on `calls`."""
    made = number(1, id) + text(2, name or f"node {id}") + number(3, kind)
    for field, ids in ((4, calls), (5, after)):
        if packed and ids:
            made += text(field, b"".join(map(varint, ids)))
        else:
            made += b"".join(number(field, one) for one in ids)
    if us:
        made += number(7, us)
    return made + b"".join(text(10, attribute(*each)) for each in attributes.items())


def trace(*nodes: bytes, old: bool = False) -> bytes:
    """A whole file; `old` puts the attributes of the metadata where they were before versions existed."""
    metadata = text(1 if old else 2, attribute("schema", "1.0.1"))
    return b"".join(varint(len(message)) + message for message in (metadata, *nodes))


def write(folder: Path, ranks: list[list[bytes]], name: str = "job") -> Path:
    """Writes a file for each rank; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, nodes in enumerate(ranks):
        (folder / f"{name}.{rank}.et").write_bytes(trace(*nodes))
    return folder
