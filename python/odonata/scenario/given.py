"""Scenarios as arguments of functions: a file, a `Scenario`, a dictionary, or the name of a preset."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from odonata.base import toml_text
from odonata.errors import NO_FILES, InputError
from odonata.programs.rank_programs import register
from odonata.scenario import reading

if TYPE_CHECKING:
    from odonata.scenario.objects import Scenario

    #: Accepted forms of a scenario: a file, an object, or a dictionary with the same content.
    ScenarioLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Scenario


def text_and_path(scenario: ScenarioLike, *, presets: bool = False) -> tuple[str, str]:
    """Returns the TOML of a scenario and its path for errors; `presets` allows the name of a preset."""
    folder = None
    # Without a `Scenario` object, its module need not be imported.
    objects = sys.modules.get("odonata.scenario.table")
    if objects is not None and isinstance(scenario, objects.ScenarioTable):
        folder, scenario = scenario._folder, scenario.to_dict()
    if isinstance(scenario, Mapping):
        scenario = _with_names(scenario)
        # Relative file names in it start from the current folder, as those of a file start from its folder.
        of_dict, of_object = NO_FILES
        return toml_text.document(scenario), of_dict if folder is None else str(folder / of_object)
    path = Path(cast("str | os.PathLike[str]", scenario))
    if presets:
        return reading.preset_or_scenario(path), str(path)
    try:
        reading.refuse_preset(path)
    except InputError as error:
        error.expected = (
            f'a file or scenario with jobs, such as odonata.Scenario(preset="{path}", jobs=[...])'
        )
        error.hint = f'odonata.preset("{path}") has its keys, odonata.check("{path}") what is known of it'
        raise
    return reading.read_scenario(path), str(path)


def _with_names(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replaces the functions of jobs with registered names."""
    jobs = scenario.get("jobs")
    if not isinstance(jobs, Sequence) or isinstance(jobs, str):
        return scenario

    def named(job: Any) -> Any:
        if isinstance(job, Mapping) and callable(job.get("python")):
            return {**job, "python": register(job["python"])}
        return job

    return {**scenario, "jobs": [named(job) for job in jobs]}


def override_list(overrides: Mapping[str, Any] | None) -> list[str]:
    """Returns settings in the form of the core, KEY=VALUE."""
    return [f"{key}={toml_text.value_text(value)}" for key, value in (overrides or {}).items()]
