"""The answer of `odonata batch`, and batch.json."""

from __future__ import annotations

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class BatchQueue(TypedDict):
    """The queue."""

    policy: str
    """Which waiting jobs may start."""
    order: str
    """Their order."""
    placement: str
    """The nodes of a job."""
    limits: str
    """What a job does at its time limit."""


@declared
class Quantiles(TypedDict):
    """Quantiles of a measure over jobs."""

    mean: Number
    """Mean."""
    p50: Number
    """Median."""
    p90: Number
    """90 of 100 values are at most this."""
    p99: Number
    """99 of 100 values are at most this."""
    max: Number
    """Largest value."""


@declared
class SlowedJob(TypedDict):
    """A job that lost time."""

    job: str
    """Its id."""
    name: str
    """Its name."""
    profile: str
    """Its application profile."""
    nodes: Count
    """Its nodes."""
    slowdown: Number
    """Elapsed time / time without contention."""
    lost_s: Number
    """Time that it lost, seconds."""


@declared
class DisturbingPair(TypedDict):
    """Two jobs of which one slowed the other."""

    victim: str
    """Id of the slowed job."""
    victim_profile: str
    """Its profile, and the traffic that its counters added to it."""
    culprit: str
    """Id of the job that used the bottleneck."""
    culprit_profile: str
    """The same of this job."""
    link_class: str
    """Class of the bottleneck: terminal, local, global, column or server."""
    lost_s: Number
    """Time that the victim lost, seconds."""
    lost_node_s: Number
    """The same times its nodes."""


@declared
class LostByProfile(TypedDict):
    """Time that jobs of one profile lost to jobs of another."""

    victim_profile: str
    """Profile of the slowed jobs."""
    culprit_profile: str
    """Profile of the jobs that used the bottleneck."""
    link_class: str
    """Class of the bottleneck."""
    lost_node_s: Number
    """Lost time times nodes, seconds."""


@declared
class BusyLink(TypedDict):
    """A link with a large load."""

    name: str
    """Its ends, such as r3>n12 (n = node, r = router), or the number of a server."""
    link_class: str
    """terminal, local, global, column or server."""
    bytes: Number
    """Bytes of all jobs; at a server, those of large reads that take as long."""
    mean_load: Number
    """The same / what it could carry up to the last end; a server: time of its devices in use."""
    peak_load: Number
    """Largest load at any time, as a mean over iterations. Rates are estimated link by link: where jobs are
    slowed at several links, the sum can exceed 1 by some percent."""


@declared
class ConfirmedMoment(TypedDict):
    """A moment that was repeated with packets."""

    time_s: Number
    """The time."""
    jobs: Count
    """Compared jobs."""
    median_error: Number | None
    """Median of the absolute relative error of slowdowns; null without jobs."""


@declared
class ComparedJob(TypedDict):
    """A job at a moment."""

    job: str
    """Its id."""
    rates: Number
    """Its slowdown by rates."""
    packets: Number
    """Its slowdown by packets."""
    overload: Number
    """Largest load of its links if no job were slowed, as a part of their capacity."""


@declared
class ComparedMoment(TypedDict):
    """A line of moments.jsonl."""

    key: str
    """A digest of what the comparison depends on."""
    time_s: Number
    """The time."""
    jobs: list[ComparedJob]
    """The compared jobs:"""


@declared
class Confirmation(TypedDict):
    """The comparison with the packet model."""

    asked: Count
    """Moments that were asked for."""
    moments: list[ConfirmedMoment]
    """The moments that were compared:"""
    compared: Count
    """Jobs that were compared, over all moments."""
    median_error: Number | None
    """Median of |slowdown by rates / slowdown by packets - 1|; null without jobs."""
    p90_error: Number | None
    """The 90th percentile of the same."""
    worst_error: Number | None
    """The largest of the same."""
    worst_time_s: Number | None
    """The moment of the largest error."""
    worst_scenario: str | None
    """A scenario of this moment in the result folder, for `odonata run`; null without a folder or jobs."""
    worst_settings: list[str]
    """Settings of the batch file that this scenario cannot have in its tables: `--set` gives them."""
    mean_difference: Number | None
    """Mean of slowdown by rates / slowdown by packets - 1: above 0, rates overestimate."""
    sentence: str
    """The same in words."""


@declared
class Batch(TypedDict):
    """The answer of `odonata batch`, and batch.json."""

    kind: str
    """The kind of file: batch."""
    outcome: str
    """completed or interrupted."""
    version: str
    """Version of odonata."""
    name: str
    """Name of the batch file."""
    machine: str
    """Name of the machine."""
    nodes: Count
    """Compute nodes."""
    seed: Count
    """Seed."""
    digest: str
    """Digest of the results: equal digests, equal results."""
    queue: BatchQueue
    """The queue:"""
    jobs: Count
    """Jobs of the list."""
    outcomes: dict[str, Count]
    """Jobs by outcome: completed, timeout, node-failure, never-fits, running, waiting."""
    simulated_s: Number
    """Simulated time, seconds."""
    wall_s: Number
    """Wall time of the queue, seconds."""
    utilization: Number
    """Busy node-seconds / all node-seconds up to the last end."""
    mean_waiting_jobs: Number
    """Mean length of the queue."""
    max_waiting_jobs: Count
    """Largest length of the queue."""
    wait_s: Quantiles | None
    """Wait of started jobs, seconds; null without such jobs:"""
    bounded_slowdown: Quantiles | None
    """(Wait + elapsed) / elapsed, with elapsed times of 10 s at least; null without ended jobs:"""
    slowdown: Quantiles | None
    """Elapsed time / time without contention of ended jobs; null without such jobs:"""
    lost_node_s: Number
    """Node-seconds that all jobs lost to contention."""
    lost_share: Number
    """The same / node-seconds of all jobs."""
    clipped_jobs: Count
    """Jobs that wanted more than the machine gives them alone; their rates were lowered."""
    clipped: list[str]
    """The ids of the first of them."""
    most_slowed: list[SlowedJob]
    """The jobs that lost the most node-seconds:"""
    pairs: list[DisturbingPair]
    """The pairs of jobs with the largest loss:"""
    by_profile: list[LostByProfile]
    """Losses by profiles, the largest first:"""
    busiest_links: list[BusyLink]
    """The links with the largest mean loads:"""
    confirmation: Confirmation | None
    """The comparison with packets; null without `--confirm`:"""
    assumptions: list[str]
    """What was assumed or left out, also by `odonata import`."""
