"""`odonata init`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from odonata.base.output_file import OutputFile
from odonata.cli.answer import open_pipe, reported
from odonata.errors import InputError, in_terminal, option
from odonata.scenario import starter

if TYPE_CHECKING:
    from odonata.scenario.starter import Starter

Answer = TypeVar("Answer")


def init(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="File to write.")] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            metavar="NAME",
            help="Network family, such as torus, or preset, such as theta.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help="Preset; `odonata presets` lists them.")
    ] = None,
    jobs: Annotated[
        list[str] | None,
        typer.Option("--job", metavar="WORKLOAD[:RANKS]", help="Job, such as stencil:64; repeatable."),
    ] = None,
    storage: Annotated[
        bool | None,
        typer.Option("--storage/--no-storage", help="Storage servers. [default: if a job does I/O]"),
    ] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Also write a sweep, to NAME-sweep.toml.")] = False,
) -> None:
    """Write a commented scenario to start from.

    On a terminal, without options, it asks for machine, jobs and storage. The file is valid, and runs in
    seconds on machines other than presets. Existing files are never replaced.
    """
    with reported(False):
        asked = machine is None and preset is None and not jobs and storage is None and not sweep
        if asked and sys.stdin.isatty():
            file, wanted, sweep = _ask(file)
        else:
            family = None
            if machine is not None:
                family, named = starter.parse_machine(machine)
                if named is not None and preset is not None:
                    raise InputError(
                        "two presets", key=option("machine"), value=machine, expected="one of them"
                    )
                preset = preset or named
            elif preset is None:
                family = starter.DEFAULT_MACHINE
            wanted = starter.Starter(family, preset, storage=storage)
            if jobs:
                wanted = _with(wanted, jobs=[starter.parse_job(text) for text in jobs])
        target = file or Path("scenario.toml")
        wanted = _with(wanted, name=target.stem)
        beside = target.with_name(f"{target.stem}-sweep.toml")
        outputs = []
        for place, key in [(target, option("file", "FILE")), *([(beside, option("sweep"))] if sweep else [])]:
            if os.path.lexists(place):
                raise InputError("the file exists", key=key, value=str(place), expected="an unused name")
            outputs.append(OutputFile(place, key=key))
        texts = [starter.scenario(wanted, str(target))]
        if sweep:
            texts.append(starter.sweep(wanted.jobs, target.name, str(beside)))
        for output, text in zip(outputs, texts, strict=True):
            output.write(text)
    with open_pipe():
        print(f"wrote {' and '.join(str(output.target) for output in outputs)}; next:")
        print(f"  odonata check {target}")
        print(f"  odonata sweep {beside}" if sweep else f"  odonata run {target}")


def _with(wanted: Starter, **changes: object) -> Starter:
    return replace(wanted, **changes)  # type: ignore[arg-type]


def _ask(file: Path | None) -> tuple[Path, Starter, bool]:
    """The questions, each of which is asked until it has an answer."""
    if file is None:
        file = Path(typer.prompt("File", default="scenario.toml", err=True))
    typer.echo(f"Families: {', '.join(starter.families())}; presets: `odonata presets`", err=True)
    family, preset = _until_right("Machine", starter.DEFAULT_MACHINE, starter.parse_machine)
    if preset is not None and not starter.has_machine(preset):
        family, _ = _until_right(f"{preset} has none; family", starter.DEFAULT_MACHINE, starter.parse_machine)
    typer.echo(f"Workloads: {', '.join(starter.workloads())}", err=True)
    jobs = _until_right(
        "Jobs, as WORKLOAD or WORKLOAD:RANKS",
        ",".join(starter.DEFAULT_JOBS),
        lambda text: [starter.parse_job(part) for part in text.split(",")],
    )
    needed = any(job.workload in starter.WITH_STORAGE for job in jobs)
    storage = needed or typer.confirm("Storage servers", default=False, err=True)
    sweep = typer.confirm("Also a sweep over placements and seeds", default=False, err=True)
    return file, starter.Starter(family, preset, jobs, storage), sweep


def _until_right(question: str, default: str, read: Callable[[str], Answer]) -> Answer:
    while True:
        try:
            return read(typer.prompt(question, default=default, err=True))
        except InputError as error:
            typer.echo(str(in_terminal(error)), err=True)
