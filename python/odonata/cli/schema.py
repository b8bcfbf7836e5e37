"""`odonata schema`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from odonata import _core
from odonata.cli.answer import open_pipe, print_json


def schema(
    tables: Annotated[bool, typer.Option("--tables", help="The tables of a result instead.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page to read instead of JSON.")] = False,
) -> None:
    """Print the reference of scenarios or results.

    For scenarios that is the JSON Schema that editors complete and check with.
    """
    from odonata.results_reference import documentation, tables_page
    from odonata.scenario_reference import scenario_page

    with open_pipe():
        if tables:
            docs = documentation()
            print(tables_page(docs), end="") if markdown else print_json(docs)
        else:
            keys = json.loads(_core.schema())
            print(scenario_page(keys), end="") if markdown else print_json(keys)
