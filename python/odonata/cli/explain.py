"""`odonata explain`: the chain of waits that ends a job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odonata.analysis import explain as chains
from odonata.analysis import explain_page
from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json
from odonata.results.results import Results


def explain(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that `odonata run` wrote.")],
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB", help="Explain this job. Default: all.")
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option("--rank", min=0, metavar="R", help="Explain this rank. Default: the last to end."),
    ] = None,
    iteration: Annotated[
        int | None,
        typer.Option(
            "--iteration",
            min=0,
            metavar="I",
            help="Explain the end of this iteration. Default: the end of the job.",
        ),
    ] = None,
    most: Annotated[
        int, typer.Option("--waits", min=0, metavar="N", help="Show at most this many waits of a chain.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Show the waits that determined the end of a job.

    Each wait has its rank, place, time, length and culprit, followed backwards from the end. The
    run must record the waits (run.lost_time, run.lost_time_path).
    """
    with reported(as_json, writes=False):
        found = chains.of_jobs(Results.load(folder), job=job, rank=rank, iteration=iteration)
    with open_pipe():
        if as_json:
            print_json({"chains": [chain.as_dict() for chain in found]})
        else:
            explain_page.show(found, most)
