"""Recorded programs: `odonata trace`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from odonata.base.pictures import picture
from odonata.base.wording import counted, duration
from odonata.commands.declared import FORCE, SETTINGS, Shown, argument, command, option, switch
from odonata.errors import TRACE_WRONG, InputError, given
from odonata.errors import option as named
from odonata.scenario.given import override_list
from odonata.traces import merging, report

if TYPE_CHECKING:
    from odonata.commands.declared import PathLike
    from odonata.scenario.given import ScenarioLike
    from odonata.tool_answers import Converted, MergedTraces, TraceFinding, TraceInfo

#: Repetitions are counted with 32 bits.
MOST_TIMES = 2**32 - 1

TRACE = argument("TRACE", "Folder of a trace or program, or a file in it (.meta, .et, .otf2); a Darshan log.")
OUT = argument("OUT", "Folder to write, usually NAME.program.")
INCOMPLETE = switch("Read truncated files, such as those of a crashed program.")
REPLACE = switch("Replace an existing program.", "--force", "-f")


def _info(trace: Path, matrix: Path | None, *, incomplete: bool, force: bool, as_json: bool) -> Shown:
    if matrix is None and force:
        raise InputError("there is nothing to replace", key=named("force"), expected=given("matrix", "FILE"))
    output = picture(matrix, named("matrix"), replace=force, inputs=report.files_of(trace))
    found = report.info(trace, incomplete=incomplete)
    flows = []
    if output is not None or not as_json:
        flows = report.matrix(trace, incomplete=incomplete)
    if output is not None:
        report.draw_matrix(flows, found["nranks"], found["name"], output)
    return Shown(found, lambda: report.show_info(found, flows))


@command(
    "trace info",
    """Show the contents of a trace.

    Ranks, calls, messages, bytes and times.
    """,
    terminal=_info,
    writes="matrix",
    trace=TRACE,
    matrix=option(
        "Picture of the communication matrix: PNG, SVG, PDF.", metavar="FILE", type=Path, default=None
    ),
    incomplete=INCOMPLETE,
    force=FORCE,
)
def trace_info(trace: PathLike, *, incomplete: bool = False) -> TraceInfo:
    """Returns the contents of a trace: ranks, calls, messages, bytes and times.

    Args:
        trace: Folder of the trace or program, or a .meta file.
        incomplete: Read truncated files.

    Raises:
        InputError: The trace cannot be read.

    >>> import odonata
    >>> odonata.trace_info("tests/traces/dumpi/halo-8")["nranks"]
    8
    """
    return cast("TraceInfo", report.info(Path(trace), incomplete=incomplete))


def _lint(trace: Path, *, as_json: bool) -> Shown:
    findings = report.lint(trace)
    wrong = any(finding["severity"] == "error" for finding in findings)
    return Shown(findings, lambda: report.show_lint(findings), code=TRACE_WRONG if wrong else 0)


@command(
    "trace lint",
    """Check a trace for errors.

    Unmatched messages, collectives that disagree, ambiguous communicators, impossible times, counts that
    differ from the footer, truncated files. Exit code: 0 no error, 1 errors, 2 the trace cannot be read.
    Notes list differences between replay and recording.
    """,
    terminal=_lint,
    trace=TRACE,
)
def trace_lint(trace: PathLike) -> list[TraceFinding]:
    """Checks a trace and returns the findings; the list is empty if there are none.

    Args:
        trace: Folder of the trace or program, or a .meta file.

    Raises:
        InputError: The trace cannot be read.

    >>> import odonata
    >>> [finding["severity"] for finding in odonata.trace_lint("tests/traces/dumpi/halo-8")]
    ['note']
    """
    return cast("list[TraceFinding]", report.lint(Path(trace)))


def _convert(source: Path, out: Path, *, settings: list[str] | None, as_json: bool, **options: Any) -> Shown:
    if source.suffix == ".ncptl":
        raise InputError(
            "a coNCePTuaL program does not state its tasks and options",
            file=str(source),
            expected="a scenario (TOML) with a job that runs it",
            hint="program, ranks and args are keys of a job: docs/conceptual.md",
        )
    options["without"] = options["without"] or []
    written = report.convert(source, out, settings=settings or [], times=options.pop("repeat"), **options)
    return Shown(
        _converted(out, written),
        lambda: print(f"{out}: {counted(written.ranks, 'rank')}, {written.operations} operations"),
        [*written.cleared, *written.notes],
        place=out,
    )


def _converted(out: PathLike, written: report.Written) -> Converted:
    answer: Converted = {"program": str(out), "ranks": written.ranks, "operations": written.operations}
    if written.notes:
        answer["notes"] = list(written.notes)
    return answer


@command(
    "trace convert",
    """Write a program in files (docs/programs.md).

    From a trace (DUMPI, Chakra, OTF2, Nsight Systems, Darshan) or another program, or from a job of a
    scenario. An incomplete program is never left behind. Information that the trace lacks is listed on
    standard error.
    """,
    terminal=_convert,
    writes=True,
    source=argument("SOURCE", "Trace, program in files, or scenario (TOML) with the job."),
    out=OUT,
    job=option("Job of the scenario. [default: the only one]", metavar="NAME"),
    settings=SETTINGS,
    repeat=option(
        "Number of repetitions.", "--repeat", "-n", metavar="N", type=int, least=1, most=MOST_TIMES
    ),
    compute_scale=option("Multiply computation times by X.", metavar="X", type=float, least=0.0, most=1e6),
    force=REPLACE,
    incomplete=INCOMPLETE,
    interface=option(
        "Darshan log: accesses at the file system (posix) or in the application (mpi-io). [default: posix]",
        metavar="NAME",
    ),
    without=option(
        "Darshan log: skip files with matching names, such as '<STD*'; repeatable.",
        metavar="PATTERN",
        type=list[str],
        default=None,
    ),
    ranks=option(
        "Chakra trace or Nsight Systems export of one rank: replicate it on N ranks. "
        "[default: ranks of the trace]",
        metavar="N",
        type=int,
        least=1,
        most=1 << 24,
    ),
    bytes_from_time=option(
        "Nsight Systems export: derive unrecorded sizes of NCCL collectives from their time and this bus "
        "bandwidth, such as '300 GB/s'. [default: count them as computation]",
        metavar="BANDWIDTH",
    ),
    flops=option(
        "Chakra trace: nodes with num_ops and no duration compute for num_ops / RATE, such as '300 TFLOP/s'. "
        "[default: no time]",
        metavar="RATE",
    ),
)
def trace_convert(
    source: ScenarioLike,
    out: PathLike,
    *,
    job: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    repeat: int = 1,
    compute_scale: float = 1.0,
    incomplete: bool = False,
    interface: Literal["posix", "mpi-io"] | None = None,
    without: Sequence[str] = (),
    ranks: int | None = None,
    bytes_from_time: str | None = None,
    flops: str | None = None,
    force: bool = False,
) -> Converted:
    """Writes a trace, or the program of a job, as a program in files. Jobs replay it.

    Args:
        source: A trace (DUMPI, Chakra, OTF2, Nsight Systems, Darshan), a program in files, or a scenario file
            with the job to write.
        out: Folder to write, usually NAME.program.
        job: Job of the scenario. Default: the only one.
        overrides: Settings of the scenario, by dotted key.
        repeat: Number of repetitions of a trace.
        compute_scale: Factor for the computation times of a trace.
        incomplete: Read truncated files of a trace.
        interface: Darshan log: accesses at the file system ("posix", the default) or in the application
            ("mpi-io").
        without: Darshan log: skip files whose names match one of these patterns.
        ranks: Chakra trace or Nsight Systems export of one rank: replicate it on this many ranks.
        bytes_from_time: Nsight Systems export: derive unrecorded sizes of NCCL collectives from their time
            and this bus bandwidth, such as "300 GB/s". Default: count them as computation.
        flops: Chakra trace: nodes with `num_ops` and no duration compute for `num_ops` divided by this rate,
            such as "300 TFLOP/s". Default: they take no time.
        force: Replace an existing program.

    Raises:
        InputError: The source cannot be read; `out` exists or cannot be written.

    >>> import odonata
    >>> odonata.trace_convert("tests/traces/dumpi/halo-8", "halo.program")["ranks"]  # doctest: +SKIP
    8
    """
    if not isinstance(source, str | os.PathLike):
        raise InputError("a scenario in memory", key="source", expected="a file: Scenario.save writes one")
    if not 1 <= repeat < 2**32:
        raise InputError(
            "no number of repetitions", key="repeat", value=str(repeat), expected="1 to 2^32 - 1"
        )
    written = report.convert(
        Path(source),
        Path(out),
        job=job,
        settings=override_list(overrides),
        times=repeat,
        compute_scale=compute_scale,
        force=force,
        incomplete=incomplete,
        interface=interface,
        without=without,
        ranks=ranks,
        bytes_from_time=bytes_from_time,
        flops=flops,
    )
    return _converted(out, written)


def _merge(
    trace: Path,
    log: Path,
    out: Path,
    *,
    without_files: bool,
    without: list[str] | None,
    as_json: bool,
    **options: Any,
) -> Shown:
    merged = merging.merge(
        trace,
        log,
        out,
        offset_s=options.pop("offset"),
        trace_files=not without_files,
        without=without or [],
        **options,
    )

    def show() -> None:
        print(
            f"{out}: {counted(merged.ranks, 'rank')}, {merged.operations} operations, "
            f"{merged.from_trace} of them of {trace.name} and {merged.from_log} of {log.name}"
        )
        print(
            f"of {duration(merged.log_s)} in operations of {log.name}, over all ranks, "
            f"{duration(merged.overlap_s)} were also in calls of {trace.name}"
        )

    return Shown(merging.answer(out, merged), show, [*merged.cleared, *merged.notes], place=out)


@command(
    "trace merge",
    """Merge an MPI trace and a Darshan log of one job.

    The result is a program in files.

    Operations of each rank are in the order of their start, on the clocks of both; the rank computes between
    them. Information that the trace lacks is listed on standard error.
    """,
    terminal=_merge,
    writes=True,
    trace=argument("TRACE", "Messages of the job: MPI trace (DUMPI, OTF2) or program in files."),
    log=argument("LOG", "I/O of the same job: Darshan log, or a program that only accesses files."),
    out=OUT,
    offset=option(
        "Start of the log on the clock of the trace.", metavar="SECONDS", type=float, least=-1e6, most=1e6
    ),
    without_files=switch("Drop file accesses of the trace that the log has, too."),
    force=REPLACE,
    incomplete=INCOMPLETE,
    interface=option("As in convert.", metavar="NAME"),
    without=option("As in convert.", metavar="PATTERN", type=list[str], default=None),
)
def trace_merge(
    trace: PathLike,
    log: PathLike,
    out: PathLike,
    *,
    offset: float = 0.0,
    trace_files: bool = True,
    incomplete: bool = False,
    interface: Literal["posix", "mpi-io"] | None = None,
    without: Sequence[str] = (),
    force: bool = False,
) -> MergedTraces:
    """Merges an MPI trace and a log of file accesses of one job into a program in files.

    Args:
        trace: An MPI trace (DUMPI, OTF2), or a program in files.
        log: A Darshan log, or a program in files that only accesses files.
        out: Folder to write, usually NAME.program.
        offset: Start of the log on the clock of the trace, in seconds.
        trace_files: Whether to keep the file accesses of the trace.
        incomplete: Read truncated files.
        interface: As in `trace_convert`.
        without: As in `trace_convert`.
        force: Replace an existing program.

    Raises:
        InputError: A file cannot be read, the two are not of one job, or `out` cannot be written.

    >>> import odonata
    >>> odonata.trace_merge("halo-8", "halo.darshan", "halo.program")["from_log"]  # doctest: +SKIP
    24
    """
    if not -1e6 <= offset <= 1e6:
        raise InputError("out of range", key="offset", value=str(offset), expected="-1e6 to 1e6 seconds")
    merged = merging.merge(
        Path(trace),
        Path(log),
        Path(out),
        offset_s=offset,
        trace_files=trace_files,
        force=force,
        incomplete=incomplete,
        interface=interface,
        without=without,
    )
    return merging.answer(out, merged)


def _repeat(trace: Path, times: int, out: Path, *, as_json: bool) -> Shown:
    cleared = report.repeat(trace, out, times)
    return Shown({"trace": str(out)}, lambda: None, cleared, place=out)


@command(
    "trace repeat",
    """Write a trace that repeats another.

    Calls between MPI_Init and MPI_Finalize are written N times. To replay a trace several times, use the key
    `repeat` of a job instead.
    """,
    terminal=_repeat,
    writes=True,
    trace=TRACE,
    times=option("Number of repetitions.", "--times", "-n", metavar="N", type=int, least=1, most=MOST_TIMES),
    out=option("Folder to write; it must not exist.", "--out", "-o", metavar="DIR", type=Path),
)
def trace_repeat(trace: PathLike, out: PathLike, times: int) -> None:
    """Writes a trace that repeats the calls of another between MPI_Init and MPI_Finalize.

    To replay a trace several times, use the key `repeat` of a job instead.

    Args:
        trace: Folder of the trace, or a .meta file.
        out: Folder to write; it must not exist.
        times: Number of repetitions.

    Raises:
        InputError: The trace cannot be read, or `out` cannot be written.

    >>> import odonata
    >>> odonata.trace_repeat("tests/traces/dumpi/halo-8", "halo-x10", 10)  # doctest: +SKIP
    """
    if not 1 <= times < 2**32:
        raise InputError("no number of repetitions", key="times", value=str(times), expected="1 to 2^32 - 1")
    report.repeat(Path(trace), Path(out), times)
