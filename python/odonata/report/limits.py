"""What was not measured, so that nobody takes silence for a zero."""

from __future__ import annotations

import math

import pyarrow.compute as pc

from odonata import blame
from odonata.report.blocks import Section, Text
from odonata.report.contents import MOST_JOBS, Contents
from odonata.report.machine import HOTTEST
from odonata.results import GOOD_OUTCOMES


def section(contents: Contents) -> Section:
    """The section; what is never recorded is said too."""
    lines = limits(contents)
    return Section(
        "limits",
        "What was not measured",
        "What this page cannot tell, and how the next run could.",
        [Text(lines, items=True)],
    )


def limits(contents: Contents) -> list[str]:
    """A sentence for each thing."""
    run = contents.run
    settings = run["scenario"].get("run", {})
    lines = []
    if contents.results.outcome not in GOOD_OUTCOMES:
        lines.append(
            f"The end of the run ({contents.results.ending}): all numbers are those until then, and shares "
            "of jobs "
            "that had not ended are upper bounds."
        )
    lines += contents.fidelity.unknown()
    if not contents.slowdowns and len(contents.names) > 1:
        lines.append("How long the jobs take alone: run with --baselines.")
    lines += [f"{job}, alone: {how}." for job, how in contents.results.failed_baselines.items()]
    if not contents.blames:
        lines.append("Who waited for whom: run with --set run.blame=true.")
    elif estimate := blame.estimate(contents.results):
        lines.append(f"Who waited for whom, exactly: {estimate}.")
    if settings.get("series_interval") is None:
        lines.append(
            'Anything over time but I/O calls: run with --set run.series_interval="500 us", for example.'
        )
    elif contents.interval_s is None:
        lines.append("Anything over time but I/O calls: the run is no longer than one interval.")
    if _histogram(contents):
        lines.append(
            "Single messages: there are more than run.message_rows, so that their latencies come from a "
            "histogram "
            "whose buckets are about 3 % wide."
        )
    if missing := _calls_missing(contents):
        lines.append(f"{missing} of the reads and writes: the table io holds run.io_rows at most.")
    if len(contents.names) > MOST_JOBS:
        lines.append(
            f"Charts tell of the {MOST_JOBS} jobs that moved most; tables of all {len(contents.names)}."
        )
    if len(contents.links) > 5 * HOTTEST:
        lines.append(f"The map draws lines for the {HOTTEST} hottest links of each class by each measure.")
    lines += [
        "What a single link or router did at which time: time series are those of jobs, classes of links "
        "and places.",
        "How full a server's devices and memory were over time: the table server_series has it, where "
        "run.series_interval is set.",
        "How much the result depends on the seed: this is one run. Several seeds tell.",
    ]
    return lines


def _histogram(contents: Contents) -> bool:
    if "messages" not in contents.results.tables:
        return False
    table = contents.results.table("messages")
    return bool(table.num_rows and pc.min(table["source_rank"]).as_py() < 0)


def _calls_missing(contents: Contents) -> str | None:
    """Which part of the calls is not in the table io; None if it holds all of them."""
    if "io" not in contents.results.tables:
        return None
    done = sum(row["io_operations"] + row.get("metadata_calls", 0) for row in contents.jobs)
    rows = contents.results.table("io").num_rows
    return f"{math.ceil(100 * (1 - rows / done))} %" if done > rows else None
