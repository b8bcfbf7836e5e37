"""`odonata presets`."""

from __future__ import annotations

from typing import Annotated

import typer

from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json
from odonata.scenario import preset_list


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[PRESET]", help="Show this preset. [default: list all]")
    ] = None,
    as_json: Json = False,
) -> None:
    """List presets, or show one with its sources.

    Each number of a preset has its source. Most presets are machines without jobs. The key `preset` of a
    scenario names one; keys of the scenario replace its keys one by one.
    """
    with reported(as_json, writes=False):
        one = None if name is None else preset_list.preset(name)
        every = preset_list.presets() if name is None else []
    with open_pipe():
        if as_json:
            print_json(every if one is None else one)
        elif one is None:
            preset_list.show_list(every)
        else:
            preset_list.show(one)
