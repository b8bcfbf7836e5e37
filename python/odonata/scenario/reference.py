"""Reference page of a scenario's keys, generated from the core's JSON Schema.

`docs/scenario.md` is `scenario_page` of the schema. `make docs` writes it; a test compares it. A type of the
schema becomes one section, titled by the keys that can hold it; `N` in a key (`jobs.N`) is a position in a
list. Keys that many tables share have a section of their own, to which the tables link.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from odonata.base.markdown import GENERATED, cell

_INTRO = """\
# Scenario

A scenario is a TOML file. `odonata check FILE` validates and explains it; `--set KEY=VALUE`
replaces any setting from the command line, by its dotted key (`--set network.routing.algorithm=minimal`,
`--set jobs.0.ranks=64`, or by name, `--set jobs.solver.ranks=64`). Unknown keys are errors. `odonata schema`
prints the JSON Schema that this page is made from; editors complete and check scenarios with it.
"""


def scenario_page(schema: dict[str, Any]) -> str:
    """The reference of a scenario's keys, in Markdown."""
    page = _Page(schema.get("$defs", {}))
    page.visit("", schema)
    return GENERATED + _INTRO + page.quantities() + page.section("", schema) + page.sections()


#: From this number on, the places of a type are abbreviated.
_MANY = 4

#: A key is shared if this many tables have it with the same type, default and meaning.
_TABLES_THAT_SHARE = 4
#: Shared keys get a section if a table has at least this many of them.
_SHARED_KEYS = 3


class _Page:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions
        #: The shared keys of each table.
        self.shared = _shared_keys(definitions)
        #: The keys that hold each type, in the order of discovery.
        self.places: dict[str, list[str]] = {}

    def visit(self, path: str, schema: dict[str, Any]) -> None:
        """Finds the places of all types, depth first."""
        for name, place in self._references(path, schema):
            if self._is_quantity(name) or self._is_plain(name):
                continue
            met = name in self.places
            places = self.places.setdefault(name, [])
            if place not in places:
                places.append(place)
            if not met:
                self.visit(place, self.definitions[name])

    def _references(self, path: str, schema: Any) -> Iterator[tuple[str, str]]:
        if not isinstance(schema, dict):
            return
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2], path
        for choice in ("anyOf", "oneOf", "allOf"):
            for part in schema.get(choice, []):
                yield from self._references(path, part)
        yield from self._references(f"{path}.N", schema.get("items"))
        for key, item in schema.get("properties", {}).items():
            yield from self._references(f"{path}.{key}".lstrip("."), item)

    def _is_quantity(self, name: str) -> bool:
        return "pattern" in self.definitions[name]

    def _is_plain(self, name: str) -> bool:
        """Whether a type is a plain choice of values, such as "none" or a size, that needs no section."""
        definition = self.definitions[name]
        variants = definition.get("anyOf") or definition.get("oneOf") or []
        return (
            "description" not in definition
            and bool(variants)
            and all("description" not in each and "properties" not in each for each in variants)
        )

    def quantities(self) -> str:
        """The section about quantities and their notation."""
        rows = ["\n| quantity | written as | for example |\n|---|---|---|\n"]
        for name, definition in self.definitions.items():
            if self._is_quantity(name):
                what, _, how = definition["description"].partition(": ")
                examples = ", ".join(f'`"{example}"`' for example in definition["examples"])
                rows.append(f"| {cell(what.removeprefix('A '))} | {cell(how)} | {examples} |\n")
        return "".join(rows)

    def sections(self) -> str:
        """All types, by the keys that hold them."""
        parts = []
        written: set[frozenset[str]] = set()
        for name in self.places:
            shared = self.shared.get(name, frozenset())
            if shared and shared not in written:
                written.add(shared)
                parts.append(self._shared_section(shared))
            parts.append(self.section(name, self.definitions[name]))
        return "".join(parts)

    def _shared_section(self, shared: frozenset[str]) -> str:
        """The section of keys that several tables share."""
        tables = [name for name in self.places if self.shared.get(name) == shared]
        links = ", ".join(self._link(name, f"`{self.places[name][0].rpartition('.')[2]}`") for name in tables)
        properties = self.definitions[tables[0]]["properties"]
        return (
            f"\n## {self._shared_title(shared)}\n\nEach of these tables has the keys below: {links}.\n"
            + self._keys_table({key: properties[key] for key in properties if key in shared}, [])
        )

    def _shared_title(self, shared: frozenset[str]) -> str:
        places = [self.places[name][0] for name in self.places if self.shared.get(name) == shared]
        title = "Shared keys of " + ", ".join(f"`{place}`" for place in _shortened(places))
        # Of several groups at the same places, each is named after its first table.
        groups = {other: None for name in self.places if (other := self.shared.get(name))}
        alike = [
            other
            for other in groups
            if _shortened([self.places[name][0] for name in self.places if self.shared.get(name) == other])
            == _shortened(places)
        ]
        return title if alike[0] == shared else f"{title}, `{places[0].rpartition('.')[2]}` and others"

    def section(self, name: str, schema: dict[str, Any]) -> str:
        """One type: its description, its values or its keys."""
        parts = [f"\n## {self._title(name) if name else 'Top level'}\n"]
        if text := schema.get("description"):
            parts.append(f"\n{text}\n")
        if "oneOf" in schema:
            parts.append("\n| value | meaning |\n|---|---|\n")
            parts += [self._value_row(variant) for variant in schema["oneOf"]]
        elif schema.get("properties"):
            shared = self.shared.get(name, frozenset())
            own = {key: item for key, item in schema["properties"].items() if key not in shared}
            if own:
                parts.append(self._keys_table(own, schema.get("required", [])))
            if shared:
                link = f"[shared keys](#{_anchor(self._shared_title(shared))})"
                parts.append(f"\n{'Also' if own else 'It has'} the {link}.\n")
        return "".join(parts)

    def _keys_table(self, properties: dict[str, Any], required: list[str]) -> str:
        rows = (self._key_row(key, item, key in required) for key, item in properties.items())
        return "\n| key | type | default | meaning |\n|---|---|---|---|\n" + "".join(rows)

    def _title(self, name: str) -> str:
        title = ", ".join(f"`{place}`" for place in _shortened(self.places[name]))
        # A table that stands where a name may stand too has the same key; GitHub needs another anchor.
        alike = [other for other, places in self.places.items() if places == self.places[name]]
        return title if alike[0] == name else f"{title} as a table"

    def _link(self, name: str, text: str) -> str:
        return f"[{text}](#{_anchor(self._title(name))})"

    def _value_row(self, variant: dict[str, Any]) -> str:
        meaning = variant.get("description", "")
        if "const" in variant:
            value = f"`{json.dumps(variant['const'])}`"
        elif (name := variant.get("$ref", "").rpartition("/")[2]) in self.places:
            value, meaning = self._link(name, "a table"), self.definitions[name].get("description", "")
        elif properties := variant.get("properties"):
            key, item = next(iter(properties.items()))
            value = f"`{{ {key} = ... }}`, {self._type(item)}"
        else:
            value = self._type(variant)
        return f"| {value} | {cell(meaning)} |\n"

    def _key_row(self, key: str, item: Any, required: bool) -> str:
        default = ""
        if required:
            default = "required"
        elif isinstance(item, dict) and not isinstance(item.get("default"), dict | None):
            default = f"`{json.dumps(item['default'], ensure_ascii=False)}`"
        meaning = item.get("description", "") if isinstance(item, dict) else ""
        return f"| `{key}` | {self._type(item)} | {default} | {cell(meaning)} |\n"

    def _type(self, item: Any) -> str:
        """A key's type in words, with a link if it has a section."""
        if not isinstance(item, dict):
            return "any"
        if "$ref" in item:
            name = item["$ref"].rpartition("/")[2]
            definition = self.definitions[name]
            if self._is_quantity(name):
                return str(definition["description"]).partition(":")[0].removeprefix("A ")
            if self._is_plain(name):
                return self._type(definition)
            return self._link(name, "one of ..." if "oneOf" in definition else "table")
        for choice in ("anyOf", "oneOf", "allOf"):
            if choice in item:
                names = [self._type(part) for part in item[choice] if part.get("type") != "null"]
                return " or ".join(dict.fromkeys(names))
        if "const" in item:
            return f"`{json.dumps(item['const'])}`"
        kinds = item.get("type", "any")
        names = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
        if "array" in names:
            inner = self._type(item.get("items", {}))
            return f"list of {inner}s" if inner.isalpha() else f"list: {inner}"
        return " or ".join(names)


def _shared_keys(definitions: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The keys of each table that many tables have with the same type, default and meaning.

    >>> tables = {name: {"properties": {key: {"type": "number"} for key in "abcd"}} for name in "stuv"}
    >>> tables["s"]["properties"]["own"] = {"type": "string"}
    >>> sorted(_shared_keys(tables)["s"])
    ['a', 'b', 'c', 'd']
    """

    def keys(table: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        needed = table.get("required", [])
        return {
            key: (key, json.dumps([item, key in needed], sort_keys=True))
            for key, item in table.get("properties", {}).items()
        }

    count = Counter(each for table in definitions.values() for each in keys(table).values())
    found = {
        name: frozenset(key for key, each in keys(table).items() if count[each] >= _TABLES_THAT_SHARE)
        for name, table in definitions.items()
    }
    groups = Counter(found.values())
    return {
        name: shared
        for name, shared in found.items()
        if len(shared) >= _SHARED_KEYS and groups[shared] >= _TABLES_THAT_SHARE
    }


def _anchor(title: str) -> str:
    """The anchor that GitHub derives from a title."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _shortened(places: list[str]) -> list[str]:
    """Abbreviates many places that differ in one word to one pattern.

    >>> _shortened([f"jobs.N.workload.{name}.arrival" for name in ("incast", "shift", "tornado", "uniform")])
    ['jobs.N.workload.*.arrival']
    """
    split = [place.split(".") for place in places]
    if len(places) < _MANY or len({len(words) for words in split}) > 1:
        return places
    words = [column[0] if len(set(column)) == 1 else "*" for column in zip(*split, strict=True)]
    return [".".join(words)] if words.count("*") == 1 else places
