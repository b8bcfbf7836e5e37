"""Classes of a scenario (`objects.py`) as Python source, generated from the core's JSON Schema.

`make docs` writes it; a test compares it. A table of the schema becomes a class with a field per key, a
quantity a text with a pattern, a choice of names a `Literal`. A choice of tables with one key each
(`workload`) becomes one class of which exactly one field is set. A key that is no name in Python gets another
field name: `dragonfly_2d`, `global_`.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

_HEAD = '''\
"""A scenario as objects: a class for every table, made from the types of the core by `make docs`.

Editors complete keys and show what they mean; a wrong key or value is an `InputError` at once.

>>> from odonata.scenario import Dragonfly, Job, Machine, Scenario, Stencil, Workload
>>> sizes = Dragonfly(groups=3, routers_per_group=2, nodes_per_router=2, global_ports_per_router=1)
>>> halo = Job(name="halo", ranks=8, workload=Workload(stencil=Stencil(message="64 KiB")))
>>> scenario = Scenario(machine=Machine(dragonfly=sizes), jobs=[halo])
>>> scenario.network.routing.algorithm = "minimal"
>>> print(scenario.to_toml())
[machine]
dragonfly = { global_ports_per_router = 1, groups = 3, nodes_per_router = 2, routers_per_group = 2 }
<BLANKLINE>
[network]
routing = { algorithm = "minimal" }
<BLANKLINE>
[[jobs]]
name = "halo"
ranks = 8
workload = { stencil = { message = "64 KiB" } }
<BLANKLINE>
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from odonata.scenario.table import Choice, ScenarioTable, Table
'''

#: Types whose name has another meaning in Python.
_RENAMED = {"Exception": "RouterException"}

#: Types that a key accepts in Python in addition to those of a file.
_ALSO = {("Job", "python"): "Callable[..., Any]"}

#: Keys that come first in their table, by custom; the others follow in alphabetical order.
_FIRST = ("name", "preset", "seed", "ranks")

#: The example of the whole scenario.
_EXAMPLE = """\
>>> Scenario(preset="theta", seed=7).to_dict()
{'preset': 'theta', 'seed': 7}"""

#: Longest line of documentation.
_WIDTH = 106


def module(schema: dict[str, Any]) -> str:
    """The source of the module."""
    return _Module(schema).text()


class _Module:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.root = schema
        self.definitions: dict[str, dict[str, Any]] = schema.get("$defs", {})
        self.written: dict[str, str] = {}
        #: Types that are being written: a recursive type is named, not written again.
        self.open: set[str] = set()

    def text(self) -> str:
        """The whole source, dependencies first."""
        about = {**self.root, "description": f"{self.root['description']}\n\n{_EXAMPLE}"}
        root = self.table("Scenario", about, "ScenarioTable")
        parts = [_HEAD, *self.written.values(), root]
        names = ["Scenario", *self.written]
        listed = "".join(f'    "{name}",\n' for name in sorted(names))
        return "\n".join([*parts[:1], f"__all__ = [\n{listed}]\n\n", *parts[1:]])

    def name(self, reference: str) -> str:
        """The Python name of a type, which is written on first use."""
        key = reference.rpartition("/")[2]
        name = _RENAMED.get(key, key)
        if name not in self.written and name not in self.open:
            self.open.add(name)
            self.written[name] = self.definition(name, self.definitions[key])
        return name

    def definition(self, name: str, schema: dict[str, Any]) -> str:
        """Writes a type of the schema."""
        if "pattern" in schema:
            kind = f'Annotated[str, StringConstraints(pattern=r"{schema["pattern"]}")]'
            return f"{name} = {kind}\n{_documented(schema, '')}\n"
        if schema.get("type") == "object" and "properties" in schema:
            return self.table(name, schema, "Table")
        variants = schema.get("oneOf", [])
        if variants and all(_is_single(variant) for variant in variants):
            properties = {
                key: {**inner, "description": variant.get("description", ""), "optional": True}
                for variant in variants
                for key, inner in variant["properties"].items()
            }
            return self.table(name, {**schema, "properties": properties}, "Choice")
        text_of_variants = _described_variants(schema)
        text = self.type(schema, name)
        return f"{name} = {text}\n{_documented({'description': text_of_variants}, '')}\n"

    def table(self, name: str, schema: dict[str, Any], base: str) -> str:
        """Writes a class."""
        lines = [f"\nclass {name}({base}):", _documented(schema, "    ") or f'    """The table {name}."""']
        properties = schema["properties"]
        required = schema.get("required", [])
        fields = {key: _field_name(key) for key in properties}
        taken = set(fields.values())
        first = [*required, *(key for key in _FIRST if key in properties and key not in required)]
        for key in [*first, *(key for key in properties if key not in first)]:
            inner = properties[key]
            lines += ["", *self.field(name, key, fields[key], inner, key in required, taken)]
        return "\n".join(lines) + "\n"

    def field(
        self, table: str, key: str, name: str, schema: dict[str, Any], required: bool, taken: set[str]
    ) -> Iterator[str]:
        """A key, with its meaning below it."""
        kind = self.type(schema, f"{table}{_camel(key)}")
        if (table, key) in _ALSO:
            kind = f"{_ALSO[table, key]} | {kind}"
        default = schema.get("default")
        of_table = "$ref" in schema and isinstance(default, dict) and self.fills_itself(schema["$ref"])
        default = None if isinstance(default, dict) else default
        options = []
        if not required:
            if of_table:
                options.append(f"default_factory={self.name(schema['$ref'])}")
            elif "default" in schema or "$ref" not in schema:
                # The core fills in the default of a whole table.
                options.append(f"default={_value(default)}")
                if default is None and "None" not in kind.split(" | "):
                    kind += " | None"
            else:
                # The core decides the value of an absent key.
                options.append("default=None")
                kind += " | None"
        if name != key:
            options += [f'validation_alias="{key}"', f'serialization_alias="{key}"']
        # In a class, a field hides the built-in type of the same name.
        for hidden in taken & {"list", "int", "float", "str", "bool"}:
            kind = re.sub(rf"\b{hidden}\b", f"builtins.{hidden}", kind)
        if len(options) == 1 and options[0].startswith("default="):
            yield f"    {name}: {kind} = {options[0].removeprefix('default=')}"
        elif options:
            yield f"    {name}: {kind} = Field({', '.join(options)})"
        else:
            yield f"    {name}: {kind}"
        if documentation := _documented(schema, "    "):
            yield documentation

    def fills_itself(self, reference: str) -> bool:
        """Whether a type is one table without required keys."""
        definition = self.definitions[reference.rpartition("/")[2]]
        return "properties" in definition and not definition.get("required")

    def type(self, schema: dict[str, Any], name: str) -> str:
        """A type as an annotation; `name` is for a table without a name."""
        if "$ref" in schema:
            return self.name(schema["$ref"])
        if "const" in schema:
            return f"Literal[{_value(schema['const'])}]"
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return _union([self.type(part, name) for part in schema[choice]])
        kinds = schema.get("type", "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return _union([self.plain(kind, schema, name) for kind in kinds])

    def plain(self, kind: str, schema: dict[str, Any], name: str) -> str:
        """A type without alternatives."""
        bounds = [
            f"{ours}={schema[theirs]}"
            for theirs, ours in (
                ("minimum", "ge"),
                ("maximum", "le"),
                ("minItems", "min_length"),
                ("maxItems", "max_length"),
            )
            if theirs in schema
        ]
        match kind:
            case "null":
                return "None"
            case "string" | "boolean":
                return {"string": "str", "boolean": "bool"}[kind]
            case "integer" | "number":
                plain = {"integer": "int", "number": "float"}[kind]
            case "array":
                plain = f"list[{self.type(schema.get('items', {}), name)}]"
            case "object" if "properties" in schema:
                key = next(iter(schema["properties"]))
                own = f"{name}{_camel(key)}"
                self.written[own] = self.table(own, schema, "Table")
                return own
            case "object":
                return "dict[str, Any]"
            case _:
                return "Any"
        return f"Annotated[{plain}, Field({', '.join(bounds)})]" if bounds else plain


def _is_single(schema: dict[str, Any]) -> bool:
    """Whether the schema is a table of exactly one key."""
    return schema.get("type") == "object" and schema.get("required") == list(schema.get("properties", ()))


def _union(kinds: list[str]) -> str:
    """A union of types; names side by side are one `Literal`."""
    names = [kind.removeprefix("Literal[")[:-1] for kind in kinds if kind.startswith("Literal[")]
    others = [kind for kind in dict.fromkeys(kinds) if not kind.startswith("Literal[") and kind != "None"]
    found = ([f"Literal[{', '.join(names)}]"] if names else []) + others
    return " | ".join([*found, *(["None"] if "None" in kinds else [])])


def _field_name(key: str) -> str:
    """A key as a name in Python.

    >>> _field_name("dragonfly-2d"), _field_name("global"), _field_name("copy"), _field_name("self")
    ('dragonfly_2d', 'global_', 'copy_', 'self_')
    """
    name = re.sub(r"\W", "_", key)
    return f"{name}_" if keyword.iskeyword(name) or name == "self" or hasattr(BaseModel, name) else name


def _camel(key: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"\W|_", key))


def _value(value: Any) -> str:
    """A value in Python.

    >>> _value("8 KiB"), _value(True), _value(None), _value([8, 11])
    ('"8 KiB"', 'True', 'None', '[8, 11]')
    """
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _described_variants(schema: dict[str, Any]) -> str:
    """The meanings of the names in a choice."""
    paragraphs = [schema["description"]] if "description" in schema else []
    for variant in schema.get("oneOf", []):
        if "const" in variant and "description" in variant:
            paragraphs.append(f"`{variant['const']}`: {' '.join(variant['description'].split())}")
    return "\n\n".join(paragraphs)


def _documented(schema: dict[str, Any], indent: str) -> str:
    """The documentation of a schema; empty if it has none."""
    text = schema.get("description", "").replace("\\", "\\\\").replace('"""', "'''")
    if not text:
        return ""
    width = _WIDTH - len(indent)
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += [""] if lines else []
        lines += (
            paragraph.splitlines()
            if paragraph.startswith(">>>")
            else textwrap.wrap(" ".join(paragraph.split()), width)
        )
    if len(lines) == 1:
        # A quotation mark at the end would close the docstring.
        last = lines[0] + (" " if lines[0].endswith('"') else "")
        return f'{indent}"""{last}"""'
    body = "\n".join(f"{indent}{line}".rstrip() for line in lines[1:])
    return f'{indent}"""{lines[0]}\n{body}\n{indent}"""'
