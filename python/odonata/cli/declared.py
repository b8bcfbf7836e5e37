"""Builds the commands of the terminal from their declarations."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from odonata.base.messages import print_json, say
from odonata.cli.answer import open_pipe, reported
from odonata.commands.declared import COMMANDS, JSON, OF_FUNCTION, Command, Declared, Shown


def callback(name: str) -> Any:
    """Returns the function that Typer calls for a command."""
    command = COMMANDS[name]

    def carry_out(**given: Any) -> None:
        as_json = given.pop("as_json", False)
        writes = given[command.writes] is not None if isinstance(command.writes, str) else command.writes
        with reported(as_json, writes=writes):
            shown = _answer(command, _read(command, given), as_json=as_json)
        for text in shown.notes:
            say(text)
        with open_pipe(shown.place):
            if as_json:
                print_json(shown.answer)
            else:
                shown.show()
        for text in shown.after():
            say(text)
        if shown.code:
            raise typer.Exit(shown.code)

    parameters = [_parameter(command, key, one) for key, one in command.parameters.items()]
    if command.has_json and "as_json" not in command.parameters:
        parameters.append(_parameter(command, "as_json", JSON))
    carry_out.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    carry_out.__annotations__ = {one.name: one.annotation for one in parameters}
    carry_out.__doc__ = command.help
    carry_out.__name__ = name.rpartition(" ")[2]
    return carry_out


def group(name: str, help: str) -> typer.Typer:
    """Returns the group of the commands whose names begin with `name`."""
    made = typer.Typer(name=name, help=help, no_args_is_help=True, rich_markup_mode=None)
    for full in COMMANDS:
        first, _, rest = full.partition(" ")
        if first == name:
            made.command(rest)(callback(full))
    return made


def _answer(command: Command, given: dict[str, Any], *, as_json: bool) -> Shown:
    if command.terminal is not None:
        return command.terminal(**given, as_json=as_json)
    answer = command.function(**given)
    return Shown(answer, lambda: command.show(answer))


def _read(command: Command, given: dict[str, Any]) -> dict[str, Any]:
    """Converts typed values to arguments of the function."""
    declared = command.parameters
    return {
        key: read(value) if value is not None and (read := declared[key].read) is not None else value
        for key, value in given.items()
    }


def _parameter(command: Command, name: str, one: Declared) -> inspect.Parameter:
    default = one.default
    if default is OF_FUNCTION:
        known = inspect.signature(command.function).parameters.get(name)
        default = inspect.Parameter.empty if known is None else known.default
    kind = one.type | None if default is None else one.type
    if not one.flags:
        typed = typer.Argument(metavar=one.metavar, help=one.help)
    else:
        flags = (f"--{name.replace('_', '-')}", *one.flags[1:]) if one.flags[0] == "--" else one.flags
        typed = typer.Option(*flags, metavar=one.metavar, help=one.help, min=one.least, max=one.most)
    return _keyword(name, Annotated[kind, typed], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
