"""The answer of `odonata advise`, and advice.json."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class AdvisedCost(TypedDict):
    """What a machine costs, by the table of prices."""

    routers: Number
    """Routers, with their ports, dollars."""
    cables: Number
    """Cables, dollars."""
    servers: Number
    """Storage servers, dollars."""
    total: Number
    """All of it."""


@declared
class PairedRatio(TypedDict):
    """A ratio to the scenario as it is, paired by seed."""

    ratio: Number
    """Geometric mean over the seeds."""
    low: Number | None
    """Lower end of the interval; null of one pair."""
    high: Number | None
    """Upper end."""
    pairs: Count
    """Seeds with results of both; equal runs count once."""
    fell: Count
    """Seeds with which the value is smaller."""
    rose: Count
    """Seeds with which it is larger."""
    words: str
    """The same in words."""


@declared
class JobRatio(PairedRatio):
    """The ratio of the time of a job."""

    job: str
    """The job."""


@declared
class WaitChange(TypedDict):
    """Waits of a job for another one, before and after."""

    victim: str
    """The waiting job."""
    victim_class: str
    """Its traffic: mpi or io."""
    culprit: str
    """The job that used the resource."""
    culprit_class: str
    """Its traffic."""
    where: str
    """network (packet-seconds) or servers (request-seconds)."""
    before_s: Number
    """With the scenario as it is."""
    after_s: Number
    """With the candidate."""


@declared
class AdvisedChoice(TypedDict):
    """A candidate that packets confirmed or refuted."""

    choice: str
    """The candidate in words."""
    settings: dict[str, Any]
    """Its settings by key; none: the scenario as it is."""
    seeds: Count
    """Seeds with results in packets."""
    failure: str
    """Why it has no results; empty if it has some."""
    keeps_limits: bool
    """Whether all its runs keep the limits."""
    limited: dict[str, Number]
    """The largest values of what has limits."""
    cost: AdvisedCost
    """What its machine costs:"""
    score: PairedRatio | None
    """Its score / that of the scenario as it is; null without pairs:"""
    jobs: list[JobRatio]
    """The times of its jobs, in the same way:"""
    waits: list[WaitChange]
    """The waits that changed most:"""


@declared
class LeftOutChoice(TypedDict):
    """A candidate that the machine does not have."""

    choice: str
    """The candidate."""
    reason: str
    """The error."""


@declared
class SearchedChoice(TypedDict):
    """A candidate of the search."""

    choice: str
    """The candidate."""
    seeds: Count
    """Seeds with results."""
    ratio: Number | None
    """Its score / that of the scenario as it is; null without results."""
    keeps_limits: bool
    """Whether these runs keep the limits."""
    cost: Number
    """What its machine costs, dollars."""


@declared
class Advice(TypedDict):
    """The answer of `odonata advise`, and advice.json."""

    kind: str
    """The kind of file: advice."""
    version: str
    """Version of odonata."""
    name: str
    """Name of the scenario."""
    outcome: str
    """completed; budget if the time was over; interrupted."""
    goal: str
    """slowdown, throughput or cost."""
    limits: list[str]
    """The limits."""
    varied: list[str]
    """What varies."""
    candidates: Count
    """Candidates, with the scenario as it is."""
    searched_by: str
    """How the search carried messages: flow or packet, what runs the scenario faster."""
    runs: Count
    """Runs of this call; those of earlier calls are not repeated."""
    wall_s: Number
    """Wall time of this call, seconds."""
    confidence: Number
    """Level of all intervals together."""
    best: str | None
    """The best candidate; null if none is known to be better than the scenario as it is."""
    settings: dict[str, Any]
    """Its settings."""
    sentences: list[str]
    """The advice in words."""
    confirmed: list[AdvisedChoice]
    """The scenario as it is, and the candidates that packets ran:"""
    searched: list[SearchedChoice]
    """The candidates of the search, the best first:"""
    left_out: list[LeftOutChoice]
    """Candidates that the machine does not have:"""
