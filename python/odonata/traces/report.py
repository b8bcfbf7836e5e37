"""Recorded programs: content and errors of a trace, and a picture of its traffic matrix."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rich.console import Console

from odonata import _core
from odonata.base import foreign
from odonata.base.folder import ResultFolder
from odonata.base.output_file import OutputFile, inputs_of
from odonata.base.pictures import FORMATS, save
from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import counted, duration, rate, size
from odonata.errors import InputError, Phrase, Text, input_errors, option, setting
from odonata.operations import PROGRAM_FILE
from odonata.scenario.reading import read_scenario
from odonata.traces import formats as trace_formats
from odonata.traces.converted import ConvertedFormat, ConvertOptions, write_program

#: Most calls in the list for people.
MOST_CALLS = 15

#: Largest scenario, in bytes, that is recognized without the ending .toml.
_LONGEST_SCENARIO = 1 << 24

#: Wall time between two lines of progress, in seconds.
PROGRESS_EVERY_S = 5.0


def format_of(trace: Path) -> str | None:
    """The name of the format of a trace; `None` if unknown."""
    found = trace_formats.at(trace)
    return _core.trace_format(trace) if found is None else found.name


@contextlib.contextmanager
def _by_core(trace: Path, also: str = "") -> Iterator[None]:
    """Errors of the core about `trace`, which has none of the formats that Python reads.

    `also` names other inputs that the command accepts.
    """
    try:
        with input_errors():
            yield
    except InputError as error:
        if _core.trace_format(trace) is not None:
            raise
        if not also and is_scenario(trace):
            raise InputError(
                "it is a scenario, not a trace",
                file=str(trace),
                expected=f"a trace or a program; `odonata check {trace}` reads a scenario",
                hint=f"odonata trace convert {trace} NAME.program writes the program of its job",
            ) from None
        if error.expected:
            error.expected += f", or {trace_formats.files()}{also}"
        raise


def is_scenario(source: Path) -> bool:
    """Whether a file is a scenario: by its ending, or if it is no trace and holds tables of TOML.

    The trace formats report errors about all other files.
    """
    if not os.path.isfile(source):
        return False
    if source.suffix == ".toml":
        return True
    if format_of(source) is not None:
        return False
    try:
        return bool(tomllib.loads(foreign.read_bytes(source, _LONGEST_SCENARIO).decode("utf-8")))
    except (OSError, ValueError, RecursionError):
        return False


def info(trace: Path, *, incomplete: bool = False) -> dict[str, Any]:
    """The content of a trace of any format; raises `InputError` if it cannot be read.

    With `incomplete`, damaged files are read as far as possible.
    """
    converted = trace_formats.at(trace)
    if converted is not None:
        return converted.info(trace, incomplete=incomplete)
    with _by_core(trace):
        found: dict[str, Any] = json.loads(_core.trace_info(trace, incomplete))
    return found


def files_of(trace: Path) -> list[Path]:
    """The files of a trace that are read, without pictures."""
    folder = trace if os.path.isdir(trace) else trace.parent
    try:
        return [path for path in folder.iterdir() if path.suffix.lower() not in FORMATS]
    except OSError:  # its reader reports the reason
        return []


def matrix(trace: Path, *, incomplete: bool = False) -> list[dict[str, int]]:
    """Messages and bytes from rank to rank, without collectives; raises `InputError` as `info`."""
    if trace_formats.at(trace) is not None:
        return []  # a format with messages has a reader in the core
    with _by_core(trace):
        flows: list[dict[str, int]] = json.loads(_core.trace_matrix(trace, incomplete))
    return flows


def lint(trace: Path) -> list[dict[str, str]]:
    """Errors of a trace; raises `InputError` if it cannot be read."""
    converted = trace_formats.at(trace)
    if converted is not None:
        return converted.lint(trace)
    with _by_core(trace):
        findings: list[dict[str, str]] = json.loads(_core.trace_lint(trace))
    return findings


def repeat(trace: Path, target: Path, times: int) -> list[str]:
    """Writes a trace that repeats itself; returns removed remains (see `ResultFolder`).

    Raises `InputError` if it cannot be read or written, and `OSError` if the computer fails.
    """
    converted = trace_formats.at(trace)
    if converted is not None:
        raise InputError(
            f"it is a {converted.name}, which cannot be written again in its own format",
            file=str(trace),
            expected="a trace whose format can be",
            hint=Text(
                Phrase("odonata.trace_convert(..., repeat=2)", "odonata trace convert --repeat"),
                " writes it as a program folder that does it several times",
            ),
        )
    with ResultFolder(target, marker=None, kind="trace") as folder:
        with _by_core(trace):
            _core.trace_repeat(trace, folder.path, times)
        folder.publish()
    return folder.cleared


class Written(NamedTuple):
    """A program in files on disk."""

    ranks: int
    operations: int
    #: Removed remains of killed processes.
    cleared: list[str]
    #: Unknown and omitted parts, in sentences.
    notes: Sequence[str] = ()


class Writing:
    """Prints the progress of writing a program on standard error, now and then."""

    def __init__(self) -> None:
        self._said_s = self._begin_s = time.monotonic()

    def __call__(self, done: int, ranks: int, operations: int) -> None:
        """Records the number of complete ranks, and prints a line if it is due."""
        now_s = time.monotonic()
        if now_s - self._said_s >= PROGRESS_EVERY_S:
            self._said_s = now_s
            per_s = operations / (now_s - self._begin_s)
            text = f"{done} of {ranks} ranks, {operations} operations, {rate(per_s)} operations/s"
            with contextlib.suppress(OSError):
                print(text, file=sys.stderr, flush=True)


def convert(
    source: Path,
    target: Path,
    *,
    job: str | None = None,
    settings: Sequence[str] = (),
    times: int = 1,
    compute_scale: float = 1.0,
    force: bool = False,
    incomplete: bool = False,
    interface: str | None = None,
    without: Sequence[str] = (),
    ranks: int | None = None,
    bytes_from_time: str | None = None,
    flops: str | None = None,
) -> Written:
    """Writes a trace, a program, or a scenario's job as a program in files.

    `job` and `settings` are for scenarios; the others, except `force`, for traces (see `ConvertOptions`):

    - `interface` and `without`: file access logs;
    - `ranks`: Chakra traces and exports of Nsight Systems;
    - `bytes_from_time`, a bandwidth such as "300 GB/s": exports of Nsight Systems;
    - `flops`, a rate such as "300 TFLOP/s": Chakra traces.
    """
    if is_scenario(source):
        asked = {
            option("repeat"): times != 1,
            option("compute_scale"): compute_scale != 1.0,
            option("incomplete"): incomplete,
            option("interface"): interface is not None,
            option("without"): bool(without),
            option("ranks"): ranks is not None,
            option("bytes_from_time"): bytes_from_time is not None,
            option("flops"): flops is not None,
        }
        key = next((key for key, there in asked.items() if there), None)
        if key is not None:
            raise InputError(
                "a job says that itself",
                key=key,
                expected="a trace or program",
                hint=setting("jobs.0.KEY=VALUE"),
            )
        return _convert_job(source, job, target, list(settings), force=force)
    if job is not None or settings:
        raise InputError(
            "a trace has no jobs",
            key=option("job") if job is not None else option("overrides", "--set"),
            expected="a scenario",
        )
    return _convert_trace(
        source,
        target,
        ConvertOptions(
            incomplete,
            interface,
            tuple(without),
            ranks,
            bus_bandwidth=None if bytes_from_time is None else _bandwidth(bytes_from_time),
            flops=None if flops is None else _flops(flops),
        ),
        times,
        compute_scale,
        force=force,
    )


def _bandwidth(text: str) -> float:
    """Bytes per second of a bandwidth with its unit."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([kMGT]?)(B|bit)/s\s*", text)
    if match is None or float(match[1]) == 0:
        raise InputError(
            "no bandwidth",
            key=option("bytes_from_time"),
            value=text,
            expected="one such as 300 GB/s or 400 Gbit/s",
        )
    return (
        float(match[1])
        * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2]]
        / (8 if match[3] == "bit" else 1)
    )


def _flops(text: str) -> float:
    """Operations per second of a rate with its unit."""
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([kMGTP]?)(?:FLOP/s|FLOPS)\s*", text)
    if match is None or float(match[1]) == 0:
        raise InputError(
            "no rate of operations", key=option("flops"), value=text, expected="one such as 300 TFLOP/s"
        )
    return float(match[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}[match[2]]


def _convert_trace(
    trace: Path,
    target: Path,
    options: ConvertOptions,
    times: int,
    compute_scale: float,
    *,
    force: bool,
) -> Written:
    converted = trace_formats.at(trace)
    if converted is not None:
        return _convert_by_python(converted, trace, target, options, times, compute_scale, force=force)
    for key, given in (
        (option("interface"), options.interface),
        (option("without"), options.without),
        (option("ranks"), options.ranks),
        (option("bytes_from_time"), options.bus_bandwidth),
        (option("flops"), options.flops),
    ):
        if given:
            raise InputError("the trace is of a format without it", key=key, expected=trace_formats.files())
    with _program_folder(target, force, [trace]) as folder:
        with _by_core(trace, ", or a scenario (TOML)"):
            counts = _core.trace_convert(
                trace, folder.path, times, compute_scale, Writing(), options.incomplete
            )
        folder.publish()
    return Written(*counts, folder.cleared)


def _convert_by_python(
    converted: ConvertedFormat,
    trace: Path,
    target: Path,
    options: ConvertOptions,
    times: int,
    compute_scale: float,
    *,
    force: bool,
) -> Written:
    """Converts a trace with a Python package; the core then reads, repeats and scales it."""
    with _program_folder(target, force, [trace]) as folder:
        done = write_program(converted, trace, folder.path, options, Writing(), times, compute_scale)
        folder.publish()
    return Written(done.ranks, done.operations, folder.cleared, done.notes)


def _convert_job(
    scenario: Path,
    job: str | None,
    target: Path,
    overrides: list[str],
    *,
    force: bool = False,
) -> Written:
    """Writes the program of a job of a scenario as a program in files."""
    text = read_scenario(scenario)
    with _program_folder(target, force, inputs_of(text, scenario, overrides)) as folder:
        with input_errors():
            counts = _core.job_convert(text, str(scenario), job, folder.path, overrides, None, Writing())
        folder.publish()
    return Written(*counts, folder.cleared)


def _program_folder(target: Path, force: bool, inputs: Sequence[Path]) -> ResultFolder:
    return ResultFolder(
        target, replace=force, marker=PROGRAM_FILE, kind="program", key=option("out", "OUT"), inputs=inputs
    )


def _show_program(report: dict[str, Any], flows: list[dict[str, int]], out: Console) -> None:
    contents = report["contents"]
    ranks = counted(report["nranks"], "rank")
    say(out, f"{report['name']}: {ranks}, {contents['operations']} operations", "")
    lines = [report["description"]] if report["description"] else []
    lines.append(
        f"{contents['messages']} messages of {size(contents['message_bytes'])} in all, "
        "those of persistent requests and collectives apart"
    )
    moved = contents["read_bytes"] + contents["written_bytes"]
    if moved:
        lines.append(f"{size(moved)} to and from files")
    lines.append(f"longest rank computes for {duration(contents['longest_compute_ps'] / 1e12)}")
    explain(out, *lines, "", "Operations")
    page = table("kind", "count")
    for name, count in sorted(contents["kinds"].items(), key=lambda item: (-item[1], item[0])):
        page.add_row(name, str(count))
    show_table(out, page)
    _show_flows(flows, out)


def show_info(report: dict[str, Any], flows: list[dict[str, int]], stream: TextIO | None = None) -> None:
    """Prints the content of a trace: keys of every format, and keys of some about files and times."""
    for converted in trace_formats.formats():
        if report.get("format") == converted.name:
            converted.show(report, stream)
            return
    out = console(stream)
    if "contents" in report:
        _show_program(report, flows, out)
        return
    say(out, f"{report['name']}: {counted(report['nranks'], 'rank')}, {report['total_records']} calls", "")
    starts = report["total_persistent_starts"]
    received = report["total_recvs_posted"]
    lines = [
        f"{report['total_sends']} messages of {size(report['total_send_bytes'])} in all, {received} receives"
        + (f", {starts} starts of persistent requests" if starts else ""),
        f"{sum(report['total_collective_calls'].values())} collective calls, counted at every rank",
        *_lines_of_ranks(report),
    ]
    explain(out, *lines, "", "Calls")
    page = table("call", "count")
    counts = sorted(report["total_op_counts"].items(), key=lambda item: (-item[1], item[0]))
    for name, count in counts[:MOST_CALLS]:
        page.add_row(name, str(count))
    if len(counts) > MOST_CALLS:
        page.add_row(
            f"{len(counts) - MOST_CALLS} others", str(sum(count for _, count in counts[MOST_CALLS:]))
        )
    show_table(out, page)
    _show_flows(flows, out)


def _lines_of_ranks(report: dict[str, Any]) -> list[str]:
    """Lines about a format with a file per rank."""
    if "ranks" not in report:
        return []
    ranks = report["ranks"]
    if report.get("format") == "goal":
        return _lines_of_goal(report)
    lines = [
        f"longest rank: {duration(report['max_rank_span_ns'] / 1e9)}, of which "
        f"{duration(max(rank['sum_in_mpi_ns'] for rank in ranks) / 1e9)} at most in calls"
        if ranks
        else "no ranks"
    ]
    moved = sum(calls["bytes"] for rank in ranks for calls in rank["mpiio"].values())
    if moved:
        lines.append(f"{size(moved)} to and from files")
    if "damage" in report:
        lines.append(report["damage"])
    return lines


def _lines_of_goal(report: dict[str, Any]) -> list[str]:
    """Lines about the graphs of a GOAL schedule's ranks."""
    ranks = report["ranks"]
    longest = max((rank["calc_ns"] for rank in ranks), default=0)
    cpus, nics = (max((rank[key] for rank in ranks), default=0) for key in ("cpus", "nics"))
    return [
        f"{report['total_requires']} dependencies on ends, {report['total_irequires']} on starts",
        f"{duration(longest / 1e9)} of calculation at most on a rank; "
        f"{cpus} processors and {nics} interfaces at most",
    ]


def _show_flows(flows: list[dict[str, int]], out: Console) -> None:
    if flows:
        explain(out, "", "Largest flows between two ranks")
        page = table("from", "to", "messages", "bytes", left=0)
        for flow in sorted(flows, key=lambda flow: -flow["bytes"])[:5]:
            page.add_row(
                str(flow["source"]), str(flow["destination"]), str(flow["messages"]), size(flow["bytes"])
            )
        show_table(out, page)


def show_lint(findings: list[dict[str, str]], stream: TextIO | None = None) -> None:
    """Prints the errors of a trace."""
    out = console(stream)
    for finding in findings:
        say(out, f"{finding['severity']}: {finding['check']}: {finding['text']}")
    errors = sum(finding["severity"] == "error" for finding in findings)
    say(out, "nothing is wrong" if errors == 0 else f"{errors} error{'s' if errors > 1 else ''}")


def draw_matrix(flows: list[dict[str, int]], ranks: int, title: str, output: OutputFile) -> None:
    """Writes a picture of the bytes from every rank to every rank."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    # If there are too many ranks, a pixel is a square of ranks.
    step = max(1, -(-ranks // 1000))
    cells = -(-ranks // step)
    counts = [[0.0] * cells for _ in range(cells)]
    for flow in flows:
        counts[flow["source"] // step][flow["destination"] // step] += flow["bytes"]
    shown = [[value if value > 0 else float("nan") for value in row] for row in counts]
    largest = max((value for row in counts for value in row), default=0)
    least = min((value for row in counts for value in row if value > 0), default=1)
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(
        shown,
        norm=LogNorm(vmin=least, vmax=max(largest, least * 10)),
        interpolation="nearest",
        extent=(-0.5, cells * step - 0.5, cells * step - 0.5, -0.5),
    )
    axes.set_xlabel("receiving rank")
    axes.set_ylabel("sending rank")
    # A name is not a formula.
    axes.set_title(title, parse_math=False)
    figure.colorbar(image, label="bytes")
    save(figure, output)
