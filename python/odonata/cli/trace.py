"""`odonata trace`: commands for traces and programs in files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json, Settings
from odonata.errors import TRACE_WRONG, InputError

app = typer.Typer(
    help="Traces (DUMPI) and programs in files: look into them, check them, repeat and convert them.",
    no_args_is_help=True,
)

TracePath = Annotated[
    Path, typer.Argument(metavar="TRACE", help="Folder of the trace or program, or a .meta file.")
]


@app.command("info")
def trace_info(
    trace: TracePath,
    matrix: Annotated[
        Path | None,
        typer.Option("--matrix", metavar="FILE", help="Picture of who sends how much to whom, PNG or SVG."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is in a trace: ranks, calls, messages, bytes and times."""
    from odonata import trace_report as report
    from odonata.pictures import check_picture

    with reported(as_json):
        check_picture(matrix, "--matrix")
        found = report.info(trace)
        flows = report.matrix(trace) if matrix is not None or not as_json else []
        if matrix is not None:
            report.draw_matrix(flows, found["nranks"], found["name"], matrix)
    with open_pipe():
        if as_json:
            print_json(found)
        else:
            report.show_info(found, flows)


@app.command("lint")
def trace_lint(trace: TracePath, as_json: Json = False) -> None:
    """Look for what is wrong with a trace.

    Messages that nobody receives, collectives that do not agree, communicators that cannot be told,
    impossible times, counts that differ from the footer's, files that are cut off. Exit code: 0 nothing is
    wrong, 1 something is, 2 it cannot be read. Notes say what is replayed other than recorded.
    """
    from odonata import trace_report as report

    with reported(as_json):
        findings = report.lint(trace)
    with open_pipe():
        if as_json:
            print_json(findings)
        else:
            report.show_lint(findings)
    if any(finding["severity"] == "error" for finding in findings):
        raise typer.Exit(TRACE_WRONG)


@app.command("convert")
def trace_convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="Trace, program in files, or scenario (TOML) whose job is to be written."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write, NAME.program by custom.")],
    job: Annotated[
        str | None,
        typer.Option("--job", metavar="NAME", help="Job of the scenario. [default: the only one]"),
    ] = None,
    settings: Settings = None,
    times: Annotated[
        int, typer.Option("--repeat", "-n", min=1, metavar="N", help="How often, one after the other.")
    ] = 1,
    compute_scale: Annotated[
        float,
        typer.Option(
            "--compute-scale", min=0.0, max=1e6, metavar="X", help="Multiply times of computation by X."
        ),
    ] = 1.0,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a program that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a program in files (docs/programs.md).

    From a trace (DUMPI) or another program, or from a job of a scenario, whatever it runs. It appears when it
    is complete, or not at all.
    """
    from odonata import trace_report as report

    with reported(as_json):
        if source.suffix == ".ncptl":
            raise InputError(
                "a program in coNCePTuaL says nothing of its tasks and options",
                file=str(source),
                expected="a scenario (TOML) with a job that runs it",
                hint="program, ranks and args are keys of a job: docs/conceptual.md",
            )
        if source.is_file() and source.suffix != ".meta":
            if times != 1 or compute_scale != 1.0:
                key = "--repeat" if times != 1 else "--compute-scale"
                raise InputError(
                    "a job says that itself",
                    key=key,
                    expected="a trace or program",
                    hint="--set jobs.0.KEY=VALUE",
                )
            ranks, operations = report.convert_job(source, job, out, settings or [], force=force)
        else:
            if job is not None or settings:
                raise InputError(
                    "a trace has no jobs", key="--job" if job is not None else "--set", expected="a scenario"
                )
            ranks, operations = report.convert(
                source, out, times=times, compute_scale=compute_scale, force=force
            )
    with open_pipe():
        if as_json:
            print_json({"program": str(out), "ranks": ranks, "operations": operations})
        else:
            print(f"{out}: {ranks} ranks, {operations} operations")


@app.command("repeat")
def trace_repeat(
    trace: TracePath,
    times: Annotated[int, typer.Option("--times", "-n", min=1, metavar="N", help="How often.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; it must not exist.")
    ],
    as_json: Json = False,
) -> None:
    """Write a trace that does several times what a trace does.

    What is between MPI_Init and MPI_Finalize is written N times. To replay a trace several times, the key
    `repeat` of a job does without.
    """
    from odonata import trace_report as report

    with reported(as_json):
        report.repeat(trace, out, times)
    with open_pipe():
        if as_json:
            print_json({"trace": str(out)})
