"""The command `odonata`.

Results and answers go to standard output, progress and errors to standard error. Exit codes: 0 the run
completed; 2 the input is wrong and nothing was created or touched; 3 the run or a baseline ended in a named
failure, which `run.json` holds; 130 it was interrupted, and what was measured until then is kept, or it can
be resumed; 1 this computer let us down (disk full, ...), and nothing was left behind but snapshots, or a
trace that was to be checked is wrong. A reader that closes the pipe (`| head`) changes none of that.

A module for each command or group of commands; what all need is in `arguments` and `answer`.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from odonata import __version__
from odonata.cli import bench, check, load_sweep, results, run, schema, trace, workload
from odonata.cli.answer import left, say
from odonata.errors import INTERRUPTED

app = typer.Typer(
    name="odonata",
    help="Simulates a supercomputer's network and storage, and the jobs that share them.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if version:
        print(f"odonata {__version__}")
        raise typer.Exit


# In the order of the help.
app.command()(run.run)
app.command("load-sweep")(load_sweep.load_sweep)
app.command()(check.check)
app.command()(check.describe)
app.command()(results.summary)
app.command()(results.compare)
app.command()(bench.bench)
app.command()(schema.schema)
app.add_typer(trace.app, name="trace")
app.add_typer(workload.app)


def main() -> None:
    """Entry point; nothing a user does ends in a traceback."""
    try:
        app()
    except KeyboardInterrupt as error:
        say(f"stopped; {left(error)}")
        sys.exit(INTERRUPTED)
