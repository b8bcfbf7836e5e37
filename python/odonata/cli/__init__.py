"""The command `odonata`.

Results and answers go to standard output, progress and errors to standard error. A reader that closes the
pipe (`| head`) does not change the exit code:

- 0: the run completed;
- 1: the computer failed (such as a full disk), and only snapshots remain; or a checked trace has errors;
- 2: the input is invalid, and nothing was created or changed;
- 3: the run or a baseline failed, and `run.json` names the failure;
- 130: the run was interrupted; its measurements are kept, or it can be resumed.

`commands/listed.py` is the table of all commands; the module of a command is imported when it is called.
`arguments` and `answer` hold their common parts.

Only `odonata.__main__` imports this package.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from odonata._core import __version__
from odonata.cli import streams
from odonata.cli.answer import open_pipe, reported
from odonata.cli.declared import callback, group
from odonata.commands.listed import LISTED, help_of
from odonata.errors import check_text

#: Help texts of the groups, below that line.
GROUPS = {
    "device": "",
    "trace": "\n\nDUMPI, Chakra, OTF2, Nsight Systems, GOAL, Darshan logs, and programs in files.",
    "workload": "",
}


class _Commands(TyperGroup):
    """The group of all commands. It removes the prefix of the validation library from errors."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if version:
        print(f"odonata {__version__}")
        raise typer.Exit


def application(names: Iterable[str] = LISTED, listed: Iterable[str] = ()) -> typer.Typer:
    """Builds the application with the commands of `names`; those in `listed` have a line of help alone."""
    made = typer.Typer(
        name="odonata",
        cls=_Commands,
        help="Simulates a supercomputer's network and storage, and the jobs that share them.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_options)
    for name in names:
        place, line = LISTED[name]
        module = importlib.import_module(f"odonata.{place}")
        if name in GROUPS:
            made.add_typer(group(name, line + GROUPS[name]), name=name)
        else:
            own = place.startswith("cli.")
            made.command(name, help=help_of(name, module.DETAILS) if own else None)(
                getattr(module, name) if own else callback(name)
            )
    for name in listed:
        made.command(name, help=LISTED[name][1])(_listed)
    return made


def _listed() -> None:
    raise AssertionError("a command that is listed alone was called")


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = made = application()
    return made


def _application_for(arguments: list[str]) -> typer.Typer:
    """Builds the application for a call: the named command, or the list of all."""
    if arguments == ["--version"]:
        return application(())
    if arguments and arguments[0] in LISTED:
        return application(arguments[:1])
    # Shells request completion by an environment variable.
    if any(name.endswith("_COMPLETE") for name in os.environ):
        return application()
    return application((), LISTED)


def call(arguments: list[str]) -> str | int | None:
    """Runs a command and returns its exit code. User errors never end in a traceback."""
    code: str | int | None = 0
    try:
        with reported("--json" in arguments, writes=False):
            for number, argument in enumerate(arguments):
                before = arguments[number - 1] if number else ""
                check_text(argument, before if before.startswith("-") else f"argument {number + 1}")
            # Commands handle closed pipes themselves; help and version do not.
            with open_pipe():
                _application_for(arguments)(arguments, prog_name="odonata")
    except typer.Exit as error:
        code = error.exit_code
    except SystemExit as error:
        code = error.code
    # An exception may leave output in the buffer.
    try:
        with open_pipe():
            pass
    except typer.Exit as error:
        code = code or error.exit_code
    return code


def main() -> None:
    """Runs the command of `sys.argv`, and exits."""
    streams.prepare()
    code = call(sys.argv[1:])
    # No work is left that Ctrl-C could stop in an orderly way.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)
