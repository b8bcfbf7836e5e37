"""Candidates of an advice: all combinations of values that the machine has."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from odonata import _core
from odonata.base import toml_text
from odonata.errors import InputError, option
from odonata.running import runner
from odonata.sweeps import axes
from odonata.sweeps.keys import Scenario
from odonata.sweeps.reader import Source
from odonata.sweeps.work import same_results

#: What can vary by a name of its own.
NAMES = ("placement", "routing", "classes", "storage.assignment", "buffers")
#: Most candidates.
MOST = 1000
#: Most traffic classes of a network.
MOST_CLASSES = 8
#: The label of the scenario's own settings.
PRESENT = "as the scenario"


@dataclass(frozen=True)
class Choice:
    """A candidate: settings that replace those of the scenario."""

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_present(self) -> bool:
        """Whether it is the scenario itself."""
        return not self.settings


@dataclass(frozen=True)
class LeftOut:
    """A candidate that the machine does not have."""

    label: str
    reason: str


def find(task: runner.Task, vary: Sequence[str]) -> tuple[list[Choice], list[LeftOut]]:
    """The candidates, the scenario itself first, and those that are left out.

    `vary` has names (`NAMES`), keys with values (`KEY=A,B`), and alternatives of several settings
    (`KEY=A; KEY=B`).

    Raises:
        InputError: A name is unknown, or there is nothing to choose.
    """
    scenario = task.scenario()
    names = Scenario.from_task(task)
    found = [Choice(PRESENT)]
    left_out = []
    known = {same_results(scenario)}
    options = list(_options(scenario, vary, names))
    count = 1
    for values in options:
        count *= len(values)
    if count > MOST:
        raise InputError(
            "too many candidates", key=option("vary"), value=str(count), expected=f"at most {MOST}"
        )
    for combined in itertools.product(*options):
        settings: dict[str, Any] = {}
        for one in combined:
            settings |= one.settings
        if not settings:
            continue
        choice = Choice(", ".join(one.label for one in combined if one.settings), settings)
        texts = [f"{key}={toml_text.value_text(value)}" for key, value in settings.items()]
        try:
            resolved = runner.Task(task.text, task.path, [*texts, *task.overrides], task.seed).scenario()
        except InputError as error:
            left_out.append(LeftOut(choice.label, error.message))
            continue
        key = same_results(resolved)
        if key not in known:
            known.add(key)
            found.append(choice)
    if len(found) == 1:
        raise InputError(
            "nothing to choose from", key=option("vary"), value=", ".join(vary),
            expected="values that differ from those of the scenario",
            hint=None if not left_out else f"{left_out[0].label}: {left_out[0].reason}",
        )  # fmt: skip
    return found, left_out


def _options(scenario: Mapping[str, Any], vary: Sequence[str], names: Scenario) -> Iterator[list[Choice]]:
    """The values of each of `vary`, the scenario's own first; alternatives are values of one another."""
    alternatives = [Choice(PRESENT)]
    for text in vary:
        if text in NAMES:
            yield [Choice(PRESENT), *_named(scenario, text)]
        elif ";" in text:
            parts = [_setting(part, names) for part in text.split(";") if part.strip()]
            label = ", ".join(f"{key} = {toml_text.value_text(value)}" for key, value in parts)
            alternatives.append(Choice(label, dict(parts)))
        elif "=" in text:
            axis = axes.over_option(text)
            key = names.key(axis.keys[0], Source(), option("vary"))
            yield [
                Choice(PRESENT),
                *(
                    Choice(f"{axis.keys[0]} = {toml_text.value_text(row[0])}", {key: row[0]})
                    for row in axis.rows
                ),
            ]
        else:
            raise InputError(
                "unknown name", key=option("vary"), value=text,
                expected=f"{', '.join(NAMES)}, KEY=A,B, or KEY=A; KEY=B",
            )  # fmt: skip
    if len(alternatives) > 1:
        yield alternatives


def _setting(text: str, names: Scenario) -> tuple[str, Any]:
    """A setting KEY=VALUE of an alternative."""
    axis = axes.over_option(text.strip())
    if len(axis.rows) != 1:
        raise InputError(
            "several values", key=option("vary"), value=text.strip(), expected="one value for each key"
        )
    return names.key(axis.keys[0], Source(), option("vary")), axis.rows[0][0]


def _named(scenario: Mapping[str, Any], name: str) -> list[Choice]:
    """The values of a name."""
    if name == "placement":
        # Jobs that list their nodes keep them.
        free = sorted({job["entry"] for job in scenario["jobs"] if isinstance(job["placement"], str)})
        return [
            Choice(f"placement {value}", {f"jobs.{entry}.placement": value for entry in free})
            for value in values_of("Placement")
            if free
        ]
    if name == "routing":
        key = "network.routing.algorithm"
        return [Choice(f"routing {value}", {key: value}) for value in values_of("Algorithm")]
    if name == "classes":
        return _classes(scenario)
    if scenario.get("storage") is None:
        raise InputError(
            "the scenario has no storage servers",
            key=option("vary"),
            value=name,
            expected="a table [storage]",
        )
    if name == "storage.assignment":
        return [Choice(f"assignment {value}", {name: value}) for value in values_of("Assignment")]
    per_group = scenario["storage"]["nodes"].get("per-group")
    if per_group is None:
        raise InputError(
            "the servers are not counted per group", key=option("vary"), value=name,
            expected="storage.nodes.per_group, or a key with values",
        )  # fmt: skip
    servers = per_group["count"]
    counts = sorted({max(1, servers // 4), max(1, servers // 2), servers, 2 * servers, 4 * servers})
    return [
        Choice(f"{count} buffer{'s' if count > 1 else ''} per group", {"storage.nodes.per_group": count})
        for count in counts
        if count != servers
    ]


def _classes(scenario: Mapping[str, Any]) -> list[Choice]:
    """Traffic classes: one per job, one for I/O, one that goes first for each job; all with equal shares.

    >>> [one.label for one in _classes({"jobs": [{"entry": 0, "name": "a"}, {"entry": 1, "name": "b"}]})]
    ['a class per job', 'a first', 'b first']
    """
    entries: dict[int, str] = {}
    for job in scenario["jobs"]:
        entries.setdefault(job["entry"], job["name"])

    def choice(label: str, classes: list[dict[str, Any]], used: list[tuple[int, int]]) -> Choice:
        """`used` has the classes of MPI and of I/O of each entry."""
        share = 1000 // len(classes) / 1000
        named = [{"name": f"c{at}", "share": share} | one for at, one in enumerate(classes)]
        settings: dict[str, Any] = {"network.traffic_classes": named}
        for entry, (mpi, io) in zip(entries, used, strict=True):
            settings[f"jobs.{entry}.traffic_class"] = {"mpi": f"c{mpi}", "io": f"c{io}"}
        return Choice(label, settings)

    count = len(entries)
    found = []
    if 2 <= count <= MOST_CLASSES:
        found.append(choice("a class per job", [{}] * count, [(at, at) for at in range(count)]))
    if scenario.get("storage") is not None:
        found.append(choice("a class for I/O", [{}, {}], [(0, 1)] * count))
    if count > 1:
        for first, name in entries.items():
            used = [(1, 1) if entry == first else (0, 0) for entry in entries]
            found.append(choice(f"{name} first", [{}, {"priority": 1}], used))
    return found


@functools.cache
def values_of(name: str) -> tuple[str, ...]:
    """The named values of a type of the scenario.

    >>> values_of("Placement")[:2], "valiant" in values_of("Algorithm")
    (('contiguous', 'random'), True)
    """
    kind = json.loads(_core.schema())["$defs"][name]
    return tuple(one["const"] for one in kind["oneOf"] if "const" in one)
