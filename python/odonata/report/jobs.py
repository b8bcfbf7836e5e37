"""The section about jobs: the use of their time, their iterations, and their traffic over time."""

from __future__ import annotations

import itertools
from typing import Any

from odonata.analysis.workload_page import SHARES
from odonata.base.wording import MUCH, SIDE_BY_SIDE
from odonata.report.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Control,
    Section,
    Table,
    axis,
    duration,
    plain,
    rate_cell,
    share_cell,
    size_cell,
    time_cell,
)
from odonata.report.contents import Contents
from odonata.scenario import run_fidelity


def section(contents: Contents) -> Section:
    """The section."""
    charts = [_time_spent(contents), _iterations(contents), _traffic(contents)]
    blocks: list[Block] = [
        table(contents),
        *_models(contents),
        *_collectives(contents),
        *(chart for chart in charts if chart is not None),
    ]
    return Section("jobs", "Jobs", "The time of each job by activity, and its traffic.", blocks)


def table(contents: Contents) -> Table:
    """A row per job."""
    mixed = contents.fidelity.of_run == run_fidelity.MIXED
    rows = []
    workloads = {row["job"]: row.get("workload", "") for row in contents.jobs}
    for job in contents.summary["jobs"]:
        finished = job["ranks_finished"] == job["ranks"]
        ranks = f"{job['ranks']:,}" if finished else f"{job['ranks_finished']:,} of {job['ranks']:,}"
        elapsed = ("" if finished else "> ") + duration(job["elapsed_s"])
        rows.append(
            [
                Cell(job["job"], title=workloads[job["job"]]),
                Cell(ranks, job["ranks"], title="" if finished else "finished ranks"),
                *([Cell(run_fidelity.LABELS[job["fidelity"]])] if mixed else []),
                Cell(elapsed, job["elapsed_s"]),
                *(share_cell(job[f"{part}_share"]) for part in ("compute", "mpi", "io")),
                size_cell(job["bytes_written"]),
                size_cell(job["bytes_read"]),
                rate_cell(job["io_bandwidth_bytes_per_s"]),
                *(time_cell(job[f"message_latency_{part}_s"]) for part in ("p50", "p99")),
                *(time_cell(job[f"io_call_{part}_s"]) for part in ("p50", "p99")),
            ]
        )
    columns = [
        Column("job", number=False),
        Column("ranks"),
        *([Column("messages", number=False, help="Model of its messages.")] if mixed else []),
        Column("time", help="From the job's start to the end of its last rank."),
        Column("compute", help="Share of a rank's time, mean over ranks."),
        Column("in MPI", help="Share of a rank's time blocked in MPI calls, mean over ranks."),
        Column("in I/O", help="Share of a rank's time blocked in I/O, mean over ranks."),
        Column("written"),
        Column("read"),
        Column("I/O rate", help="Bytes over the time from the first request to the last acknowledgement."),
        Column("message median", help="From the send call to the arrival of the last byte."),
        Column("message p99"),
        Column("I/O call median", help="Reads and writes, from request to acknowledgement."),
        Column("I/O call p99"),
    ]
    return Table("jobs-table", "Jobs", columns, rows, search=len(rows) > 12)


def _models(contents: Contents) -> list[Table]:
    """A row per training job, and a row per inference job."""
    training = [
        [
            Cell(row["job"]),
            Cell(f"{row['gpus']:,}", row["gpus"]),
            time_cell(row["iteration_s"]),
            Cell(f"{row['tokens_per_s']:,.0f}", row["tokens_per_s"]),
            share_cell(row["mfu"]),
            *(share_cell(row[key]) for _, key in SHARES),
            share_cell(row["bubble_ideal"]),
            Cell(f"{row['failures']:,}", row["failures"]),
            share_cell(row["goodput"]),
        ]
        for row in contents.summary["efficiency"]
    ]
    columns = [
        Column("job", number=False),
        Column("GPUs"),
        Column("iteration", help="Mean duration."),
        Column("tokens/s"),
        Column("MFU", help="Operations of the model over those possible at peak_flops."),
        *(Column(heading, help="Share of a GPU's time, mean over GPUs.") for heading, _ in SHARES),
        Column("ideal bubble", help="Of equal stages without communication: (P - 1) / (M + P - 1)."),
        Column("failures", help="From which the job has restarted."),
        Column("goodput", help="Share of the time without lost iterations and restarts."),
    ]
    inference = [
        [
            Cell(row["job"]),
            Cell(f"{row['requests']:,}", row["requests"]),
            time_cell(row["time_to_first_token_p50_s"]),
            time_cell(row["time_to_first_token_p99_s"]),
            time_cell(row["time_per_token_p50_s"]),
            time_cell(row["time_per_token_p99_s"]),
            time_cell(row["decode_delay_mean_s"]),
            Cell(f"{row['tokens_per_s']:,.0f}", row["tokens_per_s"]),
        ]
        for row in contents.summary["inference"]
    ]
    of_requests = [
        Column("job", number=False),
        Column("requests"),
        Column("first token", help="From arrival to first token, median."),
        Column("first token p99"),
        Column("per token", help="Time per token after the first, median."),
        Column("per token p99"),
        Column("until decode", help="From the first token to the start of decoding, mean."),
        Column("tokens/s"),
    ]
    tables = [
        Table("jobs-training", "Training of transformers", columns, training),
        Table("jobs-inference", "Inference", of_requests, inference),
    ]
    return [table for table in tables if table.rows]


def _collectives(contents: Contents) -> list[Table]:
    """A row per collective of NCCL."""
    rows = [
        [
            Cell(row["job"]),
            Cell(row["collective"]),
            size_cell(row["bytes"]),
            Cell(f"{row['ranks']:,}", row["ranks"]),
            Cell(f"{row['calls']:,}", row["calls"]),
            time_cell(row["time_mean_s"]),
            time_cell(row["time_max_s"]),
            *(
                Cell(f"{rate / 1e9:.2f}", rate)
                for rate in (row["algorithm_bandwidth_bytes_per_s"], row["bus_bandwidth_bytes_per_s"])
            ),
        ]
        for row in contents.summary["nccl"]
    ]
    columns = [
        Column("job", number=False),
        Column("collective", number=False),
        Column("size", help="As in nccl-tests: the vector, or all blocks together."),
        Column("ranks"),
        Column("calls"),
        Column("time", help="Time of a call without the computation before it, mean over ranks and calls."),
        Column("longest", help="The longest call, mean over ranks."),
        Column("algbw (GB/s)", help="Algorithm bandwidth: size over time."),
        Column(
            "busbw (GB/s)",
            help="Bus bandwidth: algorithm bandwidth times 2 (n - 1) / n for an all-reduce of n ranks, "
            "(n - 1) / n for an all-gather or a reduce-scatter, 1 for a broadcast.",
        ),
    ]
    return [Table("jobs-nccl", "NCCL collectives, in the units of nccl-tests", columns, rows)] if rows else []


def _time_spent(contents: Contents) -> Chart:
    jobs = [job for job in contents.summary["jobs"] if job["job"] in contents.shown]
    parts = {"compute": "compute", "mpi": "blocked in MPI", "io": "blocked in I/O"}
    shares = {part: [job[f"{part}_share"] or 0.0 for job in jobs] for part in parts}
    sums = [sum(values) for values in zip(*shares.values(), strict=True)]
    shares["other"] = [max(0.0, 1.0 - all_parts) for all_parts in sums]
    most = max([1.0, *sums])
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": parts.get(part, "other"),
            "y": [job["job"] for job in jobs],
            "x": values,
            "color": ("gray" if part == "other" else number),
            "hovertemplate": "%{y}: %{x:.1%} " + parts.get(part, "other") + "<extra></extra>",
        }
        for number, (part, values) in enumerate(shares.items())
        if any(value > 1e-4 for value in values)
    ]
    return Chart(
        "jobs-time",
        "Time by activity",
        "Share of a rank's time, mean over ranks. Other is neither computation nor blocked "
        "time: for example, the overhead of non-blocking calls."
        + (f" {SIDE_BY_SIDE}" if most > MUCH else ""),
        traces,
        {
            "barmode": "stack",
            "xaxis": axis("share of a rank's time", "share", range=[0, most]),
            "yaxis": {"autorange": "reversed", "type": "category", "automargin": True},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        },
        height=130 + 34 * max(2, len(jobs)),
    )


def _iterations(contents: Contents) -> Chart | None:
    """Duration of each iteration, from the end of the previous one."""
    ends: dict[str, list[tuple[int, float]]] = {}
    for row in contents.rows("iterations", ["job", "iteration", "last_s"]):
        ends.setdefault(row["job"], []).append((row["iteration"], row["last_s"]))
    starts = {row["job"]: row["start_s"] for row in contents.jobs}
    traces: list[dict[str, Any]] = []
    most = max((number for rows in ends.values() for number, _ in rows), default=0)
    for job in contents.shown:
        ordered = sorted(ends.get(job, []))
        if len(ordered) < 2:
            continue
        before = [starts[job], *(end for _, end in ordered[:-1])]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(ordered) < 60 else "lines",
                "name": job,
                "x": [number for number, _ in ordered],
                "y": [end - start for (_, end), start in zip(ordered, before, strict=True)],
                "color": contents.color(job),
                "hovertemplate": "iteration %{x}: %{y:.3~s}s<extra>" + plain(job) + "</extra>",
            }
        )
    if not traces:
        return None
    times = [value for trace in traces for value in trace["y"] if value > 0]
    times_axis = axis("time", "s", rangemode="tozero")
    if times and max(times) > 20 * min(times):
        times_axis = axis("time", "s", log=True, dtick="D2")
    return Chart(
        "jobs-iterations",
        "Time per iteration",
        "Measured from the end of the previous iteration on its last rank: work between two "
        f"iterations, such as I/O, counts for the second.{_phases(contents)} Other peaks are "
        "delays.",
        traces,
        {
            # Half an iteration of margin for the markers; the default axis would begin at -1.
            "xaxis": axis("iteration", dtick=1 if most <= 20 else None, range=[-0.5, most + 0.5]),
            "yaxis": times_axis,
        },
    )


def _phases(contents: Contents) -> str:
    """A note on jobs that run several workloads in turn, whose iterations are not consecutive."""
    phases = {
        job["name"] for job in contents.run["scenario"]["jobs"] if "phases" in (job.get("workload") or {})
    }
    names = [job for job in contents.shown if job in phases]
    return f" The same applies between the phases of {', '.join(names)}." if names else ""


def _traffic(contents: Contents) -> Chart | None:
    """Bytes delivered to each job over time."""
    interval_s = contents.interval_s
    rows: list[dict[str, Any]] = contents.chosen(
        "series", ["start_s", "job", "class", "bytes", "packets", "latency_mean_s"], kind="traffic"
    )
    if interval_s is None or not rows:
        return None
    numbers = contents.intervals_of(rows)
    cells = {(row["job"], row["class"], contents.interval_of(row)): row for row in rows}
    units = {"bytes": "B/s", "latency": "s"}
    traces = []
    for job, (name, words) in itertools.product(contents.shown, (("mpi", "messages"), ("io", "I/O"))):
        mine = [cells.get((job, name, number)) for number in numbers]
        if not any(mine):
            continue
        # Intervals without delivery have no row.
        lines: dict[str, list[float | None]] = {
            "bytes": [row["bytes"] / interval_s if row else 0.0 for row in mine],
        }
        if contents.fidelity.of_job(job) == run_fidelity.PACKET:
            lines["latency"] = [row["latency_mean_s"] if row and row["packets"] else None for row in mine]
        for show, values in lines.items():
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": f"{job}, {words}",
                    "x": [(number + 0.5) * interval_s for number in numbers],
                    "y": values,
                    "color": contents.color(job),
                    "line": {"dash": "solid" if name == "mpi" else "dot", "width": 1.6},
                    "hovertemplate": f"at %{{x:.4~s}}s: %{{y:.3~s}}{units[show]}",
                    "yunit": units[show],
                    "when": {"show": show},
                }
            )
    shows = [("bytes", "bytes delivered per second")]
    if contents.fidelity.has_packets:
        shows.append(("latency", "mean packet latency"))
    return Chart(
        "jobs-traffic",
        "Traffic over time",
        "Bytes delivered to each job"
        + (", or the mean latency of its packets" if len(shows) > 1 else "")
        + f"; intervals of {duration(interval_s)}. Drag to select a period in all charts over "
        "time; double-click to show the whole run.",
        traces,
        {"xaxis": axis("simulated time", "s"), "yaxis": axis("", "s", rangemode="tozero")},
        [Control("show", "Show", shows)],
        time=True,
    )
