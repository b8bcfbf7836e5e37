"""The functions of the package: `run`, `check`, `load`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from odonata import _core, runner, toml_text
from odonata.errors import RunFailed, input_errors
from odonata.folder import ResultFolder
from odonata.results import Results

Scenario = str | os.PathLike[str] | Mapping[str, Any]


def run(
    scenario: Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    force: bool = False,
    must_succeed: bool = True,
    progress: Callable[[runner.Progress], None] | None = None,
) -> Results:
    """Simulates a scenario.

    Args:
        scenario: Path of a TOML file, or the same content as a dictionary.
        out: Folder to write, as `odonata run -o` does; without it the results stay in memory.
        overrides: Settings that replace those of the scenario, by dotted key: ``{"seed": 7}``.
        seed: Replaces the scenario's seed.
        force: Replace an existing result folder.
        must_succeed: Raise `RunFailed` if the run fails or is interrupted; it holds the results.
        progress: Called about ten times a second with a `runner.Progress`.

    Raises:
        InputError: The scenario or `out` is wrong; nothing was created.
        RunFailed: See `must_succeed`.
    """
    text, path = _text_and_path(scenario)
    settings = _override_list(overrides)
    with runner.StopRequest() as stop:
        if out is None:
            simulation = runner.build(text, path, settings, seed)
            runner.drive(simulation, progress, stop)
            results = Results(*runner.collect(simulation))
        else:
            folder = ResultFolder(out, replace=force)
            simulation = runner.build(text, path, settings, seed)
            with folder:
                runner.drive(simulation, progress, stop)
                runner.write(simulation, folder.path)
                results = Results.load(folder.publish())
    if must_succeed and results.failed:
        raise RunFailed(results)
    return results


def check(
    scenario: Scenario, *, overrides: Mapping[str, Any] | None = None, seed: int | None = None
) -> dict[str, Any]:
    """All that can be known before a run: capacity, placement, virtual channels, freedom from deadlock, cost.

    Raises:
        InputError: The scenario is wrong.
    """
    text, path = _text_and_path(scenario)
    with input_errors():
        report: dict[str, Any] = json.loads(_core.check(text, path, _override_list(overrides), seed))
    return report


def load(folder: str | os.PathLike[str]) -> Results:
    """Opens the folder that `odonata run` wrote."""
    return Results.load(folder)


def _text_and_path(scenario: Scenario) -> tuple[str, str]:
    if isinstance(scenario, Mapping):
        # Relative file names in it start from the current folder, as those of a file start from its folder.
        return toml_text.document(scenario), "<dict>"
    path = Path(scenario)
    return runner.read_scenario(path), str(path)


def _override_list(overrides: Mapping[str, Any] | None) -> list[str]:
    return [f"{key}={toml_text.value_text(value)}" for key, value in (overrides or {}).items()]
