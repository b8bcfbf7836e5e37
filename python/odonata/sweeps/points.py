"""The points of a sweep: every combination of the values of its axes, resolved before any run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from odonata.analysis.slowdown import ends_with_others
from odonata.base import toml_text
from odonata.errors import InputError, option, setting
from odonata.running import runner
from odonata.sweeps.keys import Scenario
from odonata.sweeps.reader import Source
from odonata.sweeps.spec import Spec


@dataclass(frozen=True)
class Point:
    """One combination of values."""

    index: int
    #: Values by key as the user wrote it; None: the scenario's own value.
    values: Mapping[str, Any]
    #: The scenario, with the settings of this point and its own seed.
    task: runner.Task
    #: The resolved scenario.
    scenario: Mapping[str, Any]

    @property
    def jobs(self) -> list[str]:
        """Names of its jobs."""
        return [job["name"] for job in self.scenario["jobs"]]

    @property
    def baselines(self) -> list[str]:
        """The jobs with a baseline; a single job is its own baseline."""
        return self.jobs if self.scenario["run"]["baselines"] and len(self.jobs) > 1 else []

    def ends_with_others(self, job: str) -> bool:
        """Whether the duration of `job` depends on other jobs."""
        return any(one["name"] == job and ends_with_others(one) for one in self.scenario["jobs"])


def list_points(spec: Spec, text: str, settings: list[str]) -> list[Point]:
    """All points of a sweep over the scenario `text`; raises `InputError` for an invalid one.

    Nothing runs. `settings` are those of the command line, KEY=VALUE.
    """
    base = runner.Task(text, str(spec.scenario), [], None)
    names = Scenario.from_task(base)
    base = replace(base, overrides=[_named(one, names) for one in settings])
    fixed = [
        _Setting(key, names.key(key, spec.source, f"set.{key}"), f"set.{key}", value)
        for key, value in spec.fixed.items()
    ]
    if spec.baselines is not None:
        fixed.append(_Setting("baselines", "run.baselines", "baselines", spec.baselines))
    axes = [
        [
            [
                _Setting(key, name, where, value)
                for key, name, where, value in zip(axis.keys, keys, axis.where, row, strict=True)
            ]
            for row in axis.rows
        ]
        for axis in spec.axes
        for keys in [
            [names.key(key, spec.source, where) for key, where in zip(axis.keys, axis.where, strict=True)]
        ]
    ]
    return list(_resolved(spec, base, fixed, axes))


def _named(setting: str, names: Scenario) -> str:
    """A setting of the command line, KEY=VALUE, with the core's name of its key."""
    key, equals, value = setting.partition("=")
    # The core refuses a setting without a value.
    return f"{names.key(key.strip(), Source(), option('overrides', '--set'))}={value}" if equals else setting


@dataclass(frozen=True)
class _Setting:
    """A value of a key at a point."""

    #: The key as the user wrote it.
    key: str
    #: The core's name of the key.
    name: str
    #: Its place in the input.
    where: str
    value: Any

    @property
    def text(self) -> str:
        return f"{self.name}={toml_text.value_text(self.value)}"


def _resolved(
    spec: Spec, base: runner.Task, fixed: list[_Setting], axes: list[list[list[_Setting]]]
) -> Iterator[Point]:
    for index, chosen in enumerate(itertools.product(*axes)):
        swept = [setting for row in chosen for setting in row]
        settings = fixed + [one for one in swept if one.value is not None]
        task = runner.Task(base.text, base.path, [one.text for one in settings] + base.overrides, base.seed)
        try:
            scenario = task.scenario()
        except InputError as error:
            raise _at(error, spec, index, settings, swept) from None
        yield Point(index, {one.key: one.value for one in swept}, task, scenario)


def _at(
    error: InputError, spec: Spec, index: int, settings: list[_Setting], swept: list[_Setting]
) -> InputError:
    """The core's error about a setting of a point, with the place where the user wrote it."""
    for one in settings:
        if error.file == setting(one.text) or f"{error.key}.".startswith(f"{one.name}."):
            found = spec.source.error(
                error.message,
                one.where,
                value=one.value,
                expected=error.expected or "another value",
                hint=error.hint,
            )
            found.value = error.value or found.value
            break
    else:
        found = error
    if swept:
        values = ", ".join(
            f"{one.key} = {toml_text.value_text(one.value)}" for one in swept if one.value is not None
        )
        found.add_note(f"at point {index} of the sweep: {values}")
    return found
