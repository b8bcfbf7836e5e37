"""`odonata check` and `odonata describe`: what is known without a run."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated

import typer

from odonata import _core, runner
from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json, Seed, Settings
from odonata.errors import INPUT_WRONG, InputError, input_errors

ScenarioOrPreset = Annotated[
    Path, typer.Argument(metavar="SCENARIO|PRESET", help="Scenario file (TOML), or the name of a preset.")
]


def check(
    scenario: ScenarioOrPreset, settings: Settings = None, seed: Seed = None, as_json: Json = False
) -> None:
    """Say all that can be known before a run.

    The scenario's keys and values, whether the jobs fit and where they are placed, which virtual channels the
    routing needs, that it cannot deadlock, which traffic classes there are, on how many threads and in which
    parts it will run here, what it will cost, and what is probably not meant. A preset and a scenario
    without jobs have no run of which anything could be known.
    """
    with reported(as_json), input_errors():
        text = _scenario_or_preset(scenario)
        report = json.loads(_core.check(text, str(scenario), settings or [], seed))
    with open_pipe():
        if as_json:
            print_json(report)
        else:
            from odonata import check_report

            check_report.show(report)
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
        typer.Option("--routing", help="Also prove that the routing cannot deadlock, or show how it can."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Describe a machine, whatever runs on it.

    Routers, nodes and groups, cables of each class, free ports, the longest of the shortest paths, and the
    cables between two halves. The scenario needs no jobs. What `--export` writes can be a machine of kind
    "graph".
    """
    with reported(as_json), input_errors():
        text = _scenario_or_preset(scenario)
        description = json.loads(_core.describe(text, str(scenario), settings or []))
        proof = json.loads(_core.prove(text, str(scenario), settings or [])) if routing else None
        if export is not None:
            export.write_text(_core.graphml(text, str(scenario), settings or []), encoding="utf-8")
    with open_pipe():
        if as_json:
            print_json(description if proof is None else description | {"routing": proof})
        else:
            from odonata import describe_report

            describe_report.show(description, proof)


def _scenario_or_preset(source: Path) -> str:
    """The scenario in a file, or one of nothing but a preset.

    A file comes first: whoever has one of a preset's name means it.
    """
    presets = _core.preset_names()
    if source.exists() or source.suffix or len(source.parts) != 1:
        return runner.read_scenario(source)
    if str(source) in presets:
        return f'preset = "{source}"\n'
    alike = difflib.get_close_matches(str(source).lower(), presets, n=1)
    raise InputError(
        "neither a file nor a preset",
        key="SCENARIO|PRESET",
        value=str(source),
        expected=f"a scenario file, or one of {', '.join(presets)}",
        hint=f"did you mean {alike[0]}?" if alike else None,
    )
