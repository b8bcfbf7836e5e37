"""The command `odonata`.

Results and answers go to standard output, progress and errors to standard error. Exit codes: 0 the run
completed; 2 the input is wrong and nothing was created or touched; 3 the run or a baseline ended in a named
failure, which `run.json` holds; 130 it was interrupted, and what was measured until then is kept, or it can
be resumed; 1 this computer let us down (disk full, ...), and nothing was left behind but snapshots, or a
trace that was to be checked is wrong. A reader that closes the pipe (`| head`) changes none of that.

A module for each command or group of commands; what all need is in `arguments` and `answer`.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from odonata._core import __version__
from odonata.cli import (
    bench,
    calibrate,
    check,
    device,
    explain,
    extrapolate,
    fidelity,
    import_,
    init,
    load_sweep,
    presets,
    report,
    results,
    run,
    schema,
    streams,
    sweep,
    timeline,
    trace,
    workload,
)
from odonata.cli.answer import open_pipe, reported
from odonata.errors import check_text


class _Commands(TyperGroup):
    """The commands; what is wrong with arguments is said without the words of the library that checks."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="odonata",
    cls=_Commands,
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
app.command()(init.init)
app.command()(presets.presets)
app.command("import")(import_.import_)
app.command()(run.run)
app.command()(sweep.sweep)
app.command("load-sweep")(load_sweep.load_sweep)
app.command()(check.check)
app.command()(check.describe)
app.command()(fidelity.fidelity)
app.command()(extrapolate.extrapolate)
app.command()(results.summary)
app.command()(explain.explain)
app.command()(report.report)
app.command()(timeline.timeline)
app.command()(results.compare)
app.command()(bench.bench)
app.command()(schema.schema)
app.command()(calibrate.calibrate)
app.add_typer(device.app, name="device")
app.add_typer(trace.app, name="trace")
app.add_typer(workload.app)


def call(arguments: list[str]) -> str | int | None:
    """Carries out a command; its exit code. Nothing that a user does ends in a traceback."""
    code: str | int | None = 0
    try:
        with reported("--json" in arguments, writes=False):
            for number, argument in enumerate(arguments):
                before = arguments[number - 1] if number else ""
                check_text(argument, before if before.startswith("-") else f"argument {number + 1}")
            # Commands take care of what they print; help and version are left.
            with open_pipe():
                app(arguments, prog_name="odonata")
    except typer.Exit as error:
        code = error.exit_code
    except SystemExit as error:
        code = error.code
    # They end with an exception, before all is printed.
    try:
        with open_pipe():
            pass
    except typer.Exit as error:
        code = code or error.exit_code
    return code


def main() -> None:
    """What the command does, once its libraries are there."""
    streams.prepare()
    code = call(sys.argv[1:])
    # There is nothing more that anybody could stop in an orderly way.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)
