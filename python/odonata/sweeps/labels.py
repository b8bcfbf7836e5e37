"""Readable names of a sweep's `[[points]]`, in place of a column for each of their keys.

A key that only some points set belongs to `[[points]]`: on other axes, every key has a value at every point.
A point that sets `name`, the name of the scenario, has that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from odonata.sweeps.values import text

if TYPE_CHECKING:
    from odonata.sweeps.result import Sweep

#: The column that replaces the keys of `[[points]]`.
POINTS = "points"


def of_points(keys: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """The keys of `[[points]]` among the swept `keys`; none if all points set all of them.

    >>> of_points(["a", "b", "c"], {"a": [1, None], "b": [None, "x"], "c": [3, 4]})
    ['a', 'b']
    """
    found = [key for key in keys if any(value is None for value in columns[key])]
    return (["name"] if found and "name" in keys and "name" not in found else []) + found


def label(values: Mapping[str, Any]) -> str:
    """The name of a point, from the keys that it sets.

    >>> label({"machine.fat-tree.radix": 64, "machine.fat-tree.levels": 2, "machine.slim-fly.q": None})
    'fat-tree radix 64, levels 2'
    >>> label({"machine.slim-fly.q": 11, "network.routing.algorithm": "ugal"})
    'slim-fly q 11, routing algorithm ugal'
    >>> label({"name": "fat tree", "machine.fat-tree.radix": 64}), label({"packet": None})
    ('fat tree', 'as the scenario')
    """
    if values.get("name") is not None:
        return str(values["name"])
    parts = []
    table = ""
    for key, value in values.items():
        if value is None:
            continue
        *parents, last = key.split(".")
        # The innermost table names the setting, once.
        inner = parents[-1] if parents else ""
        named = f"{inner} {last}" if inner and inner != table else last
        table = inner
        parts.append(f"{named} {text(value)}")
    return ", ".join(parts) or "as the scenario"


def collapsed(
    keys: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[dict[str, Any]]]:
    """The keys with `POINTS` in place of those of `[[points]]`, and the rows with their labels.

    >>> collapsed(["a.b", "c"], [{"a.b": 1, "c": 5}, {"a.b": None, "c": 6}])[0]
    ['points', 'c']
    >>> collapsed(["c"], [{"c": 5}])
    (['c'], [{'c': 5}])
    """
    made = [dict(row) for row in rows]
    chosen = of_points(keys, {key: [row[key] for row in rows] for key in keys})
    if not chosen:
        return list(keys), made
    for row in made:
        row[POINTS] = label({key: row[key] for key in chosen})
    return [POINTS, *(key for key in keys if key not in chosen)], made


def leading(sweep: Sweep) -> tuple[list[str], dict[str, list[str]]]:
    """The swept keys that add information, and for each the keys that always change together with it."""
    keys: dict[str, list[Any]] = {}
    same: dict[str, list[str]] = {}
    swept, rows = collapsed(sweep.swept, sweep.table.select(sweep.swept).to_pylist())
    for key in swept:
        values = [row[key] for row in rows]
        first = next((other for other, found in keys.items() if found == values), None)
        if first is None:
            keys[key] = values
        else:
            same.setdefault(first, []).append(key)
    return list(keys), same


def together(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """Groups of columns whose values correspond one to one, by the first column of each group.

    The keys of one `zip` are such a group: fixing one of them leaves a single value of the others.

    >>> together({"routing": ["a", "b", "b"], "levels": [1, 2, 2], "load": [0.1, 0.1, 0.2]})
    {'routing': ['levels'], 'load': []}
    """
    found: dict[str, list[str]] = {}
    for name, values in columns.items():
        for first in found:
            pairs = set(zip(columns[first], values, strict=True))
            if len(pairs) == len(set(values)) == len(set(columns[first])):
                found[first].append(name)
                break
        else:
            found[name] = []
    return found
