"""The answer of `odonata what-if`, and what-if.json."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class WhatIfRun(TypedDict):
    """A run of a batch queue, and a line of runs.jsonl."""

    key: str
    """A digest of what the run depends on."""
    seed: Count
    """Its seed."""
    digest: str
    """Digest of the results."""
    turnaround_s: Number
    """Mean time from submission to end, seconds."""
    makespan_s: Number
    """Time until all jobs have ended, seconds."""
    wait_s: Number
    """Mean wait, seconds."""
    slowdown: Number
    """Mean of elapsed time / time without contention."""
    lost_share: Number
    """Node-seconds lost to contention / node-seconds of all jobs."""
    utilization: Number
    """Busy node-seconds / all node-seconds."""
    packet_slowdown: Number | None
    """Mean slowdown in packets of the jobs at drawn moments; null without `--confirm` or such jobs."""


@declared
class WhatIfPair(TypedDict):
    """A measure compared with the first variant, seed by seed."""

    measure: str
    """turnaround_s, makespan_s, slowdown, lost_share or packet_slowdown."""
    ratio: Number
    """Geometric mean of the ratios to the first variant."""
    low: Number | None
    """Lower end of the 95% interval; null of one pair."""
    high: Number | None
    """Upper end."""
    pairs: Count
    """Seeds; equal runs count once."""
    fell: Count
    """Seeds with which the measure is smaller."""
    rose: Count
    """Seeds with which it is larger."""
    words: str
    """The same in words."""


@declared
class WhatIfVariant(TypedDict):
    """A variant."""

    variant: str
    """Its values in words."""
    values: dict[str, Any]
    """Its values by key."""
    runs: list[WhatIfRun]
    """Its runs, one per seed:"""
    pairs: list[WhatIfPair]
    """Its measures / those of the first variant; none of the first:"""


@declared
class WhatIf(TypedDict):
    """The answer of `odonata what-if`, and what-if.json."""

    kind: str
    """The kind of file: what-if."""
    outcome: str
    """completed or interrupted."""
    name: str
    """Name of the batch file."""
    variants: list[WhatIfVariant]
    """The variants:"""
    sentences: list[str]
    """What differs, in words."""
