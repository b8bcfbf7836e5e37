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
from typing import Any

import click

from odonata._core import __version__
from odonata.cli import streams
from odonata.cli.answer import open_pipe, reported
from odonata.cli.declared import CONTEXT, Group, build, declared, group
from odonata.commands.listed import LISTED, help_of
from odonata.errors import check_text

#: The environment variable by which shells request completions.
COMPLETION = "_ODONATA_COMPLETE"

#: Help texts of the groups, below that line.
GROUPS = {
    "device": "",
    "trace": "\n\nDUMPI, Chakra, OTF2, Nsight Systems, GOAL, Darshan logs, and programs in files.",
    "workload": "",
}


def _print_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    """Prints what makes `shell` complete the words of a command, and ends."""
    if shell is None:
        return
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.command, {}, "odonata", COMPLETION).source())
    context.exit()


def application(names: Iterable[str] = LISTED, listed: Iterable[str] = ()) -> Group:
    """Builds the application with the commands of `names`; those in `listed` have a line of help alone."""
    options = [
        click.Option(
            ["--completion"],
            type=click.Choice(["bash", "zsh", "fish"]),
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
            help="Print the script that completes commands in this shell, and exit.",
        )
    ]
    made = Group(
        "odonata",
        params=options,
        help="Simulates a supercomputer's network and storage, and the jobs that share them.",
        no_args_is_help=True,
        context_settings=CONTEXT,
    )
    click.version_option(__version__, message="odonata %(version)s", help="Print the version and exit.")(made)
    for name in names:
        place, line = LISTED[name]
        module = importlib.import_module(f"odonata.{place}")
        if name in GROUPS:
            made.add_command(group(name, line + GROUPS[name]))
        elif place.startswith("cli."):
            made.add_command(
                build(name, help_of(name, module.DETAILS), getattr(module, name), module.PARAMETERS)
            )
        else:
            made.add_command(declared(name))
    for name in listed:
        made.add_command(click.Command(name, help=LISTED[name][1]))
    return made


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = made = application()
    return made


def _application_for(arguments: list[str]) -> Group:
    """Builds the application for a call: the named command, or the list of all."""
    if arguments == ["--version"]:
        return application(())
    if arguments and arguments[0] in LISTED:
        return application(arguments[:1])
    if COMPLETION in os.environ:
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
                _application_for(arguments)(arguments, prog_name="odonata", complete_var=COMPLETION)
    except click.exceptions.Exit as error:
        code = error.exit_code
    except SystemExit as error:
        code = error.code
    # An exception may leave output in the buffer.
    try:
        with open_pipe():
            pass
    except click.exceptions.Exit as error:
        code = code or error.exit_code
    return code


def main() -> None:
    """Runs the command of `sys.argv`, and exits."""
    streams.prepare()
    code = call(sys.argv[1:])
    # No work is left that Ctrl-C could stop in an orderly way.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)
