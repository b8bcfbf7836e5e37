"""What is kept of one run of a sweep: how it ended, and a row of measures per job."""

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
    """A run as the journal of a sweep has it."""

    key: str
    """Digest of all that its result follows from."""
    outcome: str
    """How it ended."""
    detail: str | None
    """The same in words where there is more to say."""
    digest: str | None
    """That of its results; null if there are none, like what follows."""
    simulated_s: Number | None
    """Simulated time, in seconds."""
    wall_s: Number | None
    """Time that it took, in seconds."""
    cpu_s: Number | None
    """CPU time that it took, in seconds."""
    events: Count | None
    """Events that were handled."""
    peak_rss_bytes: Count | None
    """Largest resident memory, in bytes."""
    jobs: list[Any]
    """A row of measures per job."""
    places: dict[str, str]
    """Of each job, a digest of the nodes and servers that it has."""
    folder: Place | None
    """Its tables, in the folder of the sweep, if they were kept."""
    attempts: Count
    """How often it was started."""


@declared
class SweepRecord(TypedDict):
    """What is in sweep.json."""

    kind: str
    """What the file is: "sweep"."""
    format: Count
    """Version of its format."""
    version: str
    """That of Odonata."""
    name: str
    """Name of the sweep."""
    outcome: str
    """How the sweep ended."""
    scenario: str
    """The scenario that it goes out from."""
    swept: list[Any]
    """The keys that differ between points."""
    points: Count
    """Points."""
    seeds: Count
    """Runs of a point with seeds of their own."""
    confidence: Number
    """Confidence of the intervals, below 1."""
    runs: dict[str, Count]
    """Runs by how they came to be."""
    failed: list[Any]
    """Runs that did not end as their scenario asks for."""
    wall_s: Number
    """Time that it took, in seconds."""


#: Ends for reasons outside the simulation: they are no results, and run again by the next call.
HOST_FAILURES = ("crashed", "killed", "out-of-memory", "timed-out", "failed", "wrong-input")

#: Ends of a process that may be another's fault, and are tried again at once.
TRIED_AGAIN = ("crashed", "killed")


def of_results(key: str, results: Results) -> dict[str, Any]:
    """What is kept of the results of a run."""
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
    """What is kept of a run that has no results."""
    nothing = ("digest", "simulated_s", "wall_s", "cpu_s", "events", "peak_rss_bytes", "folder")
    rest: dict[str, Any] = dict.fromkeys(nothing)
    return {"key": key, "outcome": outcome, "detail": detail, **rest, "jobs": [], "places": {}, "attempts": 1}


def is_good(kept: Mapping[str, Any]) -> bool:
    """Whether a run ended as its scenario asks for."""
    return kept["outcome"] in GOOD_OUTCOMES


def is_result(kept: Mapping[str, Any]) -> bool:
    """Whether the run would end the same if it was run again."""
    return kept["outcome"] not in HOST_FAILURES
