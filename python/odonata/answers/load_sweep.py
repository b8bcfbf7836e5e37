"""The answer of `odonata load-sweep`."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from odonata.answers.core import Core
from odonata.base.json_types import Count, Number, declared


@declared
class Saturation(TypedDict):
    """Where saturation begins."""

    last_stable: Number | None
    """The largest load that the network takes; null if none was found."""
    first_saturated: Number | None
    """The smallest load that it does not take; null if none was found."""
    tolerance: Number | None
    """How far apart they may be, if the point was searched for; else null."""


@declared
class LoadSweep(TypedDict):
    """What `odonata load-sweep` answers, and sweep.json."""

    kind: str
    """What it is: load-sweep."""
    outcome: str
    """completed, interrupted, or failed: something else than saturation ended a point."""
    version: str
    """Version of odonata."""
    name: str | None
    """Name of the scenario."""
    seed: Count
    """Its seed."""
    job: str
    """The job whose load is varied."""
    senders: Count
    """Its ranks that send."""
    method: dict[str, Any]
    """How a point is measured, with all parameters."""
    cycle_ns: Number | None
    """Length of a clock cycle, in nanoseconds; null if there is no clock."""
    zero_load_ns: Number | None
    """Latency of the idle network, in nanoseconds."""
    warnings: list[Any]
    """What is probably not meant, as of check."""
    points: list[Annotated[dict[str, Any], Core("load-sweep")]]
    """The points, by load:"""
    saturation: Saturation
    """Where saturation begins:"""
    cpu_s: Number
    """CPU time of all points, in seconds."""
    wall_s: Number
    """Time that all took, in seconds."""
    scenario: dict[str, Any]
    """The scenario as resolved."""
