"""Generates the reference pages of commands and of Python from help texts and docstrings: `make docs`.

`docs/commands.md` comes from the commands, `docs/api.md` and `docs/operations.md` from the docstrings of the
package. A test compares the pages with the output of this module.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import odonata
from odonata import collective_io, nccl, operations, plot
from odonata.cli import app

DOCS = Path(__file__).parents[1]

#: Sections of a docstring that list names, such as `Args:`.
SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$")

#: Longest signature on one line.
LINE = 100

COMMANDS_HEAD = """# Commands

This page lists every command with its arguments and options. [Command-line rules](command-line.md)
explains exit codes, files and signals, which are the same for all commands. The page is generated from
the help texts (`odonata COMMAND --help`).
"""

API_HEAD = """# Python API

This page lists every name of the package `odonata`. [Use Odonata from Python](python.md) is the guide;
[operations](operations.md) lists the operations of rank programs. The page is generated from the
docstrings (`python -m pydoc odonata.run`).
"""

OPERATIONS_HEAD = """# Operations of rank programs

This page lists the operations that a rank program in Python yields, and the functions that read and write
programs in files. [Write a program for a job](programs.md) is the guide. The page is generated from the
docstrings (`python -m pydoc odonata.operations`).
"""


def cell(text: str) -> str:
    """`text` for a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def commands_page() -> str:
    """The page of all commands."""
    parts = [COMMANDS_HEAD]
    for path, command in walk("odonata", app):
        context = command.context_class(command, info_name=path)
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        parts.append(f"## `{path}`\n\n{inspect.cleandoc(command.help or '')}\n\n```text\n{usage}\n```\n")
        for kind, title in (("argument", "argument"), ("option", "option")):
            rows = [
                (cell(record[0]), cell(record[1]))
                for option in command.get_params(context)
                if option.param_type_name == kind and (record := option.get_help_record(context))
                if "--help" not in record[0]
            ]
            if rows:
                lines = "".join(f"| `{name}` | {text} |\n" for name, text in rows)
                parts.append(f"| {title} | meaning |\n|---|---|\n{lines}")
    return "\n".join(parts)


def walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command and its subcommands, with the words that call each."""
    if not command.hidden:
        yield path, command
        for name, below in getattr(command, "commands", {}).items():
            yield from walk(f"{path} {name}", below)


def api_page() -> str:
    """The page of the package, with its plots."""
    parts = [API_HEAD, described(inspect.getdoc(odonata) or "")]
    for name in sorted(odonata.__all__):
        found = getattr(odonata, name)
        if name == "Scenario":
            # Its classes are the tables of a scenario: docs/scenario.md.
            parts.append(f"## `odonata.{name}`\n\n{described(inspect.getdoc(found) or '')}")
        elif not inspect.ismodule(found) and callable(found):
            parts.append(entry(f"odonata.{name}", found))
    parts.append(f"## Plots: `odonata.plot`\n\n{described(inspect.getdoc(plot) or '')}")
    parts += [entry(f"odonata.plot.{name}", found, "###") for name, found in members(plot)]
    return "\n".join(parts)


def operations_page() -> str:
    """The page of operations, with collective file access and the collectives of NCCL."""
    parts = [OPERATIONS_HEAD, described(inspect.getdoc(operations) or "")]
    parts += [entry(f"operations.{name}", getattr(operations, name)) for name in public(operations)]
    parts.append(f"## Collective file access\n\n{described(inspect.getdoc(collective_io) or '')}")
    parts += [entry(f"collective_io.{name}", found, "###") for name, found in members(collective_io)]
    parts.append(f"## Collectives of NCCL\n\n{described(inspect.getdoc(nccl) or '')}")
    parts += [entry(f"nccl.{name}", found, "###") for name, found in members(nccl)]
    return "\n".join(parts)


def public(module: ModuleType) -> list[str]:
    """The public functions and classes of a module, in the order of its `__all__`."""
    return [name for name in module.__all__ if callable(getattr(module, name))]


def members(module: ModuleType) -> list[tuple[str, Any]]:
    """The public functions of a module, in their order."""
    return [
        (name, found)
        for name, found in vars(module).items()
        if inspect.isfunction(found) and found.__module__ == module.__name__ and not name.startswith("_")
    ]


def entry(name: str, found: Any, heading: str = "##") -> str:
    """A function or class: signature, docstring, and public members of a class."""
    text = f"{heading} `{name}`\n\n{signature(name.rpartition('.')[2], found)}"
    text += described(inspect.getdoc(found) or "")
    if not inspect.isclass(found):
        return text
    for member, value in vars(found).items():
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            text += f"\n{heading}# `{name}.{member}`\n\n*property* "
            text += described(inspect.getdoc(value) or "")
        elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            bound = getattr(found, member)
            text += f"\n{heading}# `{name}.{member}`\n\n{signature(member, bound)}"
            text += described(inspect.getdoc(bound) or "")
    return text


def signature(name: str, found: Any) -> str:
    """The signature as a block of code; empty if it cannot be called."""
    if inspect.isclass(found) and issubclass(found, BaseException):
        return ""
    call = inspect.signature(found)
    arguments, keyword = [], False
    for argument in call.parameters.values():
        if argument.kind is argument.KEYWORD_ONLY and not keyword:
            arguments.append("*")
        keyword = keyword or argument.kind in (argument.KEYWORD_ONLY, argument.VAR_POSITIONAL)
        if argument.name != "self":
            arguments.append(parameter(argument))
    result = "" if call.return_annotation in (call.empty, None, "None") else f" -> {call.return_annotation}"
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) > LINE:
        line = f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"
    return f"```python\n{line}\n```\n\n"


def parameter(argument: inspect.Parameter) -> str:
    """A parameter as written: annotations are strings, which `str(argument)` would quote."""
    text = {argument.VAR_POSITIONAL: "*", argument.VAR_KEYWORD: "**"}.get(argument.kind, "") + argument.name
    annotated = argument.annotation is not argument.empty
    if annotated:
        text += f": {argument.annotation}"
    if argument.default is argument.empty:
        return text
    made = repr(argument.default)
    default = "..." if made.startswith("<") else made
    return f"{text} = {default}" if annotated else f"{text}={default}"


def described(text: str) -> str:
    """A docstring in Markdown: examples as code, sections of names as lists."""
    lines: list[str] = []
    example = section = False
    for line in [*text.splitlines(), ""]:
        if not example and line.startswith(">>> "):
            lines.append("```pycon")
            example, section = True, False
        elif example and not line.strip():
            lines.append("```")
            example = False
        if not example and SECTION.match(line):
            lines += [f"**{line[:-1]}**", ""]
            section = True
            continue
        section = section and (not line or line.startswith(" "))
        if section and (item := re.match(r"^    (\*{0,2}\w+): (.*)$", line)):
            line = f"- `{item[1]}`: {item[2]}"
        elif section and line.startswith("    "):
            line = f"  {line.strip()}" if line.startswith("     ") else line.strip()
        # Directives to doctest are not for readers.
        lines.append(line.partition("  # doctest:")[0])
    return "\n".join(lines).rstrip("\n") + "\n"


PAGES = {"commands": commands_page, "api": api_page, "operations": operations_page}


def main() -> None:
    """Writes all pages."""
    for name, page in PAGES.items():
        (DOCS / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
