"""The allowed keys and values of a scenario, from the schema that Odonata prints."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

from odonata import _core

Node = dict[str, Any]


@cache
def root() -> Node:
    """The schema."""
    found: Node = json.loads(_core.schema())
    return found


def branches(node: Node) -> list[Node]:
    """The alternatives of `node`, with references resolved."""
    if "$ref" in node:
        return branches(root()["$defs"][node["$ref"].rpartition("/")[2]])
    for word in ("anyOf", "oneOf"):
        if word in node:
            return [branch for part in node[word] for branch in branches(part)]
    return [node]


def keys_at(path: list[str | int]) -> dict[str, Node]:
    """The allowed keys of the table at `path`; empty if there is no such table."""
    here = [root()]
    for step in path:
        following: list[Node] = []
        for node in here:
            if isinstance(step, int):
                following += branches(node["items"]) if "items" in node else []
            else:
                following += branches(node["properties"][step]) if step in node.get("properties", {}) else []
        here = following
    return {key: spec for node in here for key, spec in node.get("properties", {}).items()}


def value_of(spec: Node, lot: random.Random, depth: int = 0) -> Any:
    """A value for `spec`, usually an allowed one."""
    branch = lot.choice(branches(spec))
    if "const" in branch:
        return branch["const"]
    if "enum" in branch:
        return lot.choice(branch["enum"])
    if "pattern" in branch:
        return quantity(branch, lot)
    kinds = branch.get("type", "string")
    kind = kinds if isinstance(kinds, str) else lot.choice([one for one in kinds if one != "null"])
    if kind == "integer":
        low = int(branch.get("minimum", 0))
        high = min(int(branch.get("maximum", low + 9)), low + lot.choice([1, 3, 9, 40]))
        return lot.randint(low, high)
    if kind == "number":
        least, most = float(branch.get("minimum", 0.0)), float(branch.get("maximum", 2.0))
        return lot.choice([least, most, lot.uniform(least, most), 0.5, 1.0])
    if kind == "boolean":
        return lot.random() < 0.5
    if kind == "array":
        return [value_of(branch.get("items", {}), lot, depth + 1) for _ in range(lot.choice([0, 1, 2, 3, 4]))]
    if kind == "object":
        inner = branch.get("properties", {})
        share = 0.5 / (1 + depth)
        chosen = [key for key in inner if key in branch.get("required", []) or lot.random() < share]
        return {key: value_of(inner[key], lot, depth + 1) for key in chosen}
    return lot.choice(["", "a", "traffic", "solver", "0", "latency", "file.txt"])


def quantity(branch: Node, lot: random.Random) -> str:
    """A quantity in one of the units in the pattern of `branch`."""
    example: str = lot.choice(branch["examples"])
    number, _, unit = example.partition(" ")
    units = (
        branch["pattern"]
        .rpartition("(")[2]
        .partition(")")[0]
        .replace("[uµμ]", "u")
        .replace("?", "")
        .split("|")
    )
    if lot.random() < 0.3:
        unit = lot.choice(units)
    if lot.random() < 0.7:
        number = lot.choice(["1", "2", "3", "10", "64", "100", "0.5", "1.5", "1000", "4096"])
    return f"{number} {unit}"
