"""Damage to a scenario: to its tree of keys and values, its text, its bytes."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable
from typing import Any

from hostile import schema
from hostile.toml_writer import Raw

Path = list[str | int]

INTEGERS = [
    0,
    -1,
    1,
    2,
    3,
    7,
    255,
    256,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
]
FLOATS = [
    0.0,
    -0.0,
    0.5,
    1.0,
    1.0000000001,
    1e-300,
    5e-324,
    1e18,
    1e300,
    float("nan"),
    float("inf"),
    float("-inf"),
    -1.5,
]
STRINGS = [
    "",
    " ",
    "auto",
    "none",
    "0",
    "nan",
    "\x00",
    "é",
    "\uff26\uff35\uff2c\uff2c",
    "\u202egnorw",
    "\ufeff",
    "💥",
    "a" * 300,
    "../..",
    "/",
    "a\nb",
]
OTHERS = [
    True,
    False,
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": 0},
    Raw("1979-05-27"),
    Raw("1979-05-27T07:32:00Z"),
    Raw("0x1F"),
    Raw("1_000"),
]
#: Texts that are invalid as TOML, or as values.
RAW = [
    "",
    "]",
    "{",
    '"',
    "'''",
    "=",
    "#",
    "[" * 200,
    "{ a = " * 50,
    "99999999999999999999",
    "1e999",
    "0o7",
    "+nan",
    "--1",
    "tru",
    "\\",
]
UNITS = [
    *["ps", "ns", "us", "µs", "\u03bcs", "ms", "s", "min", "h", "cycles", "GHz", "ns/B", "NS"],
    *["B", "kB", "KiB", "MB", "GiB", "TB", "PiB", "EiB", "kb", "flits", "%", ""],
    *["B/s", "GiB/s", "Gbit/s", "flits/cycle"],
]
NUMBERS = [
    "0",
    "-1",
    "1e400",
    "1e-400",
    "1e-30",
    "nan",
    "inf",
    "1e18",
    "9" * 60,
    "0x10",
    "1_000",
    "\uff11",
    "+5",
    ".",
    "1.",
    ".5",
    "1e",
    "",
]
FACTORS = [1e-9, 1e-6, 1e-3, 0.1, 0.999999, 1.000001, 2, 10, 1e3]
TEXT = ["\x00", "\ufeff", "\u2028", "\r", "\t", "💥", "'''", '"""', "]]", "[[", "\\", "\x7f", "é"]

QUANTITY = re.compile(r"^\s*([-+0-9.eE]+)\s*(\S.*)$")


def places(tree: Any, path: Path | None = None) -> list[Path]:
    """The paths of all items in a tree, including tables and lists, without the tree itself."""
    path = path or []
    found: list[Path] = []
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        found.append([*path, key])
        found += places(value, [*path, key])
    return found


def at(tree: Any, path: Path) -> Any:
    """The value at `path`."""
    for step in path:
        tree = tree[step]
    return tree


def replace(tree: Any, path: Path, value: Any) -> None:
    """Puts `value` at `path`."""
    at(tree, path[:-1])[path[-1]] = value


def hostile_value(lot: random.Random) -> Any:
    """An unusual value."""
    kinds: list[list[Any]] = [INTEGERS, FLOATS, STRINGS, OTHERS, [Raw(raw) for raw in RAW]]
    return copy.deepcopy(lot.choice(lot.choice(kinds)))


def near(name: str, lot: random.Random) -> str:
    """A name like `name`, with a typing error."""
    if not name:
        return "x"
    place = lot.randrange(len(name))
    return lot.choice(
        [
            name[:place] + name[place + 1 :],
            name[:place] + name[place] + name[place:],
            name[:place] + lot.choice("aeinorst-_ .\u00e9") + name[place + 1 :],
            name.upper(),
            name.replace("_", "-") if "_" in name else name.replace("-", "_"),
            name + "s",
            f" {name} ",
        ]
    )


def other_number(value: Any, lot: random.Random) -> Any:
    """A number near `value`, or at a bound."""
    if isinstance(value, int):
        return lot.choice(
            [value + 1, value - 1, -value, 2 * value, value // 2, value + 0.5, float(value), *INTEGERS]
        )
    return lot.choice([value * lot.choice(FACTORS), -value, *FLOATS])


def other_quantity(text: str, lot: random.Random) -> str:
    """A quantity with another number, unit or spelling."""
    found = QUANTITY.match(text)
    if found is None:
        return near(text, lot)
    number, unit = found[1], found[2]
    way = lot.randrange(5)
    if way == 0:
        return f"{number} {lot.choice(UNITS)}"
    if way == 1:
        return f"{lot.choice(NUMBERS)} {unit}"
    if way == 2:
        return lot.choice(
            [f"{number}{unit}", f" {number}  {unit} ", f"{unit} {number}", unit, number, f"{number} {unit}x"]
        )
    try:
        return f"{float(number) * lot.choice(FACTORS):g} {unit}"
    except ValueError:
        return f"-{number} {unit}"


def change_value(tree: dict[str, Any], lot: random.Random) -> None:
    """Replaces a value by another of its type, near it or at a bound."""
    leaves = [path for path in places(tree) if not isinstance(at(tree, path), dict | list)]
    if not leaves:
        return
    path = lot.choice(leaves)
    value = at(tree, path)
    if isinstance(value, bool):
        replace(tree, path, lot.choice([not value, int(value), str(value)]))
    elif isinstance(value, int | float):
        replace(tree, path, other_number(value, lot))
    elif isinstance(value, str) and QUANTITY.match(value):
        replace(tree, path, other_quantity(value, lot))
    else:
        replace(tree, path, near(str(value), lot))


def other_type(tree: dict[str, Any], lot: random.Random) -> None:
    """Replaces any value by another of any type."""
    found = places(tree)
    if found:
        replace(tree, lot.choice(found), hostile_value(lot))


def drop(tree: dict[str, Any], lot: random.Random) -> None:
    """Removes an item."""
    found = places(tree)
    if found:
        path = lot.choice(found)
        del at(tree, path[:-1])[path[-1]]


def rename(tree: dict[str, Any], lot: random.Random) -> None:
    """Makes a typing error in a key."""
    keys = [path for path in places(tree) if isinstance(path[-1], str)]
    if keys:
        path = lot.choice(keys)
        table = at(tree, path[:-1])
        table[near(str(path[-1]), lot)] = table.pop(path[-1])


def swap(tree: dict[str, Any], lot: random.Random) -> None:
    """Swaps two values."""
    found = places(tree)
    if len(found) < 2:
        return
    one, other = lot.sample(found, 2)
    if one[: len(other)] == other or other[: len(one)] == one:
        return
    a, b = at(tree, one), at(tree, other)
    replace(tree, one, b)
    replace(tree, other, a)


def move(tree: dict[str, Any], lot: random.Random) -> None:
    """Copies an item to another table."""
    tables = [[], *(path for path in places(tree) if isinstance(at(tree, path), dict))]
    found = [path for path in places(tree) if isinstance(path[-1], str)]
    if found:
        path = lot.choice(found)
        at(tree, lot.choice(tables))[path[-1]] = copy.deepcopy(at(tree, path))


def insert(tree: dict[str, Any], lot: random.Random) -> None:
    """Adds an allowed key, with an allowed or other value."""
    tables: list[Path] = [[], *(path for path in places(tree) if isinstance(at(tree, path), dict))]
    path = lot.choice(tables)
    keys = schema.keys_at(path)
    if not keys:
        return
    key = lot.choice(sorted(keys))
    at(tree, path)[key] = schema.value_of(keys[key], lot) if lot.random() < 0.8 else hostile_value(lot)


def choose(tree: dict[str, Any], lot: random.Random) -> None:
    """Replaces a value by another allowed one."""
    leaves = [path for path in places(tree) if isinstance(path[-1], str)]
    lot.shuffle(leaves)
    for path in leaves:
        spec = schema.keys_at(path[:-1]).get(str(path[-1]))
        if spec is not None and not isinstance(at(tree, path), dict):
            replace(tree, path, schema.value_of(spec, lot))
            return


def repeat_item(tree: dict[str, Any], lot: random.Random) -> None:
    """Duplicates an item of a list."""
    lists = [path for path in places(tree) if isinstance(at(tree, path), list) and at(tree, path)]
    if lists:
        items = at(tree, lot.choice(lists))
        items.append(copy.deepcopy(lot.choice(items)))


#: Operations on the tree; some more often than others.
OF_TREES: list[Callable[[dict[str, Any], random.Random], None]] = [
    *[change_value] * 6,
    *[choose] * 9,
    *[insert] * 6,
    *[drop] * 2,
    rename,
    other_type,
    swap,
    move,
    repeat_item,
]


def damaged_text(text: str, lot: random.Random) -> str:
    """A text with lines lost, repeated, swapped or changed."""
    lines = text.split("\n")
    place = lot.randrange(len(lines))
    match lot.randrange(6):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lot.choice(lines))
        case 2:
            other = lot.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            column = lot.randint(0, len(lines[place]))
            lines[place] = lines[place][:column] + lot.choice(TEXT + RAW) + lines[place][column:]
        case 4:
            return text[: lot.randint(0, len(text))]
        case _:
            return lot.choice(
                [
                    text.replace("\n", "\r\n"),
                    text.replace("\n", "\r"),
                    "\ufeff" + text,
                    text * 2,
                    text + "\x00",
                ]
            )
    return "\n".join(lines)


def damaged_bytes(content: bytes, lot: random.Random) -> bytes:
    """A file with some random bytes changed."""
    if not content or lot.random() < 0.1:
        return lot.choice(
            [b"", b"\xff\xfe" + content, bytes(100), content.decode(errors="replace").encode("utf-16")]
        )
    made = bytearray(content)
    for _ in range(lot.choice([1, 1, 2, 8])):
        made[lot.randrange(len(made))] = lot.choice(
            [0, 9, 10, 13, 0x22, 0x80, 0xC0, 0xFF, lot.randrange(256)]
        )
    return bytes(made)
