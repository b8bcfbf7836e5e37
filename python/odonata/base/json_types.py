"""Declarations of JSON objects: typed dictionaries with a text below each key.

A declaration yields the checks of input (`check`), the JSON Schema (`schema_of`) and the reference page
(`json_reference.py`). pydantic makes them. It is imported on demand: commands that only write do not need it.
"""

from __future__ import annotations

import functools
import json
from typing import Annotated, Any, TypeVar

from annotated_types import Ge, Le

#: The largest number that is accepted: no simulation counts beyond it, and arithmetic below it cannot
#: overflow.
LARGEST = 2**64

Count = Annotated[int, Ge(0), Le(LARGEST)]
Number = Annotated[float, Ge(-LARGEST), Le(LARGEST)]

Declared = TypeVar("Declared", bound=type)


def declared(kind: Declared) -> Declared:
    """Marks a typed dictionary as a declaration: keys have texts, and no value is converted.

    A key that other dictionaries inherit has its text in `Field`: the text below a key is found in its own
    class only.
    """
    config = {"use_attribute_docstrings": True, "strict": True}
    setattr(kind, "__pydantic_config__", config)  # noqa: B010
    return kind


@functools.cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


@functools.cache
def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a declaration."""
    schema: dict[str, Any] = _adapter(kind).json_schema(by_alias=True)
    return schema


class Wrong(Exception):
    """A value that contradicts its declaration.

    >>> check({"a": [1, "x"]}, dict[str, list[Count]])
    Traceback (most recent call last):
    ...
    odonata.base.json_types.Wrong: ('a.1', '"x"', 'a whole number from 0 to 2^64')
    """

    def __init__(self, key: str, value: str | None, expected: str) -> None:
        super().__init__(key, value, expected)
        self.key = key
        #: The value as JSON; None if it is missing.
        self.value = value
        self.expected = expected


def check(content: Any, kind: Any) -> None:
    """Raises `Wrong` if a declared key is missing from `content` or has another type."""
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_python(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        value = None if first["type"] == "missing" else _shown(first["input"])
        schema = schema_of(kind)
        expected = words(part(schema, first["loc"]), schema.get("$defs", {}))
        raise Wrong(".".join(map(str, first["loc"])), value, expected) from None


def part(schema: dict[str, Any], way: tuple[int | str, ...]) -> dict[str, Any] | None:
    """The schema of the value at `way`; None if none is declared there."""
    found: Any = schema
    for key in way:
        found = resolved(found, schema.get("$defs", {}))
        inner = found.get("items") if isinstance(key, int) else found.get("properties", {}).get(key)
        found = found.get("additionalProperties") if inner is None else inner
        if not isinstance(found, dict):
            return None
    return resolved(found, schema.get("$defs", {}))


def resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """`schema` without references; a choice of null becomes the key `nullable`."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]] | {
            k: v for k, v in schema.items() if k != "$ref"
        }
    choices = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    if len(choices) == 1:
        outer = {key: value for key, value in schema.items() if key != "anyOf"}
        return resolved(choices[0], definitions) | outer | {"nullable": len(schema["anyOf"]) > 1}
    return schema


_WORDS = {
    "string": "a text",
    "boolean": "true or false",
    "number": "a number",
    "integer": "a whole number from 0 to 2^64",
    "object": "an object",
    "array": "a list",
}


def words(schema: dict[str, Any] | None, definitions: dict[str, Any]) -> str:
    """The values that this schema accepts, in words."""
    schema = resolved(schema or {}, definitions)
    text = schema.get("expected") or _WORDS.get(schema.get("type", ""), "a value of another kind")
    each = schema.get("items") or schema.get("additionalProperties")
    if isinstance(each, dict) and each:
        text += f", of which each {'item' if 'items' in schema else 'value'} is {words(each, definitions)}"
    return f"{text}, or null" if schema.get("nullable") else text


def _shown(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
