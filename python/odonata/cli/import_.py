"""`odonata import`: configurations of other simulators as scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odonata import _core
from odonata.base.output_file import OutputFile
from odonata.cli.answer import open_pipe, print_json, reported, say
from odonata.cli.arguments import Json
from odonata.errors import InputError, given, input_errors, option
from odonata.imports import files as imports


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Configuration of BookSim 2, or of CODES with its workload and allocation files.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Scenario to write. [default: standard output]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing scenario.")] = False,
    as_json: Json = False,
) -> None:
    """Turn a file of CODES, MFNetSim or BookSim into a scenario.

    docs/imports.md lists the supported settings. Every key states its source. Settings without a counterpart
    are listed in the scenario and on standard error.
    """
    with reported(as_json, writes=out is not None):
        if force and out is None:
            raise InputError(
                "there is nothing to replace", key=option("force"), expected=given("out", "FILE")
            )
        target = None if out is None else OutputFile(out, key=option("out"), replace=force, inputs=files)
        draft = imports.load(files)
        text = draft.text()
        try:
            with input_errors():
                # What is written is a scenario, or nothing is.
                look = _core.resolve if draft.jobs else _core.describe
                look(text, str(out or "imported.toml"))
        except InputError as error:
            raise draft.wrong(error) from None
        if target is not None:
            target.write(text.encode())
    for one in draft.left:
        say(f"not imported: {one}")
    with open_pipe(out):
        if as_json:
            left = [{"key": one.key, "value": one.value, "reason": one.reason} for one in draft.left]
            print_json({"scenario": text, "not_taken_over": left})
        elif out is None:
            print(text, end="")
        else:
            print(f"{out}: {len(draft.jobs)} jobs; {len(draft.left)} settings without a counterpart")
