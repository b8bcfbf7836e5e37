"""Common arguments and options of several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odonata.scenario.reading import LARGEST_SEED

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a key of the scenario; repeatable."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed, in place of the one in the scenario."),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace an existing file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
