"""The measures of the claims, a row per configuration: read from the folder of a sweep, stored as Parquet.

Times are in seconds, of the simulated (scaled) machine. "Alone" is the same job on the same nodes without the
other one.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from study_tools import parquet

import odonata

PLACEMENTS = {"contiguous": "contiguous", "random-router": "random-router", "random": "random-node"}
SETTINGS = {"cori-like": "text", "cori-like-authors": "authors"}
ROUTINGS = {"minimal": "minimal", "progressive-adaptive": "adaptive"}

#: Bytes of a message of the background traffic.
PACKET = 1024

#: Settings -> bytes of the whole checkpoint: 1 TB in the paper's text, 1 TiB in its authors' simulator.
WHOLE = {"text": 1e12, "authors": 2.0**40}
#: Buffers of the whole machine.
BUFFERS = 300
#: How many times smaller the checkpoint at scale 1 is.
SCALE_ONE = 32


@dataclass(frozen=True)
class Run:
    """A checkpoint beside background traffic, and both alone."""

    #: Nodes that write the checkpoint.
    nodes: int
    #: "contiguous", "random-router" or "random-node".
    placement: str
    #: "minimal" or "adaptive".
    routing: str
    #: "nearest" or "random".
    buffers: str
    #: Bytes of the whole checkpoint.
    checkpoint_bytes: float
    #: Size of a block.
    block_bytes: float
    #: From the first request to the last commit, beside the background traffic.
    checkpoint_s: float
    #: The checkpoint alone: from the first request to the last acknowledgement. 0 without baselines.
    checkpoint_alone_s: float
    #: Completion of the first and the last rank.
    first_rank_s: float
    last_rank_s: float
    #: Gaps between the ends of ranks that exceed a twentieth of the time between first and last.
    steps: int
    #: Buffers with data, all buffers, and the bytes of the busiest.
    buffers_used: int
    buffers_all: int
    busiest_bytes: float
    #: Share of `checkpoint_s` in which the busiest device wrote.
    device_busy: float
    #: Packets of the background traffic, and their latency from the send call to the last byte. Those alone
    #: are 0 without baselines.
    packets: int
    latency_min_s: float
    latency_mean_s: float
    latency_max_s: float
    latency_mean_alone_s: float
    latency_max_alone_s: float
    #: Cost of the run, without its two baselines.
    packet_hops: int
    cpu_s: float
    peak_rss_bytes: int
    #: "text" or "authors": whose settings.
    settings: str = "text"

    @property
    def whole(self) -> float:
        """Bytes of the whole checkpoint, or a smaller machine's share of them, over those of this one."""
        return WHOLE[self.settings] * self.buffers_all / BUFFERS / self.checkpoint_bytes

    @property
    def scale(self) -> float:
        """How many times smaller the checkpoint is than that of scale 1."""
        return self.whole / SCALE_ONE

    @property
    def name(self) -> str:
        """nodes-placement-routing-buffers."""
        return f"{self.nodes}-{self.placement}-{self.routing}-{self.buffers}"

    @property
    def slowest_packet(self) -> float:
        """Worst packet of the background traffic, with / without checkpoint."""
        return self.latency_max_s / self.latency_max_alone_s


@dataclass(frozen=True)
class Completion:
    """The completion of a rank's part (figure 9)."""

    nodes: int
    placement: str
    routing: str
    buffers: str
    rank: int
    end_s: float


def of_sweep(folder: Path) -> tuple[list[Run], list[Completion]]:
    """Every successful point of a sweep; completions of ranks for the smallest job under minimal routing."""
    sweep = odonata.Sweep.load(folder)
    by_point: dict[int, dict[str, dict[str, Any]]] = {}
    for row in sweep.table.to_pylist():
        # A sweep without baselines has none to fail.
        if row["outcome"] == "completed" and row.get("baseline") in (None, "completed"):
            by_point.setdefault(row["point"], {})[row["job"]] = row
    runs, completions = [], []
    for jobs in by_point.values():
        if jobs.keys() != {"checkpoint", "background"}:
            continue
        results = odonata.load(folder / jobs["checkpoint"]["folder"])
        run, ends = of_results(results, jobs["checkpoint"], jobs["background"])
        runs.append(run)
        completions += [
            Completion(run.nodes, run.placement, run.routing, run.buffers, rank, end)
            for rank, end in enumerate(ends)
        ]
    smallest = min((run.nodes for run in runs), default=0)
    kept = [one for one in completions if one.nodes == smallest and one.routing == "minimal"]
    return runs, kept


def of_results(
    results: odonata.Results, checkpoint: dict[str, Any], background: dict[str, Any]
) -> tuple[Run, list[float]]:
    """A run and the completions of its ranks, from its tables and the rows of its jobs in the sweep's
    table.
    """
    scenario = results.run["scenario"]
    ranks = results.table("ranks")
    ends = sorted(ranks.filter(pc.equal(ranks["job"], "checkpoint"))["elapsed_s"].to_pylist())
    latencies = packet_latencies(results)
    servers = results.rows("servers")
    busiest = max(servers, key=lambda row: row["bytes_written"])
    run = Run(
        **configuration(results),
        checkpoint_bytes=float(checkpoint["bytes_written"]),
        block_bytes=size(scenario["storage"]["manager"]["block"]),
        checkpoint_s=checkpoint["io_commit_s"],
        checkpoint_alone_s=checkpoint.get("elapsed_alone_s") or 0.0,
        first_rank_s=ends[0],
        last_rank_s=ends[-1],
        steps=steps(ends),
        buffers_used=sum(row["bytes_written"] > 0 for row in servers),
        buffers_all=len(servers),
        busiest_bytes=float(busiest["bytes_written"]),
        device_busy=max(row["device_busy_s"] for row in servers) / checkpoint["io_commit_s"],
        packets=latencies.packets,
        latency_min_s=latencies.min_s,
        latency_mean_s=latencies.mean_s,
        latency_max_s=latencies.max_s,
        latency_mean_alone_s=background.get("message_latency_mean_alone_s") or 0.0,
        latency_max_alone_s=background.get("message_latency_max_alone_s") or 0.0,
        packet_hops=results.run["packet_hops"],
        cpu_s=results.run["cpu_s"],
        peak_rss_bytes=results.run["peak_rss_bytes"],
        settings=SETTINGS[scenario["preset"]],
    )
    return run, ends


def configuration(results: odonata.Results) -> dict[str, Any]:
    """Nodes, placement, routing and buffers of a run."""
    scenario = results.run["scenario"]
    job = next(one for one in scenario["jobs"] if one["name"] == "checkpoint")
    return {
        "nodes": job["ranks"],
        "placement": PLACEMENTS[job["placement"]],
        "routing": ROUTINGS[scenario["network"]["routing"]["algorithm"]],
        "buffers": scenario["storage"]["assignment"],
    }


def name_of(results: odonata.Results) -> str:
    """Configuration and settings of a run: nodes-placement-routing-buffers, settings."""
    parts = "-".join(map(str, configuration(results).values()))
    return f"{parts}, {SETTINGS[results.run['scenario']['preset']]}"


def has_alone(run: Run) -> bool:
    """Whether the background traffic alone was measured."""
    return run.latency_mean_alone_s > 0


def with_alone(runs: Iterable[Run], others: Iterable[Run]) -> list[Run]:
    """The runs; one without baselines has the background traffic alone of the largest other run of the same
    configuration.
    """
    alone = {run.name: run for run in sorted(others, key=lambda run: run.checkpoint_bytes)}
    return [
        run
        if has_alone(run)
        else replace(
            run,
            latency_mean_alone_s=alone[run.name].latency_mean_alone_s,
            latency_max_alone_s=alone[run.name].latency_max_alone_s,
        )
        for run in runs
    ]


@dataclass(frozen=True)
class Latencies:
    """Latency of the messages of the background traffic, each of which is one packet."""

    packets: int
    min_s: float
    mean_s: float
    max_s: float


def packet_latencies(results: odonata.Results) -> Latencies:
    """Latencies without the messages that announce the checkpoint's end, if rows are of one message each.

    With more messages than run.message_rows, they are included: one for each rank, of more than a million.
    """
    messages = results.table("messages")
    table = messages.filter(pc.equal(messages["job"], "background"))
    sent = table.filter(pc.equal(table["bytes"], PACKET))["latency_high_s"]
    if len(sent):
        return Latencies(len(sent), pc.min(sent).as_py(), pc.mean(sent).as_py(), pc.max(sent).as_py())
    job = next(row for row in results.rows("jobs") if row["job"] == "background")
    return Latencies(
        packets=job["messages"],
        min_s=pc.min(table["latency_low_s"]).as_py(),
        mean_s=job["message_latency_mean_s"],
        max_s=job["message_latency_max_s"],
    )


def steps(ends: Sequence[float]) -> int:
    """Number of gaps in the sorted ends of ranks that exceed a twentieth of the time from first to last."""
    whole = ends[-1] - ends[0]
    return sum(b - a > whole / 20 for a, b in itertools.pairwise(ends)) if whole > 0 else 0


def size(text: str) -> float:
    """Bytes of a size in a resolved scenario."""
    value, unit = text.split()
    return float(value) * {"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 2**10, "MiB": 2**20}[unit]


def seconds(text: str) -> float:
    """Seconds of a time in a resolved scenario."""
    value, unit = text.split()
    return float(value) * {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def write(folder: Path, runs: Sequence[Run], completions: Sequence[Completion], name: str) -> None:
    """Stores a sweep's rows as NAME.parquet and NAME-ranks.parquet."""
    parquet.write(folder / f"{name}.parquet", Run, ordered(runs))
    parquet.write(folder / f"{name}-ranks.parquet", Completion, completions)


def read(folder: Path, name: str) -> tuple[list[Run], list[Completion]]:
    """Reads the rows that `write` stored."""
    runs = parquet.read(folder / f"{name}.parquet", Run)
    return runs, parquet.read(folder / f"{name}-ranks.parquet", Completion)


def read_earlier(file: Path) -> list[Run]:
    """Runs with the whole checkpoint of the text's settings of which only some measures were kept, as CSV.

    The others are not a number; `with_alone` fills in the background traffic alone.
    """
    unknown = {field.name: math.nan for field in fields(Run) if field.name not in Run.__dict__}
    known = {"checkpoint_bytes": WHOLE["text"], "block_bytes": 1e6, "buffers_all": BUFFERS}
    names = ("placement", "routing", "buffers")
    runs = []
    with file.open(newline="", encoding="utf-8") as opened:
        for row in csv.DictReader(opened):
            numbers = {key: float(value or "nan") for key, value in row.items() if key not in names}
            texts = {key: row[key] for key in names}
            made: dict[str, Any] = unknown | known | numbers | texts | {"nodes": int(row["nodes"])}
            runs.append(Run(**made))
    return runs


def ordered(runs: Iterable[Run]) -> list[Run]:
    """In the order of the figures."""
    placements = list(PLACEMENTS.values())
    return sorted(runs, key=lambda r: (r.buffers, r.routing, r.nodes, placements.index(r.placement)))
