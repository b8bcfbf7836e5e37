"""A batch result for people, and the progress of its simulation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from odonata.base.terminal import console, explain, show_table, table
from odonata.base.wording import counted, duration, factor, share
from odonata.batch_queue import worst_moment
from odonata.batch_queue.job_list import first_of
from odonata.batch_queue.what_if import MEASURES, caveats
from odonata.running.progress import LiveLine

if TYPE_CHECKING:
    from odonata.answers.batch import Batch, Quantiles
    from odonata.answers.what_if import WhatIf

#: Rows of the printed tables.
SHOWN = 8
#: A moment that takes less wall time was known before.
KNOWN_S = 0.02


def show(answer: Batch | dict[str, Any], folder: Path | None = None, stream: TextIO | None = None) -> None:
    """Prints a summary to `stream` (default: standard output); the result is in `folder`."""
    out = console(stream)
    queue = answer["queue"]
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in answer["outcomes"].items())
    explain(
        out,
        f"{answer['name']}: {counted(answer['jobs'], 'job')} on {answer['nodes']} nodes of "
        f"{answer['machine']}, {queue['policy']} by {queue['order']}, placement {queue['placement']}; "
        f"{outcomes}.",
        f"{duration(answer['simulated_s'])} simulated, utilization {share(answer['utilization'], 1)}, "
        f"{answer['mean_waiting_jobs']:.1f} jobs wait in the mean, {answer['max_waiting_jobs']} at most.",
    )
    page = table("", "mean", "median", "p90", "p99", "max")
    _quantiles(page, "wait", answer["wait_s"], duration)
    _quantiles(page, "bounded slowdown (wait and run)", answer["bounded_slowdown"], factor)
    _quantiles(page, "slowdown by contention", answer["slowdown"], factor)
    show_table(out, page)
    explain(
        out,
        f"Jobs lost {share(answer['lost_share'], 1)} of their node time to each other "
        f"({answer['lost_node_s'] / 3600:.1f} node hours).",
    )
    if answer["by_profile"]:
        page = table("slowed", "by", "at links", "lost node hours", left=3)
        for one in answer["by_profile"][:SHOWN]:
            page.add_row(
                one["victim_profile"],
                one["culprit_profile"],
                one["link_class"],
                f"{one['lost_node_s'] / 3600:.2f}",
            )
        show_table(out, page)
    if answer["pairs"]:
        page = table("slowed job", "by job", "at links", "lost", "lost node hours", left=3)
        for pair in answer["pairs"][:SHOWN]:
            page.add_row(
                f"{pair['victim']} ({pair['victim_profile']})",
                f"{pair['culprit']} ({pair['culprit_profile']})",
                pair["link_class"],
                duration(pair["lost_s"]),
                f"{pair['lost_node_s'] / 3600:.2f}",
            )
        show_table(out, page)
    if answer["busiest_links"]:
        loads = (
            f"{one['name']} ({one['link_class']}) {share(one['mean_load'], 1)}"
            for one in answer["busiest_links"][:3]
        )
        explain(out, f"Links with the largest mean loads: {', '.join(loads)}.")
    if answer["clipped_jobs"]:
        explain(out, lowered(answer))
    if answer["confirmation"] is not None:
        explain(out, answer["confirmation"]["sentence"])
        if folder is not None and (how := rerun(answer, folder)):
            explain(out, how)
    else:
        explain(out, "Slowdowns come from rates and are not compared with packets; --confirm N does that.")
    if answer["assumptions"]:
        explain(out, "Assumed:", *(f"- {one}" for one in answer["assumptions"]))


def rerun(answer: Batch | dict[str, Any], folder: Path) -> str | None:
    """How to run the moment of the largest error on."""
    confirmed = answer["confirmation"]
    if confirmed is None or confirmed["worst_scenario"] is None:
        return None
    words = worst_moment.command(folder, confirmed["worst_settings"])
    return f"The worst moment in packets, with blame and timeline: {words}"


def lowered(answer: Batch | dict[str, Any]) -> str:
    """Which jobs wanted more than the machine gives them alone."""
    count = answer["clipped_jobs"]
    subject, whose = ("job", "it alone; its") if count == 1 else ("jobs", "them alone; their")
    return (
        f"{count} {subject} wanted more than the machine gives {whose} rates were lowered: "
        f"{first_of(answer['clipped'], count)} (rates_lowered in batch_jobs.parquet)."
    )


def show_variants(answer: WhatIf | dict[str, Any], stream: TextIO | None = None) -> None:
    """Prints a comparison of variants."""
    out = console(stream)
    page = table("variant", "seeds", "turnaround", "wait", "slowdown", "lost", "utilization", left=1)
    for one in answer["variants"]:
        runs = one["runs"]
        if not runs:
            page.add_row(one["variant"], "0", *("-" for _ in range(5)))
            continue
        means = {
            name: sum(run[name] for run in runs) / len(runs)
            for name in ("turnaround_s", "wait_s", "slowdown", "lost_share", "utilization")
        }
        page.add_row(
            one["variant"],
            str(len(runs)),
            duration(means["turnaround_s"]),
            duration(means["wait_s"]),
            factor(means["slowdown"]),
            share(means["lost_share"], 1),
            share(means["utilization"], 1),
        )
    explain(out, f"{answer['name']}: {answer['outcome']}. Means over jobs and seeds.")
    show_table(out, page)
    page = table("variant", "measure", "ratio", left=3)
    for one in answer["variants"][1:]:
        for number, pair in enumerate(one["pairs"]):
            page.add_row("" if number else one["variant"], MEASURES[pair["measure"]], pair["words"])
    if page.row_count:
        explain(out, f"Compared with {answer['variants'][0]['variant']}, seed by seed, with 95% intervals:")
        show_table(out, page)
    explain(out, *(caveats(answer) if page.row_count else answer["sentences"]))


def _quantiles(page: Any, name: str, found: Quantiles | None, words: Any) -> None:
    """A row of quantiles."""
    if found is not None:
        page.add_row(name, *(words(found[key]) for key in ("mean", "p50", "p90", "p99", "max")))


class BatchLine(LiveLine):
    """The progress of a batch queue, and of its comparison with packets."""

    #: Wall time of the present moment's begin, and of all moments that were not known, with their number.
    _moment_s: float | None = None
    _compared_s = 0.0
    _compared = 0

    def jobs(self, simulated_s: float, ended: int, jobs: int) -> None:
        """Shows the progress of the queue."""
        self._update(f"{ended} of {jobs} jobs ended | simulated {duration(simulated_s)}")

    def variants(self, done: int, count: int, simulated_s: float, ended: int, jobs: int) -> None:
        """Shows the progress of a comparison of variants."""
        self._update(
            f"{done} of {count} runs | {ended} of {jobs} jobs ended | simulated {duration(simulated_s)}",
            done / count,
        )

    def moments(self, done: int, asked: int) -> None:
        """Shows the progress of the comparison; moments of a journal take no time and tell nothing."""
        now = time.perf_counter()
        if self._moment_s is not None and now - self._moment_s > KNOWN_S:
            self._compared_s += now - self._moment_s
            self._compared += 1
        self._moment_s = now
        text = f"{done} of {asked} moments compared with packets"
        if self._compared:
            text += f" | {duration(self._compared_s / self._compared * (asked - done))} left"
        self._update(text, done / asked)
