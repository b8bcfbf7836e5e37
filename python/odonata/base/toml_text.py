"""Python values as TOML, for scenarios and settings that are given as dictionaries.

The standard library reads TOML but does not write it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any


def document(values: Mapping[str, Any]) -> str:
    """`values` as a TOML document, one line per top-level key.

    >>> print(document({"seed": 1, "network": {"routing": "minimal", "buffers": [1, 2.5]}}), end="")
    seed = 1
    network = { routing = "minimal", buffers = [1, 2.5] }
    """
    return "".join(f"{key_text(key)} = {value_text(value)}\n" for key, value in values.items())


#: Longest line of TOML for people.
_WIDTH = 110


def pages(values: Mapping[str, Any]) -> str:
    """`values` as readable TOML: a section per table, and short tables on one line.

    >>> print(pages({"jobs": [{"name": "a"}], "seed": 1, "network": {"packet": "4 KiB"}}), end="")
    seed = 1
    <BLANKLINE>
    [network]
    packet = "4 KiB"
    <BLANKLINE>
    [[jobs]]
    name = "a"
    """
    return "\n".join(_section(values, "")).lstrip("\n") + "\n"


def _section(values: Mapping[str, Any], name: str) -> Iterator[str]:
    later: list[tuple[str, Any]] = []
    for key, value in values.items():
        tables = _is_tables(value)
        if (tables or isinstance(value, Mapping)) and not name:
            later.append((key, value))
            continue
        text = f"{key_text(key)} = {value_text(value)}"
        if isinstance(value, Mapping) and value and len(text) > _WIDTH:
            later.append((key, value))
        else:
            yield text
    # Tables before lists of tables: jobs come last.
    for key, value in sorted(later, key=lambda item: _is_tables(item[1])):
        inner = f"{name}.{key_text(key)}" if name else key_text(key)
        for one in value if _is_tables(value) else [value]:
            lines = list(_section(one, inner))
            # A table that only holds tables needs no header.
            if _is_tables(value) or not (lines and not lines[0]):
                lines = ["", f"[[{inner}]]" if _is_tables(value) else f"[{inner}]", *lines]
            yield from lines


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def value_text(value: Any) -> str:
    """One value in TOML.

    >>> value_text(True), value_text("30 ns"), value_text({"a": [1]})
    ('true', '"30 ns"', '{ a = [1] }')
    """
    match value:
        case bool():
            return "true" if value else "false"
        # Numbers of numpy are such numbers too.
        case Integral():
            return str(int(value))
        case Real():
            return repr(float(value))
        case str():
            return _text(value)
        case Mapping():
            items = ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in value.items())
            return f"{{ {items} }}" if items else "{}"
        case Sequence():
            return "[" + ", ".join(value_text(item) for item in value) + "]"
    raise TypeError(f"a scenario cannot hold a value of type {type(value).__name__}: {value!r}")


#: Keys that need no quotation marks.
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def key_text(key: str) -> str:
    """A key in TOML.

    >>> key_text("fat-tree"), key_text("a.b"), key_text("")
    ('fat-tree', '"a.b"', '""')
    """
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's; only DEL must be escaped in TOML and is not in JSON.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
