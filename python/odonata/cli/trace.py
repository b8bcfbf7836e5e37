"""`odonata trace`: commands for traces and programs in files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from odonata.base.pictures import picture
from odonata.base.wording import duration
from odonata.cli.answer import open_pipe, print_json, reported, say
from odonata.cli.arguments import Force, Json, Settings
from odonata.errors import TRACE_WRONG, InputError, given, option
from odonata.traces import merging, report

app = typer.Typer(
    help="Recorded programs: inspect, check, repeat, convert.\n\nDUMPI, Chakra, OTF2, Nsight "
    "Systems, GOAL, Darshan logs, and programs in files.",
    no_args_is_help=True,
)

#: Repetitions are counted with 32 bits.
MOST_TIMES = 2**32 - 1

TracePath = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="Folder of a trace or program, or a file in it (.meta, .et, .otf2); a Darshan log.",
    ),
]
Incomplete = Annotated[
    bool,
    typer.Option(
        "--incomplete",
        help="Read truncated files, such as those of a crashed program.",
    ),
]


@app.command("info")
def trace_info(
    trace: TracePath,
    matrix: Annotated[
        Path | None,
        typer.Option("--matrix", metavar="FILE", help="Picture of the communication matrix: PNG, SVG, PDF."),
    ] = None,
    incomplete: Incomplete = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Show the contents of a trace: ranks, calls, messages, bytes and times."""
    with reported(as_json, writes=matrix is not None):
        if matrix is None and force:
            raise InputError(
                "there is nothing to replace", key=option("force"), expected=given("matrix", "FILE")
            )
        output = picture(matrix, option("matrix"), replace=force, inputs=report.files_of(trace))
        found = report.info(trace, incomplete=incomplete)
        flows = []
        if output is not None or not as_json:
            flows = report.matrix(trace, incomplete=incomplete)
        if output is not None:
            report.draw_matrix(flows, found["nranks"], found["name"], output)
    with open_pipe():
        if as_json:
            print_json(found)
        else:
            report.show_info(found, flows)


@app.command("lint")
def trace_lint(trace: TracePath, as_json: Json = False) -> None:
    """Check a trace for errors.

    Unmatched messages, collectives that disagree, ambiguous communicators, impossible times, counts that
    differ from the footer, truncated files. Exit code: 0 no error, 1 errors, 2 the trace cannot be read.
    Notes list differences between replay and recording.
    """
    with reported(as_json, writes=False):
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
        typer.Argument(metavar="SOURCE", help="Trace, program in files, or scenario (TOML) with the job."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write, usually NAME.program.")],
    job: Annotated[
        str | None,
        typer.Option("--job", metavar="NAME", help="Job of the scenario. [default: the only one]"),
    ] = None,
    settings: Settings = None,
    times: Annotated[
        int,
        typer.Option("--repeat", "-n", min=1, max=MOST_TIMES, metavar="N", help="Number of repetitions."),
    ] = 1,
    compute_scale: Annotated[
        float,
        typer.Option(
            "--compute-scale", min=0.0, max=1e6, metavar="X", help="Multiply computation times by X."
        ),
    ] = 1.0,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing program.")] = False,
    incomplete: Incomplete = False,
    interface: Annotated[
        str | None,
        typer.Option(
            "--interface",
            metavar="NAME",
            help="Darshan log: accesses at the file system (posix) or in the application (mpi-io). "
            "[default: posix]",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="PATTERN",
            help="Darshan log: skip files with matching names, such as '<STD*'; repeatable.",
        ),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(
            "--ranks",
            min=1,
            max=1 << 24,
            metavar="N",
            help="Chakra trace or Nsight Systems export of one rank: replicate it on N ranks. "
            "[default: ranks of the trace]",
        ),
    ] = None,
    bytes_from_time: Annotated[
        str | None,
        typer.Option(
            "--bytes-from-time",
            metavar="BANDWIDTH",
            help="Nsight Systems export: derive unrecorded sizes of NCCL collectives from their time "
            "and this bus bandwidth, such as '300 GB/s'. [default: count them as computation]",
        ),
    ] = None,
    flops: Annotated[
        str | None,
        typer.Option(
            "--flops",
            metavar="RATE",
            help="Chakra trace: nodes with num_ops and no duration compute for num_ops / RATE, such "
            "as '300 TFLOP/s'. [default: no time]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a program in files (docs/programs.md).

    From a trace (DUMPI, Chakra, OTF2, Nsight Systems, Darshan) or another program, or from a job of a
    scenario. An incomplete program is never left behind. Information that the trace lacks is listed on
    standard error.
    """
    with reported(as_json):
        if source.suffix == ".ncptl":
            raise InputError(
                "a coNCePTuaL program does not state its tasks and options",
                file=str(source),
                expected="a scenario (TOML) with a job that runs it",
                hint="program, ranks and args are keys of a job: docs/conceptual.md",
            )
        written = report.convert(
            source,
            out,
            job=job,
            settings=settings or [],
            times=times,
            compute_scale=compute_scale,
            force=force,
            incomplete=incomplete,
            interface=interface,
            without=without or [],
            ranks=ranks,
            bytes_from_time=bytes_from_time,
            flops=flops,
        )
    for text in written.cleared:
        say(text)
    for text in written.notes:
        say(text)
    with open_pipe(out):
        if as_json:
            answer = {"program": str(out), "ranks": written.ranks, "operations": written.operations}
            print_json({**answer, "notes": list(written.notes)} if written.notes else answer)
        else:
            print(f"{out}: {written.ranks} ranks, {written.operations} operations")


@app.command("merge")
def trace_merge(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="Messages of the job: MPI trace (DUMPI, OTF2) or program in files."
        ),
    ],
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="I/O of the same job: Darshan log, or a program that only accesses files.",
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write, usually NAME.program.")],
    offset: Annotated[
        float,
        typer.Option(
            "--offset",
            min=-1e6,
            max=1e6,
            metavar="SECONDS",
            help="Start of the log on the clock of the trace.",
        ),
    ] = 0.0,
    without_files: Annotated[
        bool,
        typer.Option("--without-files", help="Drop file accesses of the trace that the log has, too."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing program.")] = False,
    incomplete: Incomplete = False,
    interface: Annotated[
        str | None,
        typer.Option("--interface", metavar="NAME", help="As in convert."),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="PATTERN", help="As in convert."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Merge an MPI trace and a Darshan log of one job.

    The result is a program in files.

    Operations of each rank are in the order of their start, on the clocks of both; the rank computes between
    them. Information that the trace lacks is listed on standard error.
    """
    with reported(as_json):
        merged = merging.merge(
            trace,
            log,
            out,
            offset_s=offset,
            trace_files=not without_files,
            force=force,
            incomplete=incomplete,
            interface=interface,
            without=without or [],
        )
    for text in [*merged.cleared, *merged.notes]:
        say(text)
    with open_pipe(out):
        if as_json:
            print_json(merging.answer(out, merged))
        else:
            print(
                f"{out}: {merged.ranks} ranks, {merged.operations} operations, "
                f"{merged.from_trace} of them of {trace.name} and {merged.from_log} of {log.name}"
            )
            print(
                f"of {duration(merged.log_s)} in operations of {log.name}, over all ranks, "
                f"{duration(merged.overlap_s)} were also in calls of {trace.name}"
            )


@app.command("repeat")
def trace_repeat(
    trace: TracePath,
    times: Annotated[
        int, typer.Option("--times", "-n", min=1, max=MOST_TIMES, metavar="N", help="Number of repetitions.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; it must not exist.")
    ],
    as_json: Json = False,
) -> None:
    """Write a trace that repeats another.

    Calls between MPI_Init and MPI_Finalize are written N times. To replay a trace several times, use the key
    `repeat` of a job instead.
    """
    with reported(as_json):
        cleared = report.repeat(trace, out, times)
    for text in cleared:
        say(text)
    with open_pipe(out):
        if as_json:
            print_json({"trace": str(out)})
