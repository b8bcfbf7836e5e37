"""Builds the commands of the terminal from their declarations, by Click."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import click

from odonata.base.messages import print_json, say
from odonata.cli.answer import open_pipe, reported
from odonata.commands.declared import COMMANDS, JSON, OF_FUNCTION, Command, Declared, Shown

#: What all commands have in common: the names of the option that shows the help.
CONTEXT = {"help_option_names": ["-h", "--help"]}


def declared(name: str) -> click.Command:
    """Returns the command `name` of `COMMANDS`."""
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
            raise click.exceptions.Exit(shown.code)

    known = inspect.signature(command.function).parameters
    parameters = {
        key: replace(one, default=known[key].default) if one.default is OF_FUNCTION and key in known else one
        for key, one in command.parameters.items()
    }
    if command.has_json:
        parameters.setdefault("as_json", JSON)
    return build(name.rpartition(" ")[2], command.help, carry_out, parameters)


def build(
    name: str, help: str, function: Callable[..., None], parameters: Mapping[str, Declared]
) -> click.Command:
    """Returns the command that calls `function` with the values of `parameters`."""
    made = [_parameter(key, one) for key, one in parameters.items()]

    def call(**given: Any) -> None:
        # Click has a tuple of the values of a repeated option, empty if there are none.
        function(**{key: list(v) or None if isinstance(v, tuple) else v for key, v in given.items()})

    return _Command(name, callback=call, help=help, params=made, context_settings=CONTEXT)


class _Command(click.Command):
    """A command that says where its output goes, if `-o` is no option of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses what was typed."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name in ("-o", "--out") and any(one.name == "out" for one in self.params):
                message = f"No such option '{error.option_name}': the output is the argument OUT."
                raise click.NoSuchOption(error.option_name, message, ctx=ctx) from None
            raise


class Group(click.Group):
    """A group that lists its commands in the order in which they were added, not alphabetically."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)


def group(name: str, help: str) -> Group:
    """Returns the group of the commands whose names begin with `name`."""
    made = Group(name, help=help, no_args_is_help=True, context_settings=CONTEXT)
    for full in COMMANDS:
        if full.partition(" ")[0] == name:
            made.add_command(declared(full))
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


class _Values(click.Choice[Enum]):
    """A choice of constants by their values; Click has their names."""

    def normalize_choice(self, choice: Any, ctx: click.Context | None) -> str:
        return choice.value if isinstance(choice, Enum) else str(choice)


def _parameter(name: str, one: Declared) -> click.Parameter:
    is_list = get_origin(one.type) is list
    [kind] = get_args(one.type) if is_list else [one.type]
    is_required = one.default in (inspect.Parameter.empty, OF_FUNCTION)
    # Click shows the name of a constant, and people type its value.
    more: dict[str, Any] = {"required": is_required, "metavar": one.metavar, "help": one.help}
    if not is_required:
        more["default"] = one.default.value if isinstance(one.default, Enum) else one.default
    if not one.flags:
        return click.Argument([name], type=_type(kind, one), nargs=-1 if is_list else 1, **more)
    flags = (f"--{name.replace('_', '-')}", *one.flags[1:]) if one.flags[0] == "--" else one.flags
    is_flag = kind is bool
    return click.Option(
        [*flags, name],
        type=None if is_flag else _type(kind, one),
        show_default=not is_flag,
        is_flag=is_flag,
        multiple=is_list,
        **more,
    )


def _type(kind: Any, one: Declared) -> click.ParamType[Any]:
    """The type that checks and converts what is typed."""
    if kind is Path:
        return click.Path(path_type=Path)
    if issubclass(kind, Enum):
        return _Values(kind)
    if one.least is None and one.most is None:
        return {str: click.STRING, int: click.INT, float: click.FLOAT}[kind]
    least, most = (None if bound is None else kind(bound) for bound in (one.least, one.most))
    # The error of a word is "'x' is not a valid whole number".
    range_ = click.IntRange(least, most) if kind is int else click.FloatRange(least, most)
    range_.name = "whole number" if kind is int else "number"
    return range_
