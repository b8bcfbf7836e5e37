"""Python values as TOML, for scenarios and settings that are given as dictionaries.

The standard library reads TOML but does not write it; the little that is needed here is quickly said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def document(values: Mapping[str, Any]) -> str:
    """`values` as a TOML document, one line per top-level key.

    >>> print(document({"seed": 1, "network": {"routing": "minimal", "buffers": [1, 2.5]}}), end="")
    "seed" = 1
    "network" = {"routing" = "minimal", "buffers" = [1, 2.5]}
    """
    return "".join(f"{_text(key)} = {value_text(value)}\n" for key, value in values.items())


def value_text(value: Any) -> str:
    """One value in TOML.

    >>> value_text(True), value_text("30 ns"), value_text({"a": [1]})
    ('true', '"30 ns"', '{"a" = [1]}')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case str():
            return _text(value)
        case Mapping():
            return "{" + ", ".join(f"{_text(key)} = {value_text(item)}" for key, item in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(value_text(item) for item in value) + "]"
    raise TypeError(f"a scenario cannot hold a value of type {type(value).__name__}: {value!r}")


def _text(text: str) -> str:
    # JSON's escapes are TOML's; only DEL must be escaped in TOML and is not in JSON.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
