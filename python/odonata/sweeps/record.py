"""The record of a sweep's run: its outcome, and a row of measures per job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from odonata.analysis.measured import GOOD_OUTCOMES
from odonata.analysis.run_record import Place
from odonata.analysis.slowdown import job_rows
from odonata.base.json_types import Count, Number, declared
from odonata.results.results import Results
from odonata.sweeps.work import places


@declared
class KeptRun(TypedDict):
    """A run in the journal of a sweep."""

    key: str
    """Digest of everything that its result depends on."""
    outcome: str
    """Outcome."""
    detail: str | None
    """Details of the outcome in words."""
    digest: str | None
    """Digest of its results; null without results, like the following keys."""
    simulated_s: Number | None
    """Simulated time, in seconds."""
    wall_s: Number | None
    """Wall time, in seconds."""
    cpu_s: Number | None
    """CPU time, in seconds."""
    events: Count | None
    """Events handled."""
    peak_rss_bytes: Count | None
    """Largest resident memory, in bytes."""
    jobs: list[Any]
    """A row of measures per job."""
    places: dict[str, str]
    """For each job, a digest of its nodes and servers."""
    folder: Place | None
    """Its tables, in the folder of the sweep, if they were kept."""
    attempts: Count
    """Number of attempts."""


@declared
class SweepRecord(TypedDict):
    """The content of sweep.json."""

    kind: str
    """The kind of file: "sweep"."""
    format: Count
    """Version of the format."""
    version: str
    """Version of odonata."""
    name: str
    """Name of the sweep."""
    outcome: str
    """Outcome of the sweep."""
    scenario: str
    """The base scenario."""
    swept: list[Any]
    """The swept keys."""
    points: Count
    """Number of points."""
    seeds: Count
    """Largest number of seeds of a point."""
    confidence: Number
    """Level of the intervals, below 1."""
    runs: dict[str, Count]
    """Number of runs by origin."""
    failed: list[Any]
    """Failed runs."""
    wall_s: Number
    """Wall time, in seconds."""


#: Outcomes with a cause outside the simulation: they are no results, and the next call runs them again.
HOST_FAILURES = ("crashed", "killed", "out-of-memory", "timed-out", "failed", "wrong-input")

#: Outcomes of a process that another process may have caused; the run is retried at once.
TRIED_AGAIN = ("crashed", "killed")


def of_results(key: str, results: Results) -> dict[str, Any]:
    """The record of a run with results."""
    latencies = {row["job"]: row for row in job_rows(results)}
    run = results.run
    kept = ("outcome", "detail", "digest", "simulated_s", "wall_s", "cpu_s", "events", "peak_rss_bytes")
    return {
        "key": key,
        **{name: run[name] for name in kept},
        "jobs": [row | latencies[row["job"]] for row in results.rows("jobs")],
        "places": places(results.table("ranks").select(["job", "rank", "node", "server"]).to_pylist()),
        "folder": None,
        "attempts": 1,
    }


def failure(key: str, outcome: str, detail: str) -> dict[str, Any]:
    """The record of a run without results."""
    nothing = ("digest", "simulated_s", "wall_s", "cpu_s", "events", "peak_rss_bytes", "folder")
    rest: dict[str, Any] = dict.fromkeys(nothing)
    return {"key": key, "outcome": outcome, "detail": detail, **rest, "jobs": [], "places": {}, "attempts": 1}


def is_good(kept: Mapping[str, Any]) -> bool:
    """Whether a run succeeded."""
    return kept["outcome"] in GOOD_OUTCOMES


def is_result(kept: Mapping[str, Any]) -> bool:
    """Whether a repetition of the run would end the same way."""
    return kept["outcome"] not in HOST_FAILURES
