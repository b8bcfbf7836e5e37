"""`odonata extrapolate`: few iterations of a scenario's jobs, and what all would take."""

from __future__ import annotations

from typing import Annotated

import typer

from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json, ScenarioFile, Seed, Settings
from odonata.running import extrapolation, runner
from odonata.scenario import reading


def extrapolate(
    scenario: ScenarioFile,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            metavar="PART",
            help="Largest relative difference between the times of steady iterations.",
        ),
    ] = 0.01,
    settings: Settings = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Run few iterations of the jobs, and say what all would take and how far that may be off.

    Runs have ever more iterations until those of all jobs are steady, to the end of the run; if they never
    are, the scenario is run in full. Nothing is written.
    """
    with reported(as_json, writes=False):
        task = runner.Task(reading.read_scenario(scenario), str(scenario), list(settings or []), seed)
        found = extrapolation.find(task, tolerance)
    with open_pipe():
        if as_json:
            print_json(found)
        else:
            extrapolation.show(found)
