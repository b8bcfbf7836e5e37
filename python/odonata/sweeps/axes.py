"""The axes of a sweep: keys, and their joint values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from odonata.base.optional_packages import MissingPackage
from odonata.scenario.reading import LARGEST_SEED
from odonata.sweeps import samples
from odonata.sweeps.reader import Source, Table, shown

#: Most points of a sweep, over all axes, without their seeds.
MOST_POINTS = 100_000


@dataclass(frozen=True)
class Axis:
    """Keys whose values change together; the points of a sweep are the product of its axes."""

    #: The keys as the user wrote them.
    keys: tuple[str, ...]
    #: A value for each key; None: the scenario's own value.
    rows: tuple[tuple[Any, ...], ...]
    #: Their places in the source, for errors.
    where: tuple[str, ...]


def flat(table: Table) -> dict[str, Any]:
    """Dotted keys and values of a table; `a.b = 1` and `"a.b" = 1` are the same."""
    if not isinstance(table.values, Mapping):
        raise table.source.error(
            "a value of the wrong type", table.path, value=table.values, expected="a table"
        )
    found: dict[str, Any] = {}
    for name, value in table.values.items():
        if isinstance(value, Mapping):
            inner = flat(Table(value, table.source, table.key(name)))
            quoted = name if "." in name or _bare(name) else f'"{name}"'
            found |= {f"{quoted}.{key}": one for key, one in inner.items()}
        else:
            found[name if "." in name or _bare(name) else f'"{name}"'] = value
    return found


def _bare(name: str) -> bool:
    return name.replace("-", "").replace("_", "").isalnum() and name.isascii()


def grid(table: Table) -> list[Axis]:
    """An axis per key of `[grid]`."""
    inner = table.table("grid")
    return (
        [] if inner is None else [list_axis(key, values, inner, key) for key, values in flat(inner).items()]
    )


def list_axis(key: str, values: Any, table: Table, name: str) -> Axis:
    """An axis of one key and a list of its values."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise table.error("not a list of values", name, values, "a list such as [1, 2, 4]")
    seen: list[Any] = []
    for value in values:
        if any(type(value) is type(one) and value == one for one in seen):
            raise table.error("a repeated value", name, value, "each value once")
        seen.append(value)
    return Axis((key,), tuple((value,) for value in values), (table.key(name),))


def zipped(table: Table) -> list[Axis]:
    """The axis of `[zip]`, if there is one."""
    inner = table.table("zip")
    if inner is None:
        return []
    lists = flat(inner)
    for key, values in lists.items():
        if not isinstance(values, list) or not values:
            raise inner.error("not a list of values", key, values, "a list such as [1, 2, 4]")
    lengths = {key: len(values) for key, values in lists.items()}
    if len(set(lengths.values())) > 1:
        key = min(lengths, key=lambda key: lengths[key])
        raise inner.error(
            "lists of different lengths",
            key,
            f"{lengths[key]} values",
            f"{max(lengths.values())}, as the others",
        )
    where = tuple(inner.key(key) for key in lists)
    return [Axis(tuple(lists), tuple(zip(*lists.values(), strict=True)), where)] if lists else []


def listed(table: Table) -> list[Axis]:
    """The axis of the tables `[[points]]`, if there are any."""
    given = table.get("points", list, "tables [[points]]")
    if not given:
        return []
    rows = [flat(Table(row, table.source, f"points.{number}")) for number, row in enumerate(given)]
    keys = tuple(dict.fromkeys(key for row in rows for key in row))
    where = tuple(
        next(f"points.{number}.{key}" for number, row in enumerate(rows) if key in row) for key in keys
    )
    return [Axis(keys, tuple(tuple(row.get(key) for key in keys) for row in rows), where)]


def sampled(table: Table) -> list[Axis]:
    """The axis of `[sample]`, if there is one."""
    inner = table.table("sample")
    if inner is None:
        return []
    inner.refuse_others(("method", "count", "seed", "over"))
    over = inner.table("over")
    ranges = {} if over is None else dict(_ranges(over, ""))
    if over is None or not ranges:
        raise inner.error(
            "nothing to sample", "over", None, "a table of keys with low and high, or lists of choices"
        )
    method = inner.one_of("method", samples.METHODS, "latin-hypercube")
    count = inner.count("count", 0, most=MOST_POINTS)
    if not count:
        raise inner.error("the number of points is missing", "count", None, "a whole number")
    try:
        rows = samples.draw(method, count, list(ranges.values()), inner.count("seed", 1, 0, LARGEST_SEED))
    except MissingPackage as missing:
        raise inner.error(
            missing.message, "method", method, f'scipy ({missing.hint}), or method = "latin-hypercube"'
        ) from None
    return [Axis(tuple(ranges), tuple(rows), tuple(over.key(key) for key in ranges))]


def _ranges(table: Table, prefix: str) -> list[tuple[str, samples.Range]]:
    found: list[tuple[str, samples.Range]] = []
    for name, value in table.values.items():
        key = f"{prefix}{name}"
        if isinstance(value, list) and value:
            found.append((key, samples.Range(choices=tuple(value))))
        elif isinstance(value, dict) and ("low" in value or "high" in value):
            found.append((key, samples.range_of(Table(value, table.source, table.key(name)))))
        elif isinstance(value, dict):
            found += _ranges(Table(value, table.source, table.key(name)), f"{key}.")
        else:
            raise table.error("not a range", name, value, "{ low = 1, high = 9 }, or a list of choices")
    return found


def refuse_twice(source: Source, axes: Sequence[Axis], fixed: Mapping[str, Any]) -> None:
    """Refuses a key that appears in two places."""
    places = {key: f"set.{key}" for key in fixed}
    for axis in axes:
        for key, where in zip(axis.keys, axis.where, strict=True):
            if key in places:
                raise source.error(
                    "a repeated key", where, value=key, expected=f"only one of {places[key]} and {where}"
                )
            places[key] = where


def over_option(text: str) -> Axis:
    """The axis of an option `--over KEY=A,B,C`.

    >>> over_option("jobs.a.ranks=4,8").rows, over_option("network.routing.algorithm=minimal,ugal").rows
    (((4,), (8,)), (('minimal',), ('ugal',)))
    """
    key, equals, listed = text.partition("=")
    source = Source()
    where = f"--over {shown(text).strip(chr(34))}"
    if not equals or not key.strip() or not listed.strip():
        raise source.error("not a key with values", where, value=text, expected="KEY=A,B,C")
    values = _value(f"[{listed}]")
    if not isinstance(values, list):
        values = [_value(part.strip()) for part in listed.split(",") if part.strip()]
    table = Table({}, source)
    axis = list_axis(key.strip(), values, table, where)
    return replace(axis, where=(where,))


def set_option(text: str) -> tuple[str, Any]:
    """The key and the value of an option `--set KEY=VALUE`.

    >>> set_option("queue.policy=replay"), set_option("seed=3")
    (('queue.policy', 'replay'), ('seed', 3))
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        where = f"--set {shown(text).strip(chr(34))}"
        raise Source().error("not a key with a value", where, value=text, expected="KEY=VALUE")
    return key.strip(), _value(value.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
