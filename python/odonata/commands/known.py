"""Facts that need no run: `odonata check`, `odonata describe`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.base.html_page import Answer
from odonata.base.output_file import OutputFile, inputs_of
from odonata.commands.declared import FORCE, SEED, SETTINGS, Shown, argument, command, option, switch
from odonata.errors import INPUT_WRONG, InputError, given, input_errors
from odonata.errors import option as named
from odonata.running import speed
from odonata.running import trial as trials
from odonata.scenario import check_report, describe_report, reading
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    from odonata.scenario.given import ScenarioLike

SCENARIO_OR_PRESET = argument("SCENARIO|PRESET", "Scenario file (TOML), or the name of a preset.")


def _known(text: str, path: str, settings: list[str], seed: int | None, *, trial: bool) -> dict[str, Any]:
    with input_errors():
        report: dict[str, Any] = json.loads(_core.check(text, path, settings, seed))
        if report["cost"] is None or not trial:
            return speed.estimate_time(report)
        report["cost"]["time"] = trials.run(text, path, settings, seed)
        return report


def _check(
    scenario: Path,
    settings: list[str] | None,
    seed: int | None,
    *,
    trial: bool,
    verbose: bool,
    as_json: bool,
) -> Shown:
    text = reading.preset_or_scenario(scenario)
    report = _known(text, str(scenario), settings or [], seed, trial=trial)
    routing = report["routing"]
    refused = not routing["deadlock_free"] and routing["deadlock_check"] == "refuse"
    return Shown(
        report, lambda: check_report.show(report, verbose=verbose), code=INPUT_WRONG if refused else 0
    )


@command(
    "check",
    """
    Checks the scenario's keys and values; shows what runs where, the cost of the run and its baselines in
    time and memory, and probable mistakes; with --verbose and --json, all of it. Operations and bytes are
    counted in the programs of the ranks. The time is a range, from rates measured on this computer, or with
    --trial from the beginning of the run. Presets and scenarios without jobs have no cost.
    """,
    terminal=_check,
    scenario=SCENARIO_OR_PRESET,
    settings=SETTINGS,
    seed=SEED,
    trial=switch("Run the scenario for two seconds to extrapolate its time."),
    verbose=switch(
        "Also show the machine, virtual channels, deadlock freedom, traffic classes, parts and threads.",
        "--verbose",
        "-v",
    ),
)
def check(
    scenario: ScenarioLike,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    trial: bool = False,
) -> dict[str, Any]:
    """Checks a scenario, and reports what is known before a run.

    Capacity, placement, virtual channels, freedom from deadlock, threads and parts, cost, memory. The keys
    are those of `odonata check --json` (docs/results.md); a notebook shows it as a page.

    Args:
        scenario: As in `run`, or the name of a preset.
        overrides: Settings that replace those of the scenario, by dotted key.
        seed: Replaces the scenario's seed.
        trial: Run the scenario for two seconds to extrapolate its time.

    Raises:
        InputError: The scenario is invalid.

    >>> import odonata
    >>> report = odonata.check("examples/uniform.toml")
    >>> report["machine"]["nodes"], report["routing"]["deadlock_free"]
    (72, True)
    """
    text, path = text_and_path(scenario, presets=True)
    reading.check_seed(seed)
    known = _known(text, path, override_list(overrides), seed, trial=trial)
    return Answer(known, check_report.show)


def _described(
    text: str, path: Path, settings: list[str], output: OutputFile | None, *, routing: bool
) -> dict[str, Any]:
    """The answer; the graph is written to `output`."""
    with input_errors():
        if output is not None:
            output.refuse_inputs(inputs_of(text, path, settings))
        found: dict[str, Any] = json.loads(_core.describe(text, str(path), settings))
        if routing:
            found["routing"] = json.loads(_core.prove(text, str(path), settings))
        if output is not None:
            output.write(_core.graphml(text, str(path), settings))
    return found


def _show_description(found: dict[str, Any], stream: Any = None) -> None:
    describe_report.show(found, found.get("routing"), stream)


def _describe(
    scenario: Path,
    settings: list[str] | None,
    export: Path | None,
    *,
    routing: bool,
    force: bool,
    as_json: bool,
) -> Shown:
    if export is None and force:
        raise InputError(
            "there is nothing to replace", key=named("force"), expected=given("export", "FILE.graphml")
        )
    output = None if export is None else OutputFile(export, key=named("export"), replace=force)
    text = reading.preset_or_scenario(scenario)
    found = _described(text, scenario, settings or [], output, routing=routing)
    return Shown(found, lambda: _show_description(found))


@command(
    "describe",
    """
    Routers, nodes and groups, cables of each class, free ports, the longest of the shortest paths, and the
    cables between two halves. The scenario needs no jobs. What `--export` writes can be a machine of kind
    "graph".
    """,
    terminal=_describe,
    writes="export",
    scenario=SCENARIO_OR_PRESET,
    settings=SETTINGS,
    export=option("Write the graph as GraphML to this file.", metavar="FILE.graphml", type=Path),
    routing=switch("Also prove the routing free of deadlock, or show a cycle."),
    force=FORCE,
)
def describe(
    scenario: ScenarioLike,
    *,
    overrides: Mapping[str, Any] | None = None,
    routing: bool = False,
    export: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Describes a machine: routers, nodes, cables of each class, diameter, bisection.

    The keys are those of `odonata describe --json` (docs/results.md); a notebook shows it as a page.

    Args:
        scenario: As in `run`, or the name of a preset. It needs no jobs.
        overrides: Settings that replace those of the scenario, by dotted key.
        routing: Also prove the routing free of deadlock, or show a cycle.
        export: File to write the graph to, as GraphML.
        force: Replace an existing file.

    >>> import odonata
    >>> machine = odonata.describe("theta")
    >>> machine["kind"], machine["nodes"], machine["diameter"]["nodes"]
    ('dragonfly-2d', 3456, 4)

    Raises:
        InputError: The scenario is invalid, or `export` cannot be written.
    """
    text, path = text_and_path(scenario, presets=True)
    output = None if export is None else OutputFile(export, key=named("export"), replace=force)
    found = _described(text, Path(path), override_list(overrides), output, routing=routing)
    return Answer(found, _show_description)
