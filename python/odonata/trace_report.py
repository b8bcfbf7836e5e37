"""Recorded programs: what is in a trace, what is wrong with it, and a picture of who sends to whom."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from odonata import _core
from odonata.errors import input_errors
from odonata.pictures import save
from odonata.runner import read_scenario
from odonata.terminal import console, explain, say, show_table, table
from odonata.wording import duration, rate, size

#: Calls that are listed for people.
MOST_CALLS = 15

#: Wall time between two lines about the progress of long work, in seconds.
PROGRESS_EVERY_S = 5.0


def info(trace: Path) -> dict[str, Any]:
    """What is in a trace (a folder or a .meta file); `InputError` if it cannot be read."""
    with input_errors():
        found: dict[str, Any] = json.loads(_core.trace_info(trace))
    return found


def matrix(trace: Path) -> list[dict[str, int]]:
    """Messages and bytes from rank to rank, collectives apart; `InputError` if the trace cannot be read."""
    with input_errors():
        flows: list[dict[str, int]] = json.loads(_core.trace_matrix(trace))
    return flows


def lint(trace: Path) -> list[dict[str, str]]:
    """What is wrong with a trace; `InputError` if it cannot be read."""
    with input_errors():
        findings: list[dict[str, str]] = json.loads(_core.trace_lint(trace))
    return findings


def repeat(trace: Path, target: Path, times: int) -> None:
    """Writes a trace that does the same several times; `InputError` if it cannot be read or written."""
    with input_errors():
        _core.trace_repeat(trace, target, times)


class Writing:
    """Says on standard error how far a program has been written, now and then."""

    def __init__(self) -> None:
        self._said_s = self._begin_s = time.monotonic()

    def __call__(self, done: int, ranks: int, operations: int) -> None:
        """Notes that so many ranks are complete, and says so if it is time."""
        now_s = time.monotonic()
        if now_s - self._said_s >= PROGRESS_EVERY_S:
            self._said_s = now_s
            per_s = operations / (now_s - self._begin_s)
            text = f"{done} of {ranks} ranks, {operations} operations, {rate(per_s)} operations/s"
            print(text, file=sys.stderr, flush=True)


def convert(
    trace: Path, target: Path, *, times: int = 1, compute_scale: float = 1.0, force: bool = False
) -> tuple[int, int]:
    """Writes a trace or program as a program in files; ranks and operations."""
    with input_errors():
        return _core.trace_convert(trace, target, times, compute_scale, force, Writing())


def convert_job(
    scenario: Path,
    job: str | None,
    target: Path,
    overrides: list[str],
    *,
    force: bool = False,
) -> tuple[int, int]:
    """Writes the program of a job of a scenario as a program in files; ranks and operations."""
    text = read_scenario(scenario)
    with input_errors():
        return _core.job_convert(text, str(scenario), job, target, overrides, None, force, Writing())


def _show_program(report: dict[str, Any], flows: list[dict[str, int]], out: Console) -> None:
    contents = report["contents"]
    say(out, f"{report['name']}: {report['nranks']} ranks, {contents['operations']} operations", "")
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
    """Prints what is in a trace, or in a program in files."""
    out = console(stream)
    if "format" in report:
        _show_program(report, flows, out)
        return
    ranks = report["ranks"]
    say(out, f"{report['name']}: {report['nranks']} ranks, {report['total_records']} calls", "")
    starts = report["total_persistent_starts"]
    received = report["total_recvs_posted"]
    lines = [
        f"{report['total_sends']} messages of {size(report['total_send_bytes'])} in all, {received} receives"
        + (f", {starts} starts of persistent requests" if starts else ""),
        f"{sum(report['total_collective_calls'].values())} collective calls, counted at every rank",
        f"longest rank: {duration(report['max_rank_span_ns'] / 1e9)}, of which "
        f"{duration(max(rank['sum_in_mpi_ns'] for rank in ranks) / 1e9)} at most in calls"
        if ranks
        else "no ranks",
    ]
    moved = sum(calls["bytes"] for rank in ranks for calls in rank["mpiio"].values())
    if moved:
        lines.append(f"{size(moved)} to and from files")
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
    """Prints what is wrong with a trace."""
    out = console(stream)
    for finding in findings:
        say(out, f"{finding['severity']}: {finding['check']}: {finding['text']}")
    errors = sum(finding["severity"] == "error" for finding in findings)
    say(out, "nothing is wrong" if errors == 0 else f"{errors} error{'s' if errors > 1 else ''}")


def draw_matrix(flows: list[dict[str, int]], ranks: int, title: str, file: Path) -> None:
    """Writes a picture of the bytes from every rank to every rank, whole or not at all."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    # A pixel is a square of ranks where there are more than fit.
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
    axes.set_title(title)
    figure.colorbar(image, label="bytes")
    save(figure, file)
