"""`odonata summary` and `odonata compare`: what is in result folders."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from odonata.analysis import comparison, comparison_page, summary_page
from odonata.analysis import summary as contents
from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json
from odonata.errors import InputError, option
from odonata.results.results import Results


def summary(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder of `odonata run`.")],
    as_json: Json = False,
) -> None:
    """Show the summary of a run."""
    with reported(as_json, writes=False):
        page = contents.collect(Results.load(folder))
    with open_pipe():
        if as_json:
            print_json(page)
        else:
            summary_page.show(page)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Result folder of `odonata run`.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Second result folder, such as DIR/baselines/JOB.")],
    least: Annotated[
        float,
        typer.Option("--min", min=0.0, metavar="PERCENT", help="Hide metrics that change less."),
    ] = 1.0,
    everything: Annotated[bool, typer.Option("--all", help="Also show unchanged metrics.")] = False,
    as_json: Json = False,
) -> None:
    """Compare two results.

    Different settings, then the metrics of common jobs, sums over links and
    servers, and interference between jobs. Ratios are B / A.
    """
    threshold = 0.0 if everything else least / 100
    with reported(as_json, writes=False):
        if not math.isfinite(least):
            raise InputError("not a number", key=option("min"), value=str(least), expected="a percentage")
        found = comparison.collect(Results.load(a), Results.load(b), threshold)
    with open_pipe():
        if as_json:
            print_json(found)
        else:
            comparison_page.show(found, threshold)
