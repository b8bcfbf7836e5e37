"""Declarations of commands: name, arguments and options, function, and how the answer is shown.

`command` declares all of it at the function, which stays a plain function of the package. The command line is
made of the declarations (`odonata.cli.declared`). An option has the default of the function, unless its
declaration says otherwise.

    @command("trace lint", "Check a trace for errors.", shown=show_lint, trace=TRACE)
    def trace_lint(trace: PathLike) -> list[TraceFinding]: ...
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from odonata.commands.listed import help_of
from odonata.errors import InputError
from odonata.errors import option as named
from odonata.scenario.reading import LARGEST_SEED

#: What the path of a file or folder may be.
PathLike = str | os.PathLike[str]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: Stands for the default of the function.
OF_FUNCTION: Any = object()


@dataclass(frozen=True)
class Declared:
    """An argument or option of a command."""

    help: str
    #: Placeholder of the value in the help.
    metavar: str | None = None
    #: The names of an option, as `--repeat` and `-n`; an argument has none.
    flags: tuple[str, ...] = ()
    #: The type of what is typed.
    type: Any = Path
    #: The value if nothing is typed.
    default: Any = OF_FUNCTION
    #: The least and the greatest number.
    least: float | None = None
    most: float | None = None
    #: Converts the typed value to the argument of the function.
    read: Callable[[Any], Any] | None = None


def argument(metavar: str | None, help: str, type: Any = Path, **more: Any) -> Declared:
    """An argument, by default a path."""
    return Declared(help, metavar, type=type, **more)


def option(help: str, *flags: str, metavar: str | None = None, type: Any = str, **more: Any) -> Declared:
    """An option, by default a text. Without `flags` its name is that of the parameter."""
    return Declared(help, metavar, flags or ("--",), type, **more)


def switch(help: str, *flags: str) -> Declared:
    """An option that is there or not."""
    return Declared(help, None, flags or ("--",), bool, False)


#: Arguments and options that most commands have. `JSON` is last if a command does not place it.
FORCE = switch("Replace an existing file.", "--force", "-f")
SETTINGS = option(
    "Set a key of the scenario; repeatable.", "--set", metavar="KEY=VALUE", type=list[str], default=None
)


SEED = option(
    "Seed, in place of the one in the scenario.",
    "--seed",
    metavar="N",
    type=int,
    least=0,
    most=LARGEST_SEED,
    default=None,
)


JSON = switch("Print JSON to standard output.", "--json")
SCENARIO = argument("SCENARIO", "Scenario file (TOML).")


@dataclass(frozen=True)
class Shown:
    """An answer, and how to show it if that depends on more than the answer."""

    answer: Any
    show: Callable[[], None]
    #: Lines on standard error that come before it.
    notes: Iterable[str] = ()
    #: Called after the answer was printed; returns more lines for standard error.
    after: Callable[[], Iterable[str]] = tuple
    #: The exit code.
    code: int = 0
    #: Where the results are, if the answer cannot be printed.
    place: object = None


@dataclass(frozen=True)
class Command:
    """A declared command."""

    name: str
    help: str
    function: Callable[..., Any]
    #: Prints the answer for people.
    show: Callable[[Any], None]
    #: Runs the command instead of the function, with the options that only the command has.
    terminal: Callable[..., Shown] | None
    #: Whether the command writes something: always, or if this option is given.
    writes: bool | str
    #: Whether there is `--json`.
    has_json: bool
    parameters: Mapping[str, Declared] = field(default_factory=dict)


#: All commands that are declared, by name.
COMMANDS: dict[str, Command] = {}


def command(
    name: str,
    details: str = "",
    /,
    *,
    shown: Callable[[Any], None] = print,
    terminal: Callable[..., Shown] | None = None,
    writes: bool | str = False,
    has_json: bool = True,
    **parameters: Declared,
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Declares the command `name` at the function that it calls; `parameters` in the order of the help.

    `details` are the help below the line that `listed.py` has of the command; of a command of a group, which
    has none there, they are all of the help.
    """

    def declare(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        COMMANDS[name] = Command(
            name, help_of(name, details), function, shown, terminal, writes, has_json, parameters
        )
        return function

    return declare


def result_folder(out: str | None, scenario: Path) -> Path:
    """The folder to write."""
    if out is None:
        return Path("results") / scenario.stem
    # Path("") would be the current folder.
    if not out.strip():
        raise InputError(
            "the result folder has no name", key=named("out"), value=repr(out), expected="a folder"
        )
    return Path(out)
