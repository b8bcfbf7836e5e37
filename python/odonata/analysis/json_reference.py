"""Reference of JSON answers: the keys of a JSON Schema and their meanings.

`docs/results.md` and `odonata schema --markdown` show it.

A key after `.` belongs to the object before it, `[]` marks a list, and JOB and METRIC stand for any such
name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from odonata.analysis import run_record
from odonata.answers import ANSWERS
from odonata.base.json_types import resolved, schema_of

_KINDS = {"run": run_record.Run} | ANSWERS


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of run.json, or of a command's answer with `--json`."""
    return schema_of(_KINDS[name])


def schemas() -> dict[str, dict[str, Any]]:
    """All schemas, by name."""
    return {name: schema(name) for name in _KINDS}


def meanings(schema: dict[str, Any]) -> dict[str, str]:
    """The meanings of the keys of a JSON Schema; keys without a text are left out.

    >>> item = {"type": "object", "properties": {"job": {"description": "Its name."}}}
    >>> meanings({"properties": {"jobs": {"items": item}, "of": {"additionalProperties": item}}})
    {'jobs[].job': 'Its name.', 'of.JOB.job': 'Its name.'}
    """
    return dict(_meanings(schema, "", schema.get("$defs", {})))


def _meanings(schema: dict[str, Any], key: str, definitions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    schema = resolved(schema, definitions)
    for name, inner in schema.get("properties", {}).items():
        place = f"{key}.{name}" if key else name
        if "description" in inner:
            yield place, " ".join(inner["description"].split())
        yield from _meanings(inner, place, definitions)
    # An object with a name of its own was described above.
    each, names = schema.get("items"), schema.get("additionalProperties")
    if isinstance(each, dict):
        yield from _meanings(each, f"{key}[]", definitions)
    if isinstance(names, dict):
        place = f"{key}.{'METRIC' if key.endswith('.JOB') else 'JOB'}"
        if "description" in names:
            yield place, names["description"]
        yield from _meanings(names, place, definitions)
