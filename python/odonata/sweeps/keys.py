"""Keys of a scenario by name: `jobs.training.ranks` is the core's `jobs.1.ranks`."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from odonata.errors import InputError
from odonata.running.runner import Task
from odonata.sweeps.reader import Source, unknown


@dataclass(frozen=True)
class Scenario:
    """Names of items in a scenario's lists."""

    document: Mapping[str, Any]
    #: Position of each job in the file, by all its names.
    jobs: Mapping[str, int]

    @classmethod
    def from_task(cls, task: Task) -> Scenario:
        """The names in the scenario of `task`, without the sweep."""
        try:
            document = tomllib.loads(task.text)
        except (ValueError, RecursionError):  # the core reports the error better
            document = {}
            task.scenario()
        jobs: dict[str, int] = {}
        # A scenario may be complete only with the swept keys.
        with contextlib.suppress(InputError):
            jobs = {job["name"]: job["entry"] for job in task.scenario()["jobs"]}
        return cls(document, jobs | _positions(document.get("jobs")))

    def key(self, name: str, source: Source, where: str) -> str:
        """The core's name of a key; `where` is its place in the user's input, for errors.

        >>> scenario = Scenario({"jobs": [{"name": "milc"}, {"name": "noise"}]}, {"milc": 0, "noise": 1})
        >>> [scenario.key(f"jobs.{name}.ranks", Source(), "--over") for name in ("noise", "0")]
        ['jobs.1.ranks', 'jobs.0.ranks']
        """
        parts = split(name, source, where)
        found: list[str] = []
        at: Any = self.document
        for number, part in enumerate(parts):
            names = self.jobs if parts[:number] == ["jobs"] else _positions(at)
            if names and not part.isdecimal():
                if part not in names:
                    raise unknown(source, where, part, names, f"no {parts[number - 1]} of that name:")
                part = str(names[part])
            if isinstance(at, Sequence) and not isinstance(at, str):
                at = at[int(part)] if part.isdecimal() and int(part) < len(at) else None
            else:
                at = at.get(part) if isinstance(at, Mapping) else None
            found.append(part)
        return ".".join(found)


def split(name: str, source: Source, where: str) -> list[str]:
    """The parts of a dotted key, by the rules of TOML.

    >>> split('jobs."a.b".ranks', Source(), "--over")
    ['jobs', 'a.b', 'ranks']
    """
    try:
        at: Any = tomllib.loads(f"{name} = 0")
    except (ValueError, RecursionError):
        raise source.error(
            "not a key", where, value=name, expected="a key of the scenario, such as jobs.training.ranks"
        ) from None
    parts = []
    while isinstance(at, dict) and len(at) == 1:
        (part, at), *_ = at.items()
        parts.append(part)
    if at != 0:
        raise source.error("not a key", where, value=name, expected="a key of the scenario")
    return parts


def _positions(items: Any) -> dict[str, int]:
    """Positions by name, if the items are tables with names."""
    if not isinstance(items, Sequence) or isinstance(items, str):
        return {}
    return {
        item["name"]: number
        for number, item in enumerate(items)
        if isinstance(item, Mapping) and isinstance(item.get("name"), str)
    }
