"""The answer of `odonata compare` for two sweeps."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class SweepPair(TypedDict):
    """A measure of a job at a point that both sweeps have, seed by seed."""

    values: dict[str, Any]
    """The values of the swept keys that both sweeps have."""
    job: str
    """The job."""
    measure: str
    """Column of points.parquet."""
    pairs: Count
    """Seeds that both sweeps have; equal runs count once."""
    ratio: Number
    """Geometric mean over the seeds of the value in B / the value in A."""
    low: Number | None
    """Lower end of its 95% interval; null of one pair."""
    high: Number | None
    """Upper end."""
    fell: Count
    """Seeds with a smaller value in B."""
    rose: Count
    """Seeds with a larger value in B."""
    words: str
    """The same in words."""


@declared
class SweepComparison(TypedDict):
    """The answer of `odonata compare` for two sweeps."""

    a: str
    """Folder of the first sweep."""
    b: str
    """Folder of the second sweep."""
    points: Count
    """Points that both have: equal values of the keys that both sweep."""
    rows: list[SweepPair]
    """The measures that differ by the least share, point by point:"""
