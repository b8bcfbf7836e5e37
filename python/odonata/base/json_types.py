"""Declarations of JSON objects: typed dictionaries with a text below each key.

A declaration yields the checks of input (`check`), the JSON Schema (`schema_of`) and the reference page
(`json_reference.py`). pydantic makes them. It is imported on demand, since this takes longer than most
commands: for a schema, and to find and name the fault of a value that `matches` does not accept.
"""

from __future__ import annotations

import functools
import json
import threading
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import BaseMetadata, Ge, Le, Predicate
from typing_extensions import is_typeddict

#: The largest number that is accepted: no simulation counts beyond it, and arithmetic below it cannot
#: overflow.
LARGEST = 2**64

Count = Annotated[int, Ge(0), Le(LARGEST)]
Number = Annotated[float, Ge(-LARGEST), Le(LARGEST)]

Declared = TypeVar("Declared", bound=type)


#: The settings of all declarations. Only a schema needs the texts, which pydantic parses from the sources.
_SETTINGS = {"strict": True, "use_attribute_docstrings": False}
_WITH_TEXTS = threading.Lock()


def declared(kind: Declared) -> Declared:
    """Marks a typed dictionary as a declaration: keys have texts, and no value is converted.

    A key that other dictionaries inherit has its text in `Field`: the text below a key is found in its own
    class only.
    """
    setattr(kind, "__pydantic_config__", _SETTINGS)  # noqa: B010
    return kind


@functools.cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


@functools.cache
def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a declaration, with the texts of its keys."""
    from pydantic import TypeAdapter

    with _WITH_TEXTS:
        _SETTINGS["use_attribute_docstrings"] = True
        try:
            schema: dict[str, Any] = TypeAdapter(kind).json_schema(by_alias=True)
        finally:
            _SETTINGS["use_attribute_docstrings"] = False
    return schema


def matches(value: Any, kind: Any) -> bool:
    """Whether a value certainly contradicts no part of its declaration; False is no proof of a fault.

    >>> [matches({"a": [1, one]}, dict[str, list[Count]]) for one in (2, -1, 2.0, True)]
    [True, False, False, False]
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is float:
        return type(value) in (float, int)
    if kind in (str, int, bool, NoneType):
        return type(value) is kind
    if origin is Annotated:
        return matches(value, parts[0]) and all(_keeps(value, rule) for rule in parts[1:])
    if origin in (Union, UnionType):
        return any(matches(value, part) for part in parts)
    if origin is list:
        return type(value) is list and all(matches(item, parts[0]) for item in value)
    if origin is dict:
        return type(value) is dict and all(
            matches(key, parts[0]) and matches(item, parts[1]) for key, item in value.items()
        )
    if is_typeddict(kind):
        return type(value) is dict and all(
            matches(value[key], part) if key in value else is_optional
            for key, (part, is_optional) in _keys(kind).items()
        )
    return False


@functools.cache
def _keys(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The keys of a typed dictionary: type, and whether it may be missing."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        key: (get_args(hint)[0], True) if get_origin(hint) is NotRequired else (hint, False)
        for key, hint in hints.items()
    }


def _keeps(value: Any, rule: Any) -> bool:
    match rule:
        case Ge():
            return bool(value >= rule.ge)
        case Le():
            return bool(value <= rule.le)
        case Predicate():
            return bool(rule.func(value))
    # What is no rule for values is a text.
    return not isinstance(rule, BaseMetadata)


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
    if matches(content, kind):
        return
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
