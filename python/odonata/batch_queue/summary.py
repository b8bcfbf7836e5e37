"""The summary of a batch result: one record for `--json`, `batch.json`, the text and the report."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, cast

from odonata import _core
from odonata.batch_queue import run
from odonata.batch_queue.run import MICROS, BatchResult

if TYPE_CHECKING:
    from odonata.answers.batch import Batch, BusyLink, Quantiles

#: Pairs, slowed jobs and sums by profile that the summary lists.
LISTED = 20
#: Jobs shorter than this count with this time in the bounded slowdown (D. Feitelson, JSSPP 2001).
BOUND_S = 10.0


def quantile(values: list[float], share: float) -> float:
    """A quantile of sorted values: the least value that at least this share of them does not exceed.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5), quantile([1.0, 2.0, 3.0], 0.9)
    (2.0, 3.0)
    """
    place = -(-share * len(values) // 1)
    return values[max(0, min(len(values), int(place)) - 1)]


def quantiles(values: list[float]) -> Quantiles | None:
    """Quantiles of values; None without values."""
    if not values:
        return None
    values = sorted(values)
    return {
        "mean": sum(values) / len(values),
        "p50": quantile(values, 0.5),
        "p90": quantile(values, 0.9),
        "p99": quantile(values, 0.99),
        "max": values[-1],
    }


def summarize(result: BatchResult) -> Batch:
    """The summary, without a confirmation."""
    records, lost, series = (result.results[key] for key in ("jobs", "lost", "series"))
    jobs, spec = result.jobs, result.spec
    nodes = len(result.machine["group_of"])
    lost_of: dict[int, float] = defaultdict(float)
    by_profile: dict[tuple[str, str, str], float] = defaultdict(float)
    profiles = [run.label_of(job, spec) for job in jobs]
    classes = result.machine["classes"]
    for one in lost:
        victim, culprit = one["victim"], one["culprit"]
        lost_of[victim] += one["lost_s"]
        key = (profiles[victim], profiles[culprit], classes[one["class"]])
        by_profile[key] += one["lost_s"] * jobs[victim].nodes
    waits, slowdowns, bounded = [], [], []
    used = 0.0
    slowdown_of: dict[int, float] = {}
    for number, record in enumerate(records):
        if record["start"] is None:
            continue
        waits.append(record["start"] / MICROS - jobs[number].submit_s)
        if record["end"] is None:
            continue
        elapsed = (record["end"] - record["start"]) / MICROS
        used += elapsed * jobs[number].nodes
        bounded.append((max(waits[-1], 0.0) + elapsed) / max(elapsed, BOUND_S))
        if record["work_s"] > 0:
            slowdown_of[number] = elapsed / record["work_s"]
    slowdowns = list(slowdown_of.values())
    bounded = [max(1.0, one) for one in bounded]
    _end_s, busy, waiting = _means(series)
    lost_nodes = sum(seconds * jobs[number].nodes for number, seconds in lost_of.items())
    slowed = sorted(lost_of, key=lambda number: (-lost_of[number] * jobs[number].nodes, number))
    pairs = sorted(
        lost, key=lambda one: (-one["lost_s"] * jobs[one["victim"]].nodes, one["victim"], one["culprit"])
    )
    clipped = [job.id for job, record in zip(jobs, records, strict=True) if record["clipped"]]
    queue = spec.queue
    return {
        "kind": "batch",
        "outcome": result.outcome,
        "version": _core.__version__,
        "name": spec.name,
        "machine": result.machine["name"],
        "nodes": nodes,
        "seed": spec.seed,
        "digest": result.results["digest"],
        "queue": {
            "policy": queue.policy,
            "order": queue.order,
            "placement": queue.placement,
            "limits": queue.limits,
        },
        "jobs": len(jobs),
        "outcomes": dict(sorted(Counter(record["outcome"] for record in records).items())),
        "simulated_s": result.simulated_s,
        "wall_s": result.wall_s,
        "utilization": busy / nodes if nodes else 0.0,
        "mean_waiting_jobs": waiting,
        "max_waiting_jobs": max((point["waiting"] for point in series), default=0),
        "wait_s": quantiles(waits),
        "bounded_slowdown": quantiles(bounded),
        "slowdown": quantiles(slowdowns),
        "lost_node_s": lost_nodes,
        "lost_share": lost_nodes / used if used else 0.0,
        "clipped_jobs": len(clipped),
        "clipped": clipped[:LISTED],
        "most_slowed": [
            {
                "job": jobs[number].id,
                "name": jobs[number].name,
                "profile": profiles[number],
                "nodes": jobs[number].nodes,
                "slowdown": slowdown_of.get(number, 1.0),
                "lost_s": lost_of[number],
            }
            for number in slowed[:LISTED]
        ],
        "pairs": [
            {
                "victim": jobs[one["victim"]].id,
                "victim_profile": profiles[one["victim"]],
                "culprit": jobs[one["culprit"]].id,
                "culprit_profile": profiles[one["culprit"]],
                "link_class": classes[one["class"]],
                "lost_s": one["lost_s"],
                "lost_node_s": one["lost_s"] * jobs[one["victim"]].nodes,
            }
            for one in pairs[:LISTED]
        ],
        "by_profile": [
            {"victim_profile": key[0], "culprit_profile": key[1], "link_class": key[2], "lost_node_s": value}
            for key, value in sorted(by_profile.items(), key=lambda one: (-one[1], one[0]))[:LISTED]
        ],
        "busiest_links": busiest(result),
        "confirmation": None,
        "assumptions": result.assumptions,
    }  # fmt: skip


def busiest(result: BatchResult) -> list[BusyLink]:
    """The links with the largest mean loads."""
    links = [one for one in run.link_rows(result) if one["mean_load"] > 0]
    links.sort(key=lambda one: (-one["mean_load"], one["link"]))
    keys = ("name", "link_class", "bytes", "mean_load", "peak_load")
    return [cast("BusyLink", {key: one[key] for key in keys}) for one in links[:LISTED]]


def _means(series: list[dict[str, Any]]) -> tuple[float, float, float]:
    """The end of a series in seconds, and the means of busy nodes and waiting jobs up to it.

    >>> _means([{"time": 0, "busy": 4, "waiting": 1}, {"time": 2000000, "busy": 0, "waiting": 0}])
    (2.0, 4.0, 1.0)
    """
    if len(series) < 2 or series[-1]["time"] == series[0]["time"]:
        return 0.0, 0.0, 0.0
    span = series[-1]["time"] - series[0]["time"]
    busy = waiting = 0.0
    for point, after in itertools.pairwise(series):
        time = (after["time"] - point["time"]) / span
        busy += time * point["busy"]
        waiting += time * point["waiting"]
    return span / MICROS, busy, waiting
