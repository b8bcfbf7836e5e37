"""`odonata workload`: commands for programs in coNCePTuaL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odonata.cli.answer import open_pipe, print_json, reported, say
from odonata.cli.arguments import Json
from odonata.errors import FORMAT_DIFFERS, INPUT_WRONG, InputError, given, option
from odonata.programs import conceptual as workload
from odonata.scenario.reading import LARGEST_SEED

app = typer.Typer(
    name="workload",
    help="Check and list coNCePTuaL programs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

ProgramFile = Annotated[Path, typer.Argument(metavar="FILE", help="Program (.ncptl).")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Accept only the language of reference release 1.5.1b.")
]
IgnoreUnknownBackend = Annotated[
    bool,
    typer.Option("--ignore-unknown-backend", help="Skip text for unknown back ends, with a warning."),
]


@app.command("check")
def workload_check(
    program: ProgramFile,
    strict: Strict = False,
    ignore_unknown_backend: IgnoreUnknownBackend = False,
    as_json: Json = False,
) -> None:
    """Check a program, and list its options."""
    with reported(as_json, writes=False):
        report = workload.checked(program, strict=strict, ignore_unknown_backend=ignore_unknown_backend)
    for text in [*(error["shown"] for error in report["errors"]), *report["warnings"]]:
        say(text)
    with open_pipe():
        if as_json:
            print_json(report)
        elif report["valid"]:
            print(f"{program}: valid")
            for p in report["parameters"]:
                print(f"  {p['long']}, {p['short']}  {p['about']} (default {p['default']})")
    if not report["valid"]:
        raise typer.Exit(INPUT_WRONG)


@app.command("format")
def workload_format(
    program: ProgramFile,
    write: Annotated[bool, typer.Option("--write", "-w", help="Replace the file if it differs.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with code 1 if the file differs.")
    ] = False,
) -> None:
    """Print a program in one layout: indentation, spaces, keywords in lower case.

    Line breaks and comments stay in place. The meaning does not change: words, numbers, strings and signs
    stay the same.
    """
    with reported(False, writes=write):
        if write and check:
            raise InputError(
                "one of them", key=option("write"), expected=given("write") + " or " + given("check")
            )
        before, after = workload.formatted(program)
        if write and before != after:
            workload.replace(program, after)
    with open_pipe():
        if not write and not check:
            print(after, end="")
        elif before != after:
            print(f"{program}: {'formatted' if write else 'would be formatted'}")
    if check and before != after:
        raise typer.Exit(FORMAT_DIFFERS)


@app.command("compile")
def workload_compile(
    program: ProgramFile,
    tasks: Annotated[int, typer.Option("--tasks", "-n", min=1, max=1 << 24, help="Number of tasks.")],
    args: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGS]", help="Command line of the program.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of random tasks.")] = 1,
    strict: Strict = False,
    ignore_unknown_backend: IgnoreUnknownBackend = False,
    as_json: Json = False,
) -> None:
    """List every operation of every task, and report whether all tasks finish.

    Without a clock, timed loops have three passes and one warm-up pass.
    """
    with reported(as_json, writes=False):
        content, failure = workload.record(
            program,
            tasks,
            args or [],
            seed=seed,
            strict=strict,
            ignore_unknown_backend=ignore_unknown_backend,
        )
    if failure is not None:
        say(failure)
    with open_pipe():
        if as_json:
            print_json(content)
        elif failure is None:
            for warning in content["warnings"]:
                say(f"warning: {warning}")
            print("\n".join(workload.listing(content)))
    if failure is not None:
        raise typer.Exit(INPUT_WRONG)
