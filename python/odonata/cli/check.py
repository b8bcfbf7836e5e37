"""`odonata check` and `odonata describe`: what is known without a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from odonata import _core
from odonata.base.output_file import OutputFile, inputs_of
from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Force, Json, Seed, Settings
from odonata.errors import INPUT_WRONG, InputError, given, input_errors, option
from odonata.running import speed
from odonata.scenario import check_report, describe_report, reading

ScenarioOrPreset = Annotated[
    Path, typer.Argument(metavar="SCENARIO|PRESET", help="Scenario file (TOML), or the name of a preset.")
]


def check(
    scenario: ScenarioOrPreset,
    settings: Settings = None,
    seed: Seed = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Also show the machine, virtual channels, deadlock freedom, traffic classes, parts "
            "and threads.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what can be known before a run.

    Whether the scenario's keys and values are right, what runs where, what it will cost in time and memory,
    baselines included, and what is probably not meant; --verbose and --json: all of it. A preset and a
    scenario without jobs have no run of which anything could be known.
    """
    with reported(as_json, writes=False), input_errors():
        text = reading.preset_or_scenario(scenario)
        report = speed.tell(json.loads(_core.check(text, str(scenario), settings or [], seed)))
    with open_pipe():
        if as_json:
            print_json(report)
        else:
            check_report.show(report, verbose=verbose)
    if not report["routing"]["deadlock_free"] and report["routing"]["deadlock_check"] == "refuse":
        raise typer.Exit(INPUT_WRONG)


def describe(
    scenario: ScenarioOrPreset,
    settings: Settings = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE.graphml", help="Write the graph as GraphML to this file."),
    ] = None,
    routing: Annotated[
        bool,
        typer.Option("--routing", help="Also prove the routing free of deadlock, or show a cycle."),
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Describe a machine, whatever runs on it.

    Routers, nodes and groups, cables of each class, free ports, the longest of the shortest paths, and the
    cables between two halves. The scenario needs no jobs. What `--export` writes can be a machine of kind
    "graph".
    """
    with reported(as_json, writes=export is not None), input_errors():
        if export is None and force:
            raise InputError(
                "there is nothing to replace", key=option("force"), expected=given("export", "FILE.graphml")
            )
        output = None if export is None else OutputFile(export, key=option("export"), replace=force)
        text = reading.preset_or_scenario(scenario)
        if output is not None:
            output.refuse_inputs(inputs_of(text, scenario, settings or []))
        description = json.loads(_core.describe(text, str(scenario), settings or []))
        proof = json.loads(_core.prove(text, str(scenario), settings or [])) if routing else None
        if output is not None:
            output.write(_core.graphml(text, str(scenario), settings or []))
    with open_pipe():
        if as_json:
            print_json(description if proof is None else description | {"routing": proof})
        else:
            describe_report.show(description, proof)
