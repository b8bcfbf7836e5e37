"""Trees as TOML, including hostile values: a `Raw` is written unchanged."""

from __future__ import annotations

import json
import math
from typing import Any


class Raw(str):
    """A piece of text, possibly invalid as TOML."""


def document(tree: dict[str, Any]) -> str:
    """A document with a table for each table at the top, so that its keys are on lines of their own."""
    plain = [f"{key_text(key)} = {value_text(value)}" for key, value in tree.items() if not _is_table(value)]
    lines = [*plain]
    for key, value in tree.items():
        if isinstance(value, dict):
            lines += ["", *_table(key_text(key), value)]
        elif _is_table(value):
            for item in value:
                lines += ["", f"[[{key_text(key)}]]"]
                lines += [f"{key_text(name)} = {value_text(part)}" for name, part in item.items()]
    return "\n".join(lines) + "\n"


def _table(name: str, table: dict[str, Any]) -> list[str]:
    lines = [f"[{name}]"]
    lines += [f"{key_text(key)} = {value_text(value)}" for key, value in table.items()]
    return lines


def _is_table(value: Any) -> bool:
    if isinstance(value, dict):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def key_text(key: str) -> str:
    """A key."""
    if isinstance(key, Raw) or (key.isascii() and key.replace("-", "").replace("_", "").isalnum()):
        return key
    return _text(key)


def value_text(value: Any) -> str:
    """A value."""
    match value:
        case Raw():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            if math.isnan(value):
                return "nan"
            return repr(value) if math.isfinite(value) else "inf" if value > 0 else "-inf"
        case str():
            return _text(value)
        case dict():
            parts = (f"{key_text(key)} = {value_text(item)}" for key, item in value.items())
            return "{ " + ", ".join(parts) + " }"
        case list():
            return "[" + ", ".join(value_text(item) for item in value) + "]"
    return _text(str(value))


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
