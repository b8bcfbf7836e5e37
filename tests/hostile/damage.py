"""Damage to files: cut, extended, overwritten, swapped, lost, or changed in a word of their JSON."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from hostile import mutations

#: Bytes that are cut or added.
FEW = (1, 1, 2, 3, 4, 8, 16, 100)


def damage(path: Path, lot: random.Random) -> str:
    """Damages the file at `path`, and returns a description."""
    content = path.read_bytes()
    way = lot.choice(
        ["cut", "cut", "extended", "flipped", "flipped", "overwritten", "swapped", "twice", "gone"]
    )
    if path.suffix == ".json" and lot.random() < 0.7:
        way = "reworded"
    elif path.suffix in (".ncptl", ".txt", ".xml", ".meta") and lot.random() < 0.6:
        way = "edited"
    match way:
        case "reworded":
            content = reworded(content, lot)
        case "edited":
            content = mutations.damaged_text(content.decode(), lot).encode()
        case "cut":
            content = content[: max(0, len(content) - lot.choice([*FEW, lot.randint(1, len(content))]))]
        case "extended":
            content += bytes(lot.randrange(256) for _ in range(lot.choice(FEW)))
        case "flipped":
            content = flipped(content, lot)
        case "overwritten":
            at, length = lot.randrange(len(content)), lot.choice([1, 2, 4, 8, 64])
            content = (
                content[:at]
                + lot.choice([b"\0", b"\xff"]) * len(content[at : at + length])
                + content[at + length :]
            )
        case "swapped":
            one, other = sorted(lot.randrange(len(content) + 1) for _ in range(2))
            content = content[one:other] + content[:one] + content[other:]
        case "twice":
            at = lot.randrange(len(content))
            content = content[:at] + content[at : at + lot.choice([1, 8, 100])] + content[at:]
        case _:
            return _lost(path, lot)
    path.write_bytes(content)
    return way


def _lost(path: Path, lot: random.Random) -> str:
    """Replaces the file by something else, or removes it."""
    path.unlink()
    match lot.randrange(20):
        case 0:
            os.mkfifo(path)
            return "a pipe"
        case 1 | 2 | 3:
            path.mkdir()
            return "a folder"
        case 4 | 5:
            path.symlink_to(path.name)
            return "a link to itself"
        case 6 | 7 | 8:
            path.touch()
            return "empty"
    return "gone"


def flipped(content: bytes, lot: random.Random) -> bytes:
    """Some bits changed; more often at the ends, where formats have their magic numbers and lengths."""
    made = bytearray(content)
    for _ in range(lot.choice([1, 1, 2, 4])):
        edge = min(len(made), 64)
        at = lot.choice([lot.randrange(len(made)), lot.randrange(edge), len(made) - 1 - lot.randrange(edge)])
        made[at] ^= 1 << lot.randrange(8)
    return bytes(made)


def reworded(content: bytes, lot: random.Random) -> bytes:
    """Valid JSON with other keys, values or types."""
    tree = json.loads(content)
    changes = [mutations.drop, mutations.rename, mutations.other_type, mutations.swap, mutations.change_value]
    for _ in range(lot.choice([1, 1, 2])):
        match lot.randrange(12):
            case 0:
                return lot.choice(
                    [b"{}", b"[]", b"null", b"1", b'""', b"", b"[" * 100_000, b"1e999", b"\xff{}"]
                )
            case _:
                if isinstance(tree, dict) and tree:
                    lot.choice(changes)(tree, lot)
    return json.dumps(tree, default=str).encode(errors="surrogatepass")


def changed(before: bytes, after: bytes) -> bool:
    """Whether they differ, apart from white space at the end."""
    return before.rstrip() != after.rstrip()
