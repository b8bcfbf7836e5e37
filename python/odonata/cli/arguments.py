"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odonata.errors import InputError
from odonata.runner import LARGEST_SEED

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting of the scenario; may be repeated."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=LARGEST_SEED, help="Replace the seed of the scenario."),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace a file that is there.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]


def result_folder(out: str | None, scenario: Path) -> Path:
    """The folder to write."""
    if out is None:
        return Path("results") / scenario.stem
    # Path("") would be the current folder.
    if not out.strip():
        raise InputError("no name for the result folder", key="--out", value=repr(out), expected="a folder")
    return Path(out)
