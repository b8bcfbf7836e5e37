"""`odonata summary` and `odonata compare`: what is in result folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json
from odonata.errors import InputError


def summary(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that `odonata run` wrote.")],
    as_json: Json = False,
) -> None:
    """Show the summary of an earlier run again."""
    with reported(as_json), _whole(folder):
        from odonata import summary as contents
        from odonata import summary_page
        from odonata.results import Results

        page = contents.collect(Results.load(folder))
    with open_pipe():
        if as_json:
            print_json(page)
        else:
            summary_page.show(page)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder that `odonata run` wrote.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one, or DIR/baselines/JOB.")],
    least: Annotated[
        float,
        typer.Option("--min", min=0.0, metavar="PERCENT", help="Least change of a metric that is shown."),
    ] = 1.0,
    everything: Annotated[bool, typer.Option("--all", help="Show what has not changed too.")] = False,
    as_json: Json = False,
) -> None:
    """Say what differs between two results.

    First the settings that differ, then every metric of every job that both have, sums over links and
    servers, and who waited for whom. Ratios are B / A.
    """
    threshold = 0.0 if everything else least / 100
    with reported(as_json), contextlib.ExitStack() as checks:
        from odonata import comparison, comparison_page
        from odonata.results import Results

        for folder in (a, b):
            checks.enter_context(_whole(folder))
        found = comparison.collect(Results.load(a), Results.load(b), threshold)
    with open_pipe():
        if as_json:
            print_json(found)
        else:
            comparison_page.show(found, threshold)


@contextlib.contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """Says what is wrong with a result folder that cannot be read."""
    if not (folder / "run.json").is_file():
        raise InputError("not a result of odonata", file=str(folder), expected="a folder that holds run.json")
    try:
        yield
    except (KeyError, ValueError) as error:  # JSON and Arrow errors are ValueErrors
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the result is damaged: {type(error).__name__} {error}",
            file=str(folder),
            expected="run.json and tables as `odonata run` wrote them",
        ) from None
