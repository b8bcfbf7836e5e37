"""Differences between two results: settings, metrics of jobs, links, servers, and interference.

Keys of the scenario are dotted. Jobs are matched by name, so that an added job does not shift the others.
Ratios are B / A. `comparison_page.py` prints the comparison for people; `odonata compare --json` prints it
unchanged. `answers/compare.py` declares its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from odonata.analysis.measured import counted_by, needed, offers

if TYPE_CHECKING:
    from odonata.answers.compare import BlameChange, Change, Comparison, JobChange, Pair, Setting, Side
    from odonata.results.results import Results

#: Columns of a link or server that are summed.
_LINK_SUMS = ("bytes", "packets", "busy_s", "saturation_s")
_SERVER_SUMS = (
    "requests",
    "request_time_s",
    "bytes_written",
    "bytes_read",
    "device_busy_s",
    "wait_space_s",
    "wait_memory_s",
    "wait_device_s",
)


def collect(a: Results, b: Results, least: float) -> Comparison:
    """The comparison of `a` with `b`; metrics that change by a share below `least` are left out."""
    return {
        "a": _identity(a),
        "b": _identity(b),
        "equal_digests": a.run["digest"] == b.run["digest"],
        "scenario": settings(a.run["scenario"], b.run["scenario"]),
        "jobs_in_both": _in_both(a, b),
        "jobs": [row for row in _jobs(a, b) if _changed(row, least)],
        "links": [
            {"class": name, **row}
            for name, row in _sums(a, b, "links", "class", _LINK_SUMS)
            if _changed(row, least)
        ],
        "servers": [row for _, row in _sums(a, b, "servers", None, _SERVER_SUMS) if _changed(row, least)],
        "blame": _blame(a, b, least),
    }


_ABSENT = object()


def differences(a: Any, b: Any, key: str = "") -> Iterator[Setting]:
    """The settings that differ, by dotted key.

    >>> a, b = {"seed": 1, "run": {"limit": None}}, {"seed": 2, "run": {"limit": None}, "drain": {"rate": 5}}
    >>> [(change["key"], change["change"]) for change in differences(a, b)]
    [('seed', 'changed'), ('drain.rate', 'added')]
    """
    one, other = ({} if value is _ABSENT or value is None else value for value in (a, b))
    if isinstance(one, Mapping) and isinstance(other, Mapping) and (one or other):
        for name in [*one, *(name for name in other if name not in one)]:
            yield from differences(
                one.get(name, _ABSENT), other.get(name, _ABSENT), f"{key}.{name}" if key else name
            )
    elif a is _ABSENT:
        yield {"key": key, "change": "added", "a": None, "b": b}
    elif b is _ABSENT:
        yield {"key": key, "change": "removed", "a": a, "b": None}
    elif a != b:
        yield {"key": key, "change": "changed", "a": a, "b": b}


def _identity(results: Results) -> Side:
    run = results.run
    return {
        "results": None if results.path is None else str(results.path),
        "name": run["scenario"].get("name"),
        "outcome": results.outcome,
        "seed": run["scenario"].get("seed"),
        "version": run["version"],
        "digest": run["digest"],
    }


def settings(a: dict[str, Any], b: dict[str, Any]) -> list[Setting]:
    """The settings in which two resolved scenarios differ; jobs are matched by name.

    If the routing algorithm differs, keys that only one of the two algorithms has are left out.

    >>> a = {"network": {"routing": {"algorithm": "ugal", "bias": 1.0}}, "jobs": []}
    >>> b = {"network": {"routing": {"algorithm": "minimal"}}, "jobs": []}
    >>> [change["key"] for change in settings(a, b)]
    ['network.routing.algorithm']
    """
    left, right = ({key: value for key, value in scenario.items() if key != "jobs"} for scenario in (a, b))
    found = list(differences(left, right))
    routing = "network.routing."
    if any(change["key"] == f"{routing}algorithm" for change in found):
        found = [
            change
            for change in found
            if change["change"] == "changed" or not change["key"].startswith(routing)
        ]
    here, there = ({job["name"]: job for job in scenario["jobs"]} for scenario in (a, b))
    for name in [*here, *(name for name in there if name not in here)]:
        key = f"jobs.{name}"
        if name in here and name in there:
            found += differences(here[name], there[name], key)
        else:
            # A job that only one scenario has is one change, not one per key.
            change = "removed" if name in here else "added"
            found.append({"key": key, "change": change, "a": here.get(name), "b": there.get(name)})
    return found


def _in_both(a: Results, b: Results) -> list[str]:
    there = {row["job"] for row in b.rows("jobs")}
    return [row["job"] for row in a.rows("jobs") if row["job"] in there]


def _jobs(a: Results, b: Results) -> Iterator[JobChange]:
    left, right = (needed(results, "jobs", ["job"]) for results in (a, b))
    others = {row["job"]: row for row in right.to_pylist()}
    numbers = {field.name for field in right.schema if _is_number(field)}
    fields = [field for field in left.schema if _is_number(field) and field.name in numbers]
    for row in left.to_pylist():
        other = others.get(row["job"])
        if other is None:
            continue
        for field in fields:
            one, two = (_value(job, field.name) for job in (row, other))
            yield {"job": row["job"], **_compared(field, one, two)}


def _is_number(field: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


def _value(job: dict[str, Any], column: str) -> float | int | None:
    """A job's value of a column; None without measurements."""
    count = counted_by(column)
    if count is not None and not job.get(count, 1):
        return None
    value: float | int = job[column]
    return value


def _sums(
    a: Results, b: Results, table: str, group: str | None, columns: tuple[str, ...]
) -> Iterator[tuple[Any, Change]]:
    """The sums of columns, each with its group."""
    if not all(offers(results, table) for results in (a, b)):
        return
    left, right = (needed(results, table, (*([group] if group else []), *columns)) for results in (a, b))
    groups = list(dict.fromkeys(left[group].to_pylist() + right[group].to_pylist())) if group else [None]
    sums = [_added(results, group, columns) for results in (left, right)]
    for name in groups:
        for column in columns:
            one, other = (found.get(name, {}).get(column, 0) for found in sums)
            yield name, _compared(left.schema.field(column), one, other)


def _added(table: Any, group: str | None, columns: tuple[str, ...]) -> dict[Any, dict[str, Any]]:
    import pyarrow.compute as pc

    if group is None:
        return {None: {column: pc.sum(table[column]).as_py() or 0 for column in columns}}
    rows = table.group_by(group).aggregate([(column, "sum") for column in columns]).to_pylist()
    return {row[group]: {column: row[f"{column}_sum"] for column in columns} for row in rows}


def _blame(a: Results, b: Results, least: float) -> list[BlameChange] | None:
    from odonata.analysis import blame

    if not all(blame.measured(results) for results in (a, b)):
        return None

    names = ("victim", "victim_class", "culprit", "culprit_class", "where")
    # A job that did not run has no waits to compare.
    victims = set(_in_both(a, b))
    left, right = (
        {
            tuple(getattr(found, name) for name in names): found.waited_s
            for found in blame.totals(results)
            if found.victim in victims
        }
        for results in (a, b)
    )
    rows: list[BlameChange] = [
        {
            "victim": key[0],
            "victim_class": key[1],
            "culprit": key[2],
            "culprit_class": key[3],
            "where": key[4],
            **_numbers(left.get(key, 0.0), right.get(key, 0.0)),
        }
        for key in [*left, *(key for key in right if key not in left)]
    ]

    def values(row: BlameChange) -> tuple[float, float]:
        return row["a"] or 0.0, row["b"] or 0.0

    # Values that are small in both results get no line, however much they changed.
    most = max((max(values(row)) for row in rows), default=0.0)
    rows = [row for row in rows if _changed(row, least) and max(values(row)) >= least * most]
    return sorted(rows, key=lambda row: -abs(values(row)[1] - values(row)[0]))


def _compared(field: Any, one: float | int | None, other: float | int | None) -> Change:
    unit = (field.metadata or {}).get(b"unit", b"").decode(errors="replace")
    return {"metric": field.name, "unit": unit, **_numbers(one, other)}


def _numbers(one: float | int | None, other: float | int | None) -> Pair:
    return {"a": one, "b": other, "ratio": other / one if one and other is not None else None}


def _changed(row: Pair, least: float) -> bool:
    one, other = row["a"], row["b"]
    if one is None or other is None:
        return least <= 0 or one is not other
    if least <= 0:
        return True
    return bool(abs(other - one) >= least * max(abs(one), 1e-300) and one != other)
