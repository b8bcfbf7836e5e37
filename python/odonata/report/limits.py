"""Missing measurements, so that an absent number is not taken for a zero."""

from __future__ import annotations

import math

import pyarrow.compute as pc

from odonata.analysis import blame
from odonata.analysis.measured import GOOD_OUTCOMES
from odonata.report.blocks import Section, Text
from odonata.report.contents import MOST_JOBS, Contents
from odonata.report.machine import HOTTEST
from odonata.scenario.run_fidelity import ETHERNET


def section(contents: Contents) -> Section:
    """The section, including quantities that no run records."""
    lines = limits(contents)
    return Section(
        "limits",
        "Not measured",
        "Missing measurements, and the settings that add them.",
        [Text(lines, items=True)],
    )


def limits(contents: Contents) -> list[str]:
    """A sentence for each missing measurement."""
    run = contents.run
    settings = run["scenario"].get("run", {})
    lines = []
    if contents.results.outcome not in GOOD_OUTCOMES:
        lines.append(
            f"The end of the run ({contents.results.ending}): all numbers stop there, and shares "
            "of unfinished jobs are upper bounds."
        )
    lines += contents.fidelity.unknown()
    if not contents.slowdowns and len(contents.names) > 1:
        lines.append("Times of the jobs alone: run with --baselines.")
    lines += [f"{job}, alone: {how}." for job, how in contents.results.failed_baselines.items()]
    if not contents.blames and not contents.fidelity.has(ETHERNET):
        lines.append("Interference between jobs: run with --set run.blame=true.")
    elif estimate := blame.estimate(contents.results):
        lines.append(f"Exact interference between jobs: {estimate}.")
    if settings.get("series_interval") is None:
        lines.append(
            'Time series other than I/O calls: run with --set run.series_interval="500 us", for example.'
        )
    elif contents.interval_s is None:
        lines.append("Time series other than I/O calls: the run is no longer than one interval.")
    if _histogram(contents):
        lines.append(
            "Single messages: there are more than run.message_rows, so latencies come from a "
            "histogram with buckets about 3% wide."
        )
    if missing := _calls_missing(contents):
        lines.append(f"{missing} of the reads and writes: the table io holds at most run.io_rows.")
    if len(contents.names) > MOST_JOBS:
        lines.append(
            f"Charts of more jobs: they show the {MOST_JOBS} with the most traffic, tables all "
            f"{len(contents.names)}."
        )
    if len(contents.links) > 5 * HOTTEST:
        lines.append(
            f"Lines for all links: the map draws the {HOTTEST} hottest of each class by each measure."
        )
    lines += [
        "Queues of single links over time: name links in run.queue_links, beside run.series_interval."
        if "queue_series" not in contents.results.tables
        else "Single routers over time: time series cover jobs, classes of links, places, and chosen links.",
        "Fill level of a server's devices and memory over time: "
        + (
            "it is in the table server_series, not on this page."
            if contents.rows("server_series", ["server"])
            else "run with run.series_interval, which adds the table server_series."
        ),
        "Dependence on the seed: this is one run. A sweep over several seeds shows it.",
    ]
    return lines


def _histogram(contents: Contents) -> bool:
    """Whether the table messages has buckets of a histogram: a message has one latency, a bucket a range."""
    if "messages" not in contents.results.tables:
        return False
    table = contents.results.table("messages")
    return pc.any(pc.not_equal(table["latency_low_s"], table["latency_high_s"])).as_py() is True


def _calls_missing(contents: Contents) -> str | None:
    """The part of the calls that the table io lacks; None if it is complete."""
    if "io" not in contents.results.tables:
        return None
    done = sum(row["io_operations"] + row.get("metadata_calls", 0) for row in contents.jobs)
    rows = contents.results.table("io").num_rows
    return f"{math.ceil(100 * (1 - rows / done))}%" if done > rows else None
