"""The summary at the end of a run, for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from odonata.analysis import blame, summary, workload_page
from odonata.base.messages import listed
from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import MUCH, SIDE_BY_SIDE, duration, factor, rate, share, size
from odonata.scenario import run_fidelity

#: Least ratio of the busiest storage server to the mean that gets a line, here and in `odonata check`.
SKEW = 4.0


def show(page: Mapping[str, Any], stream: TextIO | None = None, *, ending: bool = True) -> None:
    """Prints a summary from `summary.collect` to `stream` (default: standard output).

    Args:
        ending: Also print the details of the outcome.
    """
    out = console(stream)
    explain(out, _heading(page))
    if page["threads"]:
        explain(out, page["threads"])
    if ending and page["detail"]:
        explain(out, *listed(page["detail"]))
    if page["can_deadlock"]:
        explain(
            out,
            'The routing can deadlock (network.routing.deadlock_check = "warn"). This cycle can fill: '
            f"{' -> '.join(page['deadlock_cycle'])}.",
        )
    _section(out, "Jobs", _jobs(page["jobs"], mixed=page["fidelity"] == run_fidelity.MIXED))
    for title, rows in workload_page.sections(page):
        _section(out, title, rows)
    if page["slowdown"]:
        _section(out, "Alone and together (x: together / alone)", _slowdowns(page["slowdown"]))
    explain(out, *_missing(page))
    _findings(out, page)
    _lost_time(out, page["lost_time"])
    _section(out, "Latency", _latencies(page["jobs"]))
    _section(out, f"Busiest links of routers ({summary.TOP})", _links(page["links"]))
    _section(out, f"Busiest storage servers ({summary.TOP})", _servers(page["servers"]))
    explain(out, *skewed(page), *lost(page))
    _section(out, "Staging", _stages(page["stages"]))
    explain(out, *draining(page))
    _ending(out, page)


def _heading(page: Mapping[str, Any]) -> str:
    speed = page["packet_hops_per_cpu_s"]
    cost = "" if speed is None else f", {rate(speed)} packet-hops per CPU-second"
    return (
        f"{page['name'] or 'run'}: {page['outcome']}, {duration(page['simulated_s'])} simulated in "
        f"{duration(page['wall_s'])} ({run_fidelity.WORDS[page['fidelity']]}{cost})"
    )


def _jobs(jobs: list[dict[str, Any]], *, mixed: bool) -> Table:
    tier = ["messages"] if mixed else []
    page = table("job", "ranks", *tier, "time", "compute", "in MPI", "in I/O", "written", "read", "I/O rate")
    for job in jobs:
        finished = job["ranks_finished"] == job["ranks"]
        bandwidth = job["io_bandwidth_bytes_per_s"]
        page.add_row(
            job["job"],
            str(job["ranks"]) if finished else f"{job['ranks_finished']} of {job['ranks']}",
            *([run_fidelity.LABELS[job["fidelity"]]] if mixed else []),
            duration(job["elapsed_s"]) if finished else f"> {duration(job['elapsed_s'])}",
            *(_share(job[f"{part}_share"]) for part in ("compute", "mpi", "io")),
            *(size(job[moved]) if job[moved] else "-" for moved in ("bytes_written", "bytes_read")),
            "-" if bandwidth is None else f"{size(bandwidth)}/s",
        )
    return page


#: Heading and metric of the ratios in the table.
_FACTORS = {
    "time": "elapsed",
    "in MPI": "mpi",
    "in I/O": "io",
    "message p50": "message_latency_p50",
    "p99": "message_latency_p99",
    "I/O rate": "io_bandwidth",
}


def _slowdowns(jobs: dict[str, Any]) -> Table:
    page = table("job", "alone", "together", *_FACTORS)
    for job, metrics in jobs.items():
        elapsed = metrics.get("elapsed", {"alone": None, "together": None})
        page.add_row(
            job,
            duration(elapsed["alone"]),
            duration(elapsed["together"]),
            *(_factor(metrics.get(name)) for name in _FACTORS.values()),
        )
    return page


def _factor(found: dict[str, float | None] | None) -> str:
    ratio = found["ratio"] if found else None
    return factor(math.nan if ratio is None else ratio)


def _missing(page: Mapping[str, Any]) -> list[str]:
    if page["single_job"]:
        return ["", "A single job is its own baseline."]
    lines = [f"No baseline for {job}: alone, {ending}" for job, ending in page["failed_baselines"].items()]
    return ["", *lines] if lines else []


def _findings(out: Console, page: Mapping[str, Any]) -> None:
    findings, estimate = page["blame"], page["blame_estimate"]
    if findings is None:
        return
    explain(out, "", "Interference between jobs" + (f" ({estimate})" if estimate else ""))
    own = [finding for finding in findings if finding["own"]]
    others = [finding for finding in findings if finding["culprit"] != finding["victim"]]
    if findings and not others and len(page["jobs"]) > 1:
        explain(out, "No job spent 1% of its time or more waiting behind another.")
    for finding in findings:
        if not finding["own"]:
            explain(out, f"- {finding['words']}")
    for sentence in blame.own_words(own):
        explain(out, f"- {sentence}")
    if not findings:
        explain(out, "No traffic spent 1% of its time or more waiting.")
    if others and not page["slowdown"] and not page["single_job"]:
        explain(out, "Shares are of waiting times, not of run times: --baselines measures slowdowns.")


def _lost_time(out: Console, jobs: list[dict[str, Any]] | None) -> None:
    if jobs:
        explain(out, "", "Lost time", *(f"- {job['words']}" for job in jobs))


def _latencies(jobs: list[dict[str, Any]]) -> Table:
    # Flows and the analytic model have no packets.
    packets = any(job["fidelity"] == run_fidelity.PACKET for job in jobs)
    headings = ["packet p50", "p99"] if packets else []
    page = table("job", "message p50", "p99", "max", *headings, "I/O call p50", "p99")
    columns = [f"message_latency_{measure}_s" for measure in ("p50", "p99", "max")]
    if packets:
        columns += [f"mpi_packet_latency_{measure}_s" for measure in ("p50", "p99")]
    columns += [f"io_call_{measure}_s" for measure in ("p50", "p99")]
    for job in jobs:
        if any(job[column] is not None for column in columns):
            page.add_row(job["job"], *(duration(job[column]) for column in columns))
    return page


def _links(links: list[dict[str, Any]]) -> Table:
    # Flows fill no buffers, and have no packets.
    packets = any(link["packets"] is not None for link in links)
    if packets:
        page = table("link", "class", "busy", "saturated", "carried", "packets", left=2)
    else:
        page = table("link", "class", "busy", "carried", left=2)
    for link in links:
        page.add_row(
            link["name"],
            link["class"],
            _share(link["busy_share"]),
            *([duration(link["saturation_s"])] if packets else []),
            size(link["bytes"]),
            *([rate(link["packets"])] if packets else []),
        )
    return page


def _servers(servers: list[dict[str, Any]]) -> Table:
    page = table("server", "busy", "written", "read", "requests", "mean request", "waits for space")
    for server in servers:
        page.add_row(
            f"{server['server']} (node {server['node']})",
            _share(server["busy_share"]),
            size(server["bytes_written"]),
            size(server["bytes_read"]),
            rate(server["requests"]),
            duration(server["request_mean_s"]),
            duration(server["wait_space_s"]),
        )
    return page


def _stages(stages: list[dict[str, Any]]) -> Table:
    page = table("job", "requested", "staged in", "time", "staged out", "time", left=1)
    for stage in stages:
        page.add_row(
            stage["job"],
            size(stage["asked_bytes"]),
            size(stage["brought_bytes"]),
            duration(stage["in_s"]),
            size(stage["out_bytes"]),
            duration(stage["out_s"]),
        )
    return page


def skewed(page: Mapping[str, Any]) -> list[str]:
    """A line if few storage servers did most of the work.

    >>> skewed({"server_skew": {"servers": 230, "used": 8, "most_over_mean": 28.75}})
    ['8 of 230 storage servers were used; the busiest moved 28.8 times the mean.']
    >>> skewed({"server_skew": {"servers": 8, "used": 8, "most_over_mean": 1.2}})
    []
    """
    skew = page["server_skew"]
    if skew is None or skew["most_over_mean"] < SKEW:
        return []
    return [
        f"{skew['used']:,} of {skew['servers']:,} storage servers were used; the busiest moved "
        f"{factor(skew['most_over_mean'])[:-1]} times the mean."
    ]


def lost(page: Mapping[str, Any]) -> list[str]:
    """The cost of failed servers and timeouts to each job.

    >>> counts = {"timeouts": 3, "retries": 2, "rerouted_bytes": 0, "lost_bytes": 2048, "lost_reads_bytes": 0}
    >>> lines = lost({"losses": [{"job": "a", **counts}]})[0].split(". ")
    >>> lines[0]
    'a: 3 requests timed out; 2 were retried, and 0 B went to other servers'
    >>> lines[1]
    'It lost 2 KiB of written data.'
    >>> lost({"losses": []})
    []
    """
    lines = []
    for loss in page["losses"]:
        line = (
            f"{loss['job']}: {loss['timeouts']:,} requests timed out; {loss['retries']:,} were retried, "
            f"and {size(loss['rerouted_bytes'])} went to other servers."
        )
        if loss["lost_bytes"]:
            line += f" It lost {size(loss['lost_bytes'])} of written data."
        if loss["lost_reads_bytes"]:
            line += f" It read {size(loss['lost_reads_bytes'])} of lost data as if never written."
        lines.append(line)
    return lines


def draining(page: Mapping[str, Any]) -> list[str]:
    """The effect of the time after the last job on the shares of the summary `page`, if there is one.

    >>> draining({"servers": [{"busy_share": 0.3}], "simulated_s": 8.0, "after_jobs_s": 5.0})[0][:52]
    'The last job ended after 3 s, and servers drained fo'
    """
    after_s = page["after_jobs_s"]
    if not page["servers"] or after_s < 0.01 * page["simulated_s"]:
        return []
    return [
        f"The last job ended after {duration(page['simulated_s'] - after_s)}, and servers drained for "
        "another "
        f"{duration(after_s)}: busy is a share of both times."
    ]


def overlapping(page: Mapping[str, Any]) -> str:
    """A note if shares of a job's time add up to clearly more than all of it.

    >>> overlapping({"jobs": [{"compute_share": 0.7, "mpi_share": 0.9, "io_share": None}]})[:44]
    ' Concurrent activities of a rank each count '
    >>> overlapping({"jobs": [{"compute_share": 0.7, "mpi_share": 0.3, "io_share": 0.0}]})
    ''
    """
    parts = ("compute_share", "mpi_share", "io_share")
    most = max((sum(job[part] or 0.0 for part in parts) for job in page["jobs"]), default=0.0)
    return f" {SIDE_BY_SIDE}" if most > MUCH else ""


def _ending(out: Console, page: Mapping[str, Any]) -> None:
    if page["not_modelled"]:
        explain(out, "", "Not modeled", *(f"- {line}" for line in page["not_modelled"]))
    if page["preset_agreement"]:
        explain(out, "", page["preset_agreement"])
    explain(out, "", _legend(page) + overlapping(page))
    if page["results"] is not None:
        say(out, f"Tables: {page['results']}/*.parquet    run: {page['results']}/run.json")
    say(out, f"Digest: {page['digest']} (equal digests, equal results)")


def _legend(page: Mapping[str, Any]) -> str:
    """The meaning of the headings of the shown tables."""
    parts = ["compute, in MPI, in I/O: share of a rank's time, mean over ranks"]
    if page["links"] or page["servers"]:
        parts.append("busy: share of the simulated time")
    if any(link["saturation_s"] is not None for link in page["links"]):
        parts.append("saturated: time during which packets found the next buffer full")
    if page["links"]:
        parts.append("r3>n12: from router 3 to node 12")
    return "; ".join(parts) + "."


def _share(part: float | None) -> str:
    return "-" if part is None else share(part, 1.0)


def _section(out: Console, title: str, page: Table) -> None:
    if page.row_count:
        explain(out, "", title)
        show_table(out, page)
