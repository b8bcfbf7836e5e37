"""A case of the recorded digests: a scenario, and the ways to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: The repository.
ROOT = Path(__file__).parents[2]

#: Schedulers: arguments of `odonata.run`. All give the same digest.
SCHEDULERS: dict[str, dict[str, Any]] = {
    "sequential": {"scheduler": "sequential", "threads": 1},
    "conservative": {"scheduler": "conservative", "threads": 2},
    "optimistic": {"scheduler": "optimistic", "threads": 2},
}


@dataclass(frozen=True)
class Case:
    """A scenario, under a name that states its purpose."""

    #: Words from the general to the special, separated by slashes.
    name: str
    scenario: Mapping[str, Any] | Path
    #: Settings that override those of the scenario, by dotted key.
    overrides: Mapping[str, Any] = field(default_factory=dict)
    #: Number of parts of the machine, if it is divided.
    parts: int = 4
    #: Schedulers to run with: names in `SCHEDULERS`.
    schedulers: tuple[str, ...] = tuple(SCHEDULERS)
    #: Takes seconds: left out of the quick check.
    long: bool = False
    #: Takes a minute or more: run on request only.
    whole: bool = False
    #: The scenario is a batch file: a queue over days, which has no scheduler of events.
    batch: bool = False

    def settings(self, scheduler: str) -> dict[str, Any]:
        """The settings that override those of the scenario under a scheduler."""
        parts = 1 if scheduler == "sequential" else self.parts
        return {**self.overrides, "run.parts": parts}


def merged(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Merges the tables key by key; later tables take precedence.

    >>> merged({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}})
    {'a': {'b': 1, 'c': 3}}
    """
    result: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            old = result.get(key)
            both = isinstance(old, Mapping) and isinstance(value, Mapping)
            result[key] = merged(old, value) if both else value
    return result
