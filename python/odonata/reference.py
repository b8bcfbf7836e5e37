"""Reference pages, written from what the core says about itself, so that they cannot drift from it.

`docs/results.md` is `tables_page` of the core's table documentation, `docs/scenario.md` is `scenario_page` of
its JSON Schema. `make docs` writes them; a test compares them.
"""

from __future__ import annotations

import json
from typing import Any

_GENERATED = "<!-- Generated from the types by `make docs`; edit the doc comments there. -->\n"

_RESULTS_INTRO = """\
# Results

`odonata run SCENARIO -o DIR` writes `DIR/run.json` and the Parquet tables below. The folder appears whole or
not at all. The unit of a column is in its name (`_s` simulated seconds, `bytes`) and, with its description,
in the metadata of the Parquet field.

```python
import odonata

results = odonata.load("results/interference")
results.run["outcome"]                  # run.json
results.table("jobs").to_pandas()       # pyarrow.Table -> pandas
```
"""

_SCENARIO_INTRO = """\
# Scenario

A scenario is a TOML file. `odonata check FILE` says whether it is right and what it means; `--set key=value`
replaces any setting from the command line, by its dotted key. Quantities are texts with a unit: `"5.25
GiB/s"`, `"30 ns"`, `"8 KiB"`; GiB (2^30) and GB (10^9) are different things. Unknown keys are errors.
`odonata schema` prints the JSON Schema that this page is made from; editors complete and check scenarios with
it.
"""


def tables_page(tables: list[dict[str, Any]]) -> str:
    r"""The reference of the result tables, in Markdown.

    >>> column = {"name": "job", "type": "string", "unit": "", "doc": "Name."}
    >>> page = tables_page([{"table": "jobs", "doc": "One row per job.", "columns": [column]}])
    >>> print("\n".join(page.splitlines()[-3:]))
    | column | type | unit | meaning |
    |---|---|---|---|
    | `job` | string |  | Name. |
    """
    parts = [_GENERATED, _RESULTS_INTRO]
    for table in tables:
        parts.append(f"\n## {table['table']}\n\n{table['doc']}\n")
        parts.append("\n| column | type | unit | meaning |\n|---|---|---|---|\n")
        for column in table["columns"]:
            cells = (f"`{column['name']}`", column["type"], column["unit"], _cell(column["doc"]))
            parts.append("| " + " | ".join(cells) + " |\n")
    return "".join(parts)


def scenario_page(schema: dict[str, Any]) -> str:
    """The reference of a scenario's keys, in Markdown: one section per type of table, top level first."""
    page = _ScenarioPage(schema.get("$defs", {}))
    page.section("Top level", schema)
    # Sections are found while sections are written; a list that grows is a queue.
    for name in page.found:
        page.section(name, page.definitions[name])
    return _GENERATED + _SCENARIO_INTRO + "".join(page.parts)


class _ScenarioPage:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions
        self.found: list[str] = []
        self.parts: list[str] = []

    def section(self, name: str, schema: dict[str, Any]) -> None:
        """One type: its description, its variants, its keys."""
        self.parts.append(f"\n## {name}\n")
        if text := schema.get("description"):
            self.parts.append(f"\n{text}\n")
        variants = schema.get("oneOf") or schema.get("anyOf") or []
        if variants:
            self._variants(variants)
        if schema.get("properties"):
            self._keys(schema)

    def _variants(self, variants: list[dict[str, Any]]) -> None:
        values = [variant for variant in variants if "const" in variant]
        if values:
            self.parts.append("\n| value | meaning |\n|---|---|\n")
            self.parts += [
                f"| `{json.dumps(value['const'])}` | {_cell(value.get('description', ''))} |\n"
                for value in values
            ]
        for variant in variants:
            if "const" in variant:
                continue
            tags = [
                f"`{key} = {json.dumps(item['const'])}`"
                for key, item in variant.get("properties", {}).items()
                if "const" in item
            ]
            title = ", ".join(tags) or self.type_of(variant)
            self.parts.append(f"\n**{title}**: {_cell(variant.get('description', ''))}\n")
            self._keys(variant)

    def _keys(self, schema: dict[str, Any]) -> None:
        rows = []
        required = set(schema.get("required", []))
        for key, item in schema.get("properties", {}).items():
            if "const" in item:
                continue
            if key in required:
                default = "required"
            elif "default" in item and item["default"] is not None:
                default = f"`{json.dumps(item['default'], ensure_ascii=False)}`"
            else:
                default = ""
            rows.append(
                f"| `{key}` | {self.type_of(item)} | {default} | {_cell(item.get('description', ''))} |\n"
            )
        if rows:
            self.parts.append("\n| key | type | default | meaning |\n|---|---|---|---|\n")
            self.parts += rows

    def type_of(self, item: Any) -> str:
        """A key's type in words, with links to the sections of other types."""
        if not isinstance(item, dict):
            return "any"
        if "$ref" in item:
            return self._link(item["$ref"].rpartition("/")[2])
        if "enum" in item:
            return ", ".join(f"`{json.dumps(value)}`" for value in item["enum"])
        for choice in ("anyOf", "oneOf", "allOf"):
            if choice in item:
                names = [self.type_of(part) for part in item[choice] if part.get("type") != "null"]
                return " or ".join(dict.fromkeys(names))
        kinds = item.get("type", "any")
        names = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
        if "array" in names:
            return f"list of {self.type_of(item.get('items', {}))}"
        if "object" in names and isinstance(item.get("additionalProperties"), dict):
            return f"table of {self.type_of(item['additionalProperties'])}, by name"
        return " or ".join(names)

    def _link(self, name: str) -> str:
        target = self.definitions.get(name, {})
        if not any(part in target for part in ("properties", "oneOf", "anyOf", "enum")):
            return self.type_of(target | {"description": ""}) if target else name
        if name not in self.found:
            self.found.append(name)
        return f"[{name}](#{name.lower()})"


def _cell(text: str) -> str:
    """`text` on one line, fit for a cell."""
    return " ".join(text.split()).replace("|", "\\|")
