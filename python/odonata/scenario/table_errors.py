"""Errors of a table of a scenario, in the words of the core."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from odonata import _core
from odonata.base.nearest import did_you_mean, nearest
from odonata.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

#: Expected values, by pydantic's names of errors.
_EXPECTED = {
    "bool_type": "true or false (True, False)",
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a table",
    "callable_type": "a function",
    "finite_number": "a finite number",
}


def input_error(error: ValueError, kind: type[BaseModel], values: Any) -> InputError:
    """The error that pydantic has found in `values` for the table `kind`."""
    if not isinstance(error, ValidationError):
        # The code set a field that the table does not have.
        return _unknown(next(iter(values)), kind, None)
    ways = [(_way(one, values), one) for one in error.errors(include_url=False)]
    # Of the alternatives of a value, the one with the longest path counts.
    longest = max(len(way) for way, _ in ways)
    way, first = next((way, one) for way, one in ways if len(way) == longest)
    same = [one for other, one in ways if other == way]
    key = ".".join(map(str, way)) or None
    inner = first.get("ctx", {}).get("error")
    if first["type"] == "value_error" and isinstance(inner, InputError):
        return InputError(inner.message, key=key, value=inner.value, expected=inner.expected)
    if any(one["type"] in ("extra_forbidden", "no_such_attribute") for one in same):
        return _unknown(str(way[-1]), _table_at(kind, way[:-1]), key)
    if first["type"] == "missing":
        return InputError(f'the key "{way[-1]}" is missing', key=key, expected="a value for it")
    texts = [_quantity(kind, way)] if any(one["type"] == "string_type" for one in same) else []
    expected = " or ".join(dict.fromkeys(filter(None, [*texts, *(_expected(one) for one in same)])))
    return InputError("a wrong value", key=key, value=_shown(first["input"]), expected=expected or None)


def _way(error: ErrorDetails, values: Any) -> tuple[str | int, ...]:
    """The path of the error, without the names of the alternatives that pydantic has tried."""
    way: list[str | int] = []
    at = values
    parts = error["loc"]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if _holds(at, part):
            at = at[part]
        elif isinstance(part, str) and isinstance(at, BaseModel) and part in type(at).model_fields:
            at = getattr(at, part)
        elif not (last and error["type"] == "missing"):
            continue
        way.append(part)
    return tuple(way)


def _holds(at: Any, part: str | int) -> bool:
    """Whether the part is an item of a list, or a key."""
    if isinstance(part, int):
        return isinstance(at, Sequence) and not isinstance(at, str)
    return isinstance(at, Mapping) and part in at


def _table_at(kind: type[BaseModel], way: Sequence[str | int]) -> type[BaseModel]:
    """The class of the table at a path within another."""
    for part in way:
        if isinstance(part, int):
            continue
        for name, field in kind.model_fields.items():
            if part in (name, field.validation_alias):
                kind = next(_classes(field.annotation), kind)
                break
    return kind


def _quantity(kind: type[BaseModel], way: Sequence[str | int]) -> str | None:
    """The quantity at a path, if one is expected."""
    table = _table_at(kind, way[:-1])
    for name, field in table.model_fields.items():
        if way[-1] in (name, field.validation_alias):
            patterns = [
                *_patterns(field.annotation),
                *(getattr(one, "pattern", None) for one in field.metadata),
            ]
            return next((_quantities()[one] for one in patterns if one in _quantities()), None)
    return None


def _patterns(annotation: Any) -> Iterator[Any]:
    for one in getattr(annotation, "__metadata__", ()):
        yield getattr(one, "pattern", None)
    for part in getattr(annotation, "__args__", ()):
        yield from _patterns(part)


def _classes(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _classes(part)


def _unknown(name: str, kind: type[BaseModel], key: str | None) -> InputError:
    names = list(kind.model_fields)
    return InputError(
        f'unknown key "{name}"',
        key=key or name,
        expected=" or ".join(filter(None, (", ".join(names[:-1]), names[-1]))),
        hint=did_you_mean(nearest(name, names)),
    )


def _expected(error: ErrorDetails) -> str | None:
    context = error.get("ctx", {})
    match error["type"]:
        case "literal_error":
            return f"one of {context['expected']}"
        case "string_pattern_mismatch":
            return _quantities().get(context["pattern"], "another text")
        case "greater_than_equal":
            return f"{context['ge']} or more"
        case "less_than_equal":
            return f"{context['le']} at most"
        case "too_short" | "too_long":
            return f"{context.get('min_length', context.get('max_length'))} items"
        case "model_type" | "model_attributes_type":
            return f"a table ({context.get('class_name', 'object')})"
        case "none_required":
            return None
        case other:
            return _EXPECTED.get(other)


@functools.cache
def _quantities() -> dict[str, str]:
    """Names of the quantities, by their patterns."""
    return {
        definition["pattern"]: definition["description"].partition("; ")[0].replace("A ", "a ", 1)
        + f', such as "{definition["examples"][0]}"'
        for definition in json.loads(_core.schema())["$defs"].values()
        if "pattern" in definition
    }


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
