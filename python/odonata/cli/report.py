"""`odonata report`: results as a page for a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from odonata.base.output_file import OutputFile
from odonata.cli.answer import open_pipe, reported, say
from odonata.cli.arguments import Force
from odonata.commands import pages as sources
from odonata.errors import option


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help=(
                "Result folder of `odonata run`; several folders are compared. Or one table of a "
                "sweep (Parquet)."
            ),
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: report.html in DIR."),
    ] = None,
    force: Force = False,
    show: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
) -> None:
    """Write a report of results as an HTML page.

    One file with the verdict in words, charts and tables. It needs no network: keep it or send it to others.
    """
    with reported(False):
        target = _target(folders) if out is None else out
        output = OutputFile(target, key=option("out"), replace=force, inputs=_inputs(folders))
        output.write(sources.page(folders))
    with open_pipe():
        print(f"Report: {target}")
    if not show:
        return
    import webbrowser

    if not webbrowser.open(target.resolve().as_uri()):
        say("no browser found; open the file yourself")


def _target(folders: list[Path]) -> Path:
    """Where the page of these goes if nobody says: into the folder of one result, else into this one."""
    if len(folders) == 1 and os.path.isdir(folders[0]):
        return folders[0] / "report.html"
    return Path("report.html")


def _inputs(folders: list[Path]) -> list[Path]:
    """What is read: no page replaces a table. A page within a result's folder is none of them."""
    return [
        file
        for folder in folders
        for file in ([folder / "run.json", *folder.glob("*.parquet")] if os.path.isdir(folder) else [folder])
    ]
